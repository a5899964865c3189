"""Base classes of the baselines: rules that map knowledge states to opponents."""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self, TypedDict

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from matchenv.belief import DEFAULT_BELIEF, belief_named
from matchenv.belief.knowledge import KnowledgeState, share_of_games_left, split_mask
from matchenv.envs.one_player.settings import Settings
from matchenv.runtime.arrays import Floats, Integers, Masks
from matchenv.runtime.checks import as_action_masks, as_actions, as_integer, as_non_negative_array


class PredictMixin(ABC):
    """The ``predict`` of stable-baselines3's models, for policies without a memory."""

    def predict(
        self,
        observation: Any,
        state: tuple[NDArray[Any], ...] | None = None,
        episode_start: Masks | None = None,
        deterministic: bool = True,
        action_masks: ArrayLike | None = None,
    ) -> tuple[Integers, tuple[NDArray[Any], ...] | None]:
        """Choose actions from observations.

        Args:
            observation: shape (K,) or (n, K), of the environment and belief that the policy reads.
            state: returned unchanged.
            episode_start: ignored.
            deterministic: choose the likeliest action of a learned policy, else sample one from
                torch's generator; ignored by baselines.
            action_masks: allowed actions, shape (A,) or (n, A), True or 1; None reads the mask in
                the observation, and allows every action if there is none.

        Returns:
            ``(actions, state)``, actions of shape () or (n,).

        Raises:
            ValueError: for observations of another size or belief, NaN or infinity, and for masks
                of another shape or that allow no action.
        """
        return self._predict(observation, action_masks, deterministic), state

    @abstractmethod
    def _predict(
        self, observation: Any, action_masks: ArrayLike | None, deterministic: bool
    ) -> Integers:
        """Return the actions of ``predict``."""


class Baseline(ABC):
    """What the baselines of one player and of the queue have in common.

    Attributes:
        name: name in tables and on command lines.
        stochastic: whether equal states can lead to different choices, so that ``rng`` is used.
        needs_truth: whether the policy reads the true skills, which no fair policy sees.
    """

    name: ClassVar[str]
    stochastic: ClassVar[bool] = False
    needs_truth: ClassVar[bool] = False

    def __repr__(self) -> str:
        names = inspect.signature(type(self)).parameters
        given = {n: value for n in names if (value := getattr(self, n, None)) is not None}
        return f"{type(self).__name__}({', '.join(f'{n}={given[n]!r}' for n in given)})"


class PolicyOptions(TypedDict, total=False):
    """Options that deterministic policies pass on to ``Policy``."""

    horizon: int
    belief: str


class Policy(Baseline, PredictMixin):
    """A rule that chooses an opponent for player 0.

    A policy never touches an environment. ``act`` reads knowledge states in float64. ``predict``
    reads observations; its signature is that of stable-baselines3's models, so that library's
    ``evaluate_policy`` accepts a baseline. Both accept one state or a batch, and masks of the
    allowed opponents. The choice is the one that the policy makes if only these exist.

    Args:
        horizon: games in an episode, >= 1; ``predict`` multiplies the share of games left in the
            observation by it. ``for_settings`` sets it.
        seed: seed of the policy's own generator, used when no generator is passed.
        belief: name of the belief whose states and observations the policy reads, one of
            ``matchenv.belief.BELIEFS``.

    Attributes:
        num_opponents: M of the observations, set by ``for_settings``; None if unknown. A mask at
            the end of an observation is then recognised by its numbers.
    """

    num_opponents: int | None = None

    def __init_subclass__(cls) -> None:
        """Show ``PolicyOptions`` in the signatures of policies that pass them on."""
        own = list(inspect.signature(cls.__init__).parameters.values())[1:]
        if own and own[-1].kind is inspect.Parameter.VAR_KEYWORD:
            shared = inspect.signature(Policy.__init__).parameters
            names = [each.name for each in own]
            own[-1:] = [shared[name] for name in PolicyOptions.__annotations__ if name not in names]
        cls.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]

    def __init__(
        self, *, horizon: int = 500, seed: int | None = None, belief: str = DEFAULT_BELIEF
    ) -> None:
        self.horizon = as_integer("horizon", horizon, 1)
        self.belief = belief_named(belief).name
        self._rng = np.random.default_rng(None if seed is None else as_integer("seed", seed, 0))

    @classmethod
    def preferred_belief(cls, settings: Settings) -> str:
        """Return the default belief of a policy for these settings: the environment's own."""
        return settings.belief

    def for_settings(self, settings: Settings) -> Self:
        """Return a copy of the policy for the opponents and the horizon of an environment.

        The copy shares the policy's own generator.
        """
        policy = copy.copy(self)
        policy.num_opponents, policy.horizon = settings.num_opponents, settings.horizon
        return policy

    def act(
        self,
        knowledge_state: KnowledgeState,
        games_left: ArrayLike,
        rng: Generator | None = None,
        action_masks: ArrayLike | None = None,
    ) -> Integers:
        """Choose opponents.

        Args:
            knowledge_state: states of the policy's belief, shape (..., M + 1).
            games_left: games left, including the next one, broadcast to the batch.
            rng: generator for stochastic policies; None uses the policy's own.
            action_masks: allowed opponents, shape (..., M), True or 1; None allows all.

        Returns:
            Actions in [0, M), shape (...); action a is opponent a + 1. Ties go to the lowest.

        Raises:
            ValueError: for games left that are negative, not finite or of another shape, for a
                state of another belief, and for masks of another shape or without a True.
        """
        state, games = self._flattened(knowledge_state, games_left)
        shape, count = knowledge_state.batch_shape, state.num_opponents
        generator = self._rng if rng is None else rng
        if action_masks is not None:
            allowed = as_action_masks(action_masks, (*shape, count)).reshape(-1, count)
            if not allowed.all():
                return self._choose_among(state, games, generator, allowed).reshape(shape)
        return np.asarray(self._choose(state, games, generator)).reshape(shape)

    def _flattened(
        self, knowledge_state: KnowledgeState, games_left: ArrayLike
    ) -> tuple[KnowledgeState, Floats]:
        """Return states and games left as one batch of shape (B,); raise for bad ones."""
        belief = getattr(knowledge_state, "belief", type(knowledge_state).__name__)
        if belief != self.belief:
            raise ValueError(
                f"knowledge_state must hold the {self.belief} belief, which this policy reads, "
                f"got {belief!r}"
            )
        shape, left = knowledge_state.batch_shape, as_non_negative_array("games_left", games_left)
        try:
            games = np.broadcast_to(left, shape).ravel()
        except ValueError:
            raise ValueError(
                f"games_left must broadcast to shape {shape}, got shape {left.shape}"
            ) from None
        return knowledge_state.flattened(), games

    def _predict(
        self, observation: Any, action_masks: ArrayLike | None, deterministic: bool
    ) -> Integers:
        shape = () if action_masks is None else np.shape(action_masks)
        num_opponents = shape[-1] if shape else self.num_opponents
        numbers, shown = split_mask(observation, self.belief, num_opponents)
        knowledge_state = KnowledgeState.from_observation(numbers, self.belief)
        games_left = np.rint(share_of_games_left(numbers) * self.horizon)
        masks = shown if action_masks is None else action_masks
        return self.act(knowledge_state, games_left, action_masks=masks)

    def _choose_among(
        self, state: KnowledgeState, games_left: Floats, rng: Generator, allowed: Masks
    ) -> Integers:
        """Return actions, shape (B,), among the opponents in ``allowed``, shape (B, M).

        States with the same number of allowed opponents form one batch of smaller pools.
        """
        actions = np.empty(len(allowed), dtype=np.int64)
        counts = allowed.sum(axis=1)
        for count in np.unique(counts).tolist():
            rows = np.flatnonzero(counts == count)
            opponents = np.nonzero(allowed[rows])[1].reshape(-1, count)
            chosen = self._choose(state.among(rows, opponents), games_left[rows], rng)
            actions[rows] = opponents[np.arange(rows.size), as_actions(chosen, rows.size, count)]
        return actions

    @abstractmethod
    def _choose(self, state: KnowledgeState, games_left: Floats, rng: Generator) -> Integers:
        """Return actions, shape (B,), for states and games left of shape (B,)."""


class ScoringPolicy(Policy):
    """A policy that chooses the opponent with the highest score; ties go to the lowest index."""

    def scores(self, knowledge_state: KnowledgeState, games_left: ArrayLike) -> Floats:
        """Return the score of each opponent.

        Args:
            knowledge_state: states of the policy's belief, shape (..., M + 1).
            games_left: games left, including the next one, broadcast to the batch.

        Returns:
            Scores of shape (..., M).

        Raises:
            ValueError: for games left that are negative, not finite or of another shape, and for a
                state of another belief.
        """
        state, games = self._flattened(knowledge_state, games_left)
        shape = (*knowledge_state.batch_shape, state.num_opponents)
        return self._scores(state, games).reshape(shape)

    @abstractmethod
    def _scores(self, state: KnowledgeState, games_left: Floats) -> Floats:
        """Return scores, shape (B, M), for states and games left of shape (B,)."""

    def _preferences(self, state: KnowledgeState, games_left: Floats) -> Floats:
        """Return values in the order of the scores that do not underflow when scores do."""
        return self._scores(state, games_left)

    def _choose(self, state: KnowledgeState, games_left: Floats, rng: Generator) -> Integers:
        return np.argmax(self._preferences(state, games_left), axis=1)
