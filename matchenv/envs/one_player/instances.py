"""Instances: the players of an episode, and the belief that a policy starts from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.core.settings import LARGEST_OBSERVED, as_given, checked_options
from matchenv.envs.one_player.priors import Prior

Floats = NDArray[np.float64]

# A place of player 0 that is not fixed.
ANY_RANK = -1


class Instances(NamedTuple):
    """Random numbers of K instances, shape (K, M + 1) each.

    Attributes:
        mean_normals: standard normal, for the prior means.
        uniforms: uniform on (0, 1), for the prior variances.
        skill_normals: standard normal, for the true skills.
    """

    mean_normals: Floats
    uniforms: Floats
    skill_normals: Floats


def instances_of(
    prior: Prior, numbers: Instances, place: int, *, by_skill: bool
) -> tuple[Floats, Floats, Floats]:
    """Build K instances from their random numbers.

    Args:
        prior: of the players.
        numbers: of the instances.
        place: place of player 0, or ``ANY_RANK``.
        by_skill: the place is by true skill, not by prior mean.

    Returns:
        Means and deviations of the initial belief, and the true skills, shape (K, M + 1) each.

    Raises:
        ValueError: for a prior of the user's that gives other shapes or bad numbers.
    """
    shape = numbers.uniforms.shape
    mu, sigma = prior.draw(numbers.mean_normals, numbers.uniforms)
    _check_shapes(prior, "draw", shape, mu, sigma)
    true_skill = prior.true_skill(mu, sigma, numbers.skill_normals)
    _check_shapes(prior, "true_skill", shape, true_skill)
    if place != ANY_RANK:
        order = _order_with_place_first(true_skill if by_skill else mu, place)
        mu, sigma, true_skill = (
            np.take_along_axis(values, order, axis=1) for values in (mu, sigma, true_skill)
        )
    mu, sigma = prior.believed(mu, sigma)
    _check_shapes(prior, "believed", shape, mu, sigma)
    # A bad number of ``draw`` is still in a skill. The comparisons are False for NaN.
    good = (np.abs(mu) <= LARGEST_OBSERVED) & (np.abs(true_skill) <= LARGEST_OBSERVED)
    good &= (sigma >= 1.0 / LARGEST_OBSERVED) & (sigma <= LARGEST_OBSERVED)
    if not good.all():
        raise ValueError(
            f"{prior!r} must give means and skills of at most {LARGEST_OBSERVED:g} in size, and "
            f"deviations from {1.0 / LARGEST_OBSERVED:g} to that, got other ones"
        )
    return mu, sigma, true_skill


def _order_with_place_first(values: Floats, place: int) -> NDArray[np.int64]:
    """Return the order in which player 0 and the one at ``place`` (0 the best) have swapped."""
    rows = np.arange(len(values))
    chosen = np.argsort(-values, axis=1, kind="stable")[:, place]
    order = np.tile(np.arange(values.shape[1]), (len(values), 1))
    order[rows, chosen] = 0
    order[:, 0] = chosen
    return order


def _check_shapes(prior: Prior, method: str, shape: tuple[int, ...], *arrays: Floats) -> None:
    for array in arrays:
        if array.shape != shape:
            raise ValueError(
                f"{prior!r}.{method} must give arrays of shape {shape}, got {array.shape}"
            )


@dataclass(frozen=True)
class GivenInstance:
    """The parts of an instance that ``reset(options=...)`` fixes; None where not.

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
        cls, options: dict[str, Any] | None, num_players: int, num_envs: int | None = None
    ) -> GivenInstance | None:
        """Check the options of a reset.

        Args:
            options: may hold ``"mu"``, ``"sigma"`` and ``"true_skill"``.
            num_players: M + 1.
            num_envs: the size of a batch, which also takes one row for each episode; None for a
                single environment.

        Returns:
            The fixed parts; None for nothing.

        Raises:
            ValueError: for an unknown key, a wrong shape, NaN, infinity, sigma <= 0 or
                numbers beyond what an observation can hold.
        """
        given = checked_options(options, ("mu", "sigma", "true_skill"))
        shapes: list[tuple[int, ...]] = [(num_players,)]
        if num_envs is not None:
            shapes.append((num_envs, num_players))
        if not given:
            return None
        return cls(**{name: as_given(name, value, shapes) for name, value in given.items()})

    def applied(
        self,
        instances: tuple[Floats, Floats, Floats],
        rows: NDArray[np.int64],
        skill_normals: Floats,
        count: int,
    ) -> tuple[Floats, Floats, Floats]:
        """Return instances with the fixed parts in them.

        True skills that are not fixed are drawn from a fixed belief.

        Args:
            instances: of the K rows.
            rows: the episodes, shape (K,).
            skill_normals: standard normal, shape (K, M + 1).
            count: B.
        """
        mu, sigma, skill = instances
        shape = (count, mu.shape[1])
        if self.mu is not None:
            mu = np.broadcast_to(self.mu, shape)[rows]
        if self.sigma is not None:
            sigma = np.broadcast_to(self.sigma, shape)[rows]
        if self.true_skill is not None:
            skill = np.broadcast_to(self.true_skill, shape)[rows]
        elif self.mu is not None or self.sigma is not None:
            skill = mu + sigma * skill_normals
        return mu, sigma, skill
