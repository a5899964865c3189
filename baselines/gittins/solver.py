"""The index of every state of the grid, game by game backwards.

A price lambda is charged for each game. Playing on for one game and then as long as it pays is
worth, with t games left,

    Q_t(x; lambda) = q(x) - lambda + discount E[ V_{t-1}(x'; lambda) ],   V_t = max(0, Q_t).

The index G_t(x) is the price at which Q_t is 0. V has a kink there, which a fixed grid of prices
or states smears, a little more with each game. So V is kept in the coordinate rho = lambda / G(x),
in [0, 1] for every x: the kink is at rho = 1 everywhere, and V / G is smooth between states.

Sources: Gittins (1979), "Bandit processes and dynamic allocation indices"; Whittle (1980),
"Multi-armed bandits and the Gittins index"; for finite horizons Nino-Mora (2011), "Computing a
classical index for finite-horizon bandits", and Lattimore (2016), "Regret analysis of the
finite-horizon Gittins index strategy for multi-armed bandits".
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from matchenv.baselines.gittins.grid import (
    STENCIL,
    Grid,
    cubic_weights,
    gap_at,
    gap_stencil,
    read,
    variance_at,
    variance_stencil,
    with_mirror,
)
from matchenv.baselines.policy import Floats, Integers
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import (
    density_at_zero,
    difference_moments,
    draw_probability_of,
    win_probability_of,
)

OUTCOMES = (1, -1, 0)

# A price is found to this share of itself; tables are kept in float32.
PRECISION = 1e-10
MOST_STEPS = 60


class Transitions(NamedTuple):
    """What a game does to every state, shape (variances, gaps, outcomes) if not said.

    Attributes:
        density: q of the state, shape (variances, gaps).
        probability: of each outcome, discounted.
        density_after: q of the state after it.
        first_variance: ``variance_stencil`` of that state.
        down: as there.
        first_gap: ``gap_stencil`` of it.
        across: as there.
    """

    density: Floats
    probability: Floats
    density_after: Floats
    first_variance: Integers
    down: Floats
    first_gap: Integers
    across: Floats


@compiled
def after_game(
    gap: float, variance: float, outcome: int, draw_margin: float, tau: float
) -> tuple[float, float, float]:
    """Probability of an outcome, and the distance and variance after it.

    Args:
        gap: distance of the means, in sqrt(2) beta.
        variance: of the difference of skills, in 2 beta^2.
        outcome: +1, -1 or 0 for a draw.
        draw_margin: in sqrt(2) beta.
        tau: a skill's drift before a game, in sqrt(2) beta.
    """
    uncertain = variance + 2.0 * tau * tau
    total = uncertain + 1.0
    if outcome == 0:
        probability = draw_probability_of(gap, total, draw_margin)
    else:
        probability = win_probability_of(outcome * gap, total, draw_margin)
    v, complement = difference_moments(gap, total, outcome, draw_margin)
    after = uncertain * (1.0 + uncertain * complement) / total
    return probability, abs(gap + uncertain * v / math.sqrt(total)), after


@compiled
def transitions_of(grid: Grid, draw_margin: float, tau: float, discount: float) -> Transitions:
    """What a game does to every state of the grid; units as ``after_game``."""
    count = 3 if draw_margin > 0.0 else 2
    shape = (grid.variances, grid.gaps, count)
    density = np.empty(shape[:2])
    probability, density_after = np.empty(shape), np.empty(shape)
    first_variance, first_gap = np.empty(shape, np.int64), np.empty(shape, np.int64)
    down, across = np.empty(shape), np.empty(shape)
    for i in range(grid.variances):
        variance = variance_at(grid, i)
        for j in range(grid.gaps):
            gap = gap_at(grid, j) * math.sqrt(variance + 1.0)
            density[i, j] = density_at_zero(gap, variance + 1.0)
            for o in range(count):
                chance, moved, left = after_game(gap, variance, OUTCOMES[o], draw_margin, tau)
                probability[i, j, o] = discount * chance
                density_after[i, j, o] = density_at_zero(moved, left + 1.0)
                first_variance[i, j, o], down[i, j, o] = variance_stencil(grid, left)
                first_gap[i, j, o], across[i, j, o] = gap_stencil(
                    grid, moved / math.sqrt(left + 1.0)
                )
    return Transitions(density, probability, density_after, first_variance, down, first_gap, across)


@compiled
def _value(
    values: Floats, first_variance: int, down: float, first_gap: int, across: float, rho: float
) -> float:
    """V / G after an outcome, at a price of ``rho`` times the index there."""
    if rho >= 1.0:
        return 0.0
    count = values.shape[2]
    place = math.sqrt(1.0 - rho) * (count - 1)
    k = min(max(int(place) - 1, 0), count - STENCIL)
    e, f, g, h = cubic_weights(place - k)
    a, b, c, d = cubic_weights(across)
    total = 0.0
    for r, weight in enumerate(cubic_weights(down)):
        part = 0.0
        for s, other in enumerate((a, b, c, d)):
            row = values[first_variance + r, first_gap + s]
            part += other * (e * row[k] + f * row[k + 1] + g * row[k + 2] + h * row[k + 3])
        total += weight * part
    return max(total, 0.0)


@compiled
def _worth(game: Transitions, values: Floats, index: Floats, i: int, j: int, price: float) -> float:
    """Q of a state at a price; ``index`` holds G after each outcome."""
    worth = game.density[i, j] - price
    for o in range(index.size):
        if index[o] > 0.0:
            worth += game.probability[i, j, o] * (
                index[o]
                * _value(
                    values,
                    game.first_variance[i, j, o],
                    game.down[i, j, o],
                    game.first_gap[i, j, o],
                    game.across[i, j, o],
                    price / index[o],
                )
            )
    return worth


@compiled
def _price(game: Transitions, values: Floats, index: Floats, i: int, j: int, start: float) -> float:
    """The price at which Q is 0, from one at which it is not below 0.

    Q falls by at least 1 for each unit of price. So it is 0 between ``start`` and start + Q:
    the secant method with the Illinois rule, within these bounds.
    """
    low, worth_low = start, _worth(game, values, index, i, j, start)
    if worth_low <= PRECISION * start:
        return start
    high = low + worth_low
    worth_high = _worth(game, values, index, i, j, high)
    last = 0
    price = low
    for _ in range(MOST_STEPS):
        if worth_high >= 0.0:
            return high
        price = (low * worth_high - high * worth_low) / (worth_high - worth_low)
        worth = _worth(game, values, index, i, j, price)
        if abs(worth) <= PRECISION * price or high - low <= PRECISION * price:
            break
        if worth > 0.0:
            low, worth_low = price, worth
            worth_high *= 0.5 if last == 1 else 1.0
            last = 1
        else:
            high, worth_high = price, worth
            worth_low *= 0.5 if last == -1 else 1.0
            last = -1
    return price


@compiled(nogil=True)
def one_game_more(
    first: int,
    last: int,
    game: Transitions,
    grid: Grid,
    bonus: Floats,
    values: Floats,
    more: Floats,
    new_values: Floats,
) -> float:
    """From the indices with t games left to those with t + 1.

    Args:
        first: the first variance to do; parts may be done at the same time.
        last: the one after the last.
        game: the transitions.
        grid: the grid.
        bonus: shape (variances, gaps + 1), log(G / q) with t games left, with the mirror.
        values: shape (variances, gaps + 1, K), V / G at rho = 1 - (k / (K - 1))^2.
        more: written, as ``bonus`` with one game more.
        new_values: written, as ``values`` with one game more.

    Returns:
        The largest change of the bonus.
    """
    count = values.shape[2]
    index = np.empty(game.probability.shape[2])
    change = 0.0
    for i in range(first, last):
        for j in range(grid.gaps):
            for o in range(index.size):
                after = read(
                    bonus,
                    game.first_variance[i, j, o],
                    game.down[i, j, o],
                    game.first_gap[i, j, o],
                    game.across[i, j, o],
                )
                index[o] = game.density_after[i, j, o] * math.exp(max(after, 0.0))
            density = game.density[i, j]
            start = density * math.exp(bonus[i, j + 1])
            price = _price(game, values, index, i, j, start)
            more[i, j + 1] = max(bonus[i, j + 1], math.log(price / density))
            change = max(change, more[i, j + 1] - bonus[i, j + 1])
            price = density * math.exp(more[i, j + 1])
            row = new_values[i, j + 1]
            row[0] = 0.0
            for k in range(1, count):
                share = k / (count - 1.0)
                paid = price * (1.0 - share * share)
                row[k] = _worth(game, values, index, i, j, paid) / price
        more[i, 0] = more[i, 2]
        new_values[i, 0] = new_values[i, 2]
    return change


def first_values(grid: Grid, prices: int) -> tuple[Floats, Floats]:
    """Bonus and values with one game left: G = q, so V / G = 1 - rho.

    Args:
        grid: the grid.
        prices: K, nodes in rho.
    """
    share = np.arange(prices) / (prices - 1.0)
    values = np.broadcast_to(share**2, (grid.variances, grid.gaps + 1, prices))
    return with_mirror(grid), values.copy()
