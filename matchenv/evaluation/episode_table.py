"""Every episode of every policy in every cell: played as jobs, kept as one tidy table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.evaluation.registry import Candidate
from matchenv.evaluation.rollout import ALL, TOTAL, Sums, column_of, rollout
from matchenv.evaluation.seeds import policy_key, stream_of
from matchenv.runtime.files import Arrays, columns_csv, npz_bytes
from matchenv.runtime.jobs import CLOCK, Job, Store

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """One set-up in which policies are compared.

    Attributes:
        name: in names of files.
        title: as a heading.
        labels: in tables, by column.
        options: of the environment in it, by name.
    """

    name: str
    title: str
    labels: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Block:
    """Episodes that are played side by side, the same in all cells and for all policies.

    Attributes:
        prior: number of the draw of the prior, 0 where every episode has its own.
        first: number of the first episode.
        seeds: of the episodes.
        policy_stream: key of the random streams of stochastic policies, but for the label.
    """

    prior: int
    first: int
    seeds: tuple[int, ...]
    policy_stream: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """Policies, cells and episodes that are to be played.

    Attributes:
        candidates: the policies.
        cells: where.
        blocks: the episodes, prior by prior; as many of each.
        settings_of: returns the settings of a cell with a prior of that number.
        seed: as the user typed it.
        summary: makes what keeps the results of a block; None for that of the environment.
    """

    candidates: tuple[Candidate, ...]
    cells: tuple[Cell, ...]
    blocks: tuple[Block, ...]
    settings_of: Callable[[Cell, int], Any]
    seed: int
    summary: Callable[[], Sums] | None = None

    @property
    def episodes(self) -> int:
        """Episodes of each policy in each cell."""
        return sum(len(block.seeds) for block in self.blocks)

    def jobs(self) -> list[Job]:
        """Return a job for each cell, policy and block, in this order."""
        # A name follows from what is played, not from the order in which it was asked for.
        labels = sorted(candidate.label for candidate in self.candidates)
        return [
            Job(
                f"{cell.name}_policy{labels.index(candidate.label):02d}_prior{block.prior:03d}"
                f"_episode{block.first:06d}",
                len(block.seeds),
                partial(
                    rollout,
                    candidate.make,
                    self.settings_of(cell, block.prior),
                    block.seeds,
                    stream_of(self.seed, *block.policy_stream, *policy_key(candidate.label)),
                    self.summary,
                ),
                candidate.identity is not None,
            )
            for cell in self.cells
            for candidate in self.candidates
            for block in self.blocks
        ]


@dataclass(frozen=True)
class EpisodeTable:
    """A row for each episode of each policy in each cell, in the order C, P, R, E.

    Attributes:
        cells: the cells, C.
        policies: labels of the policies, P.
        seeds: of the episodes, the same in all cells, shape (R, E) for R draws of the prior.
        arrays: by name, shape (C, P, R, E, ...): what the summary keeps of each episode.
        totals: by name, shape (C, P, R, ...): sums over the episodes.
        decisions_per_second: of one process, shape (C, P); NaN where nothing was timed.
    """

    cells: tuple[Cell, ...]
    policies: tuple[str, ...]
    seeds: NDArray[np.uint64]
    arrays: Arrays
    totals: Arrays
    decisions_per_second: Floats

    @property
    def columns(self) -> dict[str, Floats]:
        """The measures: the arrays with one number for each episode, shape (C, P, R, E)."""
        return {name: each for name, each in self.arrays.items() if each.ndim == 4}

    def values(self, measure: str, cell: int, policy: str, window: str = ALL) -> Floats:
        """Return one measure of every episode, shape (R, E, ...)."""
        found: Floats = self.arrays[column_of(measure, window)][cell, self.policies.index(policy)]
        return found

    def tidy(self) -> dict[str, NDArray[Any]]:
        """Return columns of equal length: what each row is of, then its measures."""
        shape = (len(self.cells), len(self.policies), *self.seeds.shape)
        numbers = np.indices(shape).reshape(4, -1)
        labels = {
            name: np.array([cell.labels[name] for cell in self.cells])[numbers[0]]
            for name in self.cells[0].labels
        }
        return {
            **labels,
            "policy": np.array(self.policies)[numbers[1]],
            "prior_draw": numbers[2],
            "episode": numbers[3],
            "seed": np.broadcast_to(self.seeds, shape).ravel(),
            **{name: values.ravel() for name, values in self.columns.items()},
        }

    def files(self) -> dict[str, bytes]:
        """Return the table as ``episodes.npz``, an array for each column, and ``episodes.csv``."""
        columns = self.tidy()
        return {"episodes.npz": npz_bytes(columns), "episodes.csv": columns_csv(columns)}


def play(plan: Plan, store: Store) -> EpisodeTable:
    """Play what a plan asks for.

    Args:
        plan: what to play.
        store: where finished jobs lie.

    Raises:
        OSError: if a job cannot be written; the finished ones stay.
    """
    played = store.results(plan.jobs())
    priors = 1 + max(block.prior for block in plan.blocks)
    shape = (len(plan.cells), len(plan.candidates), priors)
    clocks = np.stack([each.pop(CLOCK, np.zeros(2)) for each in played])
    seconds, decisions = np.moveaxis(clocks.reshape(*shape[:2], -1, 2).sum(axis=2), -1, 0)
    with np.errstate(invalid="ignore"):
        rates = decisions / seconds
    arrays, totals = dict[str, Any](), dict[str, Any]()
    for name in played[0]:
        found = [each[name] for each in played]
        if name.startswith(TOTAL):
            blocks = np.stack(found)
            total = blocks.reshape(*shape, -1, *blocks.shape[1:]).sum(axis=3)
            totals[name.removeprefix(TOTAL)] = total
        else:
            rows = np.concatenate(found)
            arrays[name] = rows.reshape(*shape, -1, *rows.shape[1:])
    seeds = np.concatenate([np.array(block.seeds, dtype=np.uint64) for block in plan.blocks])
    labels = tuple(candidate.label for candidate in plan.candidates)
    return EpisodeTable(plan.cells, labels, seeds.reshape(priors, -1), arrays, totals, rates)
