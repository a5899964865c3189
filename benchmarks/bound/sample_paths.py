"""Sample paths of the bound: instances of a comparison, and the outcomes of games to come."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.bound.possible_skills import informed_skills, step_of, uninformed_skills
from matchenv.benchmarks.bound.relaxation import bound_of_path
from matchenv.compilation import compiled
from matchenv.evaluation.cells import Cell
from matchenv.evaluation.rollout import Batch
from matchenv.evaluation.seeds import OUTCOMES, episode_seeds, stream_of
from matchenv.evaluation.store import Arrays
from matchenv.play import game_outcome
from matchenv.settings import Settings

Floats = NDArray[np.float64]

# Episodes that one process works on at a time.
BLOCK = 10


@dataclass(frozen=True)
class BoundJob:
    """A block of episodes of one cell.

    Attributes:
        cell: rank of player 0 and prior.
        settings: of the environment, but for rank and prior.
        seed: the comparison's.
        first: number of the first episode.
        count: episodes.
        depth: as ``relaxation.bound_of_path``.
        penalty: as there.
    """

    cell: Cell
    settings: Settings
    seed: int
    first: int
    count: int
    depth: int
    penalty: float
    lasting: bool = True

    @property
    def name(self) -> str:
        """Name of its file."""
        return f"bound_{self.cell.name}_episode{self.first:06d}"


def bounds_of(job: BoundJob) -> Arrays:
    """What the informed player collects in each episode: ``"bound"``, shape (count,)."""
    settings = job.settings
    mu, sigma, true_skill = hidden_instances(job)
    found = np.empty(job.count)
    for e in range(job.count):
        noise = stream_of(job.seed, OUTCOMES, job.first + e).standard_normal(
            (settings.num_opponents, settings.horizon)
        )
        skills, weights = possible_skills(job.cell, settings, mu[e], sigma[e])
        found[e] = bound_of_path(
            true_skill[e, 0],
            skills,
            weights,
            wins_ahead(true_skill[e], noise, settings.beta),
            settings.beta,
            min(job.depth, settings.horizon),
            job.penalty,
        )
    return {"bound": found}


def hidden_instances(job: BoundJob) -> tuple[Floats, Floats, Floats]:
    """Prior means (also where they are hidden from policies), deviations and true skills.

    Returns:
        Three arrays of shape (count, M + 1); those of a comparison with this seed.
    """
    settings = replace(job.settings, rank=job.cell.rank, prior="informative")
    episodes = Batch(settings, episode_seeds(job.seed, job.first, job.count)).episodes
    return episodes.mu, episodes.sigma, episodes.true_skill


def possible_skills(
    cell: Cell, settings: Settings, mu: Floats, sigma: Floats
) -> tuple[Floats, Floats]:
    """What is known of the opponents' skills at the start; never less than policies know.

    With equal priors that is player 0's hidden mean, and whose is above it and whose below,
    where player 0's place is by the means; given these, the other means are independent.

    Args:
        cell: rank of player 0 and prior.
        settings: of the environment.
        mu: prior means, shape (M + 1,).
        sigma: prior deviations, shape (M + 1,).

    Returns:
        ``(skills, weights)``, both of shape (M, G).
    """
    step = step_of(settings.beta, settings.horizon)
    if cell.prior == "informative":
        return informed_skills(mu[1:], sigma[1:], step)
    sides = np.zeros(mu.size - 1) if cell.rank is None else np.sign(mu[1:] - mu[0])
    return uninformed_skills(sigma[1:], float(mu[0]), sides.astype(np.int64), step)


@compiled
def wins_ahead(true_skill: Floats, noise: Floats, beta: float) -> NDArray[np.bool_]:
    """Whether player 0 wins the first, second, ... game with each opponent.

    Args:
        true_skill: shape (M + 1,).
        noise: standard normals, shape (M, N).
        beta: standard deviation of one performance around skill.
    """
    won = np.empty(noise.shape, dtype=np.bool_)
    for j in range(noise.shape[0]):
        for k in range(noise.shape[1]):
            won[j, k] = game_outcome(true_skill[0], true_skill[j + 1], noise[j, k], beta, 0.0) > 0
    return won
