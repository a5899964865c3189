"""The base class of the baselines of one player: a rule from knowledge states to opponents."""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchenv.belief import DEFAULT_BELIEF, belief_named
from matchenv.belief.knowledge import KnowledgeState, share_of_games_left, split_mask
from matchenv.envs.one_player.settings import Settings
from matchenv.runtime.checks import as_action_masks, as_integer, as_non_negative_array

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Masks = NDArray[np.bool_]


class PolicyOptions(TypedDict, total=False):
    """Options of ``Policy`` that rules without randomness pass on."""

    horizon: int
    belief: str


class Policy(ABC):
    """A rule that chooses an opponent for player 0.

    A policy never touches an environment. ``act`` reads knowledge states in float64. ``predict``
    reads observations and has the signature of stable-baselines3's models, so that library's
    ``evaluate_policy`` takes a baseline. Both take one state or a batch, and masks of the opponents
    that may be chosen: the choice is then what it would be without the others.

    Args:
        horizon: games in an episode, >= 1; ``predict`` turns the observation's share of games
            left into a number with it.
        seed: seed of the policy's own generator, used where none is passed.
        belief: the name of the belief whose states and observations the policy reads, one of
            ``matchenv.belief.BELIEFS``.

    Attributes:
        name: the policy's name in tables and on command lines.
        stochastic: whether equal states may get different choices, so that it needs ``rng``.
        needs_truth: whether it asks for the true skills, which no fair policy sees.
        num_opponents: M of the observations that it reads, from ``for_settings``; None where it is
            not known: a mask at their end is then found by their size alone, if that is clear.
    """

    name: ClassVar[str]
    stochastic: ClassVar[bool] = False
    needs_truth: ClassVar[bool] = False
    num_opponents: int | None = None

    def __init_subclass__(cls) -> None:
        """Show ``PolicyOptions`` in the signature of a policy that passes them on."""
        own = list(inspect.signature(cls.__init__).parameters.values())[1:]
        if own and own[-1].kind is inspect.Parameter.VAR_KEYWORD:
            shared = inspect.signature(Policy.__init__).parameters
            own[-1:] = [shared[name] for name in PolicyOptions.__annotations__]
        cls.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]

    def __init__(
        self, *, horizon: int = 500, seed: int | None = None, belief: str = DEFAULT_BELIEF
    ) -> None:
        self.horizon = as_integer("horizon", horizon, 1)
        self.belief = belief_named(belief).name
        self._rng = np.random.default_rng(None if seed is None else as_integer("seed", seed, 0))

    @classmethod
    def preferred_belief(cls, settings: Settings) -> str:
        """Return the belief to read by default in such games: the environment's own."""
        return settings.belief

    def __repr__(self) -> str:
        names = [name for name in inspect.signature(type(self)).parameters if hasattr(self, name)]
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"

    def for_settings(self, settings: Settings) -> Self:
        """Return the same policy for the number of opponents of an environment."""
        policy = copy.copy(self)
        policy.num_opponents = settings.num_opponents
        return policy

    def act(
        self,
        knowledge_state: KnowledgeState,
        games_left: ArrayLike,
        rng: np.random.Generator | None = None,
        action_masks: ArrayLike | None = None,
    ) -> Integers:
        """Choose opponents.

        Args:
            knowledge_state: beliefs of shape (..., M + 1), of the kind that ``belief`` says.
            games_left: games left, the one to be chosen among them, broadcast to the batch.
            rng: generator for stochastic policies; None uses the policy's own.
            action_masks: opponents that may be chosen, shape (..., M), True or 1; None for all.

        Returns:
            Actions in [0, M), shape (...); action a is opponent a + 1. Ties go to the lowest.

        Raises:
            ValueError: for games left that are negative, not finite or of another shape, for a
                state of another belief, and for masks of another shape or without a True.
        """
        found = getattr(knowledge_state, "belief", type(knowledge_state).__name__)
        if found != self.belief:
            raise ValueError(
                f"knowledge_state must hold the {self.belief} belief, which this policy reads, "
                f"got {found!r}"
            )
        left = as_non_negative_array("games_left", games_left)
        try:
            left = np.broadcast_to(left, knowledge_state.batch_shape)
        except ValueError:
            raise ValueError(
                f"games_left must broadcast to shape {knowledge_state.batch_shape}, "
                f"got shape {left.shape}"
            ) from None
        generator = self._rng if rng is None else rng
        games = np.ascontiguousarray(left).ravel()
        state = knowledge_state.flattened()
        if action_masks is not None:
            shape = (*knowledge_state.batch_shape, knowledge_state.num_opponents)
            allowed = as_action_masks(action_masks, shape).reshape(-1, shape[-1])
            if not allowed.all():
                actions = self._choose_among(state, games, generator, allowed)
                return actions.reshape(knowledge_state.batch_shape)
        return self._choose(state, games, generator).reshape(knowledge_state.batch_shape)

    def predict(
        self,
        observation: Any,
        state: tuple[NDArray[Any], ...] | None = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: ArrayLike | None = None,
    ) -> tuple[Integers, tuple[NDArray[Any], ...] | None]:
        """Choose opponents from observations, as stable-baselines3's models do.

        Args:
            observation: shape (K,) or (n, K), of an environment with the policy's belief.
            state: returned as it is; no baseline has a memory.
            episode_start: not used.
            deterministic: not used; a stochastic policy always draws.
            action_masks: opponents that may be chosen, shape (M,) or (n, M); None for the mask
                at the end of the observation, or for all where it has none.

        Returns:
            ``(actions, state)``, actions of shape () or (n,).

        Raises:
            ValueError: for observations of another size or belief, and for bad masks.
        """
        given = () if action_masks is None else np.shape(action_masks)
        numbers, shown = split_mask(
            observation, self.belief, given[-1] if given else self.num_opponents
        )
        knowledge_state = KnowledgeState.from_observation(numbers, self.belief)
        games_left = np.rint(share_of_games_left(numbers) * self.horizon)
        masks = shown if action_masks is None else action_masks
        return self.act(knowledge_state, games_left, action_masks=masks), state

    def _choose_among(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator, allowed: Masks
    ) -> Integers:
        """Return actions, shape (B,), among the opponents of ``allowed``, shape (B, M).

        States with equally many allowed opponents are one batch of smaller pools.
        """
        actions = np.empty(len(allowed), dtype=np.int64)
        counts = allowed.sum(axis=1)
        for count in np.unique(counts).tolist():
            rows = np.flatnonzero(counts == count)
            opponents = np.nonzero(allowed[rows])[1].reshape(-1, count)
            chosen = self._choose(state.among(rows, opponents), games_left[rows], rng)
            actions[rows] = opponents[np.arange(rows.size), chosen]
        return actions

    @abstractmethod
    def _choose(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        """Return actions, shape (B,), for states and games left of shape (B,)."""


class ScoringPolicy(Policy):
    """A policy that chooses the opponent with the highest score, the lowest of equals."""

    def scores(self, knowledge_state: KnowledgeState, games_left: ArrayLike) -> Floats:
        """Return the score of each opponent.

        Args:
            knowledge_state: beliefs of shape (..., M + 1).
            games_left: games left, the one to be chosen among them, broadcast to the batch.

        Returns:
            Scores of shape (..., M).

        Raises:
            ValueError: for a state of a belief that does not support such games.
        """
        shape = (*knowledge_state.batch_shape, knowledge_state.num_opponents)
        left = np.broadcast_to(np.asarray(games_left, dtype=np.float64), shape[:-1]).ravel()
        return self._scores(knowledge_state.flattened(), left).reshape(shape)

    @abstractmethod
    def _scores(self, state: KnowledgeState, games_left: Floats) -> Floats:
        """Return scores, shape (B, M), for states and games left of shape (B,)."""

    def _preferences(self, state: KnowledgeState, games_left: Floats) -> Floats:
        """Return numbers in the order of the scores, which do not underflow where scores do."""
        return self._scores(state, games_left)

    def _choose(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        return np.argmax(self._preferences(state, games_left), axis=1)
