"""Plans of episodes to be played, and the table of the episodes that were played."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.core.settings import Options
from matchenv.evaluation.registry import Candidate
from matchenv.evaluation.rollout import ALL, TOTAL, Summary, column_of
from matchenv.evaluation.seeds import policy_key, stream_of
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.files import Arrays, columns_csv, npz_bytes
from matchenv.runtime.jobs import CLOCK, EXTENDABLE, Job, Store


@dataclass(frozen=True)
class Cell:
    """Options of the environment under which policies are compared.

    Attributes:
        name: name in files.
        title: heading.
        labels: values in tables, by column.
        options: options of the environment, by name.
    """

    name: str
    title: str
    labels: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    def checked_options(self, settings: Options) -> dict[str, Any]:
        """Return the options as plain data, after the checks of the shared settings."""
        described = replace(settings, **self.options).description()
        return {name: described[name] for name in self.options}


class Block(NamedTuple):
    """A batch of episodes, the same in all cells and for all policies.

    Attributes:
        prior: index of the draw of the prior, 0 if every episode has its own.
        first: index of the first episode.
        seeds: one for each episode.
        policy_stream: key of the random streams of stochastic policies, without the label.
    """

    prior: int
    first: int
    seeds: tuple[int, ...]
    policy_stream: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """Policies, cells and episodes to be played.

    Attributes:
        candidates: the policies.
        cells: the cells.
        blocks: the episodes, prior by prior; equally many for each.
        settings_of: returns the settings of a cell with a draw of the prior.
        seed: seed of the policies' random streams.
        summary: see ``rollout``.
        code: digests of third-party code that the results depend on, besides that of the policies.
    """

    candidates: tuple[Candidate, ...]
    cells: tuple[Cell, ...]
    blocks: tuple[Block, ...]
    settings_of: Callable[[Cell, int], Any]
    seed: int
    summary: Summary | None = None
    code: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EpisodeTable:
    """Results of C cells, P policies, R draws of the prior and E episodes of each.

    Attributes:
        cells: the cells.
        policies: labels of the policies.
        seeds: seeds of the episodes, the same in all cells, shape (R, E).
        arrays: arrays of the summary with a row for each episode, shape (C, P, R, E, ...), by name.
        totals: its sums over episodes, shape (C, P, R, ...), by name.
        decisions_per_second: speed of one process, shape (C, P); NaN if nothing was timed.
        needs_truth: labels of the policies that read the true skills.
        block_totals: sums over each of K blocks of a draw, shape (C, P, R, K, ...), by name.
        block_sizes: episodes of each block, shape (K,).
    """

    cells: tuple[Cell, ...]
    policies: tuple[str, ...]
    seeds: NDArray[np.uint64]
    arrays: Arrays
    totals: Arrays
    decisions_per_second: Floats
    needs_truth: tuple[str, ...] = ()
    block_totals: Arrays = field(default_factory=dict)
    block_sizes: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def columns(self) -> dict[str, Floats]:
        """Arrays with one number for each episode, shape (C, P, R, E)."""
        return {name: each for name, each in self.arrays.items() if each.ndim == 4}

    def values(self, measure: str, cell: int, policy: str, window: str = ALL) -> Floats:
        """Return a measure of each episode, shape (R, E, ...)."""
        array = self.arrays[column_of(measure, window)]
        return array[cell, self.policies.index(policy)]

    def tidy(self) -> dict[str, NDArray[Any]]:
        """Return the table in tidy form: columns of equal length, a row for each episode."""
        shape = (len(self.cells), len(self.policies), *self.seeds.shape)
        indices = np.indices(shape).reshape(4, -1)
        labels = {
            name: np.array([cell.labels[name] for cell in self.cells])[indices[0]]
            for name in self.cells[0].labels
        }
        return {
            **labels,
            "policy": np.array(self.policies)[indices[1]],
            "prior_draw": indices[2],
            "episode": indices[3],
            "seed": np.broadcast_to(self.seeds, shape).ravel(),
            **{name: values.ravel() for name, values in self.columns.items()},
        }

    def files(self) -> dict[str, bytes]:
        """Return the tidy table as ``episodes.npz``, an array per column, and ``episodes.csv``."""
        columns = self.tidy()
        return {"episodes.npz": npz_bytes(columns), "episodes.csv": columns_csv(columns)}


@dataclass(frozen=True)
class BlockRollout:
    """Plays a block of a plan with one policy.

    Attributes:
        candidate: the policy.
        settings: of the environment.
        seeds: one for each episode.
        stream: seed and key of the policy's random stream.
        summary: see ``rollout``.
    """

    candidate: Candidate
    settings: Any
    seeds: tuple[int, ...]
    stream: tuple[int, ...]
    summary: Summary | None

    def __call__(self, start: int = 0) -> Arrays:
        """Play the episodes from an index on.

        The results are ``EXTENDABLE`` if rows do not depend on the other episodes of the block: the
        policy drew no random numbers, and no array is a sum over episodes.
        """
        rng = stream_of(*self.stream)
        before = rng.bit_generator.state
        arrays = self.candidate.rollout(self.settings, self.seeds[start:], rng, self.summary)
        has_totals = any(name.startswith(TOTAL) for name in arrays)
        is_deterministic = rng.bit_generator.state == before
        arrays[EXTENDABLE] = np.array(is_deterministic and not has_totals)
        return arrays


def _job_of(plan: Plan, cell: Cell, candidate: Candidate, block: Block) -> Job:
    settings = plan.settings_of(cell, block.prior)
    stream = (plan.seed, *block.policy_stream, *policy_key(candidate.label))
    call = BlockRollout(candidate, settings, block.seeds, stream, plan.summary)
    key = None
    if candidate.lasting:
        key = {
            "policy": candidate.identity,
            "belief": candidate.belief,
            "environment": f"{type(settings).__module__}:{type(settings).__qualname__}",
            "settings": settings.description(),
            "code": plan.code,
            "first seed": block.seeds[0],
            "stream": stream,
            "summary": _summary_text(plan.summary),
        }
    name = f"{candidate.label} in {cell.name}, from episode {block.first} on"
    return Job(key, len(block.seeds), call, call, name)


def _summary_text(summary: Summary | None) -> str:
    if not isinstance(summary, partial):
        return getattr(summary, "__qualname__", "")
    return f"{summary.func.__qualname__} {summary.args} {summary.keywords}"


def play(plan: Plan, store: Store) -> EpisodeTable:
    """Play the episodes of a plan, a job for each cell, policy and block.

    Raises:
        OSError: if a job cannot be written; finished jobs stay.
    """
    jobs = []
    for cell in plan.cells:
        for candidate in plan.candidates:
            for block in plan.blocks:
                jobs.append(_job_of(plan, cell, candidate, block))
    return _table_of(plan, store.results(jobs))


def _table_of(plan: Plan, blocks: list[Arrays]) -> EpisodeTable:
    """Return the table of the blocks of all cells, policies and draws of the prior, in order."""
    draws = 1 + max(block.prior for block in plan.blocks)
    shape = (len(plan.cells), len(plan.candidates), draws)
    clocks = np.stack([block.pop(CLOCK, np.zeros(2)) for block in blocks])
    seconds, decisions = np.moveaxis(clocks.reshape(*shape[:2], -1, 2).sum(axis=2), -1, 0)
    with np.errstate(invalid="ignore"):
        rates = decisions / seconds
    arrays: Arrays = {}
    totals: Arrays = {}
    block_totals: Arrays = {}
    for name in blocks[0]:
        of_blocks = [block[name] for block in blocks]
        if name.startswith(TOTAL):
            sums = np.stack(of_blocks)
            sums = sums.reshape(*shape, -1, *sums.shape[1:])
            block_totals[name.removeprefix(TOTAL)] = sums
            totals[name.removeprefix(TOTAL)] = sums.sum(axis=3)
        else:
            rows = np.concatenate(of_blocks)
            arrays[name] = rows.reshape(*shape, -1, *rows.shape[1:])
    seeds = np.concatenate([np.array(block.seeds, dtype=np.uint64) for block in plan.blocks])
    return EpisodeTable(
        cells=plan.cells,
        policies=tuple(candidate.label for candidate in plan.candidates),
        seeds=seeds.reshape(draws, -1),
        arrays=arrays,
        totals=totals,
        decisions_per_second=rates,
        needs_truth=tuple(
            candidate.label for candidate in plan.candidates if candidate.needs_truth
        ),
        block_totals=block_totals,
        block_sizes=np.array([len(block.seeds) for block in plan.blocks if block.prior == 0]),
    )
