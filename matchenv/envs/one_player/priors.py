"""Priors: the players of an episode, their true skills and the initial belief."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from matchenv.envs.core.settings import LARGEST_OBSERVED
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import as_choice, as_number, as_positive_number
from matchenv.runtime.object_spec import object_named

# The 2011 study: prior means from N(0, 4), prior variances uniform on [2, 3].
PRIOR_MEAN_VARIANCE = 4.0
PRIOR_VARIANCE_LOW = 2.0
PRIOR_VARIANCE_HIGH = 3.0

EQUAL_VARIANCES = ("paper", "matching")

# Place of player 0 if ``rank`` is None.
ANY_RANK = -1


class Prior(ABC):
    """Generator of instances from given random numbers.

    Arrays have a row for each instance and a column for each of the M + 1 players. Player 0 is
    chosen afterwards by ``rank``.

    Attributes:
        means_differ: whether players have different prior means, so that ranks by them are
            meaningful.
    """

    means_differ: ClassVar[bool] = True

    @abstractmethod
    def draw(self, normals: Floats, uniforms: Floats) -> tuple[Floats, Floats]:
        """Return means and standard deviations of the distributions of true skills.

        Args:
            normals: standard normal, shape (K, M + 1).
            uniforms: uniform on [0, 1), shape (K, M + 1).

        Returns:
            New arrays of shape (K, M + 1), deviations > 0.
        """

    def true_skill(self, mu: Floats, sigma: Floats, normals: Floats) -> Floats:
        """Return true skills, s_i ~ N(mu_i, sigma_i^2), shape (K, M + 1).

        Args:
            mu: means from ``draw``.
            sigma: deviations from ``draw``.
            normals: standard normal, independent of the arguments of ``draw``.
        """
        return mu + sigma * normals

    def believed(self, mu: Floats, sigma: Floats) -> tuple[Floats, Floats]:
        """Return means and deviations of the initial belief, by default those of ``draw``.

        Args:
            mu: means from ``draw``.
            sigma: deviations from ``draw``.
        """
        return mu, sigma


@dataclass(frozen=True)
class InformativePrior(Prior):
    """The first set-up of the 2011 study: means from N(0, 4), variances uniform on [2, 3].

    Source: Ryzhov, Tariq, Powell (2011), section 4.
    """

    def draw(self, normals: Floats, uniforms: Floats) -> tuple[Floats, Floats]:
        """Return means and standard deviations; see ``Prior.draw``."""
        variances = PRIOR_VARIANCE_LOW + (PRIOR_VARIANCE_HIGH - PRIOR_VARIANCE_LOW) * uniforms
        return math.sqrt(PRIOR_MEAN_VARIANCE) * normals, np.sqrt(variances)


@dataclass(frozen=True)
class EqualPrior(InformativePrior):
    """The second set-up: the same players, but all means of the initial belief are 0.

    Args:
        variance: ``"paper"`` keeps the variances of 2 to 3, which makes the belief overconfident;
            ``"matching"`` adds the variance of the hidden means.

    Source: Ryzhov, Tariq, Powell (2011), section 4.
    """

    variance: str = EQUAL_VARIANCES[0]

    def __post_init__(self) -> None:
        as_choice("equal_variance", self.variance, EQUAL_VARIANCES)

    def believed(self, mu: Floats, sigma: Floats) -> tuple[Floats, Floats]:
        """Return means of 0, and deviations for ``variance``."""
        if self.variance == "matching":
            sigma = np.sqrt(sigma * sigma + PRIOR_MEAN_VARIANCE)
        return np.zeros_like(mu), sigma


@dataclass(frozen=True)
class NormalPrior(Prior):
    """All skills are drawn from one normal, which is also the initial belief.

    Args:
        mean: mean of all skills, in skill points; TrueSkill's usual value is 25.
        deviation: standard deviation of all skills, > 0; TrueSkill's usual value is 25 / 3.

    Raises:
        ValueError: for a mean that is not finite, or a deviation that is not positive.
    """

    mean: float = 0.0
    deviation: float = 1.0
    means_differ: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", as_number("mean", self.mean))
        object.__setattr__(self, "deviation", as_positive_number("deviation", self.deviation))

    def draw(self, normals: Floats, uniforms: Floats) -> tuple[Floats, Floats]:
        """Return equal means and deviations."""
        return np.full(normals.shape, self.mean), np.full(normals.shape, self.deviation)


@dataclass(frozen=True, eq=False)
class DrawnPrior(Prior):
    """One draw of a prior's means and deviations for all episodes.

    Attributes:
        prior: the prior of the draw, which determines true skills and the initial belief.
        mu: means, shape (M + 1,).
        sigma: deviations, shape (M + 1,).
    """

    prior: Prior
    mu: Floats
    sigma: Floats

    @classmethod
    def of(cls, prior: Prior, rng: np.random.Generator, num_players: int) -> DrawnPrior:
        """Draw means and deviations."""
        normals = rng.standard_normal((1, num_players))
        uniforms = rng.random((1, num_players))
        mu, sigma = prior.draw(normals, uniforms)
        return cls(prior, mu[0], sigma[0])

    def draw(self, normals: Floats, uniforms: Floats) -> tuple[Floats, Floats]:
        """Return the fixed means and deviations."""
        return np.tile(self.mu, (len(normals), 1)), np.tile(self.sigma, (len(normals), 1))

    def true_skill(self, mu: Floats, sigma: Floats, normals: Floats) -> Floats:
        """Return true skills; see ``Prior.true_skill``."""
        return self.prior.true_skill(mu, sigma, normals)

    def believed(self, mu: Floats, sigma: Floats) -> tuple[Floats, Floats]:
        """Return the initial belief; see ``Prior.believed``."""
        return self.prior.believed(mu, sigma)


def instances_of(
    prior: Prior, numbers: tuple[Floats, Floats, Floats], place: int, *, by_skill: bool
) -> tuple[Floats, Floats, Floats]:
    """Build K instances from their random numbers.

    Args:
        prior: of the players.
        numbers: standard normals for the prior means, uniform numbers for the prior variances and
            standard normals for the true skills, shape (K, M + 1) each.
        place: place of player 0, or ``ANY_RANK``.
        by_skill: whether the place is by true skill or else by prior mean.

    Returns:
        Means and deviations of the initial belief and the true skills, shape (K, M + 1) each.

    Raises:
        ValueError: for a custom prior that returns wrong shapes or bad numbers.
    """
    mean_normals, uniforms, skill_normals = numbers
    mu, sigma = _shaped(prior, "draw", (2, *uniforms.shape), prior.draw(mean_normals, uniforms))
    true_skill = _shaped(
        prior, "true_skill", uniforms.shape, prior.true_skill(mu, sigma, skill_normals)
    )
    if place != ANY_RANK:
        ranked = true_skill if by_skill else mu
        chosen = np.argsort(-ranked, axis=1, kind="stable")[:, place]
        # Swap the first player and the one at the place.
        order = np.tile(np.arange(mu.shape[1]), (len(mu), 1))
        order[:, 0] = chosen
        order[np.arange(len(mu)), chosen] = 0
        mu = np.take_along_axis(mu, order, axis=1)
        sigma = np.take_along_axis(sigma, order, axis=1)
        true_skill = np.take_along_axis(true_skill, order, axis=1)
    mu, sigma = _shaped(prior, "believed", (2, *uniforms.shape), prior.believed(mu, sigma))
    # Bad numbers of ``draw`` also appear in skills. The comparisons are False for NaN.
    good = (np.abs(mu) <= LARGEST_OBSERVED) & (np.abs(true_skill) <= LARGEST_OBSERVED)
    good &= (sigma >= 1.0 / LARGEST_OBSERVED) & (sigma <= LARGEST_OBSERVED)
    if not good.all():
        row, player = np.argwhere(~good)[0]
        raise ValueError(
            f"{prior!r} must return means and skills of at most {LARGEST_OBSERVED:g} in size, and "
            f"deviations in [{1.0 / LARGEST_OBSERVED:g}, {LARGEST_OBSERVED:g}], got mean "
            f"{mu[row, player]}, deviation {sigma[row, player]}, skill {true_skill[row, player]}"
        )
    return mu, sigma, true_skill


def _shaped(prior: Prior, method: str, shape: tuple[int, ...], returned: Any) -> Floats:
    """Return what a prior's method returned as an array, if it is numbers of this shape."""
    try:
        array = np.asarray(returned)
    except ValueError as error:
        got = "arrays of several shapes"
        raise ValueError(_rule_of_shapes(prior, method, shape, got)) from error
    if array.shape != shape or array.dtype.kind not in "fiu":
        got = f"an array of shape {array.shape} of {array.dtype}"
        raise ValueError(_rule_of_shapes(prior, method, shape, got))
    return array.astype(np.float64, copy=False)


def _rule_of_shapes(prior: Prior, method: str, shape: tuple[int, ...], got: str) -> str:
    numbers = "numbers" if len(shape) == 2 else "two arrays of numbers"
    return f"{prior!r}.{method} must return {numbers}, shape {shape[-2:]}, got {got}"


# Priors by name, "equal" with the default ``equal_variance``.
PRIORS: dict[str, Prior] = {"informative": InformativePrior(), "equal": EqualPrior()}


def prior_of(prior: Any, equal_variance: str = EQUAL_VARIANCES[0]) -> Prior:
    """Return a prior from its name, its string form or itself.

    Args:
        prior: a name in ``PRIORS``, ``module:Class:key=value`` for a subclass of ``Prior``, or a
            ``Prior``.
        equal_variance: variance of ``"equal"``.

    Raises:
        ValueError: for anything else.
    """
    named = {**PRIORS, "equal": EqualPrior(equal_variance)}
    return object_named("prior", prior, named, Prior)
