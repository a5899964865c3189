"""Draw scenes: title, legend, beliefs along the skill axis, large numbers, charts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pygame import Rect

from matchenv.envs.core.rendering import Pixels
from matchenv.rendering.canvas import SCALE, Canvas, line_height, scale_of, shortened, text_width
from matchenv.rendering.scene import (
    Beliefs,
    Chart,
    Entry,
    Floats,
    Games,
    Limits,
    Panel,
    number_text,
)

# Smaller pictures have no room for readable text.
LEAST_WIDTH, LEAST_HEIGHT = 320, 280

# Between pictures, in pixels; height of the chart below them by the width of all.
GAP = 2
CHART_SHAPE = 0.13

# A belief with a deviation of this part of the axis is drawn half as high as a known skill.
TYPICAL_SIGMA = 0.1

# Places of an outline, in standard deviations from the mean.
OUTLINE = np.linspace(-3.5, 3.5, 71)
OUTLINE_STRENGTH = 0.6

# Of more beliefs about others every second, third or later one is drawn.
MOST_OTHERS = 100

# Opacity of the area under a strong curve, and strength of opponents who are offline.
FILL = 0.3
OFFLINE_STRENGTH = 0.25

# One of many beliefs covers so much at most; six tenths of them together leave so much uncovered.
MOST_FOR_ONE = 0.13
SHARE_LEFT = 0.4

# Steps between the numbers of an upright axis, at most.
MOST_TICKS = 5
DOT_STRENGTH = 0.4

# Angles of the arc of a game.
ARC = np.linspace(0.0, np.pi, 33)


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


def columns_for(count: int) -> int:
    """Return the panels in a row: all up to three, else two rows."""
    return count if count <= 3 else math.ceil(count / 2)


def sheet_width(count: int, width: int) -> int:
    """Return the width of a sheet on which each of ``count`` panels has this width."""
    return columns_for(count) * (width + GAP) - GAP


def sheet(
    panels: Sequence[Panel],
    width: int,
    shape: float,
    theme: str = "light",
    below: Chart | None = None,
    footer: tuple[str, str] | None = None,
) -> Pixels:
    """Draw panels side by side.

    Args:
        panels: at least one; the last row is filled up with empty ones.
        width: in pixels.
        shape: height of a panel by its width.
        theme: ``"light"`` or ``"dark"``.
        below: a chart below them; None for none.
        footer: text at the bottom left and right; None for none.

    Returns:
        uint8, shape (height, width, 3); the height is even.
    """
    columns = columns_for(len(panels))
    wide = (width - (columns - 1) * GAP) // columns
    high = max(LEAST_HEIGHT, round(shape * wide))
    places = [
        Rect((wide + GAP) * column, (high + GAP) * row, wide, high)
        for row in range(math.ceil(len(panels) / columns))
        for column in range(columns)
    ]
    top, scale = places[-1].bottom, scale_of(wide, high)
    middle = top + (0 if below is None else max(100, round(CHART_SHAPE * width)))
    bottom = middle + (0 if footer is None else max(28, round(40 * scale)))
    canvas = Canvas(width, bottom + bottom % 2, theme, scale)
    gap, small, grid = canvas.gap, canvas.small, canvas.colour("grid")
    canvas.box(0, 0, width, top, grid)
    for place in places:
        canvas.box(*place.topleft, *place.size, canvas.colour("background"))
    for place, panel in zip(places, panels, strict=False):
        draw_panel(canvas, place, panel)
    if below is not None:
        canvas.box(0, top, width, GAP, grid)
        start, end = top + round(0.6 * gap), middle - round(0.3 * gap)
        draw_chart(canvas, Rect(gap, start, width - 2 * gap, end - start), below)
    if footer is not None:
        canvas.box(0, middle, width, 1, grid)
        y = middle + 0.5 * (bottom - middle - line_height(small))
        canvas.text(gap, y, footer[0], small, canvas.colour("muted"))
        canvas.text(width - gap, y, footer[1], small, canvas.colour("ink"), anchor="right")
    return canvas.pixels()


def draw_panel(canvas: Canvas, box: Rect, panel: Panel) -> None:
    """Draw one picture; texts are readable in a box of ``LEAST_WIDTH`` and ``LEAST_HEIGHT``."""
    gap, scene = canvas.gap, panel.scene
    inner = box.inflate(-2 * gap, 0)
    y = _draw_header(canvas, inner, panel.title, panel.progress)
    shown = [] if scene.beliefs.true_skill is None else [Entry("muted", "true skill", "", True)]
    # A legend of more lines leaves less room for the beliefs.
    y = _draw_legend(canvas, inner, y, [*scene.legend, *shown]) + round(0.2 * gap)
    tiles_height = line_height(canvas.small) + line_height(canvas.value)
    rest = box.bottom - y - tiles_height - round(2.4 * gap)
    skills = Rect(inner.x, y, inner.width, round(0.6 * rest))
    draw_beliefs(canvas, skills, scene.beliefs, panel.limits)
    tiles = Rect(inner.x, skills.bottom + round(0.8 * gap), inner.width, tiles_height)
    _draw_tiles(canvas, tiles, scene.tiles)
    y, half = tiles.bottom + round(0.8 * gap), (inner.width - 2 * gap) // 2
    charts = max(1, box.bottom - y - round(0.8 * gap))
    for x, chart in zip((inner.x, inner.right - half), scene.charts, strict=True):
        place = Rect(x, y, half, charts)
        if isinstance(chart, Chart):
            draw_chart(canvas, place, chart)
        else:
            draw_games(canvas, place, chart, Axis(*panel.limits, x, half))


def _draw_header(canvas: Canvas, box: Rect, title: str, progress: str) -> int:
    """Write title and progress, and return the row below them."""
    gap, y = canvas.gap, box.y + round(0.7 * canvas.gap)
    drop = 0.7 * (line_height(canvas.title) - line_height(canvas.body))
    muted = canvas.colour("muted")
    wide = canvas.text(box.right, y + drop, progress, canvas.body, muted, anchor="right")
    title = shortened(title, canvas.title, box.width - gap - wide, bold=True)
    canvas.text(box.x, y, title, canvas.title, canvas.colour("ink"), bold=True)
    return y + line_height(canvas.title) + round(0.3 * gap)


def _draw_legend(canvas: Canvas, box: Rect, y: int, legend: Sequence[Entry]) -> int:
    """Draw entries from row y in as many lines as they need, and return the row below them."""
    size = canvas.body
    line, side = line_height(size), 0.75 * size
    x = float(box.x)
    for entry in legend:
        wide = 1.4 * size + max(text_width(each, size) for each in (entry.name, entry.widest))
        if x > box.x and x + wide + 0.6 * size > box.right:
            x, y = float(box.x), y + line
        top, colour = y + round(0.5 * (line - side)), canvas.colour(entry.colour)
        if entry.triangle:
            canvas.triangle(x + 0.5 * side, top, side, colour)
        else:
            canvas.box(x, top, side, side, colour)
        canvas.text(x + 1.4 * size, y, entry.name, size, canvas.colour("ink"))
        x += wide + 1.6 * size
    return y + line


def draw_beliefs(canvas: Canvas, box: Rect, beliefs: Beliefs, limits: Limits) -> None:
    """Draw a density for each belief on the skill axis, and marks for the true skills.

    The narrower a belief, the higher its curve. The heights are not to scale: densities would
    leave all others flat once player 0 is known.
    """
    marks = 3 if beliefs.true_skill is None else canvas.mark + 3
    curves = Rect(box.x, box.y, box.width, max(8, box.height - marks - line_height(canvas.small)))
    axis = Axis(*limits, box.x, box.width)
    # A curve narrower than a pixel would fall between the columns.
    sigma = np.maximum(beliefs.sigma, 0.5 * (axis.high - axis.low) / box.width)
    typical = TYPICAL_SIGMA * (axis.high - axis.low)
    peaks = 0.97 * curves.height * typical / (typical + sigma)
    online, offline = beliefs.others()
    canvas.clip(curves)
    bell = np.exp(-0.5 * OUTLINE**2)

    def outline(player: int) -> tuple[Floats, Floats]:
        x = axis.at(beliefs.mu[player] + sigma[player] * OUTLINE)
        return x, curves.bottom - peaks[player] * bell

    def drawn(shown: NDArray[np.bool_]) -> list[int]:
        players: list[int] = np.flatnonzero(shown).tolist()
        return players[:: math.ceil(len(players) / MOST_OTHERS) or 1]

    for player in drawn(offline):
        canvas.line(*outline(player), canvas.colour("others", OFFLINE_STRENGTH), 1.0)
    share = min(MOST_FOR_ONE, 1.0 - SHARE_LEFT ** (1.0 / (0.6 * max(1, len(drawn(online))))))
    for player in drawn(online):
        canvas.area(*outline(player), canvas.colour("others"), share)
    for player in drawn(online):
        canvas.line(*outline(player), canvas.colour("others", OUTLINE_STRENGTH), 1.0)
    for player, name in beliefs.strong:
        canvas.area(*outline(player), canvas.colour(name), FILL)
        canvas.line(*outline(player), canvas.colour(name), canvas.thick)
    canvas.clip(None)
    if beliefs.true_skill is not None:
        _draw_true_skills(canvas, curves, beliefs, axis.at(beliefs.true_skill))
    most = max(2, box.width // (4 * canvas.small))
    _draw_axis(canvas, axis, curves.bottom, marks + 1, "skill", most)


def _draw_true_skills(canvas: Canvas, curves: Rect, beliefs: Beliefs, x: Floats) -> None:
    """Draw a line at ``x``, (n,), for each of the others, and a triangle for each strong player."""
    mark = canvas.mark
    for others, strength in zip(beliefs.others(), (1.0, OFFLINE_STRENGTH), strict=True):
        colour = canvas.colour("others", strength * min(0.9, max(0.25, 90.0 / max(1, x.size))))
        for place in x[others & (x >= curves.x) & (x < curves.right)].tolist():
            canvas.box(math.floor(place), curves.bottom + 3, 1, mark - 1, colour)
    for player, name in beliefs.strong:
        line = Rect(round(x[player]), curves.y, 1, curves.height)
        canvas.dashes(line, canvas.colour(name, 0.75), 3)
        canvas.triangle(round(x[player]) + 0.5, curves.bottom + 2, mark, canvas.colour(name))


def _draw_axis(canvas: Canvas, axis: Axis, y: int, drop: int, label: str, most: int) -> None:
    """Draw a line in row y, at most ``most`` numbers ``drop`` rows below, a label at the right."""
    small, muted, right = canvas.small, canvas.colour("muted"), axis.start + axis.length
    canvas.box(axis.start, y, axis.length, 1, muted)
    wide = canvas.text(right, y + drop, label, small, muted, anchor="right")
    for value, written in ticks(axis.low, axis.high, most):
        x, half = float(axis.at(value)), text_width(written, small) / 2
        if x - half >= axis.start - canvas.gap and x + half <= right - wide - 0.7 * small:
            canvas.box(x, y, 1, 4, muted)
            canvas.text(x, y + drop, written, small, muted, anchor="centre")


def _draw_tiles(canvas: Canvas, box: Rect, tiles: Sequence[tuple[str, str]]) -> None:
    """Write numbers in large letters side by side."""
    small, share = canvas.small, box.width / len(tiles)
    room, y = share - 0.5 * small, box.y + line_height(small)
    sizes = range(canvas.value, small - 3, -1)
    fitting = (size for size in sizes
               if all(text_width(text, size, bold=True) <= room for _, text in tiles))  # fmt: skip
    size = next(fitting, small - 2)
    for place, (label, text) in enumerate(tiles):
        x, label = box.x + share * place, shortened(label, small, room)
        canvas.text(x, box.y, label, small, canvas.colour("muted"))
        canvas.text(x, y, text, size, canvas.colour("ink"), bold=True)


def draw_chart(canvas: Canvas, box: Rect, chart: Chart) -> None:
    """Draw a chart with its titles and ticks in a box."""
    small, muted = canvas.small, canvas.colour("muted")
    line = line_height(small)
    low, high = chart.limits
    rows = max(8, box.height - 2 * line - 6)
    bottom = box.y + line + 4 + rows
    # Above a level with a name is the name.
    highest = chart.level[0] if chart.level is not None and chart.level[1] else high
    most = min(MOST_TICKS, max(1, round(rows / (1.4 * small))))
    marks = [(value, text) for value, text in ticks(low, high, most) if value <= highest]
    margin = max(text_width(text, small) for _, text in [*marks, (0.0, "")]) + 8
    plot = Rect(box.x + margin, bottom - rows, max(8, box.width - margin), rows)
    along = Axis(0.0, chart.last, plot.x, plot.width)
    upright = Axis(low, high, bottom, -rows)
    _draw_titles(canvas, box, chart.titles)
    for value, text in marks:
        y = float(upright.at(value))
        canvas.box(plot.x, y, plot.width, 1, canvas.colour("grid"))
        canvas.text(plot.x - 8, y - line / 2, text, small, muted, anchor="right")
    if chart.level is not None:
        y = float(upright.at(chart.level[0]))
        canvas.dashes(Rect(plot.x, round(y), plot.width, 1), muted)
        canvas.text(plot.right, y - line, chart.level[1], small, muted, anchor="right")
    if chart.dots is not None:
        values, name = chart.dots
        radius = float(np.clip(2.6 * (50.0 / chart.last) ** 0.25, 1.0, 2.6))
        x = along.at(np.arange(1.0, values.size + 1.0))
        canvas.dots(x, upright.at(values), radius, canvas.colour(name, DOT_STRENGTH))
    for values, name in chart.curves:
        if values.size:
            units = np.arange(1.0, values.size + 1.0)
            shown = np.linspace(1.0, values.size, min(values.size, SCALE * plot.width))
            heights = upright.at(np.interp(shown, units, values))
            canvas.line(along.at(shown), heights, canvas.colour(name), canvas.thick)
    last = f"{chart.last:,} {chart.unit}{'s' if chart.last != 1 else ''}"
    most = min(chart.last, max(1, plot.width // (5 * small)))
    _draw_axis(canvas, along, bottom, 3, last, most)
    canvas.box(plot.right - 1, bottom, 1, 4, muted)


def draw_games(canvas: Canvas, box: Rect, games: Games, axis: Axis) -> None:
    """Draw games as arcs between the players' means, and below them each one's waiting time."""
    _draw_titles(canvas, box, [("games under way", "truth"), ("ticks waited", "muted")])
    top, bottom = box.y + line_height(canvas.small) + 4, box.bottom - 4
    middle = top + round(0.6 * (bottom - top))
    for left, right in axis.at(np.sort(games.ends, axis=1)).tolist():
        reach = 0.5 * (right - left)
        rise = (middle - top) * min(1.0, 0.15 + 2.0 * reach / box.width)
        x = left + reach * (1.0 - np.cos(ARC))
        canvas.line(x, middle - rise * np.sin(ARC), canvas.colour("truth", 0.7), 1.0)
    canvas.box(box.x, middle, box.width, 1, canvas.colour("muted"))
    for k, (x, waited) in enumerate(zip(axis.at(games.mu), games.waited, strict=True)):
        height = 2 + float(waited) / games.longest * (bottom - middle - 4)
        colour = canvas.colour("player" if k == games.asked else "others")
        canvas.box(x - 1, middle + 2, 2, height, colour)


def _draw_titles(canvas: Canvas, box: Rect, titles: Sequence[tuple[str, str]]) -> None:
    """Write the titles of a chart that have room, one after another."""
    small, x = canvas.small, box.x
    for text, name in titles:
        whole = shortened(text, small, box.right - x)
        if whole != text and x > box.x:
            return
        x += canvas.text(x, box.y, whole, small, canvas.colour(name)) + small


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
