"""The comparison as a function: who plays what, then the statistics and the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from matchenv.benchmarks.compare.cells import cells_of, checked_environment
from matchenv.benchmarks.compare.contestants import contestants_of, label_of
from matchenv.benchmarks.compare.playing import Job, Played, block_size, play
from matchenv.benchmarks.compare.report import Comparison, write_files
from matchenv.benchmarks.compare.seeds import episode_seeds
from matchenv.validation import as_integer
from matchenv.workers import checked_workers, work_through

DEFAULT_POLICIES = ("pe", "drawchance", "kg", "random", "oracle")
DEFAULT_RANKS = ("top", "middle", "bottom")
DEFAULT_PRIORS = ("informative",)
DEFAULT_EPISODES = 200


def run_comparison(
    policies: Sequence[Any] = DEFAULT_POLICIES,
    *,
    against: str = "kg",
    ranks: Sequence[str | int | None] = DEFAULT_RANKS,
    priors: Sequence[str] = DEFAULT_PRIORS,
    episodes: int = DEFAULT_EPISODES,
    seed: int = 0,
    env_kwargs: Mapping[str, Any] | None = None,
    workers: int | None = None,
    out: str | Path | None = None,
    timing: bool = False,
    quiet: bool = False,
) -> Comparison:
    """Play the same games with every policy, and compare.

    With more than one worker the call must stand under ``if __name__ == "__main__":`` in a
    script, since the workers import it.

    Args:
        policies: names as ``policy_named`` takes them, folders of training runs,
            names that ``matchenv.agents.load`` knows, or objects with the ``predict`` of
            stable-baselines3 and a ``name``.
        against: the policy that differences are taken to; it plays even if not in the list,
            as do DrawChance and the oracle.
        ranks: places of player 0: names or numbers, None (or ``"any"``) for a random one.
        priors: ``"informative"``, ``"equal"``; each rank is played with each prior.
        episodes: instances in each cell, >= 2.
        seed: decides all instances, noise and lots, >= 0.
        env_kwargs: ``num_opponents``, ``horizon``, ``beta``, ``draw_margin``, ``tau``,
            ``rank_by``, ``equal_variance`` of the environment.
        workers: processes, >= 1; None for one on each core. The numbers do not depend on it.
        out: folder for the result files; None to write none.
        timing: write decisions per second into the files too.
        quiet: no progress bar.

    Returns:
        The comparison; ``table()`` gives it as text.

    Raises:
        ValueError: for a bad argument, before anything is played.
        OSError: for a folder that cannot be written.
    """
    as_integer("episodes", episodes, 2)
    as_integer("seed", seed, 0)
    processes = checked_workers(workers)
    settings = checked_environment(env_kwargs)
    cells = cells_of(ranks, priors, settings)
    contestants = contestants_of(policies, against, settings)
    folder = None if out is None else Path(out)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    size = block_size(settings)
    jobs = [
        Job(contestant, cell, settings, seed, first // size, first, min(size, episodes - first))
        for cell in cells
        for contestant in contestants
        for first in range(0, episodes, size)
    ]
    total = len(cells) * len(contestants) * episodes
    with tqdm(total=total, unit="episode", disable=quiet) as bar:
        played = work_through(jobs, play, processes, lambda job: bar.update(job.count))
    comparison = _gathered(jobs, played, len(cells), len(contestants), against)
    if folder is not None:
        write_files(comparison, folder, timing=timing)
    return comparison


def _gathered(
    jobs: list[Job], played: list[Played], num_cells: int, num_contestants: int, against: str
) -> Comparison:
    """The blocks, which come by cell, contestant and first episode, as whole arrays."""
    blocks = len(jobs) // (num_cells * num_contestants)
    totals = np.concatenate([each.measures for each in played], axis=1)
    shape = (len(totals), num_cells, num_contestants, -1)
    counts = np.array([(each.decisions, each.seconds) for each in played])
    counts = counts.reshape(num_cells, num_contestants, blocks, 2).sum(axis=2)
    rates = np.divide(counts[..., 0], counts[..., 1], out=np.full(counts.shape[:2], np.nan),
                      where=counts[..., 1] > 0.0)  # fmt: skip
    per_contestant, per_cell = jobs[::blocks], jobs[:: blocks * num_contestants]
    measures = totals.reshape(shape)
    return Comparison(
        cells=tuple(job.cell for job in per_cell),
        policies=tuple(job.contestant.label for job in per_contestant[:num_contestants]),
        against=label_of(against),
        settings=jobs[0].settings,
        seed=jobs[0].seed,
        block_size=block_size(jobs[0].settings),
        episode_seeds=tuple(episode_seeds(jobs[0].seed, 0, measures.shape[-1])),
        measures=measures,
        decisions_per_second=rates,
    )
