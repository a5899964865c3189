"""The skill axis: beliefs as bells, true skills as marks."""

from __future__ import annotations

import numpy as np

from matchenv.rendering.axis import Axis, Floats, number_text, tick_step, tick_text, ticks
from matchenv.rendering.canvas import Canvas, line_height, mixed, text_width
from matchenv.rendering.curves import (
    MANY_BELLS,
    PLACES,
    bell_heights,
    column_places,
    crowd_coverage,
    filled_coverage,
    peak_heights,
    stroke_coverage,
)
from matchenv.rendering.layout import Box, Sizes
from matchenv.rendering.scene import Scene
from matchenv.rendering.theme import Colour, Theme

# Bells of more players than this get no outline of their own.
OUTLINED = 100

# Places of an outline, in standard deviations from the mean.
OUTLINE = np.linspace(-3.5, 3.5, 57)
FILL = 0.3
OUTLINE_STRENGTH = 0.6

# Opponents who are offline are hollow and pale.
OFFLINE_STRENGTH = 0.25

Players = np.ndarray[tuple[int], np.dtype[np.int64]]

# Means, deviations and heights of everybody's bell.
Bells = tuple[Floats, Floats, Floats]


def draw_skills(canvas: Canvas, box: Box, scene: Scene, theme: Theme, sizes: Sizes) -> None:
    """Draw the axis with everybody's bell, and the marks where true skills may be shown."""
    marks = sizes.mark + 3 if scene.true_skill is not None else 3
    rows = max(8, box.height - marks - line_height(sizes.small))
    base = box.y + rows
    axis = Axis(*scene.skill_range, box.width)
    # A bell narrower than a pixel would fall between the columns.
    sigma = np.maximum(scene.sigma, 0.5 * (axis.high - axis.low) / box.width)
    peaks = peak_heights(sigma, scene.first_sigma, 0.97 * rows)
    online, offline = _others(scene)
    bells = scene.mu, sigma, peaks
    pale = mixed(theme.others, theme.background, OFFLINE_STRENGTH)
    _draw_outlines(canvas, box, rows, axis, bells, offline, pale)
    _draw_others(canvas, box, rows, axis, bells, online, theme)
    strong = [(0, theme.player)]
    if scene.opponent is not None:
        strong.insert(0, (scene.opponent, theme.opponent))
    for player, colour in strong:
        _draw_bell(
            canvas,
            box,
            rows,
            axis,
            (float(scene.mu[player]), float(sigma[player]), float(peaks[player])),
            colour,
            sizes.thick,
        )
    canvas.box(box.x, base, box.width, 1, theme.muted)
    if scene.true_skill is not None:
        _draw_marks(canvas, box, base, rows, axis, scene, scene.true_skill, theme, sizes)
    _draw_ticks(canvas, box, base, axis, theme, sizes, marks)


def player_text(scene: Scene, player: int) -> str:
    """A player's name, and the belief about the skill."""
    name = "player 0" if player == 0 else f"opponent {player:,}"
    places = 2 if abs(scene.mu[player]) < 1000.0 and scene.sigma[player] >= 0.01 else None
    mu, sigma = number_text(scene.mu[player], places), number_text(scene.sigma[player], places)
    return f"{name}   μ {mu}  σ {sigma}"


def _others(scene: Scene) -> tuple[Players, Players]:
    """Opponents online and offline, but for the one of the last game."""
    everybody = np.arange(1, scene.mu.size)
    others = everybody[everybody != scene.opponent]
    if scene.online is None:
        return others, others[:0]
    online = scene.online[others - 1]
    return others[online], others[~online]


def _draw_others(
    canvas: Canvas, box: Box, rows: int, axis: Axis, bells: Bells, who: Players, theme: Theme
) -> None:
    if who.size == 0:
        return
    mu, sigma, peaks = bells
    places = PLACES if who.size <= MANY_BELLS else 1
    at = axis.value(column_places(box.width, places))
    heights = bell_heights(at, mu[who], sigma[who], peaks[who])
    # Nothing is covered above the highest.
    used = min(rows, int(np.ceil(heights.max())) + 1)
    covered = crowd_coverage(heights, used, places)
    canvas.cover(box.x, box.y + rows - used, covered, theme.others)
    colour = mixed(theme.others, theme.background, OUTLINE_STRENGTH)
    _draw_outlines(canvas, box, rows, axis, bells, who, colour)


def _draw_outlines(
    canvas: Canvas, box: Box, rows: int, axis: Axis, bells: Bells, who: Players, colour: Colour
) -> None:
    if not 0 < who.size <= OUTLINED:
        return
    mu, sigma, peaks = bells
    bell = np.exp(-0.5 * OUTLINE**2)
    x = box.x + axis.at(mu[who, np.newaxis] + sigma[who, np.newaxis] * OUTLINE)
    y = box.y + rows - peaks[who, np.newaxis] * bell
    inside = (x >= box.x) & (x <= box.right)
    for xs, ys, kept in zip(x, y, inside, strict=True):
        if kept.sum() > 1:
            canvas.polyline(list(zip(xs[kept].tolist(), ys[kept].tolist(), strict=True)), colour)


def _draw_bell(
    canvas: Canvas,
    box: Box,
    rows: int,
    axis: Axis,
    bell: tuple[float, float, float],
    colour: Colour,
    thick: float,
) -> None:
    mu, sigma, peak = bell
    reach = 3.3 * sigma
    left = max(0, int(np.floor(axis.at(mu - reach))))
    right = min(box.width, int(np.ceil(axis.at(mu + reach))) + 1)
    if left >= right:
        return
    each = np.array([mu]), np.array([sigma]), np.array([peak])
    at = axis.value(left + column_places(right - left, PLACES))
    heights = bell_heights(at, *each)[0]
    canvas.cover(box.x + left, box.y, FILL * filled_coverage(heights, rows, PLACES), colour)
    middles = bell_heights(axis.value(left + column_places(right - left, 1)), *each)[0]
    canvas.cover(box.x + left, box.y, stroke_coverage(middles, rows, thick), colour)


def _draw_marks(
    canvas: Canvas,
    box: Box,
    base: int,
    rows: int,
    axis: Axis,
    scene: Scene,
    true_skill: Floats,
    theme: Theme,
    sizes: Sizes,
) -> None:
    x = box.x + axis.at(true_skill)
    online, offline = _others(scene)
    others = np.concatenate((online, offline))
    strength = 0.9 if others.size <= OUTLINED else max(0.25, 30.0 / others.size)
    strengths = np.repeat((strength, OFFLINE_STRENGTH * strength), (online.size, offline.size))
    within = (x[others] >= box.x) & (x[others] < box.right)
    places = (x[others][within] - box.x).astype(np.int64)
    rug = np.minimum(1.0, np.bincount(places, strengths[within], minlength=box.width))
    canvas.cover(box.x, base + 3, np.tile(rug, (sizes.mark - 1, 1)), theme.others)
    strong = [(0, theme.player)]
    if scene.opponent is not None:
        strong.insert(0, (scene.opponent, theme.opponent))
    for player, colour in strong:
        line = mixed(colour, theme.background, 0.75)
        canvas.upright_dashes(round(x[player]), base - rows, rows, line, 3)
    for player, colour in strong:
        canvas.triangle(x[player], base + 2, sizes.mark, colour)


def _draw_ticks(
    canvas: Canvas, box: Box, base: int, axis: Axis, theme: Theme, sizes: Sizes, marks: int
) -> None:
    span = axis.high - axis.low
    most = max(2, box.width // (4 * sizes.small))
    step = tick_step(span, most)
    y = base + marks + 1
    name = "skill"
    canvas.text(box.right, y, name, sizes.small, theme.muted, anchor="right")
    free_until = box.right - text_width(name, sizes.small) - sizes.small
    for value in ticks(axis.low, axis.high, step):
        written = tick_text(value, step)
        x, half = box.x + float(axis.at(value)), text_width(written, sizes.small) / 2
        if x - half >= box.x - sizes.gap and x + half <= free_until:
            canvas.box(x, base, 1, 4, theme.muted)
            canvas.text(x, y, written, sizes.small, theme.muted, anchor="centre")
