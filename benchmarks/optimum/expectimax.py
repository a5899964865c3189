"""The optimum under a belief: every choice and every outcome, to the end (compiled).

The belief model is a decision problem of its own: a game with j gives the draw density under
the belief, the outcome has its probability under the belief, and the belief after the game is
the next state. Its optimum is found by recursion over all (opponent, outcome) sequences. The
last game needs no outcomes, so there are (outcomes * M)^(N - 1) sequences. They are not merged:
with the approximate updates of TrueSkill the order of games matters.

Source: the dynamic program of Ryzhov, Tariq, Powell (2011), eq. (7) and (12), solved.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from matchenv.belief.full_kernels import PRIOR_VARIANCE as PRIOR
from matchenv.belief.full_kernels import SLACK, difference_variance, opponent_variance, update_full
from matchenv.trueskill.game import (
    density_at_zero,
    draw_probability_of,
    total_variance,
    update_two,
    win_probability_of,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# The outcomes of a game, in the order of a node's children; the draw comes last.
OUTCOMES = np.array([1, -1, 0])


@njit(cache=True, error_model="numpy")
def outcome_probability(gap: float, variance: float, outcome: int, draw_margin: float) -> float:
    """Probability of an outcome, for a difference of performances N(gap, variance)."""
    if outcome == 0:
        return draw_probability_of(gap, variance, draw_margin)
    return win_probability_of(outcome * gap, variance, draw_margin)


@njit(cache=True, error_model="numpy")
def believed_variance(sigma: Floats, ties: Floats, full: bool, j: int, beta: float) -> float:
    """c^2 of a game with opponent j (1 to M) under a belief; arguments as ``learn``."""
    if full:
        variance = difference_variance(sigma[0], ties[SLACK, j - 1], ties[PRIOR, j - 1])
        return variance + total_variance(0.0, 0.0, beta)
    return total_variance(sigma[0], sigma[j], beta)


@njit(cache=True, error_model="numpy")
def learn(
    mu: Floats,
    sigma: Floats,
    ties: Floats,
    full: bool,
    j: int,
    outcome: int,
    beta: float,
    draw_margin: float,
) -> None:
    """Change a belief by a game of player 0.

    Args:
        mu: shape (M + 1,), means, player 0 first; changed.
        sigma: shape (M + 1,), deviations, changed; of the full belief only player 0's.
        ties: shape (2, M), as ``matchenv.belief.full_kernels`` has it, changed; not used otherwise.
        full: which belief it is.
        j: the opponent, 1 to M.
        outcome: +1 if player 0 won, -1 if not, 0 for a draw.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
    """
    if full:
        sigma[0] = update_full(mu, sigma[0], ties, j, outcome, beta, draw_margin)
        return
    mu[0], sigma[0], mu[j], sigma[j] = update_two(
        mu[0], sigma[0], mu[j], sigma[j], outcome, beta, draw_margin
    )


@njit(cache=True, error_model="numpy")
def _open(
    mu: Floats,
    sigma: Floats,
    ties: Floats,
    full: bool,
    beta: float,
    draw_margin: float,
    values: Floats,
    chances: Floats,
    last: bool,
) -> None:
    """Before anything is played: what each game pays itself, and how it may end.

    Args:
        mu: shape (M + 1,); this and the next six as ``learn``.
        sigma: shape (M + 1,).
        ties: shape (2, M).
        full: which belief it is.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
        values: shape (M,), written: draw densities.
        chances: shape (M, O), written: probabilities of the outcomes.
        last: nothing comes after this game, so that no outcome matters.
    """
    for j in range(1, mu.size):
        gap = mu[0] - mu[j]
        variance = believed_variance(sigma, ties, full, j, beta)
        values[j - 1] = density_at_zero(gap, variance)
        if last:
            continue
        for o in range(chances.shape[1]):
            chances[j - 1, o] = outcome_probability(gap, variance, OUTCOMES[o], draw_margin)


@njit(cache=True, error_model="numpy")
def _search(
    mu: Floats,
    sigma: Floats,
    ties: Floats,
    full: bool,
    beta: float,
    draw_margin: float,
    values: Floats,
    chances: Floats,
) -> None:
    """Walk all sequences from the belief in row 0; rows are games, the rest is scratch.

    A loop with a cursor for each row: Numba's cache does not bear recursion.

    Args:
        mu: shape (N, M + 1); sigma, ties and the rest alike, with a row for each game.
        sigma: shape (N, M + 1).
        ties: shape (N, 2, M).
        full: which belief it is.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
        values: shape (N, M); row 0 holds the worth of each first choice at the end.
        chances: shape (N, M, O).
    """
    last, outcomes = mu.shape[0] - 1, chances.shape[2]
    branches = values.shape[1] * outcomes
    cursor = np.zeros(last + 1, dtype=np.int64)
    depth = 0
    _open(mu[0], sigma[0], ties[0], full, beta, draw_margin, values[0], chances[0], last == 0)
    while True:
        if depth == last or cursor[depth] == branches:
            if depth == 0:
                return
            best = values[depth].max()
            depth -= 1
            choice, o = cursor[depth] // outcomes, cursor[depth] % outcomes
            values[depth, choice] += chances[depth, choice, o] * best
            cursor[depth] += 1
            continue
        choice, o = cursor[depth] // outcomes, cursor[depth] % outcomes
        if chances[depth, choice, o] == 0.0:
            cursor[depth] += 1
            continue
        below = depth + 1
        mu[below] = mu[depth]
        sigma[below] = sigma[depth]
        ties[below] = ties[depth]
        learn(
            mu[below], sigma[below], ties[below], full, choice + 1, OUTCOMES[o], beta, draw_margin
        )
        _open(
            mu[below], sigma[below], ties[below], full, beta, draw_margin,
            values[below], chances[below], below == last,
        )  # fmt: skip
        cursor[below] = 0
        depth = below


@njit(cache=True, error_model="numpy")
def choice_values(
    mu: Floats,
    sigma: Floats,
    ties: Floats,
    full: bool,
    games_left: int,
    beta: float,
    draw_margin: float,
) -> Floats:
    """Expected sum of q for every first choice, with the best choices after it.

    Args:
        mu: shape (B, M + 1).
        sigma: shape (B, M + 1).
        ties: shape (B, 2, M).
        full: which belief it is.
        games_left: games to the end, >= 1.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.

    Returns:
        Shape (B, M).
    """
    count, players = mu.shape
    found = np.empty((count, players - 1))
    mus, sigmas = np.empty((games_left, players)), np.empty((games_left, players))
    all_ties = np.empty((games_left, 2, players - 1))
    values = np.empty((games_left, players - 1))
    chances = np.empty((games_left, players - 1, 3 if draw_margin > 0.0 else 2))
    for b in range(count):
        mus[0], sigmas[0], all_ties[0] = mu[b], sigma[b], ties[b]
        _search(mus, sigmas, all_ties, full, beta, draw_margin, values, chances)
        found[b] = values[0]
    return found


@njit(cache=True, error_model="numpy")
def follow(
    mu: Floats,
    sigma: Floats,
    ties: Floats,
    full: bool,
    actions: Integers,
    beta: float,
    draw_margin: float,
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """One game in every state, with each outcome.

    Args:
        mu: shape (B, M + 1).
        sigma: shape (B, M + 1).
        ties: shape (B, 2, M).
        full: which belief it is.
        actions: shape (B,), opponents 0 to M - 1.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.

    Returns:
        Draw densities of the games, shape (B,); probabilities of the outcomes, shape (B, O);
        and mu, sigma and ties after each, of first axis B * O, with all sigmas up to date.
    """
    outcomes = 3 if draw_margin > 0.0 else 2
    count, players = mu.shape
    density = np.empty(count)
    chance = np.empty((count, outcomes))
    new_mu, new_sigma = np.empty((count * outcomes, players)), np.empty((count * outcomes, players))
    new_ties = np.empty((count * outcomes, 2, players - 1))
    for b in range(count):
        j = actions[b] + 1
        gap = mu[b, 0] - mu[b, j]
        variance = believed_variance(sigma[b], ties[b], full, j, beta)
        density[b] = density_at_zero(gap, variance)
        for o in range(outcomes):
            row = b * outcomes + o
            new_mu[row], new_sigma[row], new_ties[row] = mu[b], sigma[b], ties[b]
            chance[b, o] = outcome_probability(gap, variance, OUTCOMES[o], draw_margin)
            learn(
                new_mu[row], new_sigma[row], new_ties[row], full, j, OUTCOMES[o], beta, draw_margin
            )
            if full:
                for k in range(1, players):
                    new_sigma[row, k] = np.sqrt(
                        opponent_variance(
                            new_sigma[row, 0],
                            new_ties[row, SLACK, k - 1],
                            new_ties[row, PRIOR, k - 1],
                        )
                    )
    return density, chance, new_mu, new_sigma, new_ties


@njit(cache=True, error_model="numpy")
def true_totals(
    actions: Integers, games: int, true_skill: Floats, beta: float, draw_margin: float
) -> Floats:
    """Expected sum of the true draw density, given the true skills, over all outcomes.

    Args:
        actions: shape (B, nodes), the tree of choices: level after level, the children of a
            node side by side in the order of ``OUTCOMES``.
        games: levels of the tree.
        true_skill: shape (B, T, M + 1).
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.

    Returns:
        Shape (B, T).
    """
    outcomes = 3 if draw_margin > 0.0 else 2
    variance = total_variance(0.0, 0.0, beta)
    totals = np.zeros(true_skill.shape[:2])
    reach = np.empty(actions.shape[1])
    for b in range(actions.shape[0]):
        for t in range(true_skill.shape[1]):
            reach[0] = 1.0
            start, width = 0, 1
            for level in range(games):
                for k in range(width):
                    gap = true_skill[b, t, 0] - true_skill[b, t, actions[b, start + k] + 1]
                    probability = reach[start + k]
                    totals[b, t] += probability * density_at_zero(gap, variance)
                    if level == games - 1:
                        continue
                    child = start + width + k * outcomes
                    for o in range(outcomes):
                        reach[child + o] = probability * outcome_probability(
                            gap, variance, OUTCOMES[o], draw_margin
                        )
                start += width
                width *= outcomes
    return totals
