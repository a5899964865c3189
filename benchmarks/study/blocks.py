"""A block of the study: some paths of one cell and prior, for all policies, as sums."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.study.cells import Cell
from matchenv.benchmarks.study.instances import instances_of, lots_of
from matchenv.benchmarks.study.players import games_of
from matchenv.benchmarks.study.settings import StudySettings

Floats = NDArray[np.float64]

# Games at the start and at the end that the paper's text sets against the rest.
FIRST_GAMES = 100
LAST_GAMES = 100
WINDOWS = ("first", "after", "last", "all")


@dataclass(frozen=True)
class Job:
    """A block to be played.

    Attributes:
        settings: of the study.
        cell: where player 0 stands.
        prior: number of the prior.
        first: number of the first path.
        count: paths in the block.
    """

    settings: StudySettings
    cell: Cell
    prior: int
    first: int
    count: int

    @property
    def name(self) -> str:
        """The block in names of files."""
        return f"{self.cell.name}_prior{self.prior:03d}_path{self.first:06d}"


@dataclass(frozen=True)
class Sums:
    """Sums over paths; those of several blocks add up.

    P is the number of policies, W of windows; entries of the last axis are the sum and the
    sum of squares.

    Attributes:
        paths: how many.
        curves: each measure at each game, shape (P, 4, N, 2).
        windows: each path's mean over a window of games, shape (P, 4, W, 2).
        pairs: differences of those means between two policies on the same path, first less
            second, pairs as ``itertools.combinations``, shape (P (P - 1) / 2, 4, W, 2).
    """

    paths: int
    curves: Floats
    windows: Floats
    pairs: Floats

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.paths + other.paths,
            self.curves + other.curves,
            self.windows + other.windows,
            self.pairs + other.pairs,
        )


def jobs_of(settings: StudySettings) -> list[Job]:
    """All blocks of a study, in the order in which their sums are added up."""
    size = settings.block_size
    return [
        Job(settings, cell, prior, first, min(size, settings.paths - first))
        for prior in range(settings.priors)
        for cell in settings.chosen_cells
        for first in range(0, settings.paths, size)
    ]


def play_block(job: Job) -> Sums:
    """Play a block: a pure function of the job."""
    settings = job.settings
    instances = instances_of(settings, job.cell, job.prior, job.first, job.count)
    return sums_of(
        [
            games_of(
                contestant,
                settings.game,
                instances,
                printed=settings.equations == "printed",
                rng=lots_of(settings, job.prior, job.first, contestant.label),
            )
            for contestant in settings.contestants
        ]
    )


def windows_of(horizon: int) -> tuple[slice, ...]:
    """The games of each of ``WINDOWS``; short horizons make them overlap.

    "after" is what follows the first games, or the last game where nothing does.
    """
    return (
        slice(0, min(FIRST_GAMES, horizon)),
        slice(min(FIRST_GAMES, horizon - 1), horizon),
        slice(max(0, horizon - LAST_GAMES), horizon),
        slice(0, horizon),
    )


def sums_of(games: list[Floats]) -> Sums:
    """The sums of a block.

    Args:
        games: for each policy the measures of each game, shape (B, 4, N).
    """
    windows = windows_of(games[0].shape[2])
    means = [
        np.stack([policy[:, :, window].mean(axis=2) for window in windows], axis=2)
        for policy in games
    ]
    pairs = [_moments(ours - theirs) for ours, theirs in combinations(means, 2)]
    return Sums(
        paths=games[0].shape[0],
        curves=np.stack([_moments(policy) for policy in games]),
        windows=np.stack([_moments(policy) for policy in means]),
        pairs=np.stack(pairs) if pairs else np.zeros((0, *means[0].shape[1:], 2)),
    )


def _moments(values: Floats) -> Floats:
    return np.stack([values.sum(axis=0), (values * values).sum(axis=0)], axis=-1)
