"""The knowledge-gradient rule, as stated in the paper.

A game against opponent j shifts the gap mu_0 - mu_k to every other opponent k by L_k s, and lowers
the variance V_k of the difference of performances by L_k^2 l. Here s and l depend on the game
only, and L_k = Cov(s_0, s_0 - s_k) / sigma_0, which is sigma_0 on the factorised belief. So one
compiled rule serves the factorised and the full belief. Other beliefs are updated by their own
``learn``. ``matchenv.baselines.knowledge_gradient`` finds the highest score faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.belief import GameConstants
from matchenv.belief.knowledge import KnowledgeState
from matchenv.runtime.arrays import Floats
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import (
    OUTCOMES,
    density_at_zero,
    difference_moments,
    outcome_probability_of,
    performance_variance,
)

# As an array, since compiled loops over tuples are unrolled.
ALL_OUTCOMES = np.array(OUTCOMES)

# Largest batch of successor states when a belief's own update is used.
MOST_STATES = 1 << 13


@compiled(inline=True)
def possible_outcomes(game: GameConstants) -> NDArray[np.int64]:
    """Return the outcomes of a game; the draw is last, and needs a margin."""
    if game.draw_margin > 0.0:
        return ALL_OUTCOMES
    return ALL_OUTCOMES[:2]


class Opponents(NamedTuple):
    """The opponents of one state, arrays of shape (M,).

    ``crosses`` is 2 Var(s_0) Var(s_k) on the factorised belief, whose update drops the covariance
    that a game creates between its two players; 0 on the full one.
    """

    gaps: Floats  # means of s_0 - s_k
    variances: Floats  # V_k, of the differences of performances after player 0's drift
    loads: Floats  # L_k
    crosses: Floats
    densities: Floats  # current draw densities


@compiled
def read_opponents(
    mu: Floats, sigma: Floats, differences: Floats, game: GameConstants
) -> Opponents:
    """Return the opponents of one state.

    Args:
        mu: means of the beliefs, player 0 first, shape (M + 1,).
        sigma: standard deviations, shape (M + 1,).
        differences: standard deviations of s_0 - s_k, shape (M,); shape (0,) on the factorised
            belief, where they follow from ``sigma``.
        game: constants of the games.
    """
    count = mu.size - 1
    rows = np.empty((5, count))
    opponents = Opponents(rows[0], rows[1], rows[2], rows[3], rows[4])
    noise = performance_variance(game.beta)
    drift = game.tau * game.tau
    own = sigma[0] * sigma[0] + drift
    for k in range(count):
        gap = mu[0] - mu[k + 1]
        square = sigma[k + 1] * sigma[k + 1]
        if differences.size == 0:
            uncertain = own - drift + square
            load = math.sqrt(own)
            cross = 2.0 * own * (square + drift)
        else:
            deviation = differences[k]
            uncertain = deviation * deviation
            cross = 0.0
            load = 0.5 * (
                sigma[0] + (deviation - sigma[k + 1]) * (deviation + sigma[k + 1]) / sigma[0]
            )
            # Rounded observations can imply an impossible covariance.
            load = max(0.0, min(load, sigma[0], deviation))
        opponents.gaps[k] = gap
        opponents.variances[k] = uncertain + drift + noise
        opponents.loads[k] = load
        opponents.crosses[k] = cross
        opponents.densities[k] = density_at_zero(gap, uncertain + noise)
    return opponents


@compiled(inline=True, refcounted=False)
def after_game(
    opponents: Opponents, j: int, outcome: int, game: GameConstants
) -> tuple[float, float, float, float, float]:
    """Return the effect of an outcome of a game against opponent j.

    Returns:
        ``(probability, s, l, gap, variance)``: the probability of the outcome; the s and l of all
        other opponents; the new gap to j and variance of the difference of performances.
    """
    noise = performance_variance(game.beta)
    gap = opponents.gaps[j]
    variance = opponents.variances[j] + game.tau * game.tau
    load = opponents.loads[j]
    cross = opponents.crosses[j]
    uncertain = variance - noise
    probability = outcome_probability_of(gap, variance, outcome, game.draw_margin)
    v, complement = difference_moments(gap, variance, outcome, game.draw_margin)
    shift = v / math.sqrt(variance)
    loss = load * load * max(0.0, 1.0 - complement) / variance
    learned = uncertain * uncertain - cross
    left = (uncertain * noise + cross + learned * complement) / variance
    return probability, load * shift, loss, gap + uncertain * shift, left + noise


@compiled(inline=True, refcounted=False)
def other_after_game(
    opponents: Opponents, k: int, shift: float, loss: float, beta: float
) -> tuple[float, float]:
    """Return gap and variance of opponent k after a game against another opponent."""
    load = opponents.loads[k]
    variance = opponents.variances[k] - load * load * loss
    return opponents.gaps[k] + load * shift, max(variance, performance_variance(beta))


@compiled
def look_ahead(opponents: Opponents, j: int, game: GameConstants) -> float:
    """Return F_j: the expected best draw density after a game against opponent j.

    Source: Ryzhov, Tariq, Powell (2011), section 3, with its misprinted square roots and indices
        corrected.
    """
    value = 0.0
    for outcome in possible_outcomes(game):
        probability, shift, loss, gap, variance = after_game(opponents, j, outcome, game)
        best = density_at_zero(gap, variance)
        for k in range(opponents.gaps.size):
            if k != j:
                gap, variance = other_after_game(opponents, k, shift, loss, game.beta)
                best = max(best, density_at_zero(gap, variance))
        value += probability * best
    return value


@compiled
def knowledge_gradient_scores(
    mu: Floats, sigma: Floats, differences: Floats, multipliers: Floats, game: GameConstants
) -> Floats:
    """Return q_0j + multiplier F_j of every opponent, from 2 M^2 draw densities per state.

    The first three arrays have a row for each of B states, see ``read_opponents``. The multipliers,
    shape (B,), are the numbers of later games that benefit. Scores have shape (B, M).
    """
    scores = np.empty((mu.shape[0], mu.shape[1] - 1))
    for b in range(mu.shape[0]):
        opponents = read_opponents(mu[b], sigma[b], differences[b], game)
        for j in range(scores.shape[1]):
            future = look_ahead(opponents, j, game)
            scores[b, j] = opponents.densities[j] + multipliers[b] * future
    return scores


def updated_belief_scores(
    state: KnowledgeState, multipliers: Floats, game: GameConstants
) -> Floats:
    """Return q_0j + multiplier F_j on any belief, shape (B, M), using the belief's own update.

    The beliefs, and the multipliers of ``knowledge_gradient_scores``, have shape (B,).
    """
    future = np.zeros((len(state), state.num_opponents))
    add_best_after_game(future, state, game, lambda after: after.draw_density(game.beta))
    return state.draw_density(game.beta) + multipliers[:, None] * future


def add_best_after_game(
    values: Floats,
    states: KnowledgeState,
    game: GameConstants,
    values_of: Callable[[KnowledgeState], Floats],
) -> None:
    """Add the expected best value after a game against each opponent to ``values``, shape (B, M).

    The states have shape (B,). ``values_of`` returns the values of the opponents in some states.
    """
    count = states.num_opponents
    batch = max(1, MOST_STATES // count)
    for first in range(0, len(states), batch):
        rows = slice(first, first + batch)
        before = states[rows].repeated(count)
        chosen = np.tile(np.arange(count), len(before) // count)
        for outcome in game.outcomes:
            best = values_of(before.after_games(chosen, outcome, game)).max(axis=1)
            probability = states[rows].outcome_probability(outcome, game)
            values[rows] += probability * best.reshape(-1, count)
