"""Policies of one formula: the paper's two rivals of KG, and policies to compare with."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Unpack

import numpy as np
from numpy.typing import ArrayLike

from matchenv.baselines.policy import Floats, Integers, Masks, Policy, PolicyOptions, ScoringPolicy
from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.core.settings import PAPER_BETA
from matchenv.runtime.checks import (
    as_float_array,
    as_non_negative_number,
    as_number,
    as_positive_number,
)


def nearest_opponents(values: Floats) -> Integers:
    """Return the action of the value nearest to player 0's, the lowest of equals.

    Args:
        values: shape (B, M + 1), player 0 first.

    Returns:
        Actions of shape (B,).
    """
    return np.argmin(np.abs(values[:, :1] - values[:, 1:]), axis=1)


class PointEstimate(Policy):
    """Choose the opponent with the smallest ``|mu_0 - mu_j|``, whatever the uncertainty.

    Args:
        horizon: as ``Policy``.
        belief: as ``Policy``.

    Source: Ryzhov, Tariq, Powell (2011), eq. (8), the minimum taken over the opponent j.
    """

    name: ClassVar[str] = "pe"

    def _choose(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        return nearest_opponents(state.mu)


class DrawChance(ScoringPolicy):
    """Choose the opponent with the highest draw density under the belief.

    Args:
        beta: standard deviation of one performance around skill, > 0.
        options: ``horizon`` and ``belief`` as ``Policy``.

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
        variance = state.difference_variance + 2.0 * self.beta**2
        gap = state.mu[:, :1] - state.mu[:, 1:]
        return -(np.log(variance) + gap * gap / variance)


class OptimisticDrawChance(ScoringPolicy):
    """Choose the opponent with the highest exponent of the draw density, its variance inflated.

    The index is -d_k^2 / (2 (a Var(s_0 - s_k) + 2 beta^2)) with d_k = mu_0 - mu_k. It is the
    exponent of the draw density with a times the variance, without the root in front, which
    would lower the index of an uncertain opponent. The factor falls over the episode,
    a = 1 + (inflation - 1) share^fade, with the share of games left. It does better on the full
    belief, whose variances are right, than on the factorised one.

    Args:
        inflation: the factor at the start, >= 1.
        fade: exponent of the share of games left, >= 0: 0 is a constant factor.
        beta: standard deviation of one performance around skill, > 0.
        options: ``horizon`` and ``belief`` as ``Policy``; the share of games left is at most 1.

    Raises:
        ValueError: for a bad number or belief.

    Source: the confidence bounds of bandit problems (Lai, Robbins 1985; Auer et al. 2002),
    on the draw density of Ryzhov, Tariq, Powell (2011), eq. (5).
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
        indices: Floats = -0.5 * gap**2 / (factor * state.difference_variance + 2.0 * self.beta**2)
        return indices


class RandomOpponent(Policy):
    """Choose an opponent uniformly at random.

    Args:
        horizon: as ``Policy``.
        seed: as ``Policy``.
        belief: as ``Policy``; it makes no difference to the choice.
    """

    name: ClassVar[str] = "random"
    stochastic: ClassVar[bool] = True

    def _choose(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        return rng.integers(0, state.num_opponents, size=state.batch_shape)


class ThompsonSampling(Policy):
    """Draw every skill from its belief and choose the opponent nearest to player 0.

    Args:
        spread: factor on the standard deviations that the skills are drawn with, >= 0: 1 is
            Thompson's rule, 0 is ``PointEstimate``.
        horizon: as ``Policy``.
        seed: as ``Policy``.
        belief: as ``Policy``; on the full belief all skills are drawn jointly.

    Raises:
        ValueError: for a spread that is negative or not finite.

    Source: Thompson (1933), with the draw density of known skills, eq. (14) of the 2011
    paper, as the reward that is maximised.
    """

    name: ClassVar[str] = "thompson"
    stochastic: ClassVar[bool] = True

    def __init__(
        self, *, spread: float = 1.0, seed: int | None = None, **options: Unpack[PolicyOptions]
    ) -> None:
        super().__init__(seed=seed, **options)
        self.spread = as_non_negative_number("spread", spread)

    def _choose(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        normals = rng.standard_normal(state.mu.shape)
        return nearest_opponents(state.drawn_skills(normals, self.spread))


class Oracle(Policy):
    """Choose the opponent with the highest true draw density: no policy can do better.

    Args:
        true_skill: true skills of shape (M + 1,), or one row for each state of a batch; or a
            function without arguments that returns them, called at each choice, for example
            ``lambda: env.unwrapped.true_skill``.
        options: ``horizon`` and ``belief`` as ``Policy``; they make no difference to the choice.

    Source: the maximum of eq. (14) of Ryzhov, Tariq, Powell (2011) over the opponents.
    """

    name: ClassVar[str] = "oracle"
    needs_truth: ClassVar[bool] = True

    def __init__(
        self,
        true_skill: ArrayLike | Callable[[], ArrayLike],
        **options: Unpack[PolicyOptions],
    ) -> None:
        super().__init__(**options)
        self._true_skill = true_skill

    def _choose(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator
    ) -> Integers:
        return nearest_opponents(self._skills(state.mu.shape))

    def _choose_among(
        self, state: KnowledgeState, games_left: Floats, rng: np.random.Generator, allowed: Masks
    ) -> Integers:
        skills = self._skills(state.mu.shape)
        skills[:, 1:][~allowed] = np.inf
        return nearest_opponents(skills)

    def _skills(self, shape: tuple[int, ...]) -> Floats:
        """Return the true skills of each state, a new array of shape (B, M + 1)."""
        value = self._true_skill() if callable(self._true_skill) else self._true_skill
        skills = as_float_array("true_skill", value)
        try:
            skills = np.broadcast_to(skills.reshape(-1, skills.shape[-1]), shape)
        except (ValueError, IndexError):
            raise ValueError(
                f"true_skill must have shape {shape[1:]} or {shape}, got {skills.shape}"
            ) from None
        return np.array(skills)
