"""How much of each pixel a bell, a crowd of bells, a curve or a cloud of dots covers.

All arrays of coverage have shape (rows, columns), row 0 on top, and numbers from 0 to 1.
Heights are in pixels above the lowest row's lower edge.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from matchenv.runtime.compile import compiled

Floats = NDArray[np.float64]

# Columns are looked at in so many places each, so that steep flanks are smooth.
PLACES = 2

# Above so many bells a finer look would cost time and show nothing.
MANY_BELLS = 200

# A bell of a crowd covers so much at most; six tenths of the crowd leave so much uncovered.
MOST_FOR_ONE = 0.13
SHARE_LEFT = 0.4


def column_places(width: int, places: int) -> Floats:
    """Positions, in pixels, of ``places`` evenly spread places in each of ``width`` columns."""
    return (np.arange(width * places) + 0.5) / places


def bell_heights(at: Floats, mu: Floats, sigma: Floats, peak: Floats) -> Floats:
    """Heights of bells, shape (K, P).

    Args:
        at: places, shape (P,), in the unit of mu.
        mu: shape (K,).
        sigma: shape (K,).
        peak: height of each at its mean, shape (K,), in pixels.
    """
    z = (at - mu[:, np.newaxis]) / sigma[:, np.newaxis]
    return peak[:, np.newaxis] * np.exp(-0.5 * np.minimum(np.square(z), 200.0))


def peak_heights(sigma: Floats, first_sigma: float, rows: float) -> Floats:
    """Height of each bell: the surer the belief, the higher, and never above ``rows``.

    Half of the room at the deviation ``first_sigma``, all of it for a skill that is known. A
    density to scale would leave the others flat once player 0 is known.
    """
    return rows * first_sigma / (first_sigma + sigma)


def crowd_coverage(heights: Floats, rows: int, places: int) -> Floats:
    """What many pale bells cover together: the more lie over a pixel, the more.

    Args:
        heights: shape (K, columns * places).
        rows: height of the picture.
        places: places in each column.
    """
    number = len(heights)
    counts = _bells_over(heights, rows, places)
    per_bell = min(MOST_FOR_ONE, 1.0 - SHARE_LEFT ** (1.0 / (0.6 * number)))
    counts *= np.log1p(-per_bell)
    # What is lost next to expm1 is far below a step of a colour, and exp is several times faster.
    return 1.0 - np.exp(counts, out=counts)


@compiled
def _bells_over(heights: Floats, rows: int, places: int) -> Floats:
    """How many bells lie over each pixel, shape (rows, columns); parts of pixels count as such."""
    number, wide = heights.shape
    columns = wide // places
    counts = np.zeros((rows, columns))
    for bell in range(number):
        for place in range(wide):
            height = min(max(heights[bell, place], 0.0), float(rows))
            whole = int(height)
            # From its top down: a part of one row, and the rest of 1 in the row below.
            if whole < rows:
                counts[rows - 1 - whole, place // places] += height - whole
            if whole > 0:
                counts[rows - whole, place // places] += 1.0 - (height - whole)
    for row in range(rows):
        for column in range(columns):
            if row > 0:
                counts[row, column] += counts[row - 1, column]
    return counts / places


def filled_coverage(heights: Floats, rows: int, places: int) -> Floats:
    """What lies under one curve of heights, shape (columns * places,)."""
    levels = np.arange(rows)[::-1, np.newaxis]
    # A sum over slices is several times faster than one over a short last axis.
    parts = (np.clip(heights[place::places] - levels, 0.0, 1.0) for place in range(places))
    covered: Floats = sum(parts, start=np.zeros((rows, heights.size // places)))
    return covered / places


def stroke_coverage(heights: Floats, rows: int, thickness: float) -> Floats:
    """A line through one curve's points, one in the middle of each column.

    Args:
        heights: shape (columns,), NaN where there is no curve.
        rows: height of the picture.
        thickness: of the line, in pixels.
    """
    half = 0.5 * thickness + 0.5
    reach = int(np.ceil(half)) + 1
    points = sliding_window_view(np.pad(heights, reach, constant_values=np.nan), 2 * reach + 1)
    low, high = reduce(np.fmin, points.T) - half, reduce(np.fmax, points.T) + half
    # Of every column only the few rows near the curve are looked at.
    first = np.clip(np.floor(np.nan_to_num(low)), 0, rows).astype(np.int64)
    last = np.clip(np.ceil(np.nan_to_num(high)), first, rows).astype(np.int64)
    counts = last - first
    column = np.repeat(np.arange(heights.size), counts)
    level = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts - first, counts)
    y = level + 0.5
    distance = np.full(y.shape, np.inf)
    for place in range(2 * reach):
        # The nearest point of the piece between two columns' middles.
        x, start = place - reach, points[column, place]
        rise = points[column, place + 1] - start
        part = np.clip((rise * (y - start) - x) / (1.0 + rise * rise), 0.0, 1.0)
        distance = np.fmin(distance, np.hypot(x + part, start + part * rise - y))
    covered = np.zeros((rows, heights.size))
    covered[rows - 1 - level, column] = np.clip(half - distance, 0.0, 1.0)
    return covered


def dots_coverage(x: Floats, heights: Floats, rows: int, columns: int, radius: float) -> Floats:
    """Discs around points.

    Args:
        x: centres in pixels from the left, shape (n,).
        heights: of the centres, shape (n,).
        rows: height of the picture.
        columns: its width.
        radius: of a disc, in pixels.
    """
    reach = int(np.ceil(radius)) + 1
    covered = np.zeros((rows + 2 * reach, columns + 2 * reach))
    y = rows - heights
    left, top = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
    steps = np.arange(-reach, reach + 1)
    step_y, step_x = (each.ravel() for each in np.meshgrid(steps, steps, indexing="ij"))
    column = left[:, np.newaxis] + step_x
    row = top[:, np.newaxis] + step_y
    distance = np.hypot(column + 0.5 - x[:, np.newaxis], row + 0.5 - y[:, np.newaxis])
    part = np.clip(radius + 0.5 - distance, 0.0, 1.0)
    inside = (column >= -reach) & (column < columns + reach) & (row >= -reach)
    inside &= row < rows + reach
    np.maximum.at(covered, (row[inside] + reach, column[inside] + reach), part[inside])
    return covered[reach:-reach, reach:-reach]
