"""Does the model fit the games? A posterior predictive check of upsets and cycles.

Games are simulated from the posterior with the same schedule, the model is fitted to them again,
and the statistics of both are compared. The fit in each replication makes the p-value calibrated:
games that follow the model are refused with the stated probability.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from matchenv.belief.joint import NOBODY, Results, new_sites
from matchenv.ranking.dense import DenseBelief
from matchenv.ranking.games import GameTable
from matchenv.ranking.model import Model
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import draw_probability_of, performance_variance, win_probability_of

MOST_ITEMS = 100  # the check uses the games among so many of the best items
REPLICATIONS = 199
MOST_SIMULATED = 20_000_000  # games in all replications
FEWEST_REPLICATIONS = 39


class FitCheck(NamedTuple):
    """Comparison of the games with what the model expects.

    Attributes:
        upsets: share of decided games that the item with the lower mean won.
        expected_upsets: mean share in simulated games that follow the model.
        cycle: three items with the strongest cycle: the first does better against the second than
            their skills say, the second against the third, the third against the first; empty if
            no three items all met.
        p_value: probability of so strong a cycle if the model is right.
    """

    upsets: float
    expected_upsets: float
    cycle: tuple[str, ...]
    p_value: float


class _Statistics(NamedTuple):
    upsets: float
    strength: float
    cycle: tuple[int, int, int]


def checked_fit(table: GameTable, belief: DenseBelief, names: list[str]) -> FitCheck:
    """Compare the games of a table with simulated games from a belief.

    Args:
        table: the games.
        belief: the belief from all of them.
        names: names of the items.
    """
    model = belief.model
    items = np.sort(np.argsort(-belief.means, kind="stable")[:MOST_ITEMS])
    place = np.full(belief.num_items, NOBODY)
    place[items] = np.arange(items.size)
    i, j, outcomes, advantage, cluster = table.columns()
    kept = (place[i] != NOBODY) & (place[j] != NOBODY)
    pairs = np.stack((place[i[kept]], place[j[kept]]), axis=1)
    outcomes = outcomes[kept]
    sided = advantage[kept] == 1
    if not model.has_advantage:
        sided[:] = False
    observed = _statistics(pairs, sided, outcomes, items.size, model)
    rng = np.random.default_rng(0)
    count = min(REPLICATIONS, MOST_SIMULATED // max(1, len(pairs)))
    count = max(FEWEST_REPLICATIONS, count)
    skills = _skills(belief, items, rng, count)
    upsets = np.empty(count)
    strengths = np.empty(count)
    for replication in range(count):
        simulated = _simulated(
            skills[replication], pairs, sided, cluster[kept], belief.effect_variance, model, rng
        )
        statistics = _statistics(pairs, sided, simulated, items.size, model)
        upsets[replication] = statistics.upsets
        strengths[replication] = statistics.strength
    cycle: tuple[str, ...] = ()
    if observed.strength > 0.0:
        cycle = tuple(names[items[item]] for item in observed.cycle)
    # With the games themselves among the replications, the p-value is never 0.
    stronger = int(np.count_nonzero(strengths >= observed.strength))
    return FitCheck(
        upsets=observed.upsets,
        expected_upsets=float(upsets.mean()),
        cycle=cycle,
        p_value=(1 + stronger) / (1 + count),
    )


def _skills(belief: DenseBelief, items: Integers, rng: np.random.Generator, count: int) -> Floats:
    """Return posterior draws of skills and the advantage, shape (count, items + 1)."""
    chosen = items
    if belief.model.has_advantage:
        chosen = np.append(items, belief.num_items)
    covariance = belief.covariance[np.ix_(chosen, chosen)]
    factor = np.linalg.cholesky(covariance + 1e-12 * np.trace(covariance) * np.eye(chosen.size))
    draws = belief.mu[chosen] + rng.standard_normal((count, chosen.size)) @ factor.T
    if not belief.model.has_advantage:
        draws = np.column_stack((draws, np.zeros(count)))
    return draws


def _simulated(
    skills: Floats,
    pairs: Integers,
    sided: Integers,
    cluster: Integers,
    effect_variance: float,
    model: Model,
    rng: np.random.Generator,
) -> Integers:
    """Return outcomes of games between items with these skills, shape (G,)."""
    gaps = skills[pairs[:, 0]] - skills[pairs[:, 1]] + skills[-1] * sided
    noise = np.full(len(pairs), 2.0 * model.beta**2)
    if effect_variance > 0.0:
        together = cluster != NOBODY
        items = skills.size - 1
        own = np.unique(np.concatenate([cluster * items + side for side in pairs.T]))
        effects = math.sqrt(effect_variance) * rng.standard_normal(own.size)
        for side, sign in ((0, 1.0), (1, -1.0)):
            effect = effects[np.searchsorted(own, cluster * items + pairs[:, side])]
            gaps = gaps + np.where(together, sign * effect, 0.0)
        noise[together] -= 2.0 * effect_variance
    leads = gaps + np.sqrt(noise) * rng.standard_normal(len(pairs))
    decided = np.abs(leads) > model.draw_margin
    return np.where(decided, np.sign(leads), 0.0).astype(np.int64)


def _statistics(
    pairs: Integers, sided: Integers, outcomes: Integers, num_items: int, model: Model
) -> _Statistics:
    """Fit the model to games, and return the share of upsets and the strongest cycle."""
    i, j = pairs.T
    swapped = ~sided & (i > j)
    low = np.where(swapped, j, i)
    high = np.where(swapped, i, j)
    signed = np.where(swapped, -outcomes, outcomes)
    code = ((low * num_items + high) * 2 + sided) * 3 + signed + 1
    distinct, count = np.unique(code, return_counts=True)
    pair = distinct // 6
    has_first = (distinct // 3) % 2 == 1
    results = Results(
        pair // num_items,
        pair % num_items,
        distinct % 3 - 1,
        np.where(has_first, num_items, NOBODY),
        count.astype(np.float64),
    )
    fit = model.fit(results, new_sites(distinct.size), num_items)
    lead = fit.mu[results.i] - fit.mu[results.j]
    decided = results.outcome != 0
    wrong = decided & (lead * results.outcome < 0.0)
    games = max(1.0, results.number[decided].sum())
    upsets = float(results.number[wrong].sum() / games)
    residual, variance = pair_residuals(results, fit.mu, num_items, model.noise)
    strength, cycle = strongest_cycle(residual, variance)
    return _Statistics(upsets, strength, cycle)


@compiled
def pair_residuals(
    results: Results, mu: Floats, num_items: int, noise: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Return the score of each item against each other one, minus its expectation.

    A win scores 1, a draw 0.5.

    Returns:
        The residuals, antisymmetric, and their variances, symmetric, 0 for items that did not
        meet; shape (n, n).
    """
    beta, draw_margin = noise
    spread = performance_variance(beta)
    residual = np.zeros((num_items, num_items))
    variance = np.zeros((num_items, num_items))
    for g in range(results.i.size):
        i, j, h = results.i[g], results.j[g], results.advantage[g]
        gap = mu[i] - mu[j]
        if h != NOBODY:
            gap += mu[h]
        win = win_probability_of(gap, spread, draw_margin)
        draw = 0.0
        if draw_margin > 0.0:
            draw = draw_probability_of(gap, spread, draw_margin)
        expected = win + 0.5 * draw
        score = 0.5 + 0.5 * results.outcome[g]
        residual[i, j] += results.number[g] * (score - expected)
        residual[j, i] -= results.number[g] * (score - expected)
        own = results.number[g] * (win + 0.25 * draw - expected * expected)
        variance[i, j] += own
        variance[j, i] += own
    return residual, variance


@compiled
def strongest_cycle(residual: Floats, variance: Floats) -> tuple[float, tuple[int, int, int]]:
    """Return the largest standardised curl of three items, and them in the cycle's direction.

    The curl of a, b, c is the sum of residual / variance over (a, b), (b, c) and (c, a); each term
    estimates a difference of log odds, with variance 1 / variance.
    """
    items = len(residual)
    best = 0.0
    cycle = (0, 0, 0)
    for a in range(items):
        for b in range(a + 1, items):
            if variance[a, b] <= 0.0:
                continue
            for c in range(b + 1, items):
                if variance[b, c] <= 0.0 or variance[a, c] <= 0.0:
                    continue
                curl = residual[a, b] / variance[a, b]
                curl += residual[b, c] / variance[b, c]
                curl += residual[c, a] / variance[c, a]
                total = 1.0 / variance[a, b] + 1.0 / variance[b, c] + 1.0 / variance[c, a]
                strength = abs(curl) / math.sqrt(total)
                if strength > best:
                    best = strength
                    cycle = (a, b, c) if curl > 0.0 else (a, c, b)
    return best, cycle
