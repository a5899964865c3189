"""The contract of a simulator: a state of arrays, and functions that begin, step and observe.

A simulator knows nothing of Gymnasium's environments, of policies, files or pictures. The scalar
and the vector environment, the adapters of learning libraries and the rollout run any of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from matchenv.envs.core.settings import Options

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Keys = NDArray[np.uint64]
Masks = NDArray[np.bool_]
Facts = dict[str, NDArray[Any]]

State = TypeVar("State", bound=tuple[Any, ...])

# Which number of an episode is made of a measure of its steps.
SUM, MEAN, LAST = "sum", "mean", "last"


class Step(NamedTuple, Generic[State]):
    """Result of one step of B episodes; arrays are new, and 0 where an episode did not run.

    Attributes:
        state: after the step; the same arrays as before it, unless a simulator needed larger ones.
        reward: shape (B,).
        terminated: shape (B,), the episode came to its own end.
        truncated: shape (B,), the episode was cut off by a limit of the simulator.
    """

    state: State
    reward: Floats
    terminated: Masks
    truncated: Masks


class Simulator(ABC, Generic[State]):
    """Episodes of one environment: pure functions over a state with a row for each episode.

    A state is a NamedTuple of arrays, a row for each of B episodes. All random numbers of an
    episode follow from its key (``matchenv.runtime.random``). Functions change the arrays of the
    state that they are given, at the rows that they are told, and nothing else.

    Attributes:
        env_id: the name under which Gymnasium makes the environment.
        settings: of the episodes.
        num_actions: A, the actions are 0 to A - 1.
        observation_space: of one episode, float32.
        measures: names of ``measured``, and which number of an episode a table holds:
            ``SUM`` or ``MEAN`` over its steps, or ``LAST``.
    """

    env_id: ClassVar[str]
    measures: ClassVar[Mapping[str, str]] = {}

    settings: Options
    num_actions: int
    observation_space: spaces.Box

    @abstractmethod
    def new_state(self, count: int) -> State:
        """Return the state of ``count`` episodes that have not begun."""

    @abstractmethod
    def given(self, options: Any, count: int | None) -> Any:
        """Check the options of a reset, and return them for ``begin``; None if nothing is fixed.

        Args:
            options: a dict, or None.
            count: B of a batch, whose arrays may have one row for each episode; None for a single
                environment.

        Raises:
            ValueError: for an unknown name, a wrong shape or bad numbers.
        """

    @abstractmethod
    def begin(self, state: State, rows: Integers, keys: Keys, given: Any = None) -> State:
        """Start episodes, and return the state after it.

        Args:
            state: changed at the rows.
            rows: the episodes, shape (K,).
            keys: of these episodes, shape (K,).
            given: what the user fixed, from ``given``.
        """

    @abstractmethod
    def step(self, state: State, actions: Integers, running: Masks) -> Step[State]:
        """Carry out one action in every running episode.

        Args:
            state: changed where an episode runs.
            actions: shape (B,), in [0, A) and allowed by the masks; ignored where not running.
            running: shape (B,).
        """

    @abstractmethod
    def observe(self, state: State) -> NDArray[np.float32]:
        """Return the current observations, shape (B, K); a view that the next step changes."""

    @abstractmethod
    def masks(self, state: State) -> Masks | None:
        """Return the allowed actions, shape (B, A); None where every action is always allowed.

        A view that the next step changes. It is None for every state of a simulator, or for none.
        At least one action of each episode is allowed.
        """

    @abstractmethod
    def view(self, state: State) -> tuple[Any, ...]:
        """Return the arguments with which ``act`` of a policy is asked, in float64.

        They may be views that the next step changes.
        """

    @abstractmethod
    def facts(self, state: State) -> Facts:
        """Return the ``info`` of the last step by name, shape (B,) each; after a reset, its own.

        The same names at all times. They may be views that the next step changes.
        """

    def measured(self, state: State) -> Facts:
        """Return the measures of the last step by name, shape (B,) each; at least ``measures``."""
        return self.facts(state)

    def true_skill(self, state: State) -> Floats:
        """Return the true skills, which oracles are told, shape (B, players)."""
        raise NotImplementedError(f"{self.env_id} tells no policy the true skills")

    def info(self, state: State, row: int) -> dict[str, Any]:
        """Return the facts of one episode, as NumPy's scalars of the types of ``facts``."""
        return {name: values[row] for name, values in self.facts(state).items()}

    def restored(self, state: State, arrays: Mapping[str, Any]) -> State:
        """Return a state with the values of saved arrays.

        Args:
            state: of the same number of episodes; not changed.
            arrays: one for each field of the state, by name, as ``plain`` returns it.

        Raises:
            ValueError: for an array of another shape or dtype.
        """
        likes = state._asdict().items()  # type: ignore[attr-defined]
        return type(state)(*(restored_array(name, arrays[name], like) for name, like in likes))

    def allowed_actions(
        self, state: State, actions: Integers, running: Masks, *, strict: bool
    ) -> tuple[Integers, Masks]:
        """Return actions that the masks allow, and where they replace those that were asked for.

        Args:
            state: of the episodes.
            actions: shape (B,), in [0, A).
            running: shape (B,); the others' actions stay as they are.
            strict: refuse to replace any.

        Raises:
            ValueError: naming the first that the masks forbid, if ``strict``.
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
                f"action must be {self.describe_allowed(masks[first])}, as action_masks() "
                f"says, got {int(actions[first])}{where}"
            )
        replaced = actions.copy()
        replaced[rows] = self.replacement(state, rows, actions[rows])
        return replaced, invalid

    def replacement(self, state: State, rows: Integers, actions: Integers) -> Integers:
        """Return the actions that are carried out for forbidden ones: here, the first allowed.

        Args:
            state: of the episodes.
            rows: episodes with a forbidden action, shape (K,).
            actions: of these, shape (K,).
        """
        del actions
        masks = self.masks(state)
        assert masks is not None
        return masks[rows].argmax(axis=1)

    def describe_allowed(self, mask: Masks) -> str:
        """Describe the allowed actions of one episode, shape (A,), for an error message."""
        return f"one of the {int(mask.sum())} allowed actions"


def observation_box(size: int, unbounded: int, positive: int) -> spaces.Box:
    """Return the box of an observation of ``size`` numbers, float32.

    Args:
        size: K.
        unbounded: the first of them, which are means.
        positive: the last of those that are at least 0, deviations; all others are in [0, 1].
    """
    low, high = np.zeros(size, dtype=np.float32), np.ones(size, dtype=np.float32)
    low[:unbounded] = -np.inf
    high[:positive] = np.inf
    return spaces.Box(low, high, dtype=np.float32)


def plain(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy without structure, for files: records become bytes along a last axis."""
    if array.dtype.names is None:
        return array.copy()
    return array.copy().view(np.uint8).reshape(*array.shape, array.dtype.itemsize)


def restored_array(name: str, found: NDArray[Any], like: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of what ``plain`` made of an array like ``like``.

    Raises:
        ValueError: for an array of another shape or dtype; it names the array.
    """
    expected = plain(like)
    if found.shape != expected.shape or found.dtype != expected.dtype:
        raise ValueError(
            f"{name} must be {expected.dtype} of shape {expected.shape}, got {found.dtype} of "
            f"shape {found.shape}"
        )
    return found.copy().view(like.dtype).reshape(like.shape)
