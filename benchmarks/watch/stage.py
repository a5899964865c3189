"""Policies side by side in one instance of any environment, and their common picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from matchenv.belief import TRUE_SKILL
from matchenv.envs import env_id_of, part_of
from matchenv.envs.core.rendering import Pixels
from matchenv.envs.core.settings import Options
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.registry import policy_named
from matchenv.evaluation.rollout import Batch, Decisions, belief_of, one_thread
from matchenv.evaluation.seeds import (
    INSTANCES,
    POLICIES,
    REPORT,
    episode_seeds,
    policy_key,
    stream_of,
)
from matchenv.rendering.canvas import THEMES
from matchenv.rendering.picture import LEAST_WIDTH, columns_for, sheet, sheet_width, tick_step
from matchenv.rendering.scene import SHARED_WIDTH, SINGLE_WIDTH, Chart, Floats, Renderer
from matchenv.runtime.checks import as_choice, as_integer

# More side by side would be unreadable.
MOST_POLICIES = 6
MOST_WIDTH = 7680

# Height of a panel by its width, in one row and in two, which must fit on a screen.
ROW_SHAPE, ROWS_SHAPE = 0.9, 0.75

# Colours of the compared policies.
LINES = ("truth", "purple", "player", "opponent", "olive")


class Performer(NamedTuple):
    """A policy in its own copy of the episode, a batch of one."""

    batch: Batch
    decisions: Decisions
    renderer: Renderer[Any]


@dataclass
class Stage:
    """An instance of an environment, and policies that play it with the same random numbers.

    The instance is that of episode ``episode`` of a comparison with the same seed.

    Args:
        policies: texts as ``policy_named`` takes them, at most ``MOST_POLICIES``.
        settings: of the environment. The belief of ``Matchmaking-v0`` is each policy's own.
        seed: random seed.
        episode: index of the instance.
        show_true_skill: whether pictures show true skills and what follows from them.
        width: of pictures, in pixels; odd ones are one less, for films. None for one that suits
            the number of policies.
        theme: colours, ``"light"`` or ``"dark"``.

    Raises:
        ValueError: for a bad value; for no policy, too many or one twice, an unknown one, or one
            that cannot play with these settings.
    """

    policies: Sequence[str]
    settings: Options
    seed: int = 0
    episode: int = 0
    show_true_skill: bool = True
    width: int | None = None
    theme: str = "light"

    def __post_init__(self) -> None:
        count = len(self.policies)
        if not 1 <= count <= MOST_POLICIES or len(set(self.policies)) < count:
            raise ValueError(
                f"policy must name 1 to {MOST_POLICIES} policies, none of them twice, "
                f"got {' '.join(self.policies) or 'none'}"
            )
        as_integer("seed", self.seed, 0)
        as_integer("episode", self.episode, 0)
        as_choice("theme", self.theme, THEMES)
        usual = SINGLE_WIDTH if count == 1 else columns_for(count) * SHARED_WIDTH
        least = sheet_width(count, LEAST_WIDTH)
        width = usual if self.width is None else as_integer("width", self.width, least, MOST_WIDTH)
        self.even_width = width // 2 * 2
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

    def totals(self) -> tuple[str, list[Floats]]:
        """Return the name of the compared quantity and each policy's running total of it."""
        totals = [performer.renderer.total(0) for performer in self.performers]
        return totals[0][0], [values[: self.clock] for _, values in totals]

    def picture(self, footer: tuple[str, str] | None = None) -> Pixels:
        """Draw all policies on one skill axis, and below them how far their totals are apart.

        Args:
            footer: text at the bottom left and right, None for no footer.

        Returns:
            uint8, shape (height, width, 3), both even.
        """
        count = len(self.performers)
        ends = [each.renderer.limits(each.batch.state, 0) for each in self.performers]
        limits = min(low for low, _ in ends), max(high for _, high in ends)
        panels = [
            each.renderer.panel(each.batch.state, 0, name, limits)
            for name, each in zip(self.policies, self.performers, strict=True)
        ]
        shape = ROW_SHAPE if count <= 3 else ROWS_SHAPE
        below = self.differences() if count > 1 else None
        return sheet(panels, self.even_width, shape, self.theme, below, footer)

    def differences(self) -> Chart:
        """Return the running totals of all policies but the first, each minus the first's."""
        name, (first, *others) = self.totals()
        curves = [values - first for values in others]
        ends = [0.0, *(float(end(each)) for each in curves if each.size for end in (min, max))]
        low, high = min(-0.5, *ends), max(0.5, *ends)
        # The axis grows by steps, so that it seldom moves.
        step = tick_step(high - low, 4)
        titles = [(f"{name}, minus that of {self.policies[0]}:", "muted")]
        return Chart(
            titles=[*titles, *zip(self.policies[1:], LINES, strict=False)],
            last=self.horizon,
            unit=self.unit,
            limits=(step * math.floor(low / step), step * math.ceil(high / step)),
            curves=list(zip(curves, LINES, strict=False)),
            level=(0.0, ""),
        )

    def _performer(self, text: str) -> Performer:
        settings = self.settings
        env_id = env_id_of(settings)
        key = part_of(env_id, "protocol").key_of(REPORT)
        policy = policy_named(text, settings, lambda: batch.state.players[:, :, TRUE_SKILL])
        if isinstance(settings, Settings):
            settings = replace(settings, belief=belief_of(policy))
        batch = Batch(settings, episode_seeds(self.seed, self.episode, 1, (*key, INSTANCES)))
        rng = stream_of(self.seed, POLICIES, self.episode, *policy_key(text))
        renderer = part_of(env_id, "renderer")(
            batch.simulator, "rgb_array", 1, self.show_true_skill
        )
        renderer.begin(batch.state, np.zeros(1, dtype=np.int64))
        return Performer(batch, Decisions(policy, rng), renderer)
