"""Every run of every policy under every load: played as jobs, kept as one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.candidates import Candidate
from matchenv.evaluation.episode_table import Block, jobs_of, work
from matchenv.evaluation.queue_measures import ERROR_GAMES, GROUPS, SUMS, wait_percentile
from matchenv.evaluation.queue_rollout import QueuePolicyMaker, queue_rollout
from matchenv.runtime.checks import as_positive_number
from matchenv.runtime.files import Arrays, csv_bytes, npz_bytes
from matchenv.runtime.jobs import CLOCK, Store, run_jobs
from matchenv.runtime.parallel import Workers

Floats = NDArray[np.float64]

# Players who log on in a tick.
LOADS = {"thin": 0.2, "middle": 1.0, "thick": 4.0}

# Measures of a run.
TOTALS = ("reward", "true_reward")
MEANS = ("match_quality", "true_match_quality", "wait", "left")
ERRORS = tuple(f"error_{games}" for games in ERROR_GAMES)
MEASURES = (*TOTALS, *MEANS, *ERRORS)


@dataclass(frozen=True)
class Load:
    """How many come.

    Attributes:
        name: in tables and names of files.
        arrival_rate: players who log on in a tick.
    """

    name: str
    arrival_rate: float

    @classmethod
    def named(cls, text: str) -> Load:
        """A load of ``LOADS``, or any arrival rate.

        Raises:
            ValueError: for neither.
        """
        if text in LOADS:
            return cls(text, LOADS[text])
        try:
            rate = float(text)
        except ValueError:
            raise ValueError(
                f"load must be one of {', '.join(LOADS)} or an arrival rate, got {text!r}"
            ) from None
        return cls(f"{as_positive_number('load', rate):g}", rate)


@dataclass(frozen=True)
class QueuePlan:
    """What is to be played.

    Attributes:
        candidates: the policies.
        loads: where.
        blocks: the runs, the same for all policies under all loads.
        settings: of the environment, but for the arrival rate.
        seed: what the user typed.
    """

    candidates: tuple[Candidate, ...]
    loads: tuple[Load, ...]
    blocks: tuple[Block, ...]
    settings: QueueSettings
    seed: int

    @property
    def cells(self) -> tuple[Load, ...]:
        """The loads."""
        return self.loads

    def settings_of(self, load: Load, prior: int) -> QueueSettings:
        """Return the settings of the runs under a load."""
        del prior
        return replace(self.settings, arrival_rate=load.arrival_rate)


@dataclass(frozen=True)
class QueueTable:
    """A row for each run of each policy under each load, in the order L, P, E.

    Attributes:
        loads: the loads, L.
        policies: labels of the policies, P.
        seeds: of the runs, shape (E,).
        sums: over the visits of each group of players, shape (L, P, E, groups, ``SUMS``).
        waits: visits of all runs by ticks waited, shape (L, P, groups, ticks).
        columns: the measures of each run, shape (L, P, E); NaN where there was nothing to
            measure.
        decisions_per_second: of one process, shape (L, P); NaN where nothing was timed.
    """

    loads: tuple[Load, ...]
    policies: tuple[str, ...]
    seeds: NDArray[np.uint64]
    sums: Floats
    waits: Floats
    columns: dict[str, Floats]
    decisions_per_second: Floats

    def values(self, measure: str, load: int, policy: str, group: str = GROUPS[0]) -> Floats:
        """One measure of every run, shape (E,).

        Args:
            measure: one of ``MEASURES``; of a group one of ``MEANS``.
            load: number of the load.
            policy: its label.
            group: of players.
        """
        place = self.policies.index(policy)
        if group == GROUPS[0]:
            found: Floats = self.columns[measure][load, place]
            return found
        return mean_of(measure, self.sums[load, place, :, GROUPS.index(group)])

    def long_wait(
        self, load: int, policy: str, share: float = 0.95, group: str = GROUPS[0]
    ) -> float:
        """Ticks that such a share of all visits of all runs did not exceed."""
        waits = self.waits[load, self.policies.index(policy), GROUPS.index(group)]
        return wait_percentile(waits, share)

    def files(self) -> dict[str, bytes]:
        """The table as ``runs.npz``, an array for each column, and ``runs.csv``."""
        shape = (len(self.loads), len(self.policies), self.seeds.size)
        loads, policies, runs = np.indices(shape).reshape(3, -1)
        columns: dict[str, NDArray[Any]] = {
            "load": np.array([load.name for load in self.loads])[loads],
            "policy": np.array(self.policies)[policies],
            "run": runs,
            "seed": np.broadcast_to(self.seeds, shape).ravel(),
            **{name: values.ravel() for name, values in self.columns.items()},
        }
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        return {"runs.npz": npz_bytes(columns), "runs.csv": csv_bytes(list(columns), rows)}


def mean_of(measure: str, sums: Floats) -> Floats:
    """A measure of ``MEANS`` from sums over visits, shape (..., ``SUMS``) to (...)."""
    visits, served, waited = (sums[..., SUMS.index(name)] for name in SUMS[:3])
    if measure == "left":
        return _share(visits - served, visits)
    if measure == "wait":
        return _share(waited, visits)
    return _share(sums[..., SUMS.index(measure)], served)


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0.0)


def play_queue(
    plan: QueuePlan, store: Store | None, *, workers: Workers, quiet: bool
) -> QueueTable:
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
    jobs = jobs_of(plan, tallied)
    return _table(plan, run_jobs(jobs, work, store, workers=workers, quiet=quiet, unit="run"))


def maker_of(candidate: Candidate) -> QueuePolicyMaker:
    """What makes a candidate for the queue, where the truth comes with each question."""
    return lambda settings: candidate.make(settings, None)


def tallied(
    make: Callable[..., Any],
    settings: QueueSettings,
    seeds: Sequence[int],
    rng: np.random.Generator,
) -> Arrays:
    """Play a block of runs; arguments as ``queue_rollout``, the maker as a candidate's."""
    found = queue_rollout(lambda each: make(each, None), settings, seeds, rng)
    return {
        "reward": found.reward,
        "true_reward": found.true_reward,
        "sums": found.tally.sums,
        "waits": found.tally.waits,
        "errors": found.tally.errors,
        CLOCK: np.array([found.decisions, found.seconds]),
    }


def _table(plan: QueuePlan, played: Sequence[Arrays]) -> QueueTable:
    shape = (len(plan.loads), len(plan.candidates))
    blocks = len(plan.blocks)

    def of_runs(name: str) -> Floats:
        joined = np.concatenate([each[name] for each in played])
        return joined.reshape(*shape, -1, *joined.shape[1:])

    def over_blocks(arrays: Sequence[Floats]) -> Floats:
        stacked = np.stack(arrays)
        return stacked.reshape(*shape, blocks, *stacked.shape[1:]).sum(axis=2)

    sums, errors = of_runs("sums"), of_runs("errors")
    clocks = over_blocks([each.get(CLOCK, np.zeros(2)) for each in played])
    return QueueTable(
        loads=plan.loads,
        policies=tuple(candidate.label for candidate in plan.candidates),
        seeds=np.array([seed for block in plan.blocks for seed in block.seeds], dtype=np.uint64),
        sums=sums,
        waits=over_blocks([each["waits"] for each in played]),
        columns={
            **{name: of_runs(name) for name in TOTALS},
            **{name: mean_of(name, sums[..., 0, :]) for name in MEANS},
            **{name: _share(errors[..., k, 1], errors[..., k, 0]) for k, name in enumerate(ERRORS)},
        },
        decisions_per_second=_share(clocks[..., 0], clocks[..., 1]),
    )
