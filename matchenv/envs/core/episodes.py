"""The driver of a simulator: B episodes, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Self

import numpy as np
from gymnasium.utils.seeding import np_random

from matchenv.envs.core.rendering import Renderer
from matchenv.envs.core.simulator import Simulator, State, Step
from matchenv.envs.core.view import View
from matchenv.runtime.arrays import Integers, Keys, Masks
from matchenv.runtime.random import drawn_key


class Episodes(Generic[State]):
    """B episodes of a simulator: begin, step, begin again, masks and forbidden actions.

    The scalar and the vector environment, the adapters of learning libraries and the rollout all
    play episodes through this class.

    Args:
        simulator: of the episodes.
        count: B.
        renderer: records every start and step; None for no pictures.

    Attributes:
        simulator: of the episodes.
        state: the current state; its arrays have a row for each episode.
        running: episodes that have begun and not ended, shape (B,).
        all_running: whether all of them are running.
        actions: of the last step, with allowed actions in place of forbidden ones, shape (B,).
        invalid_action: whether the last action was forbidden, shape (B,).
        has_masks: whether some actions can be forbidden.
    """

    def __init__(
        self, simulator: Simulator[State], count: int, renderer: Renderer[State] | None = None
    ) -> None:
        self.simulator = simulator
        self.renderer = renderer
        self.state = simulator.new_state(count)
        self.running: Masks = np.zeros(count, dtype=np.bool_)
        self.all_running = False
        self.actions: Integers = np.zeros(count, dtype=np.int64)
        self.invalid_action: Masks = np.zeros(count, dtype=np.bool_)
        self.has_masks = simulator.masks(self.state) is not None

    @classmethod
    def of_seeds(
        cls,
        simulator: Simulator[State],
        seeds: Sequence[int],
        options: dict[str, Any] | None = None,
    ) -> Self:
        """Begin an episode for each seed.

        Args:
            simulator: of the episodes.
            seeds: equal to ``reset(seed=...)`` of the scalar environment.
            options: of a reset; arrays have a row for each episode.

        Raises:
            ValueError: for bad options.
        """
        episodes = cls(simulator, len(seeds))
        fixed = simulator.reset_options(options, len(seeds))
        keys = np.array([drawn_key(np_random(seed)[0]) for seed in seeds], dtype=np.uint64)
        episodes.begin(np.arange(len(seeds)), keys, fixed)
        return episodes

    def __len__(self) -> int:
        return self.running.size

    def begin(self, rows: Integers, keys: Keys, fixed: Any = None) -> None:
        """Begin episodes, also in place of others.

        Args:
            rows: indices of the episodes, shape (K,).
            keys: of their random numbers, shape (K,).
            fixed: parts of the starting state, from ``Simulator.reset_options``.
        """
        self.state = self.simulator.begin(self.state, rows, keys, fixed)
        self.invalid_action[rows] = False
        self.running[rows] = True
        self.all_running = bool(self.running.all())
        if self.renderer is not None:
            self.renderer.begin(self.state, rows)

    def step(self, actions: Integers, *, strict: bool) -> Step[State]:
        """Carry out one action in every running episode, and mark those that end.

        Args:
            actions: shape (B,), in [0, A).
            strict: whether to refuse forbidden actions, or else replace them.

        Returns:
            The result; arrays are 0 where no episode was running.

        Raises:
            ValueError: for a forbidden action if ``strict``. Nothing has changed then.
        """
        step = self.carry_out(actions, strict)
        # Faster than any(), and than the union of both where no episode ends.
        if np.count_nonzero(step.terminated) or np.count_nonzero(step.truncated):
            self.end(step.terminated | step.truncated)
        return step

    def carry_out(self, actions: Integers, strict: bool) -> Step[State]:
        """Carry out actions; see ``step``. The caller passes episodes that end to ``end``."""
        if self.has_masks:
            actions, self.invalid_action = self.simulator.allowed_actions(
                self.state, actions, self.running, strict=strict
            )
        self.actions = actions
        step = self.simulator.step(self.state, actions, self.running)
        self.state = step.state
        if self.renderer is not None:
            self.renderer.add(self.state, actions, step.reward, self.running)
        return step

    def end(self, over: Masks) -> None:
        """Mark episodes as ended, shape (B,)."""
        self.running = self.running & ~over
        self.all_running = bool(self.running.all())

    def masks(self) -> Masks:
        """Return a copy of the allowed actions, shape (B, A)."""
        masks = self.simulator.masks(self.state)
        if masks is None:
            return np.ones((len(self), self.simulator.num_actions), dtype=np.bool_)
        return np.array(masks, dtype=np.bool_)

    def view(self, *, truth: bool = False) -> View:
        """Return what a policy may know; with ``truth`` also the true skills."""
        return self.simulator.view(self.state, truth=truth)
