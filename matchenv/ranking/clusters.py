"""Games in clusters, for example votes on one prompt, which are not independent.

Within a cluster c each item has an effect u_ic ~ N(0, omega^2) beside its skill. A game informs
about s_i - s_j + u_ic - u_jc. The effects are part of the noise of a performance, so a game that is
alone in its cluster counts as before.
"""

from __future__ import annotations

import math

import numpy as np

from matchenv.belief.joint import NOBODY, Results, Sites, add_sites, game_precision, inverse
from matchenv.ranking.games import GameTable
from matchenv.ranking.model import Model
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import difference_moments, performance_variance

# The effects' share of the variance of a performance is at most this.
LARGEST_SHARE = 0.9

# In large clusters, a game is compared with so many games before it.
WINDOW = 200


def effect_variance(table: GameTable, model: Model, mu: Floats) -> float:
    """Estimate omega^2 from the products of scores of games in one cluster that share an item.

    A game's score is the derivative of its log probability by the contrast. Under the model, scores
    of two games have the covariance omega^2 I_g I_h (a_g . a_h), with the games' information I and
    the directions a.

    Args:
        table: the games.
        model: the model.
        mu: posterior means of the items and, if there is one, of the advantage.
    """
    i, j, outcome, advantage, cluster = table.columns()
    order = np.argsort(cluster, kind="stable")
    order = order[cluster[order] != NOBODY]
    if order.size < 2:
        return 0.0
    gaps = mu[i] - mu[j]
    if model.has_advantage:
        gaps = gaps + advantage * mu[-1]
    scores, information = game_scores(gaps, outcome, model.noise)
    product, square = cluster_products(
        i[order], j[order], cluster[order], scores[order], information[order]
    )
    if square == 0.0:
        return 0.0
    return min(max(0.0, product / square), LARGEST_SHARE * model.beta**2)


@compiled
def game_scores(
    gaps: Floats, outcomes: Integers, noise: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Return the score and the expected information of each game, shape (G,)."""
    beta, draw_margin = noise
    variance = performance_variance(beta)
    scores = np.empty(gaps.size)
    information = np.empty(gaps.size)
    for g in range(gaps.size):
        v, _ = difference_moments(gaps[g], variance, outcomes[g], draw_margin)
        scores[g] = v / math.sqrt(variance)
        information[g] = game_precision(gaps[g], 0.0, noise)
    return scores, information


@compiled
def cluster_products(
    i: Integers, j: Integers, cluster: Integers, scores: Floats, information: Floats
) -> tuple[float, float]:
    """Return the sums of the products of scores and of their covariances by ``effect_variance``.

    Args:
        i: items of each game, sorted by cluster.
        j: the other items.
        cluster: shape (G,).
        scores: see ``game_scores``.
        information: see ``game_scores``.
    """
    product, square = 0.0, 0.0
    start = 0
    while start < cluster.size:
        end = start
        while end < cluster.size and cluster[end] == cluster[start]:
            end += 1
        for g in range(start, end):
            for h in range(max(start, g - WINDOW), g):
                shared = 0.0
                if i[g] == i[h]:
                    shared += 1.0
                if j[g] == j[h]:
                    shared += 1.0
                if i[g] == j[h]:
                    shared -= 1.0
                if j[g] == i[h]:
                    shared -= 1.0
                product += scores[g] * scores[h] * shared
                square += information[g] * information[h] * shared * shared
        start = end
    return product, square


def clustered_belief(
    table: GameTable, model: Model, num_items: int, variance: float
) -> tuple[Floats, Floats]:
    """Return means and covariance of the belief with the effects integrated out.

    Args:
        table: the games, with the sites of the belief without effects.
        model: the model.
        num_items: number of items.
        variance: omega^2, > 0.
    """
    i, j, _, advantage, cluster = table.columns()
    precision, shift = table.unit_sites()
    alone = cluster == NOBODY
    coordinate = np.where(advantage == 1, num_items, NOBODY)
    if not model.has_advantage:
        coordinate[:] = NOBODY
    results = Results(i, j, i, coordinate, alone.astype(np.float64))
    size = num_items + model.has_advantage
    total_precision = np.empty((size, size))
    total_shift = np.empty(size)
    prior = (num_items, model.sigma, model.first_advantage)
    add_sites(results, Sites(precision, shift), total_precision, total_shift, prior)
    order = np.argsort(cluster, kind="stable")
    order = order[~alone[order]]
    grouped = Results(i[order], j[order], cluster[order], coordinate[order], np.ones(order.size))
    sites = Sites(precision[order], shift[order])
    add_clusters(grouped, sites, variance, total_precision, total_shift, num_items)
    covariance, _ = inverse(total_precision)
    return covariance @ total_shift, covariance


@compiled
def add_clusters(
    games: Results,
    sites: Sites,
    variance: float,
    total_precision: Floats,
    total_shift: Floats,
    num_items: int,
) -> None:
    """Add the precision of games in clusters, with the effects integrated out.

    In a cluster with directions A, their items' part E, site precisions W and site means z, the
    means have the covariance R = V + omega^2 E E', V = W^-1 - 2 omega^2. By the matrix inversion
    lemma, with K = A' V^-1 E and M = (1 / omega^2 + E' V^-1 E)^-1, A' R^-1 A = A' V^-1 A - K M K'.

    Args:
        games: the games sorted by cluster, which stands in place of the outcome.
        sites: site of each game.
        variance: omega^2.
        total_precision: shape (m, m); changed.
        total_shift: shape (m,); changed.
        num_items: number of items.
    """
    local = np.full(num_items, -1)
    start = 0
    while start < games.i.size:
        end = start
        while end < games.i.size and games.outcome[end] == games.outcome[start]:
            end += 1
        members = np.unique(np.concatenate((games.i[start:end], games.j[start:end])))
        count = members.size
        local[members] = np.arange(count)
        # The last coordinate is the advantage.
        weights = np.zeros((count + 1, count + 1))
        shifts = np.zeros(count + 1)
        direction = np.zeros(count + 1)
        for g in range(start, end):
            direction[:] = 0.0
            direction[local[games.i[g]]] = 1.0
            direction[local[games.j[g]]] = -1.0
            if games.advantage[g] != NOBODY:
                direction[count] = 1.0
            rest = 1.0 - 2.0 * variance * sites.precision[g]
            shifts += sites.shift[g] / rest * direction
            weights += sites.precision[g] / rest * np.outer(direction, direction)
        inner = weights[:count, :count] + np.eye(count) / variance
        across = np.ascontiguousarray(weights[:, :count])
        solved = np.linalg.solve(inner, np.ascontiguousarray(across.T))
        removed = across @ solved
        kept = shifts - across @ np.linalg.solve(inner, np.ascontiguousarray(shifts[:count]))
        for a in range(count):
            total_shift[members[a]] += kept[a]
            for b in range(count):
                total_precision[members[a], members[b]] += weights[a, b] - removed[a, b]
        if len(total_precision) > num_items:
            total_shift[num_items] += kept[count]
            total_precision[num_items, num_items] += weights[count, count] - removed[count, count]
            for a in range(count):
                part = weights[a, count] - removed[a, count]
                total_precision[members[a], num_items] += part
                total_precision[num_items, members[a]] += part
        start = end
