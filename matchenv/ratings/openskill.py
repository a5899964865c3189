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
from matchenv.trueskill.teams import as_ranks, sides_of

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
        self.mu, self.sigma = as_number("mu", mu), as_positive_number("sigma", sigma)
        self.beta, self.tau = as_positive_number("beta", beta), as_non_negative_number("tau", tau)
        from openskill import models

        self._model = getattr(models, model)(
            mu=self.mu, sigma=self.sigma, beta=self.beta, tau=self.tau, **options
        )

    def rate(self, teams: list[list[Belief]], ranks: list[int]) -> list[list[Belief]]:
        """Return the sides with their updated beliefs, see ``RatingSystem.rate``."""
        try:
            beliefs = [[(mu, sigma) for mu, sigma in side] for side in sides_of("teams", teams)]
        except TypeError:
            raise refusal("teams must be lists of (mu, sigma)", teams) from None
        as_float_array("teams", [belief for side in beliefs for belief in side])
        # openskill ignores ranks that are all 0, and reads close ones as equal.
        places = (1.0 + as_ranks(ranks, len(beliefs))).tolist()
        known = [[self._model.rating(mu=mu, sigma=sigma) for mu, sigma in side] for side in beliefs]
        rated = self._model.rate(known, ranks=places)
        return [[(rating.mu, rating.sigma) for rating in side] for side in rated]
