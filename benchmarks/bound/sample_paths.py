"""Sample paths of the bound: instances of a comparison, and the outcomes of games to come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.bound.kinds import (
    Kinds,
    Places,
    informed_kinds,
    places_by_gap,
    places_by_side,
    uninformed_kinds,
)
from matchenv.benchmarks.bound.payments import best_split, payments_of, payments_of_counts
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.one_player.simulator import wins_ahead
from matchenv.evaluation.cells import Cell
from matchenv.evaluation.rollout import Batch
from matchenv.evaluation.seeds import episode_seeds
from matchenv.runtime.compile import compiled
from matchenv.runtime.files import Arrays
from matchenv.trueskill.game import density_at_zero, total_variance

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Episodes of a job. With informative priors they share the kinds of opponents.
BLOCK = 100
# Those that are worked on at a time where each has its own.
PATHS_AT_ONCE = 20


@dataclass(frozen=True)
class BoundJob:
    """A block of episodes of one cell.

    Attributes:
        cell: rank of player 0 and prior.
        settings: of the environment, but for rank and prior; with noise by opponent.
        seed: the comparison's.
        first: number of the first episode.
        count: episodes.
        depth: games with an opponent after which the skill counts as told.
        counts: games of P policies with each opponent, shape (P, count, M).
    """

    cell: Cell
    settings: Settings
    seed: int
    first: int
    count: int
    depth: int
    counts: NDArray[np.int32]
    lasting: bool = True

    @property
    def name(self) -> str:
        """Name of its file."""
        return f"bound_{self.cell.name}_episode{self.first:06d}"


@dataclass(frozen=True)
class Path:
    """One episode, seen by one who knows everything.

    Attributes:
        mu: prior means, also where they are hidden from policies, shape (M + 1,).
        variance: of the priors, shape (M + 1,).
        true_skill: shape (M + 1,).
        won: shape (M, N), whether player 0 wins the first, second, ... game with each opponent.
        densities: shape (M,), the true draw density of each.
    """

    mu: Floats
    variance: Floats
    true_skill: Floats
    won: Flags
    densities: Floats


def bounds_of(job: BoundJob) -> Arrays:
    """The bound of each episode.

    Returns:
        ``"bound"`` and ``"luck"``, shape (count,): the best split of the payments, and luck of
        mean 0; and ``"paid"``, shape (count, P): the payments of each policy's own games.
    """
    paths = list(paths_of(job))
    size = len(paths) if job.cell.prior == "informative" else PATHS_AT_ONCE
    bounds, luck, paid = [], [], []
    for first in range(0, len(paths), size):
        some = paths[first : first + size]
        kinds, places = opponents_of(job, some)
        payments, lucky = payments_of(
            kinds,
            places,
            np.array([path.won for path in some]),
            np.array([path.densities for path in some]),
        )
        luck += [lucky]
        bounds += [best_split(each) for each in payments]
        paid += [
            [payments_of_counts(each, counts) for counts in job.counts[:, first + e]]
            for e, each in enumerate(payments)
        ]
    return {"bound": np.array(bounds), "luck": np.concatenate(luck), "paid": np.array(paid)}


def paths_of(job: BoundJob) -> Iterator[Path]:
    """The episodes of a comparison with this seed, with the same outcomes."""
    settings = replace(job.settings, rank=job.cell.rank, prior="informative")
    if settings.noise != "opponent":
        raise ValueError(f"noise must be 'opponent', got {settings.noise!r}")
    state = Batch(settings, episode_seeds(job.seed, job.first, job.count)).state
    for e in range(job.count):
        mu, sigma, skill = state.players[e].T.copy()
        won = wins_ahead(state.key[e], skill, settings.horizon, settings.beta)
        yield Path(mu, sigma**2, skill, won, densities_of(skill, settings.beta))


def opponents_of(job: BoundJob, paths: Sequence[Path]) -> tuple[Kinds, Places]:
    """The opponents' charges, given what is known at the start; never less than policies know.

    That is player 0's skill, and the prior means. With equal priors policies do not know those;
    then it is player 0's hidden mean, and whose is above it and whose below, where player 0's
    place is by the means. Given these, the other means are independent.

    Args:
        job: cell, settings and depth.
        paths: the instances.
    """
    beta, horizon = job.settings.beta, job.settings.horizon
    depth = min(job.depth, horizon)
    mu = np.array([path.mu for path in paths])
    skill_0 = np.array([path.true_skill[0] for path in paths])
    variances = np.array([path.variance[1:] for path in paths])
    if job.cell.prior == "informative":
        gaps = skill_0[:, None] - mu[:, 1:]
        return informed_kinds(beta, horizon, depth), places_by_gap(gaps.ravel(), variances.ravel())
    sides = np.zeros(variances.shape, dtype=np.int64)
    if job.cell.rank is not None:
        sides[:] = np.sign(mu[:, 1:] - mu[:, :1])
    known = np.unique(sides)
    kinds = uninformed_kinds(skill_0, mu[:, 0], known, beta, horizon, depth)
    return kinds, places_by_side(sides, known, variances)


@compiled
def densities_of(true_skill: Floats, beta: float) -> Floats:
    """The true draw density of each opponent, shape (M,), from skills of shape (M + 1,)."""
    densities = np.empty(true_skill.size - 1)
    variance = total_variance(0.0, 0.0, beta)
    for j in range(densities.size):
        densities[j] = density_at_zero(true_skill[0] - true_skill[j + 1], variance)
    return densities
