"""Charts over the games of an episode: q of every game, and its running total."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from matchenv.rendering.axis import Axis, Floats, number_text, tick_step, tick_text, ticks
from matchenv.rendering.canvas import Canvas, line_height, shortened, text_width
from matchenv.rendering.curves import column_places, dots_coverage, stroke_coverage
from matchenv.rendering.layout import Box, Sizes
from matchenv.rendering.scene import Scene
from matchenv.rendering.theme import Colour, Theme

# The line through the dots is the mean of this part of the horizon's last games.
WINDOW_SHARE = 0.05
DOT_STRENGTH = 0.4

# Steps between the numbers of an upright axis.
MOST_TICKS = 5

Curve = tuple[Floats, Colour]


def even_game_density(beta: float) -> float:
    """q of a game between two equal players of known skills, the most that q can be."""
    return 1.0 / math.sqrt(4.0 * math.pi * beta * beta)


def draw_density(canvas: Canvas, box: Box, scene: Scene, theme: Theme, sizes: Sizes) -> None:
    """Draw q of every game as dots, and a moving mean as a line.

    Where true skills are shown the dots are true q, and the mean of q under the belief is a
    second, pale line.
    """
    window = max(1, round(WINDOW_SHARE * scene.horizon))
    most = even_game_density(scene.beta)
    colour = theme.ink if scene.true_draw_density is None else theme.truth
    curves = [(moving_mean(scene.judged_density, window), colour)]
    if scene.true_draw_density is not None:
        curves.insert(0, (moving_mean(scene.draw_density, window), theme.others))
    name = "q of each game" if scene.true_draw_density is None else "true q of each game"
    titles = [(f"{name}, mean of {window:,}" if window > 1 else name, colour)]
    if scene.true_draw_density is not None:
        titles.append(("as believed", theme.muted))
    draw_chart(
        canvas,
        box,
        (scene.horizon, 0.0, 1.25 * most),
        curves,
        theme,
        sizes,
        titles=titles,
        dots=(scene.judged_density, colour),
        level=(most, "even game"),
    )


def draw_total(canvas: Canvas, box: Box, scene: Scene, theme: Theme, sizes: Sizes) -> None:
    """Draw the running total of q, of true q too where true skills are shown."""
    most = even_game_density(scene.beta) * scene.horizon
    colour = theme.ink if scene.true_draw_density is None else theme.truth
    curves = [(np.cumsum(scene.judged_density), colour)]
    name = "running total of q"
    if scene.true_draw_density is not None:
        curves.insert(0, (np.cumsum(scene.draw_density), theme.others))
        name = "running total of true q"
    titles = [(name, colour)]
    if scene.true_draw_density is not None:
        titles.append(("as believed", theme.muted))
    draw_chart(canvas, box, (scene.horizon, 0.0, 1.04 * most), curves, theme, sizes, titles=titles)


def moving_mean(values: Floats, window: int) -> Floats:
    """Mean of the last ``window`` values, of fewer at the start; the shape of ``values``."""
    sums = np.concatenate(([0.0], np.cumsum(values)))
    last = np.arange(1, values.size + 1)
    first = np.maximum(0, last - window)
    return (sums[last] - sums[first]) / (last - first)


def draw_chart(
    canvas: Canvas,
    box: Box,
    limits: tuple[int, float, float],
    curves: Sequence[Curve],
    theme: Theme,
    sizes: Sizes,
    *,
    titles: Sequence[tuple[str, Colour]],
    dots: Curve | None = None,
    level: tuple[float, str] | None = None,
    unit: str = "game",
) -> None:
    """Draw curves over the games, or over the ticks of a queue.

    Args:
        canvas: what to draw on.
        box: where, with room for title and ticks.
        limits: games on the axis, and the lowest and highest value.
        curves: a value after each game so far, and a colour; the last is drawn on top.
        theme: colours.
        sizes: of letters and lines.
        titles: what stands above, one after another, each in a colour.
        dots: values that are no curve, and their colour.
        level: a value worth a line of dashes, and its name.
        unit: what is counted from left to right.
    """
    horizon, low, high = limits
    line = line_height(sizes.small)
    rows = max(8, box.height - 2 * line - 6)
    top = box.y + line + 4
    most_ticks = min(MOST_TICKS, max(1, round(rows / (1.4 * sizes.small))))
    step = tick_step(high - low, most_ticks)
    # Above a level with a name stands the name.
    highest = level[0] if level is not None and level[1] else high
    values = ticks(low, highest, step)
    written = [tick_text(value, step) for value in values]
    margin = max(text_width(each, sizes.small) for each in [*written, ""]) + 8
    x, width = box.x + margin, max(8, box.width - margin)
    upright, along = Axis(low, high, rows), Axis(0.0, float(horizon), width)
    _draw_titles(canvas, box, titles, sizes)
    for value, text in zip(values, written, strict=True):
        y = top + rows - float(upright.at(value))
        canvas.box(x, y, width, 1, theme.grid)
        canvas.text(x - 8, y - line / 2, text, sizes.small, theme.muted, anchor="right")
    if level is not None:
        y = top + rows - float(upright.at(level[0]))
        canvas.dashes(x, y, width, theme.muted)
        if level[1]:
            canvas.text(x + width, y - line, level[1], sizes.small, theme.muted, anchor="right")
    if dots is not None and dots[0].size:
        games = np.arange(1.0, dots[0].size + 1.0)
        radius = float(np.clip(2.6 * (50.0 / horizon) ** 0.25, 1.0, 2.6))
        covered = dots_coverage(along.at(games), upright.at(dots[0]), rows, width, radius)
        canvas.cover(x, top, DOT_STRENGTH * covered, dots[1])
    for curve, colour in curves:
        _draw_curve(canvas, (x, top, width, rows), along, upright, curve, colour, sizes.thick)
    _draw_games(canvas, x, top + rows, width, along, theme, sizes, unit)


def _draw_curve(
    canvas: Canvas,
    place: tuple[int, int, int, int],
    along: Axis,
    upright: Axis,
    curve: Floats,
    colour: Colour,
    thick: float,
) -> None:
    if curve.size == 0:
        return
    x, top, width, rows = place
    games = along.value(column_places(width, 1))
    heights = np.interp(games, np.arange(1, curve.size + 1), upright.at(curve))
    step = along.high / width
    heights[(games < min(1.0, curve.size) - step) | (games > curve.size + step)] = np.nan
    canvas.cover(x, top, stroke_coverage(heights, rows, thick), colour)


def _draw_titles(
    canvas: Canvas, box: Box, titles: Sequence[tuple[str, Colour]], sizes: Sizes
) -> None:
    x = box.x
    for text, colour in titles:
        room = box.right - x
        whole = shortened(text, sizes.small, room)
        if whole != text and x > box.x:
            return
        x += canvas.text(x, box.y, whole, sizes.small, colour) + sizes.small


def _draw_games(
    canvas: Canvas,
    x: int,
    base: int,
    width: int,
    along: Axis,
    theme: Theme,
    sizes: Sizes,
    unit: str,
) -> None:
    canvas.box(x, base, width, 1, theme.muted)
    last = f"{round(along.high):,} {unit}s" if along.high != 1.0 else f"1 {unit}"
    canvas.text(x + width, base + 3, last, sizes.small, theme.muted, anchor="right")
    canvas.box(x + width - 1, base, 1, 4, theme.muted)
    free_until = x + width - text_width(last, sizes.small) - 0.7 * sizes.small
    most = max(1, width // (5 * sizes.small))
    step = max(1.0, tick_step(along.high, most))
    for value in ticks(0.0, along.high, step):
        written = number_text(value, 0)
        place, half = x + float(along.at(value)), text_width(written, sizes.small) / 2
        if place + half <= free_until:
            canvas.box(place, base, 1, 4, theme.muted)
            canvas.text(place, base + 3, written, sizes.small, theme.muted, anchor="centre")
