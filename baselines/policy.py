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
from matchenv.envs.one_player.simulator import MatchmakingView
from matchenv.runtime.arrays import Floats, Integers, Masks
from matchenv.runtime.checks import as_actions, as_integer, refusal


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
        needs_truth: whether views have the true skills, which no fair policy sees.
    """

    name: ClassVar[str]
    stochastic: ClassVar[bool] = False
    needs_truth: ClassVar[bool] = False

    def __repr__(self) -> str:
        arguments = []
        for name in inspect.signature(type(self)).parameters:
            value = getattr(self, name, None)
            if value is not None:
                arguments.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(arguments)})"


class PolicyOptions(TypedDict, total=False):
    """Options that deterministic policies pass on to ``Policy``."""

    horizon: int
    belief: str


class Policy(Baseline, PredictMixin):
    """A rule that chooses an opponent for player 0.

    A policy never touches an environment. ``act`` reads views in float64. ``predict`` reads
    observations; its signature is that of stable-baselines3's models, so that library's
    ``evaluate_policy`` accepts a baseline. Both accept one state or a batch, with masks of the
    allowed opponents. The choice is the one that the policy makes if only these exist.

    Args:
        horizon: games in an episode, >= 1; ``predict`` multiplies the share of games left in the
            observation by it. ``for_settings`` sets it.
        seed: seed of the policy's own generator, used when no generator is passed.
        belief: name of the belief whose states and observations the policy reads, one of
            ``matchenv.belief.BELIEFS``.

    Attributes:
        num_opponents: M of the observations, set by ``for_settings``; None if unknown. Where the
            shape of an observation fits both with and without a mask, it is then read without.
    """

    num_opponents: int | None = None

    def __init_subclass__(cls) -> None:
        """Show ``PolicyOptions`` in the signatures of policies that pass them on."""
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        if parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD:
            parameters.pop()
            names = {parameter.name for parameter in parameters}
            shared = inspect.signature(Policy.__init__).parameters
            for name in PolicyOptions.__annotations__:
                if name not in names:
                    parameters.append(shared[name])
        cls.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]

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
        policy.num_opponents = settings.num_opponents
        policy.horizon = settings.horizon
        return policy

    def act(self, view: MatchmakingView, rng: Generator | None = None) -> Integers:
        """Choose opponents.

        Args:
            view: states of the policy's belief, shape (..., M + 1), games left and allowed
                opponents.
            rng: generator for stochastic policies; None uses the policy's own.

        Returns:
            Actions in [0, M), shape (...); action a is opponent a + 1. Ties go to the lowest.

        Raises:
            ValueError: for a state of another belief.
        """
        state = self._checked(view).flattened()
        games_left = view.games_left.ravel()
        allowed = view.action_mask.reshape(len(state), state.num_opponents)
        generator = self._rng if rng is None else rng
        if allowed.all():
            actions = self._choose(state, games_left, generator)
        else:
            actions = self._choose_among(state, games_left, generator, allowed)
        return np.asarray(actions).reshape(view.knowledge_state.batch_shape)

    def _checked(self, view: MatchmakingView) -> KnowledgeState:
        """Return the states of a view, of shape (..., M + 1).

        Raises:
            ValueError: for another object, or a state of another belief.
        """
        if not isinstance(view, MatchmakingView):
            raise refusal("view must be a MatchmakingView", view)
        belief = view.knowledge_state.belief
        if belief != self.belief:
            rule = f"view must hold the {self.belief} belief, which this policy reads"
            raise refusal(rule, belief)
        return view.knowledge_state

    def _predict(
        self, observation: Any, action_masks: ArrayLike | None, deterministic: bool
    ) -> Integers:
        num_opponents = self.num_opponents
        given_masks = None if action_masks is None else np.asarray(action_masks)
        if given_masks is not None and given_masks.ndim > 0:
            num_opponents = given_masks.shape[-1]
        numbers, masks = split_mask(observation, self.belief, num_opponents)
        if given_masks is not None:
            masks = given_masks
        knowledge_state = KnowledgeState.from_observation(numbers, self.belief)
        games_left = np.rint(share_of_games_left(numbers) * self.horizon)
        return self.act(MatchmakingView(knowledge_state, games_left, action_mask=masks))

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
            chosen = as_actions(chosen, rows.size, count)
            actions[rows] = opponents[np.arange(rows.size), chosen]
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
        view = MatchmakingView(knowledge_state, games_left)
        state = self._checked(view).flattened()
        shape = (*knowledge_state.batch_shape, state.num_opponents)
        return self._scores(state, view.games_left.ravel()).reshape(shape)

    @abstractmethod
    def _scores(self, state: KnowledgeState, games_left: Floats) -> Floats:
        """Return scores, shape (B, M), for states and games left of shape (B,)."""

    def _preferences(self, state: KnowledgeState, games_left: Floats) -> Floats:
        """Return values in the order of the scores that do not underflow when scores do."""
        return self._scores(state, games_left)

    def _choose(self, state: KnowledgeState, games_left: Floats, rng: Generator) -> Integers:
        return np.argmax(self._preferences(state, games_left), axis=1)
