"""Elo's rating system in two forms, for two players and, by duels, for many sides of any size.

The form says how performances spread around skill. ``gaussian`` is the paper's: each
performance is normal with standard deviation beta, so the probability that i beats j is
Phi((r_i - r_j) / (sqrt(2) beta)). ``logistic`` is the one of most services: it is
1 / (1 + 10^((r_j - r_i) / 400)).

The paper prints the update with a factor y before Delta; Delta is signed already.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchenv.runtime.checks import (
    as_choice,
    as_float_array,
    as_non_negative_number,
    as_number,
    as_positive_number,
    as_probability,
)
from matchenv.runtime.compile import compiled
from matchenv.trueskill.normal import normal_probability
from matchenv.trueskill.teams import as_ranks

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FORMS = ("gaussian", "logistic")
BETA = 200.0
ALPHA = 0.07
LOGISTIC_SCALE = 400.0
LOGISTIC_RATE = math.log(10.0) / LOGISTIC_SCALE


def k_factor_from_alpha(alpha: float, beta: float = BETA) -> float:
    """Return K = alpha beta sqrt(pi), the most that one game can move a rating.

    Args:
        alpha: weight of the new game against the old rating, in (0, 1).
        beta: standard deviation of one performance around skill, > 0.

    Raises:
        ValueError: for alpha outside (0, 1) or beta <= 0.

    Source: Herbrich, Minka, Graepel (2006), section 1.
    """
    weight = as_number("alpha", alpha)
    if not 0.0 < weight < 1.0:
        raise ValueError(f"alpha must be in (0, 1), got {alpha!r}")
    return weight * as_positive_number("beta", beta) * math.sqrt(math.pi)


def as_k_factor(alpha: float | None, k_factor: float | None, beta: float) -> float:
    """Return K from alpha or K, whichever was given, or from the paper's alpha 0.07.

    Raises:
        ValueError: if both are given, or one is out of range.
    """
    if k_factor is None:
        return k_factor_from_alpha(ALPHA if alpha is None else alpha, beta)
    if alpha is not None:
        raise ValueError(f"alpha must be left out where k_factor is given, got {alpha!r}")
    return as_non_negative_number("k_factor", k_factor)


def as_rate_of_gap(form: str, beta: float) -> tuple[bool, float]:
    """Return whether the form is logistic, and the factor of a rating gap.

    Raises:
        ValueError: for an unknown form or beta <= 0.
    """
    spread = as_positive_number("beta", beta)
    if as_choice("form", form, FORMS) == "logistic":
        return True, LOGISTIC_RATE
    return False, 1.0 / (math.sqrt(2.0) * spread)


def elo_win_probability(
    rating_i: ArrayLike, rating_j: ArrayLike, *, beta: float = BETA, form: str = "gaussian"
) -> Any:
    """Return the probability that i beats j, draws counted as half a win.

    Args:
        rating_i: ratings of i.
        rating_j: ratings of j.
        beta: standard deviation of one performance, > 0; the Gaussian form's only.
        form: ``gaussian`` or ``logistic``.

    Returns:
        Probabilities of the broadcast shape.

    Raises:
        ValueError: for NaN, infinity, beta <= 0 or an unknown form.

    Source: Herbrich, Minka, Graepel (2006), eq. (1) with sqrt(2) beta.
    """
    logistic, rate_of_gap = as_rate_of_gap(form, beta)
    first, second = np.broadcast_arrays(
        as_float_array("rating_i", rating_i), as_float_array("rating_j", rating_j)
    )
    gap = np.ascontiguousarray(first - second)
    return _expected_scores(gap.ravel(), rate_of_gap, logistic).reshape(gap.shape)[()]


def elo_log_probabilities(gap: ArrayLike, draw_probability: float) -> Floats:
    """Return log probabilities of a win, a draw and a loss in the logistic form with draws.

    A margin on the rating scale makes the draws.

    Args:
        gap: rating of i minus that of j, shape (...,).
        draw_probability: of two even players, in [0, 1).

    Returns:
        Shape (..., 3), natural logarithms for i.

    Raises:
        ValueError: for NaN, infinity, or a draw probability outside [0, 1).

    Source: Rao, Kupper (1967).
    """
    ahead = as_float_array("gap", gap)
    even = as_probability("draw_probability", draw_probability)
    theta = (1.0 + even) / (1.0 - even)
    margin = LOGISTIC_SCALE * math.log10(theta)
    with np.errstate(divide="ignore"):
        win = np.log(elo_win_probability(ahead - margin, 0.0, form="logistic"))
        loss = np.log(elo_win_probability(-ahead - margin, 0.0, form="logistic"))
        draw = np.log(theta**2 - 1.0) + win + loss
    return np.stack([win, draw, loss], axis=-1)


def rate_elo(
    teams: Sequence[Sequence[float]],
    ranks: Sequence[float],
    *,
    beta: float = BETA,
    alpha: float | None = None,
    k_factor: float | None = None,
    form: str = "gaussian",
) -> list[list[float]]:
    """Return ratings after a game of two or more sides, by the duelling heuristic.

    A player's update is the average of what single games against every player of every
    other side would give, each with the outcome of the two players' sides. For one
    against one this is plain Elo.

    Args:
        teams: the sides, each a list of its members' ratings.
        ranks: one number for each side; lower is better, equal is a draw.
        beta: standard deviation of one performance around skill, > 0.
        alpha: weight of a new game, in (0, 1); 0.07 if neither it nor K is given.
        k_factor: K >= 0, in place of alpha.
        form: ``gaussian`` or ``logistic``.

    Returns:
        The same sides with their new ratings.

    Raises:
        ValueError: for bad input.

    Source: Herbrich, Minka, Graepel (2006), sections 1 and 4.1.
    """
    logistic, rate_of_gap = as_rate_of_gap(form, beta)
    factor = as_k_factor(alpha, k_factor, beta)
    rows = [as_float_array(f"teams[{i}]", side) for i, side in enumerate(teams)]
    sizes = [row.size for row in rows]
    if len(rows) < 2 or 0 in sizes or any(row.ndim != 1 for row in rows):
        raise ValueError(
            f"teams must be at least two sides, each a list of at least one rating, got {teams!r}"
        )
    rating = np.concatenate(rows)
    start = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(sizes, out=start[1:])
    places = as_ranks(ranks, len(rows))
    duel(rating, start, places, factor, rate_of_gap, logistic, np.empty(len(rating)))
    flat = rating.tolist()
    return [flat[a:b] for a, b in zip(start[:-1].tolist(), start[1:].tolist(), strict=True)]


@compiled
def expected_score(gap: float, rate_of_gap: float, logistic: bool) -> float:
    """Return the probability that the player who is ``gap`` ahead wins; a draw is half a win."""
    if logistic:
        return 1.0 / (1.0 + math.exp(-rate_of_gap * gap))
    return normal_probability(rate_of_gap * gap)


@compiled
def _expected_scores(gap: Floats, rate_of_gap: float, logistic: bool) -> Floats:
    out = np.empty(gap.size)
    for k in range(gap.size):
        out[k] = expected_score(gap[k], rate_of_gap, logistic)
    return out


@compiled
def duel(
    rating: Floats,
    side_start: Integers,
    rank: Floats,
    k_factor: float,
    rate_of_gap: float,
    logistic: bool,
    delta: Floats,
) -> None:
    """Update all ratings of one game in place, by the average over all duels.

    Args:
        rating: (players,) read and written.
        side_start: (sides + 1,) where each side's players begin.
        rank: (sides,) lower is better, equal is a draw.
        k_factor: K.
        rate_of_gap: see ``as_rate_of_gap``.
        logistic: see ``as_rate_of_gap``.
        delta: (>= players,) scratch.
    """
    players = side_start[rank.size]
    for m in range(players):
        delta[m] = 0.0
    for a in range(rank.size):
        for b in range(a + 1, rank.size):
            score = 0.5 + 0.5 * np.sign(rank[b] - rank[a])  # of a win, a draw, a loss: 1, 0.5, 0
            for m in range(side_start[a], side_start[a + 1]):
                for n in range(side_start[b], side_start[b + 1]):
                    surprise = score - expected_score(rating[m] - rating[n], rate_of_gap, logistic)
                    delta[m] += surprise
                    delta[n] -= surprise
    for a in range(rank.size):
        rivals = players - (side_start[a + 1] - side_start[a])
        for m in range(side_start[a], side_start[a + 1]):
            rating[m] += k_factor * delta[m] / rivals
