"""Two rules of Bayesian bandits: Bayes-UCB and information-directed sampling.

Both read the belief about the draw density of every opponent. Neither uses that all opponents share
player 0's skill, except through the belief.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple, Unpack

import numpy as np
from numpy.random import Generator

from matchenv.baselines.policy import Policy, PolicyOptions, ScoringPolicy
from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.core.settings import PAPER_BETA
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.checks import (
    as_integer,
    as_non_negative_number,
    as_positive_number,
    refusal,
)
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import density_at_zero, performance_variance, win_probability_of
from matchenv.trueskill.normal import normal_density, normal_probability

# Relative accuracy of a quantile.
ACCURACY = 1e-12
MOST_STEPS = 200


@compiled
def distance_quantile(gap: float, deviation: float, level: float) -> float:
    """Return x with P(|D| <= x) = level, for a normal D of this mean and deviation."""
    mean = abs(gap) / deviation
    low = 0.0
    high = mean + 10.0
    x = mean
    for _ in range(MOST_STEPS):
        # Newton's method, and bisection where it leaves the bracket.
        excess = normal_probability(x - mean) - normal_probability(-x - mean) - level
        if excess > 0.0:
            high = x
        else:
            low = x
        slope = normal_density(x - mean) + normal_density(x + mean)
        following = low
        if slope > 0.0:
            following = x - excess / slope
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - x) <= ACCURACY * following:
            break
        x = following
    return x * deviation


@compiled(nogil=True)
def distance_quantiles(gaps: Floats, deviations: Floats, levels: Floats) -> Floats:
    """Return ``distance_quantile`` for gaps of shape (B, M), with a level for each row."""
    distances = np.empty(gaps.shape)
    for b in range(gaps.shape[0]):
        for k in range(gaps.shape[1]):
            distances[b, k] = distance_quantile(gaps[b, k], deviations[b, k], levels[b])
    return distances


class BayesUCB(ScoringPolicy):
    """Choose the opponent with the highest quantile of the true draw density under the belief.

    The quantile of order 1 - level of the density of s_0 - s_k is the density at the quantile of
    order ``level`` of the distance ``|s_0 - s_k|``.

    Args:
        level: probability that the true draw density is above the index, in (0, 1); None for
            1 / (n + 1) at the n-th game, the schedule of the source moved by one game.
        beta: standard deviation of one performance around skill, > 0.
        options: ``horizon`` and ``belief``, see ``Policy``.

    Raises:
        ValueError: for a value out of range or an unknown belief.

    Source: Kaufmann, Cappé, Garivier (2012), "On Bayesian upper confidence bounds for bandit
    problems", with c = 0.
    """

    name: ClassVar[str] = "bayes_ucb"

    def __init__(
        self,
        level: float | None = None,
        *,
        beta: float = PAPER_BETA,
        **options: Unpack[PolicyOptions],
    ) -> None:
        super().__init__(**options)
        self.level: float | None = None
        if level is not None:
            self.level = as_positive_number("level", level)
            if self.level >= 1.0:
                raise refusal("level must be below 1", level)
        self.beta = as_positive_number("beta", beta)

    def _distances(self, state: KnowledgeState, games_left: Floats) -> Floats:
        """Return the optimistic distance of each opponent, shape (B, M)."""
        levels = np.full(games_left.shape, self.level or 0.0)
        if self.level is None:
            levels = 1.0 / (np.maximum(self.horizon - games_left, 0.0) + 2.0)
        gaps = state.mu[:, :1] - state.mu[:, 1:]
        return np.asarray(distance_quantiles(gaps, np.sqrt(state.difference_variance), levels))

    def _scores(self, state: KnowledgeState, games_left: Floats) -> Floats:
        distances = self._distances(state, games_left)
        square = 0.5 * distances**2 / performance_variance(self.beta)
        return np.asarray(np.exp(-square) / (2.0 * self.beta * math.sqrt(math.pi)))

    def _preferences(self, state: KnowledgeState, games_left: Floats) -> Floats:
        return -self._distances(state, games_left)


class Prospects(NamedTuple):
    """The opponents of one state, from samples of all skills; arrays of shape (M,)."""

    regrets: Floats  # expected draw density below the best opponent's
    information: Floats  # about who is best, in nats


@compiled(inline=True)
def entropy_term(probability: float) -> float:
    """Return -p log p."""
    if probability <= 0.0:
        return 0.0
    return -probability * math.log(probability)


@compiled
def prospects_of(skills: Floats, beta: float, draw_margin: float) -> Prospects:
    """Return regret and information of every opponent.

    The information is that between the outcome of a game and the identity of the best opponent.

    Args:
        skills: samples of the belief, player 0 first, shape (K, M + 1).
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
    """
    samples, players = skills.shape
    count = players - 1
    noise = performance_variance(beta)
    regrets = np.zeros(count)
    # Sums of the probabilities of a win and of a loss, by the best opponent of the sample.
    sums = np.zeros((count, count, 2))
    times_best = np.zeros(count)
    for sample in skills:
        nearest = int(np.argmin(np.abs(sample[1:] - sample[0])))
        highest = density_at_zero(sample[0] - sample[nearest + 1], noise)
        times_best[nearest] += 1.0
        for k in range(count):
            gap = sample[0] - sample[k + 1]
            regrets[k] += (highest - density_at_zero(gap, noise)) / samples
            win = win_probability_of(gap, noise, draw_margin)
            loss = 1.0 - win
            if draw_margin > 0.0:
                loss = win_probability_of(-gap, noise, draw_margin)
            sums[nearest, k, 0] += win
            sums[nearest, k, 1] += loss
    information = np.zeros(count)
    for k in range(count):
        information[k] = outcome_entropy(sums[:, k].sum(axis=0) / samples)
        for best in range(count):
            if times_best[best] > 0.0:
                left = outcome_entropy(sums[best, k] / times_best[best])
                information[k] -= times_best[best] / samples * left
    return Prospects(regrets, np.maximum(information, 0.0))


@compiled
def outcome_entropy(chances: Floats) -> float:
    """Return the entropy of an outcome, given the chances of a win and of a loss."""
    draw = 1.0 - chances[0] - chances[1]
    return entropy_term(chances[0]) + entropy_term(chances[1]) + entropy_term(draw)


@compiled
def best_mixture(prospects: Prospects) -> tuple[int, int, float]:
    """Return the two actions and the probability of the second with the least information ratio.

    The ratio is the square of the mean regret, divided by the mean information.
    """
    regrets = prospects.regrets
    information = prospects.information
    chosen = (int(np.argmin(regrets)), int(np.argmin(regrets)), 0.0)
    if regrets[chosen[0]] <= 0.0:
        return chosen
    least = math.inf
    for i in range(regrets.size):
        for j in range(i, regrets.size):
            # The ratio is convex in the probability of j; its slope is 0 at ``share``.
            share = 0.0
            more_regret = regrets[j] - regrets[i]
            more_information = information[j] - information[i]
            if more_regret != 0.0 and more_information != 0.0:
                share = regrets[i] / more_regret - 2.0 * information[i] / more_information
            for p in (min(max(share, 0.0), 1.0), 0.0, 1.0):
                regret = regrets[i] + p * more_regret
                gain = information[i] + p * more_information
                if gain > 0.0 and regret * regret < least * gain:
                    least = regret * regret / gain
                    chosen = (i, j, p)
    return chosen


@compiled(nogil=True)
def information_directed_actions(
    skills: Floats, uniforms: Floats, beta: float, draw_margin: float
) -> Integers:
    """Return an action for each of B states, from samples (B, K, M + 1) and uniforms (B,)."""
    actions = np.empty(skills.shape[0], dtype=np.int64)
    for b in range(skills.shape[0]):
        first, second, share = best_mixture(prospects_of(skills[b], beta, draw_margin))
        actions[b] = second if uniforms[b] < share else first
    return actions


class InformationDirectedSampling(Policy):
    """Minimise the squared expected regret divided by the information about the best opponent.

    Regret and information are estimated from samples of all skills. The choice is random between
    two opponents at most, with the probability that minimises the ratio.

    Args:
        samples: samples of the skills for each choice, >= 2.
        beta: standard deviation of one performance around skill, > 0.
        draw_margin: performances no further apart than this are a draw, >= 0.
        seed: see ``Policy``.
        options: ``horizon`` and ``belief``, see ``Policy``; the full belief samples all skills
            jointly.

    Raises:
        ValueError: for a value out of range or an unknown belief.

    Source: Russo, Van Roy (2014), "Learning to optimize via information-directed sampling".
    """

    name: ClassVar[str] = "ids"
    stochastic: ClassVar[bool] = True

    def __init__(
        self,
        samples: int = 100,
        *,
        beta: float = PAPER_BETA,
        draw_margin: float = 0.0,
        seed: int | None = None,
        **options: Unpack[PolicyOptions],
    ) -> None:
        super().__init__(seed=seed, **options)
        self.samples = as_integer("samples", samples, 2)
        self.beta = as_positive_number("beta", beta)
        self.draw_margin = as_non_negative_number("draw_margin", draw_margin)

    def _choose(self, state: KnowledgeState, games_left: Floats, rng: Generator) -> Integers:
        normals = rng.standard_normal((self.samples, *state.mu.shape))
        skills = np.ascontiguousarray(np.moveaxis(state.drawn_skills(normals), 0, 1))
        uniforms = rng.random(len(state))
        return np.asarray(
            information_directed_actions(skills, uniforms, self.beta, self.draw_margin)
        )
