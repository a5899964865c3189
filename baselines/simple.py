"""Policies of one formula: the two that the paper compares KG with, and further references."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Unpack

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from matchenv.baselines.policy import Policy, PolicyOptions, ScoringPolicy
from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.core.settings import PAPER_BETA
from matchenv.envs.one_player.simulator import MatchmakingView
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.checks import (
    as_float_array,
    as_non_negative_number,
    as_number,
    as_positive_number,
    refusal,
)
from matchenv.trueskill.game import performance_variance


def nearest_opponents(values: Floats) -> Integers:
    """Return the opponents, shape (B,), whose values are nearest to player 0's.

    The values have shape (B, M + 1), player 0 first. Ties go to the lowest index.
    """
    return np.argmin(np.abs(values[:, :1] - values[:, 1:]), axis=1)


class PointEstimate(Policy):
    """Choose the opponent with the smallest ``|mu_0 - mu_j|``, ignoring the uncertainty.

    For the arguments see ``Policy``.

    Source: Ryzhov, Tariq, Powell (2011), eq. (8), with the minimum over the opponent j.
    """

    name: ClassVar[str] = "pe"

    def _choose(self, state: KnowledgeState, games_left: Floats, rng: Generator) -> Integers:
        return nearest_opponents(state.mu)


class DrawChance(ScoringPolicy):
    """Choose the opponent with the highest draw density under the belief.

    Args:
        beta: standard deviation of one performance around skill, > 0.
        options: ``horizon`` and ``belief``, see ``Policy``.

    Raises:
        ValueError: for beta <= 0 or an unknown belief.

    Source: Ryzhov, Tariq, Powell (2011), eq. (9); Herbrich, Minka, Graepel (2006), 4.2.
    """

    name: ClassVar[str] = "drawchance"

    def __init__(self, *, beta: float = PAPER_BETA, **options: Unpack[PolicyOptions]) -> None:
        super().__init__(**options)
        self.beta = as_positive_number("beta", beta)

    def _scores(self, state: KnowledgeState, games_left: Floats) -> Floats:
        return state.draw_density(self.beta)

    def _preferences(self, state: KnowledgeState, games_left: Floats) -> Floats:
        variance = state.difference_variance + performance_variance(self.beta)
        gap = state.mu[:, :1] - state.mu[:, 1:]
        return -(np.log(variance) + gap * gap / variance)


class OptimisticDrawChance(ScoringPolicy):
    """Choose the opponent with the highest exponent of the draw density, its variance inflated.

    The index is -d_k^2 / (2 (a Var(s_0 - s_k) + 2 beta^2)) with d_k = mu_0 - mu_k: the exponent of
    the draw density for a times the variance. The normalising root is left out, since it lowers
    the index of uncertain opponents. The factor falls over the episode,
    a = 1 + (inflation - 1) share^fade, with the share of games left. The index does better on the
    full belief, whose variances are right, than on the factorised one.

    Args:
        inflation: factor at the start, >= 1.
        fade: exponent of the share of games left, >= 0; 0 keeps the factor constant.
        beta: standard deviation of one performance around skill, > 0.
        options: ``horizon`` and ``belief``, see ``Policy``; the share of games left is at most 1.

    Raises:
        ValueError: for a value out of range or an unknown belief.

    Source: the upper confidence bounds of bandits (Lai, Robbins 1985; Auer et al. 2002),
    applied to the draw density of Ryzhov, Tariq, Powell (2011), eq. (5).
    """

    name: ClassVar[str] = "optimistic"

    def __init__(
        self,
        inflation: float = 10.0,
        fade: float = 1.0,
        *,
        beta: float = PAPER_BETA,
        **options: Unpack[PolicyOptions],
    ) -> None:
        super().__init__(**options)
        self.inflation = as_number("inflation", inflation, 1.0)
        self.fade = as_non_negative_number("fade", fade)
        self.beta = as_positive_number("beta", beta)

    def _scores(self, state: KnowledgeState, games_left: Floats) -> Floats:
        share = np.minimum(games_left / self.horizon, 1.0)
        factor = 1.0 + (self.inflation - 1.0) * share[:, None] ** self.fade
        gap = state.mu[:, :1] - state.mu[:, 1:]
        variance = factor * state.difference_variance + performance_variance(self.beta)
        return -0.5 * gap**2 / variance


class RandomOpponent(Policy):
    """Choose an opponent uniformly at random; for the arguments see ``Policy``."""

    name: ClassVar[str] = "random"
    stochastic: ClassVar[bool] = True

    def _choose(self, state: KnowledgeState, games_left: Floats, rng: Generator) -> Integers:
        return rng.integers(0, state.num_opponents, size=state.batch_shape)


class ThompsonSampling(Policy):
    """Sample all skills from the belief and choose the opponent nearest to player 0.

    Args:
        spread: factor on the standard deviations of the samples, >= 0: 1 is Thompson sampling,
            0 is ``PointEstimate``.
        horizon: see ``Policy``.
        seed: see ``Policy``.
        belief: see ``Policy``; the full belief samples all skills jointly.

    Raises:
        ValueError: for a spread that is negative or not finite.

    Source: Thompson (1933), with eq. (14) of the 2011 paper as the reward.
    """

    name: ClassVar[str] = "thompson"
    stochastic: ClassVar[bool] = True

    def __init__(
        self, *, spread: float = 1.0, seed: int | None = None, **options: Unpack[PolicyOptions]
    ) -> None:
        super().__init__(seed=seed, **options)
        self.spread = as_non_negative_number("spread", spread)

    def _choose(self, state: KnowledgeState, games_left: Floats, rng: Generator) -> Integers:
        normals = rng.standard_normal(state.mu.shape)
        return nearest_opponents(state.drawn_skills(normals, self.spread))


class Oracle(Policy):
    """Choose the opponent with the highest true draw density, which no policy can exceed.

    Args:
        true_skill: true skills for ``predict``, whose observations have none: shape (M + 1,), or
            one row for each state of a batch; or a function that returns them, called at each
            choice, for example ``lambda: env.unwrapped.true_skill``. ``act`` reads those of the
            view.
        options: ``horizon`` and ``belief``, see ``Policy``; they do not affect the choice.

    Source: Ryzhov, Tariq, Powell (2011), the maximum of eq. (14) over the opponents.
    """

    name: ClassVar[str] = "oracle"
    needs_truth: ClassVar[bool] = True

    def __init__(
        self,
        true_skill: ArrayLike | Callable[[], ArrayLike] | None = None,
        **options: Unpack[PolicyOptions],
    ) -> None:
        super().__init__(**options)
        self._true_skill = true_skill

    def act(self, view: MatchmakingView, rng: Generator | None = None) -> Integers:
        """Choose the allowed opponents whose true skills are nearest; see ``Policy.act``."""
        state = self._checked(view)
        skills = self._skills(view, state.mu.shape).reshape(-1, state.mu.shape[-1])
        allowed = view.action_mask.reshape(len(skills), state.num_opponents)
        skills[:, 1:][~allowed] = np.inf
        return nearest_opponents(skills).reshape(state.batch_shape)

    def _skills(self, view: MatchmakingView, shape: tuple[int, ...]) -> Floats:
        """Return the true skills of each state, a new array of this shape."""
        true_skill = getattr(view, "true_skill", self._true_skill)
        if true_skill is None:
            raise ValueError("view must have true_skill for the oracle, or give it to Oracle()")
        if callable(true_skill):
            true_skill = true_skill()
        skills = as_float_array("true_skill", true_skill)
        try:
            return np.array(np.broadcast_to(skills, shape))
        except ValueError:
            raise refusal(
                f"true_skill must have shape {shape[-1:]} or {shape}", skills.shape
            ) from None

    def _choose(self, state: KnowledgeState, games_left: Floats, rng: Generator) -> Integers:
        raise NotImplementedError("the oracle chooses in act")
