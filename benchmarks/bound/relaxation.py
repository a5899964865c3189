"""The bound for one path: compiled kernels.

A better-informed player than any policy is let loose: it knows the skill of player 0, and the
outcomes of the first, second, ... game with every opponent before any is played. What it is
paid leaves it little use for the latter. A game pays the draw density expected after the games
that were played, so that a good opponent must be found out first; and it pays less for a lucky
outcome and more for an unlucky one, by what the outcome changes in an estimate of the
opponent's worth. Such a payment is worth the same on average to a player who cannot see
ahead, so no policy's mean exceeds the mean of what the informed player collects.

Given the skill of player 0 the opponents are independent, so what a game with an opponent pays
depends on the games with that opponent alone. The informed player's problem is to share out
the games among the opponents.

The worth of an opponent is that of a game one may leave at any time and that costs a price a
round: a Lagrangian relaxation of the rule that each game has one opponent.

Sources: information relaxations, Brown, Smith, Sun (2010); for bandits, Min, Maglaras,
Moallemi (2019); with Lagrangian values as the penalty, Ye, Zhu, Zhou (2014); the price,
Whittle (1988).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from matchenv.compilation import compiled
from matchenv.trueskill.game import density_at_zero, total_variance, win_probability_of

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# The price is found by golden section; it need not be exact, any price gives a bound.
PRICE_STEPS = 16
# Estimates of worth need no fine grid: every third point of it is enough.
STRIDE = 3
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


@compiled
def game_against(skill_0: float, skills: Floats, beta: float) -> tuple[Floats, Floats]:
    """Chance that player 0 wins and true draw density, for every possible opponent's skill.

    Args:
        skill_0: skill of player 0.
        skills: shape (M, G).
        beta: standard deviation of one performance around skill.

    Returns:
        Both of shape (M, G).
    """
    wins, densities = np.empty(skills.shape), np.empty(skills.shape)
    variance = total_variance(0.0, 0.0, beta)
    for j in range(skills.shape[0]):
        for g in range(skills.shape[1]):
            gap = skill_0 - skills[j, g]
            wins[j, g] = win_probability_of(gap, variance, 0.0)
            densities[j, g] = density_at_zero(gap, variance)
    return wins, densities


@compiled
def expectations_after(
    weights: Floats, wins: Floats, densities: Floats, depth: int
) -> tuple[Floats, Floats]:
    """Chance of a win and expected draw density after n games, w of them won.

    Args:
        weights: shape (G,), prior probabilities of the opponent's possible skills.
        wins: shape (G,), chance of a win at each.
        densities: shape (G,), true draw density at each.
        depth: the largest n.

    Returns:
        Both of shape (depth + 1, depth + 1), entry [n, w] for w <= n.
    """
    size = weights.size
    chance = np.zeros((depth + 1, depth + 1))
    reward = np.zeros((depth + 1, depth + 1))
    posterior = np.empty((depth + 1, size))
    posterior[0] = weights
    for n in range(depth + 1):
        for w in range(n + 1):
            total, win, density = 0.0, 0.0, 0.0
            for g in range(size):
                weight = posterior[w, g]
                total += weight
                win += weight * wins[g]
                density += weight * densities[g]
            chance[n, w] = win / total
            reward[n, w] = density / total
            # Kept near 1: hundreds of factors would leave float64.
            for g in range(size):
                posterior[w, g] /= total
        if n < depth:
            for g in range(size):
                posterior[n + 1, g] = posterior[n, g] * wins[g]
            for w in range(n + 1):
                for g in range(size):
                    posterior[w, g] *= 1.0 - wins[g]
    return chance, reward


@compiled
def option_values(
    chance: Floats, reward: Floats, price: float, horizon: int, values: Floats
) -> None:
    """Worth of an opponent who may be played at a price for each game, and left at any time.

    Beyond the depth of the tables the opponent counts as known.

    Args:
        chance: shape (depth + 1, depth + 1), as ``expectations_after`` gives it.
        reward: the same.
        price: of one game.
        horizon: the most games.
        values: shape (depth + 1, depth + 1), written.
    """
    depth = chance.shape[0] - 1
    for w in range(depth + 1):
        values[depth, w] = known_worth(reward[depth, w], price, horizon - depth)
    for n in range(depth - 1, -1, -1):
        for w in range(n + 1):
            p = chance[n, w]
            later = p * values[n + 1, w + 1] + (1.0 - p) * values[n + 1, w]
            values[n, w] = max(0.0, reward[n, w] - price + later)


@compiled
def known_worth(reward: float, price: float, games: int) -> float:
    """Worth of an opponent about whom nothing more will be learnt."""
    return games * max(0.0, reward - price)


@compiled
def best_price(chance: Floats, reward: Floats, peak: float, horizon: int) -> float:
    """The price at which all opponents together want about ``horizon`` games.

    It makes the Lagrangian bound, horizon * price + sum of worths, least, which is convex.

    Args:
        chance: shape (M, depth + 1, depth + 1).
        reward: the same.
        peak: the highest draw density there is.
        horizon: games.
    """
    low, high = 0.0, peak
    values = np.empty(chance.shape[1:])
    points = np.array([high - GOLDEN * (high - low), low + GOLDEN * (high - low)])
    totals = np.empty(2)
    for side in range(2):
        totals[side] = _dual(chance, reward, points[side], horizon, values)
    for _ in range(PRICE_STEPS):
        if totals[0] <= totals[1]:
            high, points[1], totals[1] = points[1], points[0], totals[0]
            points[0] = high - GOLDEN * (high - low)
            totals[0] = _dual(chance, reward, points[0], horizon, values)
        else:
            low, points[0], totals[0] = points[0], points[1], totals[1]
            points[1] = low + GOLDEN * (high - low)
            totals[1] = _dual(chance, reward, points[1], horizon, values)
    return 0.5 * (low + high)


@compiled
def _dual(chance: Floats, reward: Floats, price: float, horizon: int, values: Floats) -> float:
    total = horizon * price
    for j in range(chance.shape[0]):
        option_values(chance[j], reward[j], price, horizon, values)
        total += values[0, 0]
    return total


@compiled
def collected(
    weights: Floats,
    wins: Floats,
    densities: Floats,
    won: Flags,
    values: Floats,
    price: float,
    penalty: float,
) -> Floats:
    """What the first k games with one opponent pay in all, for each k.

    Args:
        weights: shape (G,), as ``expectations_after``.
        wins: shape (G,).
        densities: shape (G,).
        won: shape (N,), whether player 0 wins the first, second, ... game with the opponent.
        values: shape (depth + 1, depth + 1), estimates of the opponent's worth.
        price: that of ``values``.
        penalty: share of the change of worth that is taken away; any number gives a bound.

    Returns:
        Shape (N + 1,).
    """
    horizon, depth = won.size, values.shape[0] - 1
    sums = np.zeros(horizon + 1)
    posterior = weights.copy()
    games_won = 0
    for n in range(horizon):
        total, win, density, both = 0.0, 0.0, 0.0, 0.0
        for g in range(posterior.size):
            weight = posterior[g]
            total += weight
            win += weight * wins[g]
            density += weight * densities[g]
            both += weight * wins[g] * densities[g]
        p, reward = win / total, density / total
        if n < depth:
            after_win, after_loss = values[n + 1, games_won + 1], values[n + 1, games_won]
        else:
            after_win = known_worth(both / win, price, horizon - n - 1)
            after_loss = known_worth((density - both) / (total - win), price, horizon - n - 1)
        luck = (1.0 - p) * (after_win - after_loss)
        if not won[n]:
            luck = -p * (after_win - after_loss)
        sums[n + 1] = sums[n] + reward - penalty * luck
        games_won += won[n]
        for g in range(posterior.size):
            factor = wins[g] if won[n] else 1.0 - wins[g]
            posterior[g] *= factor / total
    return sums


@compiled
def best_shares(sums: Floats) -> float:
    """The most that N games shared out among the opponents can pay, sums of shape (M, N + 1)."""
    size = sums.shape[1]
    best = sums[0].copy()
    fresh = np.empty(size)
    for j in range(1, sums.shape[0]):
        for games in range(size):
            most = -np.inf
            for k in range(games + 1):
                value = best[games - k] + sums[j, k]
                most = max(most, value)
            fresh[games] = most
        best[:] = fresh
    return best[size - 1]


@compiled
def bound_of_path(
    skill_0: float,
    skills: Floats,
    weights: Floats,
    won: Flags,
    beta: float,
    depth: int,
    penalty: float,
) -> float:
    """What the informed player collects in one path.

    The mean over skills of player 0 and outcomes is at least any policy's mean total of true q.

    Args:
        skill_0: skill of player 0.
        skills: shape (M, G), possible skills of each opponent.
        weights: shape (M, G), their probabilities, given all that is known at the start.
        won: shape (M, N), whether player 0 wins the first, second, ... game with each.
        beta: standard deviation of one performance around skill.
        depth: games with one opponent after which its worth counts as known, 1 to N.
        penalty: as ``collected``.
    """
    opponents, horizon = won.shape
    wins, densities = game_against(skill_0, skills, beta)
    chance = np.empty((opponents, depth + 1, depth + 1))
    reward = np.empty((opponents, depth + 1, depth + 1))
    for j in range(opponents):
        chance[j], reward[j] = expectations_after(
            weights[j, ::STRIDE], wins[j, ::STRIDE], densities[j, ::STRIDE], depth
        )
    peak = density_at_zero(0.0, total_variance(0.0, 0.0, beta))
    price = best_price(chance, reward, peak, horizon)
    values = np.empty((depth + 1, depth + 1))
    sums = np.empty((opponents, horizon + 1))
    for j in range(opponents):
        option_values(chance[j], reward[j], price, horizon, values)
        sums[j] = collected(weights[j], wins[j], densities[j], won[j], values, price, penalty)
    return best_shares(sums)
