"""The belief about items with all covariances."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from matchenv.baselines.ranking import pair_scores
from matchenv.belief.joint import NOBODY, expect_joint, learn_joint
from matchenv.ranking.clusters import clustered_belief, effect_variance
from matchenv.ranking.games import GameTable, IndexedGame
from matchenv.ranking.model import Model
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


class DenseBelief:
    """A joint normal belief about n items, and the advantage of the first, in O(n^2) memory.

    The common level of the skills is arbitrary; only differences have a meaning.

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
        self._pairs: Integers | None = None

    def copy(self) -> Self:
        """Return a copy for ``expect``."""
        other = type(self)(self.num_items, self.model)
        other.mu = self.mu.copy()
        other.covariance = self.covariance.copy()
        other._pairs = self._pairs
        return other

    def fit(self, table: GameTable) -> None:
        """Learn all games, in no order."""
        results = table.results(self.num_items, has_advantage=self.model.has_advantage)
        fit = self.model.fit(results, table.sites(), self.num_items)
        self.mu = fit.mu
        self.covariance = fit.covariance
        self.effect_variance = 0.0
        if any(game.cluster != NOBODY for game in table.games):
            self.effect_variance = effect_variance(table, self.model, self.mu)
        if self.effect_variance > 0.0:
            self.mu, self.covariance = clustered_belief(
                table, self.model, self.num_items, self.effect_variance
            )

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
        expect_joint(
            self.mu, self.covariance, pair, self.model.noise, 0.0, 1.0, 0.0, coordinate
        )

    def _coordinate(self, first: bool) -> int:
        if first and self.model.has_advantage:
            return self.num_items
        return NOBODY

    @property
    def means(self) -> Floats:
        """Posterior means of the items, with sum 0, shape (n,)."""
        return self.mu[: self.num_items]

    @property
    def advantage(self) -> tuple[float, float]:
        """Posterior mean and standard deviation of the first item's advantage."""
        if not self.model.has_advantage:
            return 0.0, 0.0
        return float(self.mu[-1]), float(np.sqrt(self.covariance[-1, -1]))

    def variances(self, reference: int | None = None) -> Floats:
        """Return the variances of the skills minus their mean, or minus one item's, shape (n,)."""
        items = self.covariance[: self.num_items, : self.num_items]
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
