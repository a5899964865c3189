"""Instances: a prior, the true skills behind it and the belief that a policy starts from.

An instance is a pure function of two rows of random numbers, so that the environments,
the study and the comparison meet the same players when they use the same numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from matchenv.settings import (
    ANY_RANK,
    PRIOR_MEAN_VARIANCE,
    PRIOR_VARIANCE_HIGH,
    PRIOR_VARIANCE_LOW,
    Settings,
)
from matchenv.validation import as_float_array, as_positive_array

Floats = NDArray[np.float64]

# An observation is float32: larger numbers would reach a policy as infinity.
LARGEST_OBSERVED = 1e30


@njit(cache=True, error_model="numpy")
def draw_prior(normals: Floats, uniforms: Floats, mu: Floats, sigma: Floats) -> None:
    """Prior means from N(0, 4) and prior variances uniform on [2, 3].

    Args:
        normals: shape (M + 1,), standard normal.
        uniforms: shape (M + 1,), uniform on [0, 1).
        mu: shape (M + 1,), written.
        sigma: shape (M + 1,), written.

    Source: Ryzhov, Tariq, Powell (2011), section 4.
    """
    spread = math.sqrt(PRIOR_MEAN_VARIANCE)
    width = PRIOR_VARIANCE_HIGH - PRIOR_VARIANCE_LOW
    for i in range(mu.size):
        mu[i] = spread * normals[i]
        sigma[i] = math.sqrt(PRIOR_VARIANCE_LOW + width * uniforms[i])


@njit(cache=True, error_model="numpy")
def draw_true_skill(normals: Floats, mu: Floats, sigma: Floats, true_skill: Floats) -> None:
    """True skills s_i ~ N(mu_i, sigma_i^2), written to ``true_skill``, shape (M + 1,)."""
    for i in range(mu.size):
        true_skill[i] = mu[i] + sigma[i] * normals[i]


@njit(cache=True, error_model="numpy")
def index_of_place(values: Floats, place: int) -> int:
    """Index of the value that stands at ``place`` from the top, 0 the largest."""
    descending = -values
    target = np.partition(descending, place)[place]
    for i in range(values.size):
        if descending[i] == target:
            return i
    return 0


@njit(cache=True, error_model="numpy")
def forget_means(mu: Floats, sigma: Floats, matching: bool) -> None:
    """The equal-prior set-up: every mean becomes 0.

    The variances stay as they are, as in the paper, or (``matching``) grow by the variance
    of the means that are hidden, so that the belief is as wide as the truths are.
    """
    for i in range(mu.size):
        mu[i] = 0.0
        if matching:
            sigma[i] = math.sqrt(sigma[i] * sigma[i] + PRIOR_MEAN_VARIANCE)


@njit(cache=True, error_model="numpy")
def fill_instances(
    rows: NDArray[np.int64],
    normals: Floats,
    uniforms: Floats,
    rank: int,
    by_skill: bool,
    equal: bool,
    matching: bool,
    mu: Floats,
    sigma: Floats,
    true_skill: Floats,
) -> None:
    """Write the instances of ``rows`` from their random numbers.

    Args:
        rows: indices of the instances to write.
        normals: shape (B, at least 2 (M + 1)); the first M + 1 make the means, the next
            M + 1 the true skills.
        uniforms: shape (B, M + 1), for the variances.
        rank: place of player 0, or ``ANY_RANK``.
        by_skill: the place is by true skill, not by prior mean.
        equal: the equal-prior set-up.
        matching: see ``forget_means``.
        mu: shape (B, M + 1), written.
        sigma: shape (B, M + 1), written.
        true_skill: shape (B, M + 1), written.
    """
    players = mu.shape[1]
    for row in rows:
        means, deviations, skills = mu[row], sigma[row], true_skill[row]
        draw_prior(normals[row, :players], uniforms[row], means, deviations)
        draw_true_skill(normals[row, players : 2 * players], means, deviations, skills)
        if rank != ANY_RANK:
            chosen = index_of_place(skills if by_skill else means, rank)
            means[0], means[chosen] = means[chosen], means[0]
            deviations[0], deviations[chosen] = deviations[chosen], deviations[0]
            skills[0], skills[chosen] = skills[chosen], skills[0]
        if equal:
            forget_means(means, deviations, matching)


@dataclass(frozen=True)
class GivenInstance:
    """What a user fixed of an instance through ``reset(options=...)``; None where not.

    Attributes:
        mu: prior means, shape (M + 1,) or (num_envs, M + 1).
        sigma: prior standard deviations, the same shapes.
        true_skill: true skills, the same shapes.
    """

    mu: Floats | None = None
    sigma: Floats | None = None
    true_skill: Floats | None = None

    @classmethod
    def from_options(
        cls, options: dict[str, Any] | None, settings: Settings, num_envs: int | None = None
    ) -> GivenInstance:
        """Check the options of a reset.

        Args:
            options: may hold ``"mu"``, ``"sigma"`` and ``"true_skill"``.
            settings: gives the number of players.
            num_envs: the size of a vector environment, which also takes one row for each
                of its environments; None for the scalar environment.

        Raises:
            ValueError: for an unknown key, a wrong shape, NaN, infinity, sigma <= 0 or
                numbers beyond what an observation can hold.
        """
        if options is None:
            return cls()
        if not isinstance(options, dict):
            raise ValueError(f"options must be a dict or None, got {options!r}")
        known = ("mu", "sigma", "true_skill")
        for key in options:
            if key not in known:
                raise ValueError(
                    f"options may hold {', '.join(repr(name) for name in known)}, got {key!r}"
                )
        shapes: list[tuple[int, ...]] = [(settings.num_players,)]
        if num_envs is not None:
            shapes.append((num_envs, settings.num_players))
        return cls(**{name: _given(name, value, shapes) for name, value in options.items()})


def _given(name: str, value: Any, shapes: list[tuple[int, ...]]) -> Floats | None:
    if value is None:
        return None
    label = f"options[{name!r}]"
    check = as_positive_array if name == "sigma" else as_float_array
    array = check(label, value)
    if array.shape not in shapes:
        allowed = " or ".join(str(shape) for shape in shapes)
        raise ValueError(f"{label} must have shape {allowed}, got {array.shape}")
    if (np.abs(array) > LARGEST_OBSERVED).any():
        raise ValueError(f"{label} must be at most {LARGEST_OBSERVED:g} in size")
    if name == "sigma" and (array < 1.0 / LARGEST_OBSERVED).any():
        raise ValueError(f"{label} must be at least {1.0 / LARGEST_OBSERVED:g}")
    return array
