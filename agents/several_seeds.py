"""One configuration trained with several seeds, side by side, each in a run folder of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tqdm import tqdm

from matchenv.agents.extra import with_extra
from matchenv.agents.run_config import RunConfig
from matchenv.agents.run_folder import RunFolder
from matchenv.runtime.checks import as_integer
from matchenv.runtime.files import folder_lock
from matchenv.runtime.parallel import LocalPool, checked_workers, work_through


@dataclass(frozen=True)
class _Training:
    """One training, as a worker needs it."""

    path: Path
    config: RunConfig
    device: str
    threads: int
    track: str | None


def train_seeds(
    path: Path,
    config: RunConfig,
    seeds: Sequence[int],
    *,
    device: str = "cpu",
    threads: int = 1,
    workers: int | None = None,
    quiet: bool = False,
    track: str | None = None,
) -> list[RunFolder]:
    """Train one configuration with several seeds.

    What is there already goes on: runs that have ended are left alone, those that were stopped
    continue from their newest checkpoint.

    Args:
        path: a folder; the run of seed 3 is in ``seed3`` below it.
        config: of all runs, but for the seed.
        seeds: one run for each, different ones.
        device: where torch computes.
        threads: of torch in each process.
        workers: processes; None for one on each core. The runs do not depend on it.
        quiet: no progress bar.
        track: ``"wandb"`` or ``"mlflow"``, as ``start_training``.

    Returns:
        The folders, in the order of the seeds.

    Raises:
        ValueError: for no seed or one that is given twice, or a folder that holds a run of
            another configuration; before anything is trained.
    """
    count = checked_workers(workers)
    if not seeds or len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds must be different numbers, at least one, got {list(seeds)}")
    configs = [replace(config, seed=as_integer("seeds", seed, 0)) for seed in seeds]
    jobs = [_Training(path / f"seed{each.seed}", each, device, threads, track) for each in configs]
    for job in jobs:
        _check_same(job)
    with (
        folder_lock(path),
        LocalPool(count) as pool,
        tqdm(total=len(jobs), unit="seed", disable=quiet) as bar,
    ):
        work_through(jobs, _train_one, pool, lambda *_: bar.update())
    return [RunFolder(job.path) for job in jobs]


def _check_same(job: _Training) -> None:
    folder = RunFolder(job.path)
    if not folder.config_file.exists():
        return
    present = folder.read_config()
    if replace(present, versions=job.config.versions) != job.config:
        raise ValueError(
            f"out must be a new folder or one of the same trainings: the run in {job.path} was "
            "configured otherwise"
        )


def _train_one(job: _Training) -> None:
    where = "matchenv.agents.training"
    if RunFolder(job.path).config_file.exists():
        with_extra(where, "continue_training")(
            job.path, device=job.device, threads=job.threads, quiet=True, track=job.track
        )
        return
    with_extra(where, "start_training")(
        job.path, job.config, device=job.device, threads=job.threads, quiet=True, track=job.track
    )
