"""A moment of a queue as a picture: who waits, games under way, waiting times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.queue.view import NOBODY, WaitingPlayers
from matchenv.rendering.axis import Axis
from matchenv.rendering.canvas import Canvas, line_height, mixed
from matchenv.rendering.charts import draw_chart
from matchenv.rendering.layout import Box, Parts, Sizes
from matchenv.rendering.picture import (
    MARK,
    SWATCH,
    Entry,
    draw_legend,
    draw_tiles,
    draw_title,
    legend_lines,
)
from matchenv.rendering.scene import Scene, skill_range, widened_range
from matchenv.rendering.skills import draw_skills
from matchenv.rendering.theme import LIGHT, Theme

Pixels = NDArray[np.uint8]
Floats = NDArray[np.float64]

# Points of the arc of a game.
ARC = np.linspace(0.0, np.pi, 33)

# A length of the queue that the chart has room for at least.
LEAST_LENGTH = 4.0


@dataclass(frozen=True)
class QueueScene:
    """What a picture shows of a queue.

    Attributes:
        waiting: everyone who waits.
        games: means of the two players of each game under way, shape (G, 2).
        lengths: how many waited when each tick was last looked at, shape (ticks,).
        matched: players who were matched.
        abandoned: players who gave up.
        mean_wait: ticks, of all who left the queue.
        title: what stands above.
    """

    waiting: WaitingPlayers
    games: Floats
    lengths: Floats
    matched: int
    abandoned: int
    mean_wait: float
    title: str = "MatchmakingQueue-v0"


def draw_queue(scene: QueueScene, width: int, height: int, theme: Theme = LIGHT) -> Pixels:
    """The picture of one moment of a queue.

    Args:
        scene: what to show.
        width: in pixels.
        height: in pixels.
        theme: colours.

    Returns:
        uint8, shape (height, width, 3). The same scene gives the same picture.
    """
    waiting = scene.waiting
    canvas, sizes = Canvas(width, height, theme.background), Sizes.of(width, height)
    lines = legend_lines(_legend(waiting, theme), width - 2 * sizes.gap, sizes.body)
    parts = Parts.of(width, height, sizes, len(lines))
    horizon = waiting.settings.horizon
    progress = f"tick {waiting.tick:,} of {horizon:,}"
    draw_title(canvas, parts.title, scene.title, progress, theme, sizes)
    draw_legend(canvas, parts.legend, lines, theme, sizes)
    axis = _axis(scene)
    if waiting.focal != NOBODY:
        draw_skills(canvas, parts.skills, _skills(waiting, axis), theme, sizes)
    tiles = [
        ("waiting", f"{waiting.mu.size:,}"),
        ("playing", f"{waiting.playing:,}"),
        ("matched", f"{scene.matched:,}"),
        ("gave up", f"{scene.abandoned:,}"),
        ("mean wait", f"{scene.mean_wait:.2f}"),
    ]
    draw_tiles(canvas, parts.tiles, tiles, "1,000", theme, sizes)
    most = max(LEAST_LENGTH, 1.1 * float(scene.lengths.max(initial=0.0)))
    draw_chart(
        canvas,
        parts.density,
        (horizon, 0.0, most),
        [(scene.lengths, theme.ink)],
        theme,
        sizes,
        titles=[("players who wait", theme.ink)],
        unit="tick",
    )
    _draw_games(canvas, parts.total, scene, axis, theme, sizes)
    return canvas.pixels


def _legend(waiting: WaitingPlayers, theme: Theme) -> list[Entry]:
    entries: list[Entry] = []
    if waiting.focal != NOBODY:
        shown = [(waiting.focal, theme.player, "asked")]
        shown += [(int(k), theme.opponent, "nearest") for k in waiting.filled[:1]]
        entries = [
            (SWATCH, colour, f"{name}: player {waiting.player[k]}, {waiting.waited[k]} ticks")
            for k, colour, name in shown
        ]
    others = waiting.mu.size - len(entries)
    return [*entries, (SWATCH, theme.others, f"others ({others:,})"),
            (MARK, theme.muted, "true skill")]  # fmt: skip


def _axis(scene: QueueScene) -> tuple[float, float]:
    """The skills that the picture reaches over: the population's, and all who are there."""
    waiting, population = scene.waiting, scene.waiting.settings.population
    mean, deviation = np.array([population.mean]), np.array([population.deviation])
    first = skill_range(mean, deviation, None)
    if waiting.mu.size:
        first = widened_range(first, skill_range(waiting.mu, waiting.sigma, waiting.true_skill))
    if scene.games.size:
        first = widened_range(first, (float(scene.games.min()), float(scene.games.max())))
    return first


def _skills(waiting: WaitingPlayers, axis: tuple[float, float]) -> Scene:
    """The focal player as player 0, and the nearest candidate as the last opponent."""
    others = [k for k in range(waiting.mu.size) if k != waiting.focal]
    order = np.array([waiting.focal, *others])
    nearest = [others.index(int(k)) for k in waiting.filled[:1]]
    return Scene(
        mu=waiting.mu[order],
        sigma=waiting.sigma[order],
        horizon=waiting.settings.horizon,
        beta=waiting.settings.beta,
        first_sigma=0.5 * waiting.settings.population.deviation,
        skill_range=axis,
        opponents=np.array(nearest, dtype=np.int64),
        outcomes=np.zeros(len(nearest), dtype=np.int64),
        draw_density=np.zeros(len(nearest)),
        true_skill=waiting.true_skill[order],
    )


def _draw_games(
    canvas: Canvas,
    box: Box,
    scene: QueueScene,
    ends: tuple[float, float],
    theme: Theme,
    sizes: Sizes,
) -> None:
    """Games as arcs between the players' means, and below them a bar for each one's waiting."""
    waiting, line = scene.waiting, line_height(sizes.small)
    canvas.text(box.x, box.y, "games under way", sizes.small, theme.truth)
    canvas.text(box.right, box.y, "ticks waited", sizes.small, theme.muted, anchor="right")
    axis = Axis(*ends, box.width)
    top, bottom = box.y + line + 4, box.bottom - 4
    middle = top + round(0.6 * (bottom - top))
    colour = mixed(theme.truth, theme.background, 0.7)
    for low, high in np.sort(scene.games, axis=1):
        left, right = float(axis.at(low)), float(axis.at(high))
        reach = 0.5 * (right - left)
        rise = (middle - top) * min(1.0, 0.15 + 2.0 * reach / box.width)
        x = box.x + left + reach * (1.0 - np.cos(ARC))
        y = middle - rise * np.sin(ARC)
        canvas.polyline(list(zip(x.tolist(), y.tolist(), strict=True)), colour)
    canvas.box(box.x, middle, box.width, 1, theme.muted)
    longest = max(waiting.settings.game_length, int(waiting.waited.max(initial=0)))
    for k in range(waiting.mu.size):
        share = float(waiting.waited[k]) / longest
        ink = theme.player if k == waiting.focal else theme.others
        place = box.x + float(axis.at(waiting.mu[k])) - 1
        canvas.box(place, middle + 2, 2, 2 + share * (bottom - middle - 4), ink)
