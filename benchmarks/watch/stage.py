"""Policies side by side in one instance of any environment, and their common picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from pygame import Rect

from matchenv.belief import TRUE_SKILL
from matchenv.envs import part_of
from matchenv.envs.core.rendering import Floats, Pixels
from matchenv.envs.core.settings import Options
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.registry import policy_named
from matchenv.evaluation.rollout import Batch, Decisions, belief_of, one_thread
from matchenv.evaluation.seeds import (
    INSTANCES,
    POLICIES,
    QUEUE,
    REPORT,
    episode_seeds,
    policy_key,
    stream_of,
)
from matchenv.rendering.canvas import Canvas, line_height, scale_of
from matchenv.rendering.picture import (
    GAP,
    LEAST_HEIGHT,
    LEAST_WIDTH,
    draw_chart,
    draw_panels,
    places_of,
    tick_step,
)
from matchenv.rendering.scene import Chart, Renderer
from matchenv.runtime.checks import as_integer

# More side by side would be unreadable.
MOST_POLICIES = 6
MOST_WIDTH = 7680

# Usual width of a panel alone, and of one among several.
ALONE_WIDTH, PANEL_WIDTH = 800, 480

# Height of a panel by its width, in one row and in two, which must fit on a screen; height of
# the chart below all panels by their common width.
ROW_SHAPE, ROWS_SHAPE = 0.9, 0.75
CHART_SHAPE = 0.13

# Colours of the compared policies.
LINES = ("truth", "purple", "player", "opponent", "olive")


class Performer(NamedTuple):
    """A policy in its own copy of the episode, a batch of one."""

    batch: Batch
    decisions: Decisions
    renderer: Renderer[Any]


class Stage:
    """An instance of an environment, and policies that play it with the same random numbers.

    The instance is that of episode ``episode`` of a comparison with the same seed.

    Args:
        policies: texts as ``policy_named`` takes them, at most ``MOST_POLICIES``.
        settings: of the environment. The belief of ``Matchmaking-v0`` is each policy's own.
        seed: random seed.
        episode: index of the instance.
        show_true_skill: whether pictures show true skills and what follows from them.

    Raises:
        ValueError: for no policy, too many or one twice, an unknown one, or one that cannot
            play with these settings.
    """

    def __init__(
        self,
        policies: Sequence[str],
        settings: Options,
        *,
        seed: int = 0,
        episode: int = 0,
        show_true_skill: bool = True,
    ) -> None:
        self.policies = list(policies)
        count = len(self.policies)
        if not 1 <= count <= MOST_POLICIES or len(set(self.policies)) < count:
            raise ValueError(
                f"policy must name 1 to {MOST_POLICIES} policies, none of them twice, "
                f"got {' '.join(self.policies) or 'none'}"
            )
        self.settings = settings
        self.seed = as_integer("seed", seed, 0)
        self.episode = as_integer("episode", episode, 0)
        self.show_true_skill = show_true_skill
        self.clock = 0
        self.performers = [self._performer(text) for text in self.policies]

    @property
    def horizon(self) -> int:
        """Games or ticks in the episode."""
        horizon: int = self.settings.horizon  # type: ignore[attr-defined]
        return horizon

    @property
    def unit(self) -> str:
        """``"game"`` or ``"tick"``."""
        return self.performers[0].renderer.unit

    @property
    def is_over(self) -> bool:
        """True if the episode has ended."""
        return self.clock == self.horizon

    def step(self, count: int = 1) -> None:
        """Let every policy play ``count`` games or ticks, or as many as are left."""
        self.clock = min(self.clock + count, self.horizon)
        with one_thread():
            for performer in self.performers:
                batch, renderer = performer.batch, performer.renderer
                while batch.running[0] and renderer.clock(batch.state, 0) < self.clock:
                    actions = performer.decisions.of(batch)
                    rewards = batch.step(actions, strict=performer.decisions.knows_masks).reward
                    renderer.add(batch.state, actions, rewards, np.ones(1, dtype=np.bool_))

    def next_instance(self) -> Stage:
        """Return the same policies at the start of the next episode."""
        return Stage(
            self.policies,
            self.settings,
            seed=self.seed,
            episode=self.episode + 1,
            show_true_skill=self.show_true_skill,
        )

    def totals(self) -> tuple[str, list[Floats]]:
        """Return the name of the compared quantity and each policy's running total of it."""
        totals = [performer.renderer.total(0) for performer in self.performers]
        return totals[0][0], [values[: self.clock] for _, values in totals]

    def picture(
        self, width: int, theme: str = "light", footer: tuple[str, str] | None = None
    ) -> Pixels:
        """Draw all policies on one skill axis, and below them how far their totals are apart.

        Args:
            width: in pixels.
            theme: ``"light"`` or ``"dark"``.
            footer: text at the bottom left and right, None for no footer.

        Returns:
            uint8, shape (height, width, 3), both even.
        """
        count, compared = len(self.performers), len(self.performers) > 1
        places = panels(count, width)
        top, right, scale = places[-1].bottom, places[-1].right, scale_of(*places[0].size)
        below = top + (max(100, round(CHART_SHAPE * width)) if compared else 0)
        bottom = below + (max(28, round(40 * scale)) if footer else 0)
        canvas = Canvas(width, bottom + bottom % 2, theme, scale)
        draw_panels(canvas, places)
        ends = [each.renderer.limits(each.batch.state, 0) for each in self.performers]
        limits = min(low for low, _ in ends), max(high for _, high in ends)
        for place, name, each in zip(places, self.policies, self.performers, strict=False):
            each.renderer.draw(canvas, place, each.batch.state, 0, name, limits)
        if compared:
            self._draw_differences(canvas, Rect(0, top, right, below - top))
        if footer is not None:
            canvas.box(0, below, right, 1, canvas.colour("grid"))
            small, gap = canvas.small, canvas.gap
            y = below + 0.5 * (bottom - below - line_height(small))
            canvas.text(gap, y, footer[0], small, canvas.colour("muted"))
            ink = canvas.colour("ink")
            canvas.text(right - gap, y, footer[1], small, ink, anchor="right")
        return canvas.pixels()

    def _draw_differences(self, canvas: Canvas, box: Rect) -> None:
        """Draw the running totals of all policies but the first, each minus the first's."""
        name, (first, *others) = self.totals()
        differences = [values - first for values in others]
        ends = [0.0, *(float(end(each)) for each in differences if each.size for end in (min, max))]
        low, high = min(-0.5, *ends), max(0.5, *ends)
        # The axis grows by steps, so that it seldom moves.
        step = tick_step(high - low, 4)
        titles = [(f"{name}, minus that of {self.policies[0]}:", "muted")]
        chart = Chart(
            titles=[*titles, *zip(self.policies[1:], LINES, strict=False)],
            last=self.horizon,
            unit=self.unit,
            limits=(step * math.floor(low / step), step * math.ceil(high / step)),
            curves=list(zip(differences, LINES, strict=False)),
            level=(0.0, ""),
        )
        canvas.box(*box.topleft, box.width, GAP, canvas.colour("grid"))
        gap, top, bottom = canvas.gap, round(0.6 * canvas.gap), round(0.3 * canvas.gap)
        plot = Rect(gap, box.y + top, box.width - 2 * gap, box.height - top - bottom)
        draw_chart(canvas, plot, chart)

    def _performer(self, text: str) -> Performer:
        settings = self.settings
        key: tuple[int, ...] = (INSTANCES,)
        policy = policy_named(text, settings, lambda: batch.state.players[:, :, TRUE_SKILL])
        if isinstance(settings, Settings):
            settings = replace(settings, belief=belief_of(policy))
        elif isinstance(settings, QueueSettings):
            key = (QUEUE, REPORT, INSTANCES)
        batch = Batch(settings, episode_seeds(self.seed, self.episode, 1, key))
        rng = stream_of(self.seed, POLICIES, self.episode, *policy_key(text))
        renderer = part_of(batch.simulator.env_id, "renderer")(
            batch.simulator, "rgb_array", 1, render_true_skill=self.show_true_skill
        )
        renderer.begin(batch.state, np.zeros(1, dtype=np.int64))
        return Performer(batch, Decisions(policy, rng), renderer)


def columns_for(count: int) -> int:
    """Return the panels in a row: all up to three, else two rows."""
    return count if count <= 3 else math.ceil(count / 2)


def panels(count: int, width: int) -> list[Rect]:
    """Return the places of ``count`` panels in a picture; the rows are full."""
    columns = columns_for(count)
    panel = (width - (columns - 1) * GAP) // columns
    shape = ROW_SHAPE if count == columns else ROWS_SHAPE
    return places_of(count, columns, panel, max(LEAST_HEIGHT, round(shape * panel)))


def checked_width(width: int | None, count: int) -> int:
    """Return a width in which ``count`` panels are readable; even, for films.

    Args:
        width: in pixels; None for the usual one.
        count: panels.

    Raises:
        ValueError: if it is too small or too large.
    """
    columns = columns_for(count)
    if width is None:
        return ALONE_WIDTH if count == 1 else columns * PANEL_WIDTH
    least = columns * LEAST_WIDTH + (columns - 1) * GAP
    return as_integer("width", width, least, MOST_WIDTH) // 2 * 2
