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

from matchenv.runtime.arrays import Floats, Integers
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
from matchenv.trueskill.teams import Rank, as_places, sides_of

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
    win = log_expit(ahead - math.log(theta))
    loss = log_expit(-ahead - math.log(theta))
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

    sigma = 0.0
    tau = 0.0

    def __init__(
        self,
        rating: float = 1200.0,
        *,
        beta: float = BETA,
        alpha: float = ALPHA,
        k_factor: float | None = None,
        form: str = "gaussian",
    ) -> None:
        self.mu = as_number("rating", rating)
        self.form = as_choice("form", form, FORMS)
        self.beta = as_positive_number("beta", beta)
        self.k_factor = as_open_share("alpha", alpha) * self.beta * math.sqrt(math.pi)
        if k_factor is not None:
            self.k_factor = as_non_negative_number("k_factor", k_factor)
        if form == "logistic":
            self.beta = LOGISTIC_BETA

    def win_probability(self, rating_i: ArrayLike, rating_j: ArrayLike) -> Any:
        """Return the probability that i beats j, where a draw counts as half a win.

        Args:
            rating_i: rating of i; arguments broadcast.
            rating_j: rating of j.

        Raises:
            ValueError: for NaN, infinity or shapes that do not broadcast.
        """
        mine = as_float_array("rating_i", rating_i)
        theirs = as_float_array("rating_j", rating_j)
        check_shapes(("rating_i", "rating_j"), mine, theirs)
        return self._chance(mine - theirs)

    def _chance(self, gap: Floats) -> Any:
        if self.form == "logistic":
            return expit(LOGISTIC_RATE * gap)
        return ndtr(gap / (math.sqrt(2.0) * self.beta))

    def rate(
        self, teams: Sequence[Sequence[tuple[float, float]]], ranks: Sequence[Rank]
    ) -> list[list[tuple[float, float]]]:
        """Return ratings after a game of two or more sides, by the duelling heuristic.

        A player's update is the average over single games against every player of every other
        side, each with the outcome of their sides. For one against one this is plain Elo. Sides
        whose order is unknown play no single games with each other.

        Args:
            teams: the sides, each a list of its members' (rating, 0).
            ranks: rank of each side; lower is better, equal is a draw. An interval (first, last)
                for a place known only in part, see ``matchenv.trueskill.rate``.

        Returns:
            The same sides with their new ratings.

        Raises:
            ValueError: for bad input.

        Source: Herbrich, Minka, Graepel (2006), sections 1 and 4.1.
        """
        sides = sides_of("teams", teams)
        ratings, side_of_player = _players(sides)
        first_place, last_place = as_places(ranks, len(sides))
        first_place = first_place[side_of_player]
        last_place = last_place[side_of_player]
        beats = last_place[:, None] < first_place[None, :]
        is_single = first_place == last_place
        draws = is_single[:, None] & is_single[None, :]
        draws &= first_place[:, None] == first_place[None, :]
        draws &= side_of_player[:, None] != side_of_player[None, :]
        duels = beats | beats.T | draws
        result = np.where(draws, 0.5, beats)
        surprise = np.where(duels, result - self._chance(ratings[:, None] - ratings), 0.0)
        count = np.maximum(duels.sum(axis=1), 1)
        rated = ratings + self.k_factor * surprise.sum(axis=1) / count
        starts = np.flatnonzero(np.diff(side_of_player)) + 1
        return [
            [(rating, 0.0) for rating in members.tolist()] for members in np.split(rated, starts)
        ]


def _players(sides: list[Any]) -> tuple[Floats, Integers]:
    """Return the rating of each player, and the index of the player's side."""
    ratings = []
    sizes = []
    try:
        for side in sides:
            sizes.append(len(side))
            for rating, _ in side:
                ratings.append(rating)
    except (TypeError, ValueError):
        sizes = []
    if len(sizes) < 2 or 0 in sizes:
        rule = "teams must be at least two sides, each with at least one member (rating, 0)"
        raise refusal(rule, sides)
    return as_float_array("teams", ratings), np.repeat(np.arange(len(sizes)), sizes)
