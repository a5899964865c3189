"""The picture of several policies: one beside the other, and how far their totals are apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from matchenv.rendering.axis import Floats, tick_step
from matchenv.rendering.canvas import Canvas, line_height
from matchenv.rendering.charts import Curve, draw_chart
from matchenv.rendering.layout import Box, Sizes
from matchenv.rendering.picture import LEAST_HEIGHT, LEAST_WIDTH, draw_scene, tiled
from matchenv.rendering.scene import Scene
from matchenv.rendering.theme import Theme
from matchenv.runtime.checks import as_integer

Pixels = NDArray[np.uint8]

MOST_WIDTH = 7680
GAP = 2

# Usual width of a panel alone, and of one among several.
ALONE_WIDTH, PANEL_WIDTH = 800, 480

# Height of a panel for its width: in one row, in two rows. Two rows are to fit on a screen.
ROW_SHAPE, ROWS_SHAPE = 0.9, 0.75

# The chart below all panels, for the width of all.
CHART_SHAPE = 0.13


def columns_for(count: int) -> int:
    """Panels in a row: all up to three, else two rows."""
    return count if count <= 3 else math.ceil(count / 2)


def panel_size(count: int, width: int) -> tuple[int, int]:
    """Width and height of each of ``count`` panels in so many pixels."""
    columns = columns_for(count)
    panel = (width - (columns - 1) * GAP) // columns
    shape = ROW_SHAPE if count == columns else ROWS_SHAPE
    return panel, max(LEAST_HEIGHT, round(shape * panel))


def usual_width(count: int) -> int:
    """Pixels in which ``count`` panels are read easily."""
    return ALONE_WIDTH if count == 1 else columns_for(count) * PANEL_WIDTH


def checked_width(width: int | None, count: int) -> int:
    """``width``, None for the usual one, if ``count`` panels can be read in it; even, for films.

    Raises:
        ValueError: if not.
    """
    if width is None:
        return usual_width(count)
    columns = columns_for(count)
    least = columns * LEAST_WIDTH + (columns - 1) * GAP
    number = as_integer("width", width, 1, MOST_WIDTH)
    if number < least:
        raise ValueError(f"width must be at least {least} for {count} policies, got {width!r}")
    return number // 2 * 2


def draw_side_by_side(
    scenes: Sequence[Scene], width: int, theme: Theme, footer: tuple[str, str] | None = None
) -> Pixels:
    """All policies at one moment.

    Args:
        scenes: one for each policy, all after equally many games.
        width: of the whole, in pixels.
        theme: colours.
        footer: what stands at the bottom left and right, None for no footer.

    Returns:
        uint8, shape (height, width, 3), both even.
    """
    columns = columns_for(len(scenes))
    panel, high = panel_size(len(scenes), width)
    sizes = Sizes.of(panel, high)
    panels = [draw_scene(scene, panel, high, theme) for scene in on_one_axis(scenes)]
    if len(panels) % columns:
        panels.append(np.full_like(panels[0], theme.background))
    parts = [tiled(panels, theme.grid, columns, GAP)]
    wide = parts[0].shape[1]
    if len(scenes) > 1:
        parts.append(_differences(scenes, wide, sizes, theme))
    if footer is not None:
        parts.append(_footer(footer, wide, sizes, theme))
    height = sum(len(part) for part in parts)
    whole = np.empty((height + height % 2, width, 3), dtype=np.uint8)
    whole[:] = theme.background
    whole[:height, :wide] = np.concatenate(parts)
    return whole


def on_one_axis(scenes: Sequence[Scene]) -> list[Scene]:
    """The scenes with one skill axis, on which all of them have room."""
    lows, highs = zip(*(scene.skill_range for scene in scenes), strict=True)
    return [replace(scene, skill_range=(min(lows), max(highs))) for scene in scenes]


def total_differences(scenes: Sequence[Scene]) -> list[Floats]:
    """Running totals of q of all policies but the first, each less the first's."""
    totals = [np.cumsum(scene.judged_density) for scene in scenes]
    return [total - totals[0] for total in totals[1:]]


def _differences(scenes: Sequence[Scene], width: int, sizes: Sizes, theme: Theme) -> Pixels:
    height = max(100, round(CHART_SHAPE * width))
    canvas = Canvas(width, height, theme.background)
    canvas.box(0, 0, width, GAP, theme.grid)
    curves: list[Curve] = [
        (values, theme.lines[place % len(theme.lines)])
        for place, values in enumerate(total_differences(scenes))
    ]
    true = "true " if scenes[0].true_draw_density is not None else ""
    named = zip(scenes[1:], curves, strict=True)
    titles = [
        (f"running total of {true}q, less that of {scenes[0].title}:", theme.muted),
        *((scene.title, colour) for scene, (_, colour) in named),
    ]
    low, high = _limits([values for values, _ in curves])
    box = Box(
        sizes.gap, round(0.6 * sizes.gap), width - 2 * sizes.gap, height - round(0.9 * sizes.gap)
    )
    limits = (scenes[0].horizon, low, high)
    draw_chart(canvas, box, limits, curves, theme, sizes, titles=titles, level=(0.0, ""))
    return canvas.pixels


def _limits(curves: Sequence[Floats]) -> tuple[float, float]:
    """Round ends of an axis for differences; it grows by steps, so that it seldom moves."""
    ends = [0.0, *(float(end(each)) for each in curves if each.size for end in (np.min, np.max))]
    low, high = min(-0.5, *ends), max(0.5, *ends)
    step = tick_step(high - low, 4)
    return step * math.floor(low / step), step * math.ceil(high / step)


def _footer(footer: tuple[str, str], width: int, sizes: Sizes, theme: Theme) -> Pixels:
    line = line_height(sizes.small)
    canvas = Canvas(width, 2 * line, theme.background)
    canvas.box(0, 0, width, 1, theme.grid)
    left, right = footer
    canvas.text(sizes.gap, 0.5 * line, left, sizes.small, theme.muted)
    canvas.text(width - sizes.gap, 0.5 * line, right, sizes.small, theme.ink, anchor="right")
    return canvas.pixels
