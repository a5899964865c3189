"""Simulated games until a goal is settled."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from matchenv.baselines.ranking import KNOWLEDGE, UNSURE, pair_scores
from matchenv.belief.joint import difference_variance, expect_joint, game_precision, learn_joint
from matchenv.envs.ranking import Game
from matchenv.runtime.arrays import Floats, Keys
from matchenv.runtime.compile import compiled
from matchenv.runtime.random import normal, normals

MOST_GAMES = 1_000_000  # upper limit of estimates
NEAR = 0.5  # pairs with this share of the best score play in the same round of a simulation
# Games of a pair in a row, as a share of all games so far. With a tenth, the upper ends are 8 %
# higher, since the choice is made more rarely.
SHARE = 0.03
HOPELESS = 5.0  # expected misordered pairs after MOST_GAMES for which no simulation is run

# Streams of random numbers.
TRUTH, PLAY = range(2)


def simulated_games(
    mu: Floats, covariance: Floats, game: Game, bound: float, keys: Keys
) -> list[int]:
    """Return the numbers of further games in simulations, each at most ``MOST_GAMES``.

    Args:
        mu: posterior means, shape (n,).
        covariance: posterior covariances, shape (n, n).
        game: pairs, noise, and cut with indifference.
        bound: expected number of misordered pairs at which the goal is settled.
        keys: keys of the random numbers of each simulation, uint64.
    """
    if is_hopeless(mu, covariance, game):
        return [MOST_GAMES] * keys.size
    factor = np.linalg.cholesky(covariance)
    truths = mu + normals(keys, TRUTH, 0, mu.size) @ factor.T
    counts: list[int] = []
    for key, truth in zip(keys, truths, strict=True):
        counts.append(games_until(mu.copy(), covariance.copy(), game, bound, key, truth))
    return counts


def interval_of(counts: Sequence[int], outside: float) -> tuple[int, int]:
    """Return counts outside which the next one falls with a probability near ``outside``.

    Half of it is below and half above if counts differ. Small numbers of games are often equal: the
    probability below is then as near to a half as it can be, and the rest is above.
    """
    values, numbers = np.unique(counts, return_counts=True)
    # The next number falls into each gap between sorted ones, and outside all, equally likely.
    below = (np.cumsum(numbers) - numbers + 1) / (len(counts) + 1)
    above = (np.cumsum(numbers[::-1])[::-1] - numbers + 1) / (len(counts) + 1)
    low = np.abs(below - 0.5 * outside).argmin()
    high = np.abs(above - (outside - below[low])).argmin()
    return int(values[low]), int(values[high])


def is_hopeless(mu: Floats, covariance: Floats, game: Game) -> bool:
    """Return whether even ``MOST_GAMES`` games would leave many pairs open."""
    _, noise, _ = game
    variance = np.diagonal(covariance)
    # A game measures s_i - s_j with a precision of at most 1 / (pi beta^2).
    precision = 2.0 * MOST_GAMES / (mu.size * np.pi * noise[0] ** 2)
    after = variance / (1.0 + variance * precision)
    deviates = normals(np.array([0], np.uint64), TRUTH, 0, mu.size)[0]
    skills = mu + np.sqrt(variance) * deviates
    doubts = pair_scores(UNSURE, skills, np.diag(after), game)
    return bool(doubts[doubts > 0.0].sum() > HOPELESS)


@compiled
def games_until(
    mu: Floats, covariance: Floats, game: Game, bound: float, key: np.uint64, truth: Floats
) -> int:
    """Simulate games until the goal is settled; return their number, at most ``MOST_GAMES``.

    Each round plays disjoint pairs with scores near the best. A pair plays one game, or as many as
    the share ``SHARE`` of all games so far, if they add at most this share to the precision of its
    difference; these count as one normal measurement. With more than 30 items, the share is
    n / 1000.

    Args:
        mu: posterior means, shape (n,); changed.
        covariance: posterior covariances, shape (n, n); changed.
        game: pairs, noise, and cut with indifference.
        bound: expected number of misordered pairs at which the goal is settled.
        key: key of the random numbers.
        truth: skills that decide the results, shape (n,).
    """
    pairs, noise, _ = game
    beta, draw_margin = noise
    total, step = 0.0, 0
    share = min(1.0, max(SHARE, mu.size / 1000.0))
    while total < MOST_GAMES:
        if np.maximum(pair_scores(UNSURE, mu, covariance, game, 0.0), 0.0).sum() <= bound:
            break
        scores = pair_scores(KNOWLEDGE, mu, covariance, game, NEAR)
        near = np.flatnonzero(scores >= NEAR * scores.max())
        free = np.ones(mu.size, np.bool_)
        for p in near[np.argsort(-scores[near], kind="mergesort")]:
            i, j = pairs[p]
            if not (free[i] and free[j]):
                continue
            free[i] = free[j] = False
            gap = mu[i] - mu[j]
            spread = difference_variance(covariance, i, j)
            precision = game_precision(gap, spread, noise)
            games = np.floor(max(1.0, min(share / (spread * precision), share * total)))
            luck = normal(key, PLAY, step)
            step += 1
            lead = truth[i] - truth[j]
            if games == 1.0:
                lead += math.sqrt(2.0) * beta * luck
                outcome = 0
                if abs(lead) > draw_margin:
                    outcome = 1 if lead > 0.0 else -1
                learn_joint(mu, covariance, (i, j, outcome), noise)
            else:
                deviation = 1.0 / math.sqrt(games * precision)
                surprise = lead + deviation * luck - gap
                shift = surprise / math.sqrt(spread + deviation * deviation)
                expect_joint(mu, covariance, (i, j), noise, share, share * total, shift)
            total += games
    return int(min(total, MOST_GAMES))
