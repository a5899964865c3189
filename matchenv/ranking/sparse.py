"""The belief about many items, for the goals ``top`` and ``best``: memory of a few numbers a game.

The belief is the joint normal one of ``matchenv.belief.joint``, stored as a sparse precision: one
edge for each two items that met. What it stores of the covariance is the columns of the items above
the cut, the leaders, and all variances: the pairs of the goal are those of a leader and another
item.

- Means and columns are exact for the given precision, by conjugate gradients.
- Variances are those of belief propagation, exact if the items' graph has no cycles and within a
  few percent on graphs of random pairs.
- Places are drawn as if skills were independent.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
from scipy.optimize import root

from matchenv.baselines.ranking import UNSURE, pair_score
from matchenv.belief.joint import (
    LEAST_SHARE,
    NOBODY,
    Results,
    Sites,
    game_precision,
    revise_sites,
)
from matchenv.ranking.belief import ItemBelief
from matchenv.ranking.dense import Goal, Pair
from matchenv.ranking.games import GameTable, IndexedGame
from matchenv.ranking.model import HIGH, LOW, MARGIN_PRIOR, SIGMA_PRIOR, Model
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.compile import compiled
from matchenv.trueskill.draw_margin import draw_margin_from_probability
from matchenv.trueskill.game import difference_moments, performance_variance

MOST_LEADERS, MOST_SPARSE_ITEMS = 100, 200_000

# Fits end when no site changes by more than this, in standard deviations.
FITTED, MOST_ROUNDS = 1e-4, 60
# Relative residual of conjugate gradients, and their most steps.
RESIDUAL, MOST_STEPS = 1e-6, 1000
# Doubts below this are left out of the list of pairs.
SMALLEST_DOUBT = 1e-12
# Columns that are solved together.
TOGETHER = 16


class Edges(NamedTuple):
    """Measurements of contrasts; E rows."""

    i: Integers
    j: Integers
    advantage: Integers  # coordinate of the advantage, or NOBODY
    precision: Floats


class SparseBelief(ItemBelief):
    """A joint normal belief about n items whose covariance is kept for the leaders only.

    Args:
        num_items: n.
        model: the model.
        k: number of leaders.
    """

    def __init__(self, num_items: int, model: Model, k: int) -> None:
        self.num_items = num_items
        self.model = model
        self.k = k
        size = num_items + model.has_advantage
        self.mu = np.zeros(size)
        self.variance = np.zeros(num_items)
        self._columns: dict[int, Floats] = {}
        nothing = np.zeros(0, dtype=np.int64)
        self._edges = Edges(nothing, nothing, nothing, np.zeros(0))
        self._diagonal = np.ones(size)

    def copy(self) -> Self:
        """Return a copy for ``expect``."""
        other = type(self)(self.num_items, self.model, self.k)
        other.mu = self.mu.copy()
        other.variance = self.variance.copy()
        other._columns = {item: column.copy() for item, column in self._columns.items()}
        other._edges = self._edges
        other._diagonal = self._diagonal
        return other

    @staticmethod
    def estimated(
        model: Model, table: GameTable, num_items: int, *, sigma: bool, draw_margin: bool
    ) -> Model:
        """Return the model at which the derivatives of the evidence vanish, with a weak prior.

        See ``matchenv.ranking.model.estimated`` for the arguments.
        """
        results = table.results(num_items, has_advantage=model.has_advantage)
        drawn = float(results.number[results.outcome == 0].sum())
        if draw_margin and drawn == 0.0:
            model = replace(model, draw_margin=0.0)
            draw_margin = False
        if not len(table) or not (sigma or draw_margin):
            return model
        start = [math.log(model.sigma / model.beta)] if sigma else []
        if draw_margin:
            share = min(0.9, drawn / len(table))
            margin = draw_margin_from_probability(share, model.beta)
            start.append(math.log(margin / model.beta))

        def changed(logarithms: Floats) -> Model:
            values = model.beta * np.exp(np.clip(logarithms, math.log(LOW), math.log(HIGH)))
            candidate = model
            if sigma:
                candidate = replace(candidate, sigma=float(values[0]))
            if draw_margin:
                candidate = replace(candidate, draw_margin=float(values[-1]))
            return candidate

        def slopes(logarithms: Floats) -> Floats:
            candidate = changed(logarithms)
            belief = SparseBelief(num_items, candidate, 1)
            margin_slope = belief._fit_sites(results, table.sites())
            squares = belief.variance.sum() + belief.means @ belief.means
            values: list[float] = []
            if sigma:
                mean, deviation = SIGMA_PRIOR
                slope = squares / candidate.sigma**2 - num_items
                values.append(slope - (logarithms[0] - mean) / deviation**2)
            if draw_margin:
                mean, deviation = MARGIN_PRIOR
                slope = margin_slope * candidate.draw_margin
                values.append(slope - (logarithms[-1] - mean) / deviation**2)
            return np.array(values)

        return changed(root(slopes, np.array(start), method="hybr", options={"xtol": 1e-3}).x)

    def fit(self, table: GameTable) -> None:
        """Learn all games, in no order."""
        results = table.results(self.num_items, has_advantage=self.model.has_advantage)
        self._fit_sites(results, table.sites())
        self._columns = {}
        order = np.argsort(-self.means, kind="stable")
        self._complete_columns(order[: self.k])

    def _fit_sites(self, results: Results, sites: Sites) -> float:
        """Fit sites, means and variances; return the slope of the evidence by the margin."""
        pair, pair_i, pair_j = _pairs_of(results, self.num_items)
        messages = np.zeros((2, pair_i.size))
        # Neighbours in memory are read faster.
        order = np.lexsort((results.j, results.i))
        players = results.i[order], results.j[order], results.advantage[order]
        margin_slope = 0.0
        for _ in range(MOST_ROUNDS):
            precision = results.number * sites.precision
            self._set_edges(Edges(*players, precision[order]))
            total = np.bincount(pair, precision, minlength=pair_i.size)
            self.variance, cavity = propagated(
                pair_i, pair_j, total, messages, self.num_items, self.model.sigma
            )
            information = _information(results, sites, self.mu.size)
            self.mu = self._solved(information[:, np.newaxis], self.mu[:, np.newaxis])[:, 0]
            spreads = (1.0 / (1.0 / cavity + total))[pair]
            means = self.mu[results.i] - self.mu[results.j]
            if self.model.has_advantage:
                means = means + np.where(results.advantage == NOBODY, 0.0, self.mu[-1])
            change, _, margin_slope = revise_sites(
                results, sites, means, spreads, self.model.noise, 0.9
            )
            if change <= FITTED:
                break
        return margin_slope

    def learn(self, game: IndexedGame) -> None:
        """Learn one more game."""
        coordinate = self._coordinate(game.advantage == 1)
        gap = self._gap(game.i, game.j, coordinate)
        moved, spread = self._moved(game.i, game.j, coordinate)
        variance = performance_variance(self.model.beta) + spread
        v, complement = difference_moments(gap, variance, game.outcome, self.model.draw_margin)
        self.mu = self.mu + v / math.sqrt(variance) * moved
        reduction = max(0.0, 1.0 - complement)
        precision = reduction / (variance - reduction * spread)
        self._measure(game.i, game.j, coordinate, precision, moved, spread)

    def expect(self, pair: Pair, *, first: bool) -> None:
        """Learn what a game of a pair is expected to teach; see ``DenseBelief.expect``."""
        i, j = pair
        coordinate = self._coordinate(first)
        moved, spread = self._moved(i, j, coordinate)
        precision = game_precision(self._gap(i, j, coordinate), spread, self.model.noise)
        self._measure(i, j, coordinate, precision, moved, spread)

    @property
    def advantage(self) -> tuple[float, float]:
        """Posterior mean and standard deviation of the first item's advantage."""
        if not self.model.has_advantage:
            return 0.0, 0.0
        unit = np.zeros((self.mu.size, 1))
        unit[-1] = 1.0
        return float(self.mu[-1]), math.sqrt(float(self._solved(unit)[-1, 0]))

    def variances(self, reference: int | None = None) -> Floats:
        """Return the variances of the skills minus their mean, or minus one item's, shape (n,)."""
        if reference is None:
            return self.variance.copy()
        column = self._column(reference)
        variances = self.variance + column[reference] - 2.0 * column[: self.num_items]
        variances[reference] = 0.0
        return np.maximum(variances, 0.0)

    def scores(
        self, formula: int, goal: Goal, active: Integers, floor: float = 0.0
    ) -> tuple[Integers, Floats]:
        """Return pairs across the cut, shape (P, 2), and their scores, shape (P,).

        See ``DenseBelief.scores`` for the arguments; pairs without a doubt are left out.
        """
        order = active[np.argsort(-self.means[active], kind="stable")]
        # The closest to the cut first: the best score is found early.
        leaders = order[: goal.cut][::-1]
        self._complete_columns(leaders)
        others = order[goal.cut :]
        columns = np.stack([self._columns[leader][: self.num_items] for leader in leaders.tolist()])
        least = SMALLEST_DOUBT if formula == UNSURE else 0.0
        return cut_scores(
            formula,
            (self.means, self.variance, columns),
            (leaders, others),
            self.model.noise,
            goal.indifference,
            (floor, least),
        )

    def draws(self, items: Integers, count: int) -> Floats:
        """Return draws of the skills of some items as if they were independent."""
        normals = np.random.default_rng(0).standard_normal((count, items.size))
        return self.means[items] + normals * np.sqrt(self.variance[items])

    def _gap(self, i: int, j: int, coordinate: int) -> float:
        """Return the mean of a contrast."""
        gap = float(self.mu[i] - self.mu[j])
        if coordinate != NOBODY:
            gap += float(self.mu[coordinate])
        return gap

    def _moved(self, i: int, j: int, coordinate: int) -> tuple[Floats, float]:
        """Return the covariances with a contrast, and its variance."""
        direction = np.zeros((self.mu.size, 1))
        direction[i] = 1.0
        direction[j] = -1.0
        if coordinate != NOBODY:
            direction[coordinate] = 1.0
        moved = self._solved(direction)[:, 0]
        return moved, float(moved @ direction[:, 0])

    def _measure(
        self, i: int, j: int, coordinate: int, precision: float, moved: Floats, spread: float
    ) -> None:
        """Add a measurement of a contrast to the precision, the variances and the columns."""
        weight = precision / (1.0 + precision * spread)
        items = moved[: self.num_items]
        self.variance = np.maximum(
            self.variance - weight * items * items, LEAST_SHARE * self.variance
        )
        for leader, column in self._columns.items():
            column -= weight * moved[leader] * moved
        edges = self._edges
        self._set_edges(
            Edges(
                np.append(edges.i, i),
                np.append(edges.j, j),
                np.append(edges.advantage, coordinate),
                np.append(edges.precision, precision),
            )
        )

    def _set_edges(self, edges: Edges) -> None:
        self._edges = edges
        self._diagonal = diagonal_of(
            edges, self.num_items, self.mu.size, self.model.sigma, self.model.first_advantage
        )

    def _column(self, item: int) -> Floats:
        self._complete_columns(np.array([item]))
        return self._columns[item]

    def _complete_columns(self, items: Integers) -> None:
        """Solve the missing columns of some items, and forget those of others."""
        wanted = items.tolist()
        self._columns = {item: self._columns[item] for item in wanted if item in self._columns}
        missing = [item for item in wanted if item not in self._columns]
        for start in range(0, len(missing), TOGETHER):
            group = missing[start : start + TOGETHER]
            units = np.zeros((self.mu.size, len(group)))
            units[group, np.arange(len(group))] = 1.0
            for item, column in zip(group, self._solved(units).T, strict=True):
                self._columns[item] = column.copy()

    def _solved(self, right: Floats, start: Floats | None = None) -> Floats:
        """Return the covariance times some columns, shape (m, columns)."""
        if start is None:
            start = np.zeros_like(right)
        prior = np.full(self.mu.size, self.model.sigma**-2.0)
        if self.model.has_advantage:
            prior[-1] = self.model.first_advantage**-2.0
        return conjugate_gradients(self._edges, prior, self._diagonal, right, start.copy())


def _pairs_of(results: Results, num_items: int) -> tuple[Integers, Integers, Integers]:
    """Return the pair of each row, and the items of each pair."""
    low = np.minimum(results.i, results.j)
    high = np.maximum(results.i, results.j)
    codes, pair = np.unique(low * num_items + high, return_inverse=True)
    return pair.astype(np.int64), codes // num_items, codes % num_items


def _information(results: Results, sites: Sites, size: int) -> Floats:
    """Return precision times mean, shape (m,)."""
    shift = results.number * sites.shift
    information: Floats = np.bincount(results.i, shift, minlength=size).astype(np.float64)
    information -= np.bincount(results.j, shift, minlength=size)
    sided = results.advantage != NOBODY
    if sided.any():
        information[-1] += shift[sided].sum()
    return information


@compiled
def propagated(
    i: Integers, j: Integers, precision: Floats, messages: Floats, num_items: int, sigma: float
) -> tuple[Floats, Floats]:
    """Return the variances of belief propagation, after two more rounds.

    Args:
        i: items of each pair, shape (E,).
        j: the other items.
        precision: of the measurement of s_i - s_j, shape (E,).
        messages: precisions that a pair adds to its items, shape (2, E); changed.
        num_items: n.
        sigma: prior standard deviation of a skill.

    Returns:
        Variances of the items, shape (n,), and those of s_i - s_j without the pair's own
        measurement, shape (E,).
    """
    total = np.empty(num_items)
    cavity = np.empty(i.size)
    for _ in range(2):
        total[:] = 1.0 / (sigma * sigma)
        for e in range(i.size):
            total[i[e]] += messages[0, e]
            total[j[e]] += messages[1, e]
        for e in range(i.size):
            own_i = 1.0 / (total[i[e]] - messages[0, e])
            own_j = 1.0 / (total[j[e]] - messages[1, e])
            cavity[e] = own_i + own_j
            messages[0, e] = precision[e] / (1.0 + precision[e] * own_j)
            messages[1, e] = precision[e] / (1.0 + precision[e] * own_i)
    return 1.0 / total, cavity


@compiled
def diagonal_of(
    edges: Edges, num_items: int, size: int, sigma: float, advantage_sigma: float
) -> Floats:
    """Return the diagonal of the precision, shape (m,)."""
    diagonal = np.full(size, 1.0 / (sigma * sigma))
    if size > num_items:
        diagonal[num_items] = 1.0 / (advantage_sigma * advantage_sigma)
    for e in range(edges.i.size):
        diagonal[edges.i[e]] += edges.precision[e]
        diagonal[edges.j[e]] += edges.precision[e]
        if edges.advantage[e] != NOBODY:
            diagonal[edges.advantage[e]] += edges.precision[e]
    return diagonal


@compiled
def multiplied(edges: Edges, prior: Floats, columns: Floats, product: Floats) -> None:
    """Write the precision times some columns, shape (m, columns)."""
    for a in range(len(columns)):
        product[a] = prior[a] * columns[a]
    for e in range(edges.i.size):
        i, j, h = edges.i[e], edges.j[e], edges.advantage[e]
        for c in range(columns.shape[1]):
            contrast = columns[i, c] - columns[j, c]
            if h != NOBODY:
                contrast += columns[h, c]
            contrast *= edges.precision[e]
            product[i, c] += contrast
            product[j, c] -= contrast
            if h != NOBODY:
                product[h, c] += contrast


@compiled
def conjugate_gradients(
    edges: Edges, prior: Floats, diagonal: Floats, right: Floats, solution: Floats
) -> Floats:
    """Solve precision @ solution = right for some columns, shape (m, columns).

    Preconditioned by the diagonal. Source: Golub and Van Loan, "Matrix Computations" (2013),
    algorithm 11.5.1.

    Args:
        edges: the measurements.
        prior: prior precisions, shape (m,).
        diagonal: of the precision, shape (m,).
        right: right sides.
        solution: where to start; changed.
    """
    size, count = right.shape
    product = np.empty((size, count))
    multiplied(edges, prior, solution, product)
    residual = right - product
    direction = np.zeros((size, count))
    before = np.ones(count)
    limit = np.empty(count)
    after = np.empty(count)
    step = np.empty(count)
    for c in range(count):
        limit[c] = RESIDUAL * RESIDUAL * np.sum(right[:, c] * right[:, c] / diagonal)
    for _ in range(MOST_STEPS):
        after[:] = 0.0
        for a in range(size):
            after += residual[a] * residual[a] / diagonal[a]
        if (after <= limit).all():
            break
        for a in range(size):
            direction[a] = residual[a] / diagonal[a] + after / before * direction[a]
        multiplied(edges, prior, direction, product)
        step[:] = 0.0
        for a in range(size):
            step += direction[a] * product[a]
        for c in range(count):
            step[c] = after[c] / step[c] if step[c] > 0.0 else 0.0
        for a in range(size):
            solution[a] += step * direction[a]
            residual[a] -= step * product[a]
        for c in range(count):
            before[c] = after[c] if after[c] > 0.0 else 1.0
    return solution


@compiled
def cut_scores(
    formula: int,
    belief: tuple[Floats, Floats, Floats],
    sides: tuple[Integers, Integers],
    noise: tuple[float, float],
    indifference: float,
    limits: tuple[float, float],
) -> tuple[Integers, Floats]:
    """Return the pairs of a leader and another item with their scores.

    Args:
        formula: see ``pair_scores``.
        belief: means and variances of the items, shape (n,), and the leaders' columns of the
            covariance, shape (leaders, n).
        sides: leaders and other items.
        noise: beta and the draw margin.
        indifference: see ``pair_score``.
        limits: share of the best score below which scores can be left out, and the least score.
    """
    mu, variance, columns = belief
    leaders, others = sides
    floor, least = limits
    most = leaders.size * others.size
    pairs = np.empty((most, 2), dtype=np.int64)
    scores = np.empty(most)
    size = 0
    best, furthest = 0.0, math.inf
    for row in range(leaders.size):
        leader = leaders[row]
        own = columns[row, leader]
        for other in others:
            gap = abs(mu[leader] - mu[other])
            both = own + variance[other]
            spread = max(both - 2.0 * columns[row, other], LEAST_SHARE * both)
            if (gap + indifference) ** 2 > furthest * spread:
                continue
            score = pair_score(formula, gap, spread, noise, indifference)
            if score < least:
                continue
            pairs[size, 0] = leader
            pairs[size, 1] = other
            scores[size] = score
            size += 1
            if floor > 0.0 and score > best:
                best = score
                # A score is at most exp(-lead^2 / 2) / 2.
                furthest = -2.0 * math.log(2.0 * floor * best)
    return pairs[:size], scores[:size]
