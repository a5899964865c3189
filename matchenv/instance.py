"""Instances: a prior, the true skills behind it and the belief that a policy starts from.

An instance is a pure function of two rows of random numbers, so that the environments,
the study and the comparison meet the same players when they use the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.priors import Prior
from matchenv.runtime.checks import as_float_array, as_positive_array
from matchenv.runtime.compile import compiled
from matchenv.settings import ANY_RANK, Settings

Floats = NDArray[np.float64]

# An observation is float32: larger numbers would reach a policy as infinity.
LARGEST_OBSERVED = 1e30


def instances_of(
    prior: Prior, normals: Floats, uniforms: Floats, place: int, *, by_skill: bool
) -> tuple[Floats, Floats, Floats]:
    """K instances from their random numbers.

    Args:
        prior: says how.
        normals: standard normal, shape (K, 2 (M + 1)); the first M + 1 make the means, the
            others the true skills.
        uniforms: uniform on [0, 1), shape (K, M + 1), for the variances.
        place: place of player 0, or ``ANY_RANK``.
        by_skill: the place is by true skill, not by prior mean.

    Returns:
        What is believed at the start, means and deviations, and the true skills, each of shape
        (K, M + 1).

    Raises:
        ValueError: for a prior of the user's that gives other shapes or bad numbers.
    """
    shape = uniforms.shape
    mu, sigma = prior.draw(normals[:, : shape[1]], uniforms)
    _check_shapes(prior, "draw", shape, mu, sigma)
    true_skill = prior.true_skill(mu, sigma, normals[:, shape[1] :])
    _check_shapes(prior, "true_skill", shape, true_skill)
    if place != ANY_RANK:
        mu, sigma, true_skill = put_in_place(mu, sigma, true_skill, place, by_skill=by_skill)
    mu, sigma = prior.believed(mu, sigma)
    _check_shapes(prior, "believed", shape, mu, sigma)
    # The layout that compiled functions know; nothing is copied where it is that already.
    mu, sigma = np.ascontiguousarray(mu, np.float64), np.ascontiguousarray(sigma, np.float64)
    true_skill = np.ascontiguousarray(true_skill, np.float64)
    # A bad number of ``draw`` is still in a skill.
    if not can_be_observed(mu, sigma, true_skill):
        raise ValueError(
            f"{prior!r} must give means and skills of at most {LARGEST_OBSERVED:g} in size, and "
            f"deviations from {1.0 / LARGEST_OBSERVED:g} to that, got other ones"
        )
    return mu, sigma, true_skill


@compiled
def can_be_observed(mu: Floats, sigma: Floats, true_skill: Floats) -> bool:
    """Whether all numbers of instances, shape (K, M + 1) each, can stand in an observation."""
    for k in range(mu.shape[0]):
        for i in range(mu.shape[1]):
            # The comparisons are False for NaN.
            if not (
                abs(mu[k, i]) <= LARGEST_OBSERVED
                and abs(true_skill[k, i]) <= LARGEST_OBSERVED
                and 1.0 / LARGEST_OBSERVED <= sigma[k, i] <= LARGEST_OBSERVED
            ):
                return False
    return True


def put_in_place(
    mu: Floats, sigma: Floats, true_skill: Floats, place: int, *, by_skill: bool
) -> tuple[Floats, Floats, Floats]:
    """Let player 0 change places with the one who stands at ``place``, 0 the best.

    Args:
        mu: shape (K, M + 1), and so are the next two.
        sigma: standard deviations.
        true_skill: true skills.
        place: from the top.
        by_skill: the place is by true skill, not by mean.

    Returns:
        New arrays.
    """
    rows = np.arange(len(mu))
    values = true_skill if by_skill else mu
    chosen = np.argsort(-values, axis=1, kind="stable")[:, place]
    order = np.tile(np.arange(mu.shape[1]), (len(mu), 1))
    order[rows, chosen] = 0
    order[:, 0] = chosen
    rows = rows[:, None]
    return mu[rows, order], sigma[rows, order], true_skill[rows, order]


def _check_shapes(prior: Prior, method: str, shape: tuple[int, ...], *arrays: Floats) -> None:
    for array in arrays:
        if array.shape != shape:
            raise ValueError(
                f"{prior!r}.{method} must give arrays of shape {shape}, got {array.shape}"
            )


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
    ) -> GivenInstance | None:
        """Check the options of a reset.

        Args:
            options: may hold ``"mu"``, ``"sigma"`` and ``"true_skill"``.
            settings: gives the number of players.
            num_envs: the size of a vector environment, which also takes one row for each
                of its environments; None for the scalar environment.

        Returns:
            What was fixed; None for nothing.

        Raises:
            ValueError: for an unknown key, a wrong shape, NaN, infinity, sigma <= 0 or
                numbers beyond what an observation can hold.
        """
        if options is None:
            return None
        given = checked_options(options, ("mu", "sigma", "true_skill"))
        shapes: list[tuple[int, ...]] = [(settings.num_players,)]
        if num_envs is not None:
            shapes.append((num_envs, settings.num_players))
        return cls(**{name: as_given(name, value, shapes) for name, value in given.items()})


def checked_options(options: Any, known: Sequence[str]) -> dict[str, Any]:
    """The options of a reset that are given, without those that are None.

    Raises:
        ValueError: for anything but a dict or None, and for an unknown key.
    """
    if options is None:
        return {}
    if not isinstance(options, dict):
        raise ValueError(f"options must be a dict or None, got {options!r}")
    for key in options:
        if key not in known:
            raise ValueError(
                f"options may hold {', '.join(repr(name) for name in known)}, got {key!r}"
            )
    return {name: value for name, value in options.items() if value is not None}


def as_given(name: str, value: Any, shapes: Sequence[tuple[int, ...]]) -> Floats:
    """Means, deviations or skills of a reset's options, as an array.

    Args:
        name: the option, ``"sigma"`` for deviations.
        value: what was given.
        shapes: those that are allowed.

    Raises:
        ValueError: for another shape, or numbers that no observation can hold.
    """
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
