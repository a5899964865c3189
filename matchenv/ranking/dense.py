"""The belief about items with all covariances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from matchenv.baselines.ranking import pair_scores
from matchenv.belief.joint import FITTED, NOBODY, expect_joint, learn_joint
from matchenv.ranking.belief import ItemBelief
from matchenv.ranking.clusters import clustered_belief, effect_variance
from matchenv.ranking.games import GameTable, IndexedGame
from matchenv.ranking.model import Model, log_sigma_prior
from matchenv.runtime.arrays import Floats, Integers

Pair = tuple[int, int]


class Goal(NamedTuple):
    """What a ranking has to settle.

    Attributes:
        cut: number of items above the cut; 0 for the whole order.
        indifference: difference of skills that does not matter.
    """

    cut: int
    indifference: float


class DenseBelief(ItemBelief):
    """A joint normal belief about n items, and the advantage of the first, in O(n^2) memory.

    The common level of the skills is arbitrary; only differences have a meaning.

    Attributes:
        mu: means of the skills and, if there is one, of the advantage, shape (m,).
        covariance: shape (m, m).
        between: what the uncertainty of sigma adds to the covariance, shape (m, m). It stretches
            all differences alike, so it matters for intervals and not for the order.

    Args:
        num_items: n.
        model: the model.
    """

    def __init__(self, num_items: int, model: Model) -> None:
        self.num_items = num_items
        self.model = model
        self.effect_variance = 0.0
        self.mu = np.zeros(0)
        self.covariance = np.zeros((0, 0))
        self.between = np.zeros((0, 0))
        self._pairs: Integers | None = None

    def copy(self) -> Self:
        """Return a copy for ``expect``."""
        other = type(self)(self.num_items, self.model)
        other.mu = self.mu.copy()
        other.covariance = self.covariance.copy()
        other._pairs = self._pairs
        return other

    def fit(
        self, table: GameTable, mixture: Sequence[Model] = (), tolerance: float = FITTED
    ) -> None:
        """Learn all games, in no order.

        Args:
            table: the games.
            mixture: models over which the belief is averaged, weighted by their evidence; none for
                the belief's own model.
            tolerance: see ``fit_joint``.
        """
        results = table.results(self.num_items, has_advantage=self.model.has_advantage)
        own_fit = self.model.fit(results, table.sites(), self.num_items, tolerance)
        self.mu = own_fit.mu
        self.effect_variance = 0.0
        if any(game.cluster != NOBODY for game in table.games):
            self.effect_variance = effect_variance(table, self.model, self.mu)
        beliefs: list[tuple[Floats, Floats]] = []
        log_weights: list[float] = []
        for model in mixture or [self.model]:
            fit = own_fit
            if model != self.model:
                fit = model.fit(results, table.sites(), self.num_items, tolerance)
            belief = fit.mu, fit.covariance
            if self.effect_variance > 0.0:
                belief = clustered_belief(table, model, self.num_items, self.effect_variance)
            beliefs.append(belief)
            log_weights.append(fit.log_evidence + log_sigma_prior(model))
        self.mu, self.covariance, self.between = mixed(beliefs, np.array(log_weights))

    def learn(self, game: IndexedGame) -> None:
        """Learn one more game."""
        learn_joint(
            self.mu,
            self.covariance,
            (game.i, game.j, game.outcome),
            self.model.noise,
            self._coordinate(game.advantage == 1),
        )

    def expect(self, pair: Pair, *, first: bool) -> None:
        """Learn what a game of a pair is expected to teach.

        Args:
            pair: the items.
            first: whether the first item has the advantage.
        """
        coordinate = self._coordinate(first)
        expect_joint(self.mu, self.covariance, pair, self.model.noise, 0.0, 1.0, 0.0, coordinate)

    @property
    def advantage(self) -> tuple[float, float]:
        """Posterior mean and standard deviation of the first item's advantage."""
        if not self.model.has_advantage:
            return 0.0, 0.0
        variance = self.covariance[-1, -1] + self.between[-1, -1]
        return float(self.mu[-1]), float(np.sqrt(variance))

    @property
    def total_covariance(self) -> Floats:
        """Posterior covariances of the items with the uncertainty of sigma, shape (n, n)."""
        total = self.covariance + self.between
        return total[: self.num_items, : self.num_items]

    def variances(self, reference: int | None = None) -> Floats:
        """Return the variances of the skills minus their mean, or minus one item's, shape (n,)."""
        items = self.total_covariance
        own = np.diagonal(items)
        if reference is None:
            shared = items.mean(axis=1)
            variances = own - 2.0 * shared + shared.mean()
        else:
            variances = own - 2.0 * items[reference] + own[reference]
        return np.maximum(variances, 0.0)

    def scores(
        self, formula: int, goal: Goal, active: Integers, floor: float = 0.0
    ) -> tuple[Integers, Floats]:
        """Return pairs of items, shape (P, 2), and their scores, shape (P,).

        Args:
            formula: see ``pair_scores``.
            goal: only pairs that count for it have scores of at least 0.
            active: items that the goal is about, ascending.
            floor: see ``pair_scores``.
        """
        if self._pairs is None or len(self._pairs) != active.size * (active.size - 1) // 2:
            self._pairs = np.stack(np.triu_indices(active.size, 1), axis=1)
        mu = self.means
        covariance = self.covariance
        if active.size < self.num_items:
            mu = mu[active]
            covariance = covariance[np.ix_(active, active)]
        game = self._pairs, self.model.noise, (goal.cut, goal.indifference)
        scores = pair_scores(formula, mu, covariance, game, floor)
        pairs = self._pairs
        if active.size < self.num_items:
            pairs = active[pairs]
        return pairs, scores

    def draws(self, items: Integers, count: int) -> Floats:
        """Return posterior draws of the skills of some items, up to their common level.

        Equal beliefs give equal draws; the shape is (count, items).
        """
        covariance = self.covariance[np.ix_(items, items)]
        factor = np.linalg.cholesky(covariance + 1e-12 * np.trace(covariance) * np.eye(items.size))
        normals = np.random.default_rng(0).standard_normal((count, items.size))
        return self.means[items] + normals @ factor.T


def mixed(
    beliefs: Sequence[tuple[Floats, Floats]], log_weights: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the mean of a mixture of normal beliefs, and both parts of its covariance.

    Returns:
        The mean, the mean of the covariances, and the covariance of the means.
    """
    if len(beliefs) == 1:
        mean, within = beliefs[0]
        return mean, within, np.zeros_like(within)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    mean = np.zeros_like(beliefs[0][0])
    within = np.zeros_like(beliefs[0][1])
    between = np.zeros_like(beliefs[0][1])
    for weight, (own_mean, own_covariance) in zip(weights, beliefs, strict=True):
        mean += weight * own_mean
        within += weight * own_covariance
    for weight, (own_mean, _) in zip(weights, beliefs, strict=True):
        between += weight * np.outer(own_mean - mean, own_mean - mean)
    return mean, within, between
