"""Elo's rating system in two forms, for two players and, by duels, for many sides of any size.

The form is the distribution of performances around skill. ``gaussian`` is the paper's: performances
are normal with standard deviation beta, and i beats j with probability
Phi((r_i - r_j) / (sqrt(2) beta)). ``logistic`` is that of most services: the probability is
1 / (1 + 10^((r_j - r_i) / 400)).

The paper prints the update with a factor y before Delta; Delta is already signed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit, ndtr

from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import (
    as_choice,
    as_float_array,
    as_non_negative_number,
    as_number,
    as_open_share,
    as_positive_number,
    as_probability,
    check_shapes,
    refusal,
)
from matchenv.trueskill.teams import as_ranks, sides_of

FORMS = ("gaussian", "logistic")
BETA = 200.0
ALPHA = 0.07
LOGISTIC_RATE = math.log(10.0) / 400.0
# The Gaussian win probability with this beta has the slope of the logistic one at a gap of 0.
LOGISTIC_BETA = 2.0 / (LOGISTIC_RATE * math.sqrt(math.pi))


def elo_log_probabilities(gap: ArrayLike, draw_probability: float) -> Floats:
    """Return log probabilities of a win, a draw and a loss in the logistic form.

    Draws come from a margin on the rating scale.

    Args:
        gap: rating of i minus that of j, shape (...,).
        draw_probability: of two even players, in [0, 1).

    Returns:
        Shape (..., 3), natural logarithms, as seen by i.

    Raises:
        ValueError: for NaN, infinity, or a draw probability outside [0, 1).

    Source: Rao, Kupper (1967).
    """
    ahead = LOGISTIC_RATE * as_float_array("gap", gap)
    even = as_probability("draw_probability", draw_probability)
    theta = (1.0 + even) / (1.0 - even)
    win, loss = log_expit(ahead - math.log(theta)), log_expit(-ahead - math.log(theta))
    with np.errstate(divide="ignore"):
        draw = np.log(4.0 * even) - 2.0 * math.log1p(-even) + win + loss  # log(theta^2 - 1)
    return np.stack([win, draw, loss], axis=-1)


class Elo:
    """Elo as a ``matchenv.logs.RatingSystem``: beliefs with a deviation of 0.

    Args:
        rating: rating of a new player.
        beta: standard deviation of one performance around skill, > 0. It scales the probabilities
            of the Gaussian form, and K in both forms.
        alpha: weight of a new game, in (0, 1). It sets K = alpha beta sqrt(pi), the largest change
            of a rating by one game (Herbrich, Minka, Graepel 2006, section 1).
        k_factor: K >= 0, overrides alpha.
        form: ``gaussian`` or ``logistic``.

    Raises:
        ValueError: for bad input.
    """

    sigma = tau = 0.0

    def __init__(
        self,
        rating: float = 1200.0,
        *,
        beta: float = BETA,
        alpha: float = ALPHA,
        k_factor: float | None = None,
        form: str = "gaussian",
    ) -> None:
        self.mu, self.form = as_number("rating", rating), as_choice("form", form, FORMS)
        self.k_factor = as_open_share("alpha", alpha)
        self.k_factor *= as_positive_number("beta", beta) * math.sqrt(math.pi)
        if k_factor is not None:
            self.k_factor = as_non_negative_number("k_factor", k_factor)
        self.beta = LOGISTIC_BETA if form == "logistic" else float(beta)

    def win_probability(self, rating_i: ArrayLike, rating_j: ArrayLike) -> Any:
        """Return the probability that i beats j, where a draw counts as half a win.

        Args:
            rating_i: rating of i; arguments broadcast.
            rating_j: rating of j.

        Raises:
            ValueError: for NaN, infinity or shapes that do not broadcast.
        """
        ratings = as_float_array("rating_i", rating_i), as_float_array("rating_j", rating_j)
        check_shapes(("rating_i", "rating_j"), *ratings)
        return self._chance(ratings[0] - ratings[1])

    def _chance(self, gap: Floats) -> Any:
        if self.form == "logistic":
            return expit(LOGISTIC_RATE * gap)
        return ndtr(gap / (math.sqrt(2.0) * self.beta))

    def rate(
        self, teams: Sequence[Sequence[tuple[float, float]]], ranks: Sequence[float]
    ) -> list[list[tuple[float, float]]]:
        """Return ratings after a game of two or more sides, by the duelling heuristic.

        A player's update is the average over single games against every player of every other
        side, each with the outcome of their sides. For one against one this is plain Elo.

        Args:
            teams: the sides, each a list of its members' (rating, 0).
            ranks: rank of each side; lower is better, equal is a draw.

        Returns:
            The same sides with their new ratings.

        Raises:
            ValueError: for bad input.

        Source: Herbrich, Minka, Graepel (2006), sections 1 and 4.1.
        """
        teams = sides_of("teams", teams)
        try:
            sizes = np.array([len(side) for side in teams])
            means = [mu for side in teams for mu, _ in side]
        except (TypeError, ValueError):
            sizes, means = np.zeros(1), []
        if len(sizes) < 2 or not sizes.all():
            rule = "teams must be at least two sides, each with at least one member (rating, 0)"
            raise refusal(rule, teams)
        rating = as_float_array("teams", means)
        side, place = np.repeat(np.arange(sizes.size), sizes), as_ranks(ranks, len(sizes))
        result = 0.5 + 0.5 * np.sign(place[side][None, :] - place[side][:, None])
        surprise = result - self._chance(rating[:, None] - rating[None, :])
        rivals = side[:, None] != side[None, :]
        rated = rating + self.k_factor * (surprise * rivals).sum(axis=1) / rivals.sum(axis=1)
        ratings = iter(rated.tolist())
        return [[(next(ratings), 0.0) for _ in side] for side in teams]
