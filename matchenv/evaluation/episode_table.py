"""Every episode of every policy in every cell: played as jobs, kept as one tidy table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.candidates import Candidate
from matchenv.evaluation.cells import Cell
from matchenv.evaluation.rollout import EPISODE_MEASURES as MEASURES
from matchenv.evaluation.rollout import rollout
from matchenv.evaluation.seeds import policy_key, sequence_of
from matchenv.runtime.files import Arrays, columns_csv, npz_bytes
from matchenv.runtime.jobs import CLOCK, Store, run_jobs
from matchenv.runtime.parallel import Workers

Floats = NDArray[np.float64]

ALL = "all"
# These measures are summed over games, the others averaged.
SUMMED = ("draw_density", "match_quality", "true_draw_density")
FINAL_ERROR = "final_squared_error"
COUNTS = "counts"


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
    """What is to be played.

    Attributes:
        candidates: the policies.
        cells: where.
        blocks: the episodes, prior by prior; as many of each.
        settings_of: the settings of a cell with a prior of that number.
        seed: what the user typed.
        windows: games to sum over, by name; ``"all"`` must be among them.
        measures: out of ``MEASURES``.
        curves: keep sums over episodes at each game.
        counts: keep how often each opponent was played.
    """

    candidates: tuple[Candidate, ...]
    cells: tuple[Cell, ...]
    blocks: tuple[Block, ...]
    settings_of: Callable[[Cell, int], Settings]
    seed: int
    windows: Mapping[str, slice]
    measures: tuple[str, ...] = MEASURES
    curves: bool = False
    counts: bool = False


# Plays a policy, made by the first argument, in episodes of these settings and seeds.
Roll = Callable[[Callable[..., Any], Any, Sequence[int], np.random.Generator], Arrays]


@dataclass(frozen=True)
class RolloutJob:
    """One block of episodes of one policy in one cell.

    Attributes:
        name: of the job's file.
        make: makes the policy.
        settings: of the episodes.
        block: the episodes.
        policy_stream: for a stochastic policy.
        roll: plays them; can be pickled.
        lasting: whether its result may be kept for another time.
    """

    name: str
    make: Callable[..., Any]
    settings: Any
    block: Block
    policy_stream: np.random.SeedSequence
    roll: Roll
    lasting: bool

    @property
    def count(self) -> int:
        """Episodes in it."""
        return len(self.block.seeds)


@dataclass(frozen=True)
class EpisodeTable:
    """A row for each episode of each policy in each cell, in the order C, P, R, E.

    Attributes:
        cells: the cells, C.
        policies: labels of the policies, P.
        seeds: of the episodes, the same in all cells, shape (R, E) for R draws of the prior.
        columns: measures of each episode, shape (C, P, R, E): densities summed over games, the
            others averaged; over a window of games with the window's name behind; and
            ``final_squared_error``.
        curves: sums over episodes of each measure at each game, and sums of squares, shape
            (C, P, R, K, N, 2); N is 0 where they were not asked for.
        decisions_per_second: of one process, shape (C, P); NaN where nothing was timed.
        counts: games with each opponent in each episode, shape (C, P, R, E, M); None where they
            were not asked for.
    """

    cells: tuple[Cell, ...]
    policies: tuple[str, ...]
    seeds: NDArray[np.uint64]
    columns: dict[str, Floats]
    curves: Floats
    decisions_per_second: Floats
    counts: NDArray[np.int32] | None = None

    def values(self, measure: str, cell: int, policy: str, window: str = ALL) -> Floats:
        """One measure of every episode, shape (R, E)."""
        found: Floats = self.columns[column_of(measure, window)][cell, self.policies.index(policy)]
        return found

    def counts_of(self, cell: int) -> NDArray[np.int32]:
        """Games with each opponent in the episodes of a cell, shape (P, R * E, M).

        Raises:
            ValueError: where they were not kept.
        """
        if self.counts is None:
            raise ValueError("counts must be kept by the plan, got a table without")
        found = self.counts[cell]
        return found.reshape(len(self.policies), -1, found.shape[-1])

    def tidy(self) -> dict[str, NDArray[Any]]:
        """The columns of the table, of equal length: what the row is of, then its measures."""
        shape = (len(self.cells), len(self.policies), *self.seeds.shape)
        numbers = np.indices(shape).reshape(4, -1)
        labels = [np.array([cell.rank_name for cell in self.cells])[numbers[0]],
                  np.array([cell.prior for cell in self.cells])[numbers[0]],
                  np.array(self.policies)[numbers[1]]]  # fmt: skip
        return {
            **dict(zip(("rank", "prior", "policy"), labels, strict=True)),
            "prior_draw": numbers[2],
            "episode": numbers[3],
            "seed": np.broadcast_to(self.seeds, shape).ravel(),
            **{name: values.ravel() for name, values in self.columns.items()},
        }

    def files(self) -> dict[str, bytes]:
        """The table as ``episodes.npz``, an array for each column, and ``episodes.csv``."""
        columns = self.tidy()
        return {"episodes.npz": npz_bytes(columns), "episodes.csv": columns_csv(columns)}


def column_of(measure: str, window: str = ALL) -> str:
    """The column of a measure over a window of games."""
    return measure if window == ALL else f"{measure}_{window}"


def play(plan: Plan, store: Store | None, *, workers: Workers, quiet: bool) -> EpisodeTable:
    """Play what is missing of a plan.

    Args:
        plan: what to play.
        store: where finished jobs lie; None keeps nothing.
        workers: processes (None: one for each core), or an engine; no number depends on it.
        quiet: no progress bar.

    Raises:
        ValueError: for a damaged store.
        OSError: if a job cannot be written; the finished ones stay.
    """
    roll = partial(
        summed, measures=plan.measures, windows=plan.windows, curves=plan.curves, counts=plan.counts
    )
    jobs = jobs_of(plan, roll)
    return _table(plan, run_jobs(jobs, work, store, workers=workers, quiet=quiet))


def jobs_of(plan: Any, roll: Roll) -> list[RolloutJob]:
    """Return the jobs of a plan, by cell, policy and block.

    Args:
        plan: has ``candidates``, ``cells`` (each with a ``name``), ``blocks``, ``settings_of`` and
            ``seed``, as ``Plan``.
        roll: plays a block.
    """
    return [
        RolloutJob(
            name=f"{cell.name}_policy{p:02d}_prior{block.prior:03d}_episode{block.first:06d}",
            make=candidate.make,
            settings=plan.settings_of(cell, block.prior),
            block=block,
            policy_stream=sequence_of(
                plan.seed, *block.policy_stream, *policy_key(candidate.label)
            ),
            roll=roll,
            lasting=candidate.identity is not None,
        )
        for cell in plan.cells
        for p, candidate in enumerate(plan.candidates)
        for block in plan.blocks
    ]


def work(job: RolloutJob) -> Arrays:
    """Play a job."""
    rng = np.random.default_rng(job.policy_stream)
    return job.roll(job.make, job.settings, job.block.seeds, rng)


def summed(
    make: Callable[..., Any],
    settings: Any,
    seeds: Sequence[int],
    rng: np.random.Generator,
    *,
    measures: Sequence[str],
    windows: Mapping[str, slice],
    curves: bool = False,
    counts: bool = False,
) -> Arrays:
    """Play a block of episodes of ``Matchmaking-v0``; arguments as ``rollout`` and ``Plan``."""
    found = rollout(make, settings, seeds, rng, measures=measures, windows=windows, curves=curves)
    kept = {COUNTS: found.counts.astype(np.int32)} if counts else {}
    return {
        "sums": found.sums,
        FINAL_ERROR: found.final_squared_error,
        "curves": found.curves,
        **kept,
        CLOCK: np.array([found.decisions, found.seconds]),
    }


def _table(plan: Plan, played: Sequence[Arrays]) -> EpisodeTable:
    priors = 1 + max(block.prior for block in plan.blocks)
    shape = (len(plan.cells), len(plan.candidates), priors, -1)
    episodes = np.concatenate([each["sums"] for each in played], axis=2)
    columns: dict[str, Floats] = {}
    for w, (window, span) in enumerate(plan.windows.items()):
        for m, measure in enumerate(plan.measures):
            games = 1 if measure in SUMMED else span.stop - span.start
            columns[column_of(measure, window)] = (episodes[w, m] / games).reshape(shape)
    columns[FINAL_ERROR] = np.concatenate([each[FINAL_ERROR] for each in played]).reshape(shape)
    curves = np.stack([each["curves"] for each in played])
    blocks = len(plan.blocks) // priors
    curves = curves.reshape(*shape[:3], blocks, *curves.shape[1:]).sum(axis=3)
    clocks = np.array([each.get(CLOCK, np.zeros(2)) for each in played])
    decisions, seconds = np.moveaxis(clocks.reshape(*shape[:2], -1, 2).sum(axis=2), -1, 0)
    rates = np.divide(decisions, seconds, out=np.full(decisions.shape, np.nan), where=seconds > 0.0)
    seeds = np.concatenate([np.array(block.seeds, dtype=np.uint64) for block in plan.blocks])
    counts = None
    if plan.counts:
        counts = np.concatenate([each[COUNTS] for each in played])
        counts = counts.reshape(*shape, counts.shape[-1])
    return EpisodeTable(
        plan.cells,
        tuple(candidate.label for candidate in plan.candidates),
        seeds.reshape(priors, -1),
        columns,
        curves,
        rates,
        counts,
    )
