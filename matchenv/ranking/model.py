"""The model of a ranking, and the estimation of ``sigma`` and ``draw_margin`` from its games."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from matchenv.belief.joint import FITTED, JointFit, Results, Sites, fit_joint
from matchenv.envs.ranking import WIDEST_PRIOR
from matchenv.runtime.checks import as_non_negative_number, as_number, as_positive_number, refusal
from matchenv.trueskill.draw_margin import draw_margin_from_probability

# Prior of log(sigma / beta) and log(draw_margin / beta): mean and standard deviation. They matter
# for a few games only. A margin of 0.3 beta gives 17 % draws between equals.
SIGMA_PRIOR = (0.4, 1.25)
MARGIN_PRIOR = (math.log(0.3), 1.5)
# Limits of both estimates, relative to beta.
LOW, HIGH = 1e-3, 1e3

# A given sigma is far from what the games say if the evidence of the best one is exp(3), about 20
# times as large.
FAR = 3.0

MOST_FITS = 40

# The uncertainty of sigma is part of the belief: a mixture over these values of log(sigma), in
# posterior standard deviations from the estimate. The posterior has a longer tail upwards. With
# more items it is narrow, and one value is enough.
SIGMA_NODES = (-2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
MOST_MIXED_ITEMS = 100
# Step of the derivative of the slope, and limits of the standard deviation of log(sigma).
STEP, NARROWEST, WIDEST = 0.2, 0.02, 1.5


@dataclass(frozen=True)
class Model:
    """Constants of the belief about items.

    Attributes:
        beta: standard deviation of one performance around skill, > 0.
        sigma: prior standard deviation of a skill, > 0.
        draw_margin: performances no further apart are a draw, >= 0.
        first_advantage: prior standard deviation of the advantage of the first item; 0 for none.

    Raises:
        ValueError: for a value out of range.
    """

    beta: float = 1.0
    sigma: float = 1.0
    draw_margin: float = 0.0
    first_advantage: float = 0.0

    def __post_init__(self) -> None:
        as_positive_number("beta", self.beta)
        as_number("sigma", self.sigma, low=1e-30, high=1e30)
        as_non_negative_number("draw_margin", self.draw_margin)
        as_non_negative_number("first_advantage", self.first_advantage)
        if self.sigma > WIDEST_PRIOR * self.beta:
            rule = f"sigma must be at most {WIDEST_PRIOR:,} times beta={self.beta:g}"
            raise refusal(rule, self.sigma)

    @property
    def noise(self) -> tuple[float, float]:
        """beta and the draw margin."""
        return self.beta, self.draw_margin

    @property
    def has_advantage(self) -> bool:
        """Whether the advantage of the first item is part of the belief."""
        return self.first_advantage > 0.0

    def fit(
        self, results: Results, sites: Sites, num_items: int, tolerance: float = FITTED
    ) -> JointFit:
        """Return the belief after games; ``sites`` are changed to its sites."""
        prior = self.sigma, self.first_advantage
        return fit_joint(results, sites, num_items, self.noise, *prior, tolerance)


def estimated(
    model: Model,
    results: Results,
    sites: Sites,
    num_items: int,
    *,
    sigma: bool,
    draw_margin: bool,
) -> Model:
    """Return the model with the values that maximise the evidence times a weak prior.

    Args:
        model: the present model.
        results: the games.
        sites: sites of the present belief; changed.
        num_items: number of items.
        sigma: whether to estimate ``sigma``.
        draw_margin: whether to estimate ``draw_margin``; it is 0 if there are no draws.
    """
    drawn = float(results.number[results.outcome == 0].sum())
    total = float(results.number.sum())
    if draw_margin and drawn == 0.0:
        model = replace(model, draw_margin=0.0)
        draw_margin = False
    elif draw_margin and model.draw_margin == 0.0:
        share = min(0.9, drawn / total)
        model = replace(model, draw_margin=draw_margin_from_probability(share, model.beta))
    if total == 0.0 or not (sigma or draw_margin):
        return model

    def of_logarithms(values: Any) -> Model:
        changed: dict[str, float] = {}
        if sigma:
            changed["sigma"] = model.beta * math.exp(values[0])
        if draw_margin:
            changed["draw_margin"] = model.beta * math.exp(values[-1])
        return replace(model, **changed)

    def loss_and_slope(values: Any) -> tuple[float, Any]:
        candidate = of_logarithms(values)
        fit = candidate.fit(results, sites, num_items)
        loss = -fit.log_evidence
        slopes: list[float] = []
        if sigma:
            mean, deviation = SIGMA_PRIOR
            loss += 0.5 * ((values[0] - mean) / deviation) ** 2
            slopes.append(-fit.sigma_slope + (values[0] - mean) / deviation**2)
        if draw_margin:
            mean, deviation = MARGIN_PRIOR
            loss += 0.5 * ((values[-1] - mean) / deviation) ** 2
            slope = fit.margin_slope * candidate.draw_margin
            slopes.append(-slope + (values[-1] - mean) / deviation**2)
        return loss, np.array(slopes)

    start: list[float] = []
    if sigma:
        start.append(math.log(model.sigma / model.beta))
    if draw_margin:
        start.append(math.log(model.draw_margin / model.beta))
    limits = [(math.log(LOW), math.log(HIGH))] * len(start)
    start = np.clip(start, *limits[0]).tolist()
    best = minimize(
        loss_and_slope,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=limits,
        options={"maxfun": MOST_FITS, "ftol": 1e-10, "gtol": 1e-5},
    )
    return of_logarithms(best.x)


def log_sigma_prior(model: Model) -> float:
    """Return the log density of the prior of ``log(sigma)``, up to a constant."""
    mean, deviation = SIGMA_PRIOR
    return -0.5 * ((math.log(model.sigma / model.beta) - mean) / deviation) ** 2


def sigma_mixture(model: Model, results: Results, sites: Sites, num_items: int) -> list[Model]:
    """Return models with values of ``sigma`` that span its posterior around the estimate.

    Args:
        model: the model with the estimated ``sigma``.
        results: the games.
        sites: sites of a belief; changed.
        num_items: number of items.
    """
    slopes: list[float] = []
    for sign in (-1.0, 1.0):
        near = replace(model, sigma=model.sigma * math.exp(sign * STEP))
        slopes.append(near.fit(results, sites, num_items).sigma_slope)
    curvature = (slopes[0] - slopes[1]) / (2.0 * STEP) + 1.0 / SIGMA_PRIOR[1] ** 2
    deviation = WIDEST
    if curvature > 0.0:
        deviation = min(max(1.0 / math.sqrt(curvature), NARROWEST), WIDEST)
    models: list[Model] = []
    for node in SIGMA_NODES:
        sigma = model.sigma * math.exp(node * deviation)
        limited = min(max(sigma, LOW * model.beta), HIGH * model.beta)
        models.append(replace(model, sigma=limited))
    return models
