"""The rating systems of Weng and Lin, by the package openskill.

They need ``pip install "matchenv[logs]"``.

Source: Weng, Lin (2011), A Bayesian approximation method for online ranking.
"""

from __future__ import annotations

from typing import Any

from matchenv.runtime.checks import (
    as_choice,
    as_float_array,
    as_non_negative_number,
    as_number,
    as_positive_number,
    refusal,
)
from matchenv.trueskill.teams import Rank, as_places, sides_of

MODELS = (
    "BradleyTerryFull",
    "BradleyTerryPart",
    "PlackettLuce",
    "ThurstoneMostellerFull",
    "ThurstoneMostellerPart",
)

Belief = tuple[float, float]


class OpenSkill:
    """A model of openskill as a ``matchenv.logs.RatingSystem``.

    Args:
        model: name of the model, one of ``MODELS``.
        mu: prior mean.
        sigma: prior standard deviation, > 0.
        beta: standard deviation of one performance, > 0.
        tau: standard deviation of the drift before each game, >= 0.
        options: other arguments of the model.

    Raises:
        ValueError: for an unknown model or a number out of range.
    """

    def __init__(
        self,
        model: str = "PlackettLuce",
        *,
        mu: float = 25.0,
        sigma: float = 25.0 / 3.0,
        beta: float = 25.0 / 6.0,
        tau: float = 25.0 / 300.0,
        **options: Any,
    ) -> None:
        as_choice("model", model, MODELS)
        self.mu = as_number("mu", mu)
        self.sigma = as_positive_number("sigma", sigma)
        self.beta = as_positive_number("beta", beta)
        self.tau = as_non_negative_number("tau", tau)
        from openskill import models

        self._model = getattr(models, model)(
            mu=self.mu, sigma=self.sigma, beta=self.beta, tau=self.tau, **options
        )

    def rate(self, teams: list[list[Belief]], ranks: list[Rank]) -> list[list[Belief]]:
        """Return the sides with their updated beliefs, see ``RatingSystem.rate``.

        Raises:
            ValueError: for bad input, or a place known only in part, which openskill cannot rate.
        """
        try:
            beliefs = [_beliefs_of(side) for side in sides_of("teams", teams)]
        except TypeError:
            raise refusal("teams must be lists of (mu, sigma)", teams) from None
        as_float_array("teams", [belief for side in beliefs for belief in side])
        first_place, last_place = as_places(ranks, len(beliefs))
        if (first_place != last_place).any():
            raise refusal(
                "ranks must be single places, since openskill reads sides of unknown order as "
                "draws; TrueSkill and Elo support places known only in part",
                ranks,
            )
        # openskill ignores ranks that are all 0, and reads close ones as equal.
        places = (1.0 + first_place).tolist()
        ratings = [self._ratings_of(side) for side in beliefs]
        rated = self._model.rate(ratings, ranks=places)
        return [[(rating.mu, rating.sigma) for rating in side] for side in rated]

    def _ratings_of(self, side: list[Belief]) -> list[Any]:
        return [self._model.rating(mu=mu, sigma=sigma) for mu, sigma in side]


def _beliefs_of(side: Any) -> list[Belief]:
    return [(mu, sigma) for mu, sigma in side]
