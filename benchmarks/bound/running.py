"""The bound, beside what policies reach on the same instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from matchenv.benchmarks.bound.paths import BLOCK, Job, bounds_of
from matchenv.benchmarks.compare import Comparison, run_comparison
from matchenv.benchmarks.compare.comparison import checked_environment
from matchenv.benchmarks.compare.contestants import LOW_END
from matchenv.validation import as_integer, as_non_negative_number
from matchenv.workers import checked_workers, work_through

Floats = NDArray[np.float64]

DEFAULT_POLICIES = ("drawchance", "kg", "kg:multiplier=20", "optimistic:belief=full")
DEFAULT_RANKS = ("top", "middle", "bottom")
DEFAULT_PRIORS = ("informative", "equal")
DEFAULT_EPISODES = 200
DEFAULT_DEPTH = 150
DEFAULT_PENALTY = 0.9

# The relaxation knows wins and losses, fixed skills, and places by prior mean.
ENVIRONMENT_OPTIONS = ("num_opponents", "horizon", "beta")


@dataclass(frozen=True)
class Bounds:
    """The bound's paths and the policies' episodes on the same instances.

    Attributes:
        comparison: the policies' episodes, DrawChance and the oracle among them.
        values: what the informed player collects, shape (cells, episodes).
        depth: as ``relaxation.bound_of_path``.
        penalty: as there.
    """

    comparison: Comparison
    values: Floats
    depth: int
    penalty: float


def run_bound(
    policies: Sequence[Any] = DEFAULT_POLICIES,
    *,
    ranks: Sequence[str | int | None] = DEFAULT_RANKS,
    priors: Sequence[str] = DEFAULT_PRIORS,
    episodes: int = DEFAULT_EPISODES,
    seed: int = 0,
    env_kwargs: dict[str, Any] | None = None,
    depth: int = DEFAULT_DEPTH,
    penalty: float = DEFAULT_PENALTY,
    workers: int | None = None,
    quiet: bool = False,
) -> Bounds:
    """Bound the mean total of true q that any policy can reach, and play some policies.

    Args:
        policies: as ``matchenv.benchmarks.compare.run_comparison`` takes them.
        ranks: as there.
        priors: as there.
        episodes: instances in each cell, >= 2; those of a comparison with the same seed.
        seed: decides instances and tapes, >= 0.
        env_kwargs: ``num_opponents``, ``horizon``, ``beta``.
        depth: games with one opponent after which its estimated worth counts as known, >= 1.
        penalty: share of the penalty, >= 0; the bound holds with any, fixed beforehand.
        workers: processes; None for one on each core. The numbers do not depend on it.
        quiet: no progress bars.

    Raises:
        ValueError: for a bad argument, before anything is computed.
    """
    options = dict(env_kwargs or {})
    for name in options:
        if name not in ENVIRONMENT_OPTIONS:
            known = ", ".join(ENVIRONMENT_OPTIONS)
            raise ValueError(
                f"env_kwargs may hold {known} (the bound knows no draws and no drift), got {name!r}"
            )
    as_integer("depth", depth, 1)
    as_non_negative_number("penalty", penalty)
    settings = checked_environment(options)
    processes = checked_workers(workers)
    comparison = run_comparison(
        policies,
        against=LOW_END,  # it plays in any case
        ranks=ranks,
        priors=priors,
        episodes=episodes,
        seed=seed,
        env_kwargs=options,
        workers=workers,
        quiet=quiet,
    )
    jobs = [
        Job(cell, settings, seed, first, min(BLOCK, episodes - first), depth, penalty)
        for cell in comparison.cells
        for first in range(0, episodes, BLOCK)
    ]
    with tqdm(total=len(comparison.cells) * episodes, unit="path", disable=quiet) as bar:
        found = work_through(jobs, bounds_of, processes, lambda job: bar.update(job.count))
    values = np.concatenate(found).reshape(-1, episodes)
    return Bounds(comparison, values, depth, penalty)
