"""The parts of a picture: title, legend, beliefs along the skill axis, large numbers, charts."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.core.rendering import Look
from matchenv.rendering.canvas import (
    SCALE,
    THEMES,
    Box,
    Canvas,
    Colour,
    Floats,
    line_height,
    mixed,
    number_text,
    shortened,
    text_width,
)
from matchenv.runtime.checks import as_choice, as_integer

# Smaller pictures have no room for readable text.
LEAST_WIDTH, LEAST_HEIGHT = 320, 280

# Beliefs reach this many standard deviations to either side of an axis drawn around them.
AXIS_DEVIATIONS = 2.5

# The axis grows in steps of this part of its first width, so that it seldom moves.
AXIS_STEP = 0.125

# Places of an outline, in standard deviations from the mean.
OUTLINE = np.linspace(-3.5, 3.5, 71)
OUTLINE_STRENGTH = 0.6

# Beliefs of more players than this get no outlines.
OUTLINED = 100

# Opacity of the area under a strong curve, and strength of opponents who are offline.
FILL = 0.3
OFFLINE_STRENGTH = 0.25

# One of many beliefs covers so much at most; six tenths of them together leave so much uncovered.
MOST_FOR_ONE = 0.13
SHARE_LEFT = 0.4

# Steps between the numbers of an upright axis, at most.
MOST_TICKS = 5
DOT_STRENGTH = 0.4


class Entry(NamedTuple):
    """An entry of the legend: a coloured square, or a triangle, and a name.

    Attributes:
        colour: of the mark.
        name: beside it; an entry without a name keeps its place empty.
        triangle: instead of a square.
        widest: the widest text that the name may become, so that the entries after it stay where
            they are; empty for a name that does not change.
    """

    colour: Colour
    name: str
    triangle: bool = False
    widest: str = ""


class Parts(NamedTuple):
    """The rectangles of a picture below its title and legend.

    Attributes:
        skills: beliefs along the skill axis.
        tiles: large numbers.
        left: chart.
        right: chart.
    """

    skills: Box
    tiles: Box
    left: Box
    right: Box


class Axis(NamedTuple):
    """A line of numbers from ``low`` to ``high``, from pixel ``start`` over ``length`` pixels."""

    low: float
    high: float
    start: float
    length: float

    def at(self, value: Floats | float) -> Floats:
        """Return the pixel of each value."""
        share = (np.asarray(value, dtype=np.float64) - self.low) / (self.high - self.low)
        return self.start + share * self.length


@dataclass(frozen=True)
class Beliefs:
    """Beliefs about n players.

    Attributes:
        mu: means, shape (n,), in skill points.
        sigma: standard deviations, shape (n,).
        strong: indices and colours of the players that stand out, the most important last.
        limits: lowest and highest skill on the axis.
        typical_sigma: a belief as wide as this is drawn half as high as a known skill.
        true_skill: shape (n,); None where it is not shown.
        online: shape (n,); None for all.
    """

    mu: Floats
    sigma: Floats
    strong: Sequence[tuple[int, Colour]]
    limits: tuple[float, float]
    typical_sigma: float
    true_skill: Floats | None = None
    online: NDArray[np.bool_] | None = None

    def others(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which players do not stand out: those online and those offline, (n,) each."""
        others = np.ones(self.mu.size, dtype=np.bool_)
        others[[player for player, _ in self.strong]] = False
        online = others if self.online is None else others & self.online
        return online, others & ~online


@dataclass(frozen=True)
class Chart:
    """Curves over the units of an episode.

    Attributes:
        titles: above the chart, one after another, each in a colour.
        last: units on the axis.
        unit: in the singular.
        limits: lowest and highest value.
        curves: a value after each unit so far, and a colour; the last is drawn on top.
        dots: single values, and their colour.
        level: a value with a dashed line, and its name.
    """

    titles: Sequence[tuple[str, Colour]]
    last: int
    unit: str
    limits: tuple[float, float]
    curves: Sequence[tuple[Floats, Colour]]
    dots: tuple[Floats, Colour] | None = None
    level: tuple[float, str] | None = None


def new_canvas(look: Look) -> Canvas:
    """Return an empty picture.

    Raises:
        ValueError: for a size that is too small, or an unknown theme.
    """
    width = as_integer("width", look.width, LEAST_WIDTH)
    height = as_integer("height", look.height, LEAST_HEIGHT)
    return Canvas(width, height, THEMES[as_choice("theme", look.theme, THEMES)])


def draw_header(canvas: Canvas, title: str, progress: str, legend: Sequence[Entry]) -> Parts:
    """Draw title, progress and legend, and return the rectangles of the rest.

    A legend of more lines leaves less room for the beliefs.
    """
    sizes, theme = canvas.sizes, canvas.theme
    left, right = sizes.gap, canvas.width - sizes.gap
    across, y = right - left, round(0.7 * sizes.gap)
    drop = 0.7 * (line_height(sizes.title) - line_height(sizes.body))
    wide = canvas.text(right, y + drop, progress, sizes.body, theme.muted, anchor="right")
    title = shortened(title, sizes.title, across - wide - sizes.gap, bold=True)
    canvas.text(left, y, title, sizes.title, theme.ink, bold=True)
    y += line_height(sizes.title) + round(0.3 * sizes.gap)
    y = _draw_legend(canvas, Box(left, y, across, 0), legend) + round(0.2 * sizes.gap)
    tiles_height = line_height(sizes.small) + line_height(sizes.value)
    rest = canvas.height - y - tiles_height - round(2.4 * sizes.gap)
    skills = Box(left, y, across, round(0.6 * rest))
    tiles = Box(left, skills.bottom + round(0.8 * sizes.gap), across, tiles_height)
    y, half = tiles.bottom + round(0.8 * sizes.gap), (across - 2 * sizes.gap) // 2
    charts = max(1, canvas.height - y - round(0.8 * sizes.gap))
    return Parts(skills, tiles, Box(left, y, half, charts), Box(right - half, y, half, charts))


def _draw_legend(canvas: Canvas, box: Box, legend: Sequence[Entry]) -> int:
    """Draw the entries in as many lines as they need, and return the row below them."""
    size = canvas.sizes.body
    line, side = line_height(size), 0.75 * size
    x, y = float(box.x), box.y
    for entry in legend:
        wide = 1.4 * size + max(text_width(each, size) for each in (entry.name, entry.widest))
        if x > box.x and x + wide + 0.6 * size > box.right:
            x, y = float(box.x), y + line
        top = y + round(0.5 * (line - side))
        if entry.triangle:
            canvas.triangle(x + 0.5 * side, top, side, entry.colour)
        elif entry.name:
            canvas.box(x, top, side, side, entry.colour)
        canvas.text(x + 1.4 * size, y, entry.name, size, canvas.theme.ink)
        x += wide + 1.6 * size
    return y + line


def draw_beliefs(canvas: Canvas, box: Box, beliefs: Beliefs) -> None:
    """Draw a density for each belief on the skill axis, and marks for the true skills.

    The narrower a belief, the higher its curve. The heights are not to scale: densities would
    leave all others flat once player 0 is known.
    """
    sizes, theme = canvas.sizes, canvas.theme
    marks = 3 if beliefs.true_skill is None else sizes.mark + 3
    curves = Box(box.x, box.y, box.width, max(8, box.height - marks - line_height(sizes.small)))
    axis = Axis(*beliefs.limits, box.x, box.width)
    # A curve narrower than a pixel would fall between the columns.
    sigma = np.maximum(beliefs.sigma, 0.5 * (axis.high - axis.low) / box.width)
    peaks = 0.97 * curves.height * beliefs.typical_sigma / (beliefs.typical_sigma + sigma)
    online, offline = beliefs.others()
    canvas.clip(curves)
    bell = np.exp(-0.5 * OUTLINE**2)

    def outline(player: int) -> tuple[Floats, Floats]:
        x = axis.at(beliefs.mu[player] + sigma[player] * OUTLINE)
        return x, curves.bottom - peaks[player] * bell

    def draw_outlines(shown: NDArray[np.bool_], strength: float) -> None:
        for player in np.flatnonzero(shown).tolist() if shown.sum() <= OUTLINED else []:
            canvas.line(*outline(player), mixed(theme.others, theme.background, strength), 1.0)

    draw_outlines(offline, OFFLINE_STRENGTH)
    if online.any():
        columns = np.linspace(axis.low, axis.high, SCALE * box.width)
        z = (columns - beliefs.mu[online, np.newaxis]) / sigma[online, np.newaxis]
        heights = peaks[online, np.newaxis] * np.exp(-0.5 * np.minimum(np.square(z), 200.0))
        share = min(MOST_FOR_ONE, 1.0 - SHARE_LEFT ** (1.0 / (0.6 * len(heights))))
        covered = 1.0 - (1.0 - share) ** np.arange(len(heights) + 1)
        colours = [mixed(theme.others, theme.background, each) for each in covered.tolist()]
        canvas.layers(curves, heights, colours)
    draw_outlines(online, OUTLINE_STRENGTH)
    for player, colour in beliefs.strong:
        canvas.area(*outline(player), colour, FILL)
        canvas.line(*outline(player), colour, sizes.thick)
    canvas.clip(None)
    canvas.box(box.x, curves.bottom, box.width, 1, theme.muted)
    if beliefs.true_skill is not None:
        _draw_true_skills(canvas, curves, beliefs, axis.at(beliefs.true_skill))
    _draw_skill_ticks(canvas, Box(box.x, curves.bottom, box.width, marks), axis)


def _draw_true_skills(canvas: Canvas, curves: Box, beliefs: Beliefs, x: Floats) -> None:
    """Draw a line for each of the others and a triangle for each strong player.

    Args:
        canvas: to draw on.
        curves: box of the curves above.
        beliefs: of the players.
        x: pixels of the true skills, shape (n,).
    """
    theme, mark = canvas.theme, canvas.sizes.mark
    online, offline = beliefs.others()
    others = online | offline
    within = others & (x >= curves.x) & (x < curves.right)
    strength = 0.9 if others.sum() <= OUTLINED else max(0.25, 30.0 / others.sum())
    strengths = np.where(online, strength, OFFLINE_STRENGTH * strength)
    columns = np.bincount((x[within] - curves.x).astype(np.int64), strengths[within])
    for column in np.flatnonzero(columns).tolist():
        colour = mixed(theme.others, theme.background, min(1.0, columns[column]))
        canvas.box(curves.x + column, curves.bottom + 3, 1, mark - 1, colour)
    for player, colour in beliefs.strong:
        line = Box(round(x[player]), curves.y, 1, curves.height)
        canvas.dashes(line, mixed(colour, theme.background, 0.75), 3)
        canvas.triangle(round(x[player]) + 0.5, curves.bottom + 2, mark, colour)


def _draw_skill_ticks(canvas: Canvas, box: Box, axis: Axis) -> None:
    small, muted = canvas.sizes.small, canvas.theme.muted
    y = box.bottom + 1
    wide = canvas.text(box.right, y, "skill", small, muted, anchor="right")
    for value, written in ticks(axis.low, axis.high, max(2, box.width // (4 * small))):
        x, half = float(axis.at(value)), text_width(written, small) / 2
        if x - half >= box.x - canvas.sizes.gap and x + half <= box.right - wide - small:
            canvas.box(x, box.y, 1, 4, muted)
            canvas.text(x, y, written, small, muted, anchor="centre")


def draw_tiles(
    canvas: Canvas, box: Box, tiles: Sequence[tuple[str, str]], widest: str = ""
) -> None:
    """Write numbers in large letters side by side; places depend on counts of digits alone.

    Args:
        canvas: to draw on.
        box: where.
        tiles: a label and a number's text each.
        widest: the widest text that the first may have.
    """
    small, theme = canvas.sizes.small, canvas.theme

    def widths(size: int) -> list[int]:
        values = [widest or tiles[0][1], *(re.sub(r"\d", "8", value) for _, value in tiles[1:])]
        return [
            max(text_width(label, small), text_width(value, size, bold=True))
            for (label, _), value in zip(tiles, values, strict=True)
        ]

    room = box.width - small * (len(tiles) - 1)
    sizes = range(canvas.sizes.value, small - 3, -1)
    size = next((each for each in sizes if sum(widths(each)) <= room), small - 2)
    gap, x = (box.width - sum(widths(size))) / (len(tiles) - 1), float(box.x)
    for (label, value), wide in zip(tiles, widths(size), strict=True):
        canvas.text(x, box.y, label, small, theme.muted)
        canvas.text(x, box.y + line_height(small), value, size, theme.ink, bold=True)
        x += wide + gap


def draw_chart(canvas: Canvas, box: Box, chart: Chart) -> None:
    """Draw a chart with its titles and ticks in a box."""
    sizes, theme, small = canvas.sizes, canvas.theme, canvas.sizes.small
    line = line_height(small)
    low, high = chart.limits
    rows = max(8, box.height - 2 * line - 6)
    bottom = box.y + line + 4 + rows
    # Above a level with a name is the name.
    highest = chart.level[0] if chart.level is not None and chart.level[1] else high
    most = min(MOST_TICKS, max(1, round(rows / (1.4 * small))))
    marks = [(value, text) for value, text in ticks(low, high, most) if value <= highest]
    margin = max(text_width(text, small) for _, text in [*marks, (0.0, "")]) + 8
    plot = Box(box.x + margin, bottom - rows, max(8, box.width - margin), rows)
    along = Axis(0.0, chart.last, plot.x, plot.width)
    upright = Axis(low, high, bottom, -rows)
    draw_titles(canvas, box, chart.titles)
    for value, text in marks:
        y = float(upright.at(value))
        canvas.box(plot.x, y, plot.width, 1, theme.grid)
        canvas.text(plot.x - 8, y - line / 2, text, small, theme.muted, anchor="right")
    if chart.level is not None:
        y = float(upright.at(chart.level[0]))
        canvas.dashes(Box(plot.x, round(y), plot.width, 1), theme.muted)
        if chart.level[1]:
            canvas.text(plot.right, y - line, chart.level[1], small, theme.muted, anchor="right")
    if chart.dots is not None:
        values, colour = chart.dots
        radius = float(np.clip(2.6 * (50.0 / chart.last) ** 0.25, 1.0, 2.6))
        x = along.at(np.arange(1.0, values.size + 1.0))
        pale = mixed(colour, theme.background, DOT_STRENGTH)
        canvas.dots(x, upright.at(values), radius, pale)
    for values, colour in chart.curves:
        if values.size:
            units = np.arange(1.0, values.size + 1.0)
            shown = np.linspace(1.0, values.size, min(values.size, SCALE * plot.width))
            heights = upright.at(np.interp(shown, units, values))
            canvas.line(along.at(shown), heights, colour, sizes.thick)
    _draw_units(canvas, plot, along, chart)


def draw_titles(canvas: Canvas, box: Box, titles: Sequence[tuple[str, Colour]]) -> None:
    """Write the titles of a chart that have room, one after another."""
    small, x = canvas.sizes.small, box.x
    for text, colour in titles:
        whole = shortened(text, small, box.right - x)
        if whole != text and x > box.x:
            return
        x += canvas.text(x, box.y, whole, small, colour) + small


def _draw_units(canvas: Canvas, plot: Box, along: Axis, chart: Chart) -> None:
    """Draw the axis of a chart below its plot."""
    small, muted = canvas.sizes.small, canvas.theme.muted
    canvas.box(plot.x, plot.bottom, plot.width, 1, muted)
    canvas.box(plot.right - 1, plot.bottom, 1, 4, muted)
    last = f"{chart.last:,} {chart.unit}{'s' if chart.last != 1 else ''}"
    wide = canvas.text(plot.right, plot.bottom + 3, last, small, muted, anchor="right")
    most = min(chart.last, max(1, plot.width // (5 * small)))
    for value, written in ticks(0.0, chart.last, most):
        x = float(along.at(value))
        if x + text_width(written, small) / 2 <= plot.right - wide - 0.7 * small:
            canvas.box(x, plot.bottom, 1, 4, muted)
            canvas.text(x, plot.bottom + 3, written, small, muted, anchor="centre")


def tick_step(span: float, most: int) -> float:
    """Return the least step of 1, 2 or 5 times a power of ten with at most ``most`` in a span."""
    least = span / max(1, most)
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= least * (1.0 - 1e-9))


def ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Return at most ``most`` + 1 round values from ``low`` to ``high``, and their texts."""
    step = tick_step(high - low, most)
    places = None if step >= 1e6 or step < 1e-4 else max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(n * step, number_text(n * step, places)) for n in range(first, last + 1)]


def skill_limits(mu: Floats, sigma: Floats, true_skill: Floats | None) -> tuple[float, float]:
    """Return the ends of a skill axis on which all beliefs and marks have room.

    Args:
        mu: shape (n,).
        sigma: shape (n,).
        true_skill: shape (n,), None where no marks are drawn.
    """
    reach = AXIS_DEVIATIONS * sigma
    places = np.concatenate((mu - reach, mu + reach, [] if true_skill is None else true_skill))
    low, high = float(places.min()), float(places.max())
    # An axis around equal points still needs a length.
    least = max(1e-6, 1e-6 * max(abs(low), abs(high)))
    return (low, high) if high - low >= least else (low - least, high + least)


def widened(first: tuple[float, float], now: tuple[float, float]) -> tuple[float, float]:
    """Return ``first`` with each end moved outwards by whole steps where ``now`` goes beyond it."""
    low, high = first
    step = AXIS_STEP * (high - low)
    low -= step * math.ceil(max(0.0, low - now[0]) / step)
    high += step * math.ceil(max(0.0, now[1] - high) / step)
    return low, high
