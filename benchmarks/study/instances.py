"""The players and the noise of a block of sample paths: functions of the seed alone.

A path is the episode that the environment plays with the path's seed, but for the prior,
which is the study's: so a policy that the study does not know plays through the
environment itself, against the same skills and the same noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from gymnasium.utils.seeding import np_random
from numpy.typing import NDArray

from matchenv.benchmarks.study.cells import Cell
from matchenv.benchmarks.study.settings import StudySettings
from matchenv.instance import put_in_place
from matchenv.priors import InformativePrior, prior_of

Floats = NDArray[np.float64]

PRIOR, PATHS, LOTS = range(3)


@dataclass(frozen=True)
class Instances:
    """What every policy meets in a block of paths.

    Attributes:
        mu: means at the start, shape (B, M + 1), player 0 first.
        sigma: standard deviations at the start, the same shape.
        true_skill: the same shape.
        noise: performance noise of each game, shape (B, N).
        seeds: of the paths, for the environment.
    """

    mu: Floats
    sigma: Floats
    true_skill: Floats
    noise: Floats
    seeds: list[int]


def drawn_prior(settings: StudySettings, prior: int) -> tuple[Floats, Floats]:
    """The means and deviations of one draw of the prior, each of shape (M + 1,)."""
    players = settings.opponents + 1
    rng = np.random.default_rng(_sequence(settings, prior, PRIOR))
    return InformativePrior().draw(rng.standard_normal(players), rng.random(players))


def instances_of(
    settings: StudySettings, cell: Cell, prior: int, first: int, count: int
) -> Instances:
    """Paths ``first`` to ``first + count - 1`` of a cell and a prior.

    Skills and noise are the same in all cells; the players only change places.
    """
    players = settings.opponents + 1
    prior_mu, prior_sigma = drawn_prior(settings, prior)
    mu, sigma = np.tile(prior_mu, (count, 1)), np.tile(prior_sigma, (count, 1))
    normals, noise = np.empty((count, players)), np.empty((count, settings.horizon))
    seeds = [path_seed(settings, prior, first + p) for p in range(count)]
    for p in range(count):
        rng = np_random(seeds[p])[0]
        normals[p] = rng.standard_normal(2 * players)[players:]
        rng.random(players)
        noise[p] = rng.standard_normal(settings.horizon)
    kind = prior_of(cell.prior, settings.equal_variance)
    mu, sigma, true_skill = put_in_place(
        mu,
        sigma,
        kind.true_skill(mu, sigma, normals),
        cell.index(players),
        by_skill=cell.prior == "equal",
    )
    mu, sigma = kind.believed(mu, sigma)
    return Instances(mu, sigma, true_skill, noise, seeds)


def path_seed(settings: StudySettings, prior: int, path: int) -> int:
    """The seed of a path: 64 bits, so that no two streams meet."""
    sequence = _sequence(settings, prior, PATHS, path)
    return int(sequence.generate_state(1, np.uint64)[0])


def lots_of(settings: StudySettings, prior: int, first: int, label: str) -> np.random.Generator:
    """The generator of a policy that draws lots, for the block that starts at ``first``."""
    sequence = _sequence(settings, prior, LOTS, first, *label.encode())
    return np.random.default_rng(sequence)


def _sequence(settings: StudySettings, prior: int, *key: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(settings.seed, spawn_key=(settings.stream, prior, *key))
