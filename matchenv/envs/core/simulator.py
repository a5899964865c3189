"""The simulator interface: a state of arrays, and functions that begin, step and observe.

Simulators are independent of Gymnasium's environment classes, policies, files and rendering. The
scalar and vector environments, the adapters of learning libraries and the rollout run any of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from matchenv.envs.core.settings import Options
from matchenv.envs.core.view import View
from matchenv.runtime.arrays import Floats, Integers, Keys, Masks

# Numbers about B episodes by name, shape (B,) or (B, ...) each.
Numbers = dict[str, NDArray[Any]]

State = TypeVar("State", bound=tuple[Any, ...])

# How a measure of the steps is aggregated over an episode.
SUM, MEAN, LAST = "sum", "mean", "last"


class Step(NamedTuple, Generic[State]):
    """Result of one step of B episodes, in new arrays that are 0 where an episode was not running.

    Attributes:
        state: after the step; the same arrays as before, unless a simulator needed larger ones.
        reward: shape (B,).
        terminated: shape (B,), whether the episode reached a terminal state.
        truncated: shape (B,), whether the simulator's time limit ended the episode.
    """

    state: State
    reward: Floats
    terminated: Masks
    truncated: Masks


class Simulator(ABC, Generic[State]):
    """Functions over the state of B episodes of one environment.

    A state is a NamedTuple of arrays with a row for each episode. An episode's key determines all
    its random numbers (``matchenv.runtime.random``). Functions change only the arrays of the state
    argument, in the rows of their arguments.

    Attributes:
        settings: of the episodes.
        num_actions: A, the actions are 0 to A - 1.
        observation_space: of one episode, float32; with an ``ObservationBox``, the shared network
            can read it.
        aggregations: how the ``measures`` are aggregated over an episode, by name: ``SUM``,
            ``MEAN`` or ``LAST``.
    """

    aggregations: ClassVar[Mapping[str, str]] = {}

    settings: Options
    num_actions: int
    observation_space: spaces.Box

    @property
    def env_id(self) -> str:
        """The environment's name in Gymnasium."""
        return self.settings.env_id

    @abstractmethod
    def new_state(self, count: int) -> State:
        """Return the state of ``count`` episodes that have not begun."""

    @abstractmethod
    def reset_options(self, options: Any, count: int | None) -> Any:
        """Check the options of a reset and return them for ``begin``, or None if there are none.

        Args:
            options: a dict, or None.
            count: B for a batch, whose arrays can have a row for each episode; None for a single
                environment.

        Raises:
            ValueError: for an unknown name, a wrong shape or bad numbers.
        """

    @abstractmethod
    def begin(self, state: State, rows: Integers, keys: Keys, fixed: Any = None) -> State:
        """Start episodes and return the new state.

        Args:
            state: changed in ``rows``.
            rows: the episodes, shape (K,).
            keys: of these episodes, shape (K,).
            fixed: parts of the starting state, from ``reset_options``.
        """

    @abstractmethod
    def step(self, state: State, actions: Integers, running: Masks) -> Step[State]:
        """Carry out one action in every running episode.

        Args:
            state: changed where an episode is running.
            actions: shape (B,), in [0, A) and allowed by the masks; ignored where not running.
            running: shape (B,).
        """

    @abstractmethod
    def observe(self, state: State) -> NDArray[np.float32]:
        """Return the current observations, shape (B, K); a view that the next step changes."""

    @abstractmethod
    def masks(self, state: State) -> Masks | None:
        """Return the allowed actions, shape (B, A), at least one for each episode.

        The result is a view that the next step changes, or None for every state of a simulator
        without masks.
        """

    @abstractmethod
    def view(self, state: State, *, truth: bool = False) -> View:
        """Return what a policy may know, in float64.

        Args:
            state: of the episodes.
            truth: whether to add the true skills.
        """

    @abstractmethod
    def infos(self, state: State) -> Numbers:
        """Return the ``info`` of the last step or reset, always with the same names.

        The arrays are new: callers may keep and edit them.
        """

    def measures(self, state: State) -> Numbers:
        """Return the measures of the last step: the ``infos``, and all in ``aggregations``."""
        return self.infos(state)

    def info(self, state: State, row: int) -> dict[str, Any]:
        """Return the ``info`` of one episode: Python's numbers, which JSON can hold, and arrays."""
        info: dict[str, Any] = {}
        for name, values in self.infos(state).items():
            if values.ndim == 1:
                info[name] = values.item(row)
            else:
                info[name] = values[row]
        return info

    def allowed_actions(
        self, state: State, actions: Integers, running: Masks, *, strict: bool
    ) -> tuple[Integers, Masks]:
        """Return allowed actions, and where they replace forbidden ones, both of shape (B,).

        Args:
            state: of the episodes.
            actions: shape (B,), in [0, A).
            running: shape (B,); other episodes' actions are not checked.
            strict: refuse forbidden actions.

        Raises:
            ValueError: for a forbidden action if ``strict``.
        """
        masks = self.masks(state)
        if masks is None:
            return actions, np.zeros(actions.size, dtype=np.bool_)
        invalid: Masks = running & ~masks[np.arange(actions.size), actions]
        rows = np.flatnonzero(invalid)
        if rows.size == 0:
            return actions, invalid
        if strict:
            first = int(rows[0])
            where = f" at index {first}" if actions.size > 1 else ""
            raise ValueError(
                f"action must be {self.describe_allowed(masks[first])} (see action_masks()), "
                f"got {int(actions[first])}{where}"
            )
        replaced = actions.copy()
        replaced[rows] = self.replacement(state, rows, actions[rows])
        return replaced, invalid

    def replacement(self, state: State, rows: Integers, actions: Integers) -> Integers:
        """Return replacements of forbidden actions, by default the first allowed action.

        Args:
            state: of the episodes.
            rows: episodes with a forbidden action, shape (K,).
            actions: the forbidden actions, shape (K,).
        """
        masks = self.masks(state)
        assert masks is not None
        return masks[rows].argmax(axis=1)

    def describe_allowed(self, mask: Masks) -> str:
        """Describe the allowed actions of one episode, shape (A,), for an error message."""
        return f"one of the {int(mask.sum())} allowed actions"
