"""Results that are kept one job at a time, in a folder that takes more jobs later.

A job has a key: plain data that determines its result. What a folder holds is used, and what is
missing is played. A damaged result is played again.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from matchenv.runtime.checks import as_flag
from matchenv.runtime.files import (
    LOCK,
    Arrays,
    folder_lock,
    json_bytes,
    npz_bytes,
    read_npz,
    write_bytes,
    write_together,
)
from matchenv.runtime.parallel import LOCAL, check_engine, results_of
from matchenv.runtime.provenance import provenance

SETTINGS, BLOCKS = "settings.json", "blocks"

# Name of an array of times in seconds, which is never written: no two runs have the same.
CLOCK = "clock"
# Name of an array with one truth value: each episode's row would be the same in a smaller job.
EXTENDABLE = "extendable"
# Names of texts that are kept with a result: the key, and the versions that made it.
KEY, MADE_WITH = "key", "made_with"


@dataclass(frozen=True)
class Job:
    """A block of episodes.

    Attributes:
        key: plain data that determines the result, without the number of episodes; None if no
            later run can know whether its result would be the same, for example for a class that a
            notebook defines.
        count: number of episodes.
        call: does the work and returns the result.
        call_from: plays only the episodes from an index on, for a job with fewer episodes whose
            result is known and ``EXTENDABLE``; None if that is not possible.
        name: name in messages.
    """

    key: Mapping[str, Any] | None
    count: int
    call: Callable[[], Arrays]
    call_from: Callable[[int], Arrays] | None = None
    name: str = ""


@dataclass(frozen=True)
class RunOptions:
    """How a command works: workers, output folder, printing. Results do not depend on it.

    Attributes:
        out: folder for finished jobs and result files; None keeps nothing. A call with the same
            folder uses the jobs in it, also after other settings, and plays those that are missing.
        overwrite: whether to play all jobs again.
        workers: number of jobs at the same time, in processes of their own if it is more than 1;
            None for one on each core.
        engine: where jobs run; see ``matchenv.runtime.parallel.results_of``.
        quiet: whether to hide the progress bar.
        report: called with the results, even if the files cannot be written.

    Raises:
        ValueError: for a bad number of workers, engine or ``overwrite``.
    """

    out: str | Path | None = None
    overwrite: bool = False
    workers: int | None = 1
    engine: str = LOCAL
    quiet: bool = False
    report: Callable[[Any], object] | None = None

    def __post_init__(self) -> None:
        check_engine(self.engine, self.workers)
        as_flag("overwrite", self.overwrite)

    @contextmanager
    def store(self, settings: Mapping[str, Any]) -> Iterator[Store]:
        """Open the folder and lock it during a block.

        Args:
            settings: what was asked for, as plain data, to be read by people.

        Raises:
            ValueError: for a folder with other files, and one in which another process works.
            OSError: if the folder cannot be written.
        """
        if self.out is None:
            yield Store(self, None)
            return
        folder = Path(self.out)
        with folder_lock(folder):
            known = (folder / SETTINGS).exists() or (folder / BLOCKS).exists()
            if not known and any(path.name != LOCK for path in folder.iterdir()):
                raise ValueError(
                    f"out must be a new folder or one with results, got {folder} with other files "
                    "in it"
                )
            content = json_bytes({**settings, MADE_WITH: provenance()})
            _write_if_changed(folder, [(SETTINGS, content)])
            (folder / BLOCKS).mkdir(exist_ok=True)
            yield Store(self, folder)


class Store(NamedTuple):
    """An open folder of finished jobs and results; made by ``RunOptions.store``.

    Attributes:
        run: the options.
        folder: the folder; None keeps nothing.
    """

    run: RunOptions
    folder: Path | None

    def results(self, jobs: Sequence[Job]) -> list[Arrays]:
        """Return the results of jobs, in order; play those that are missing and keep their results.

        Args:
            jobs: independent jobs.

        Returns:
            The arrays of each job; ``CLOCK`` only of jobs that were played now.

        Raises:
            OSError: if a result cannot be written; earlier results stay.
        """
        progress = _Progress(self, jobs)
        progress.read()
        total = sum(job.count for job in jobs)
        with tqdm(total=total, unit="episode", disable=self.run.quiet) as bar:
            while missing := progress.missing():
                bar.n = total - sum(task.count for task in missing)
                bar.refresh()
                running = results_of(
                    methodcaller("call"), missing, self.run.workers, self.run.engine
                )
                with closing(running):
                    for index, arrays in running:
                        progress.add(missing[index], arrays)
                        bar.update(missing[index].count)
        return [progress.done[index] for index in range(len(jobs))]

    def finish(self, found: Any, files: Iterable[tuple[str, bytes]]) -> None:
        """Report the results and write their files, by name; skip files with equal content.

        Raises:
            OSError: if a file cannot be written. No file has changed then, and the results have
                still been reported.
        """
        try:
            if self.folder is not None:
                _write_if_changed(self.folder, files)
        finally:
            if self.run.report is not None:
                self.run.report(found)


@dataclass(frozen=True)
class _Task:
    """A job to be played, from its first episode that is not known on."""

    number: int
    job: Job
    start: int

    @property
    def name(self) -> str:
        """The name of the job."""
        return self.job.name

    @property
    def count(self) -> int:
        """Number of episodes that are played."""
        return self.job.count - self.start

    def call(self) -> Arrays:
        """Play the episodes."""
        if self.start and self.job.call_from is not None:
            return self.job.call_from(self.start)
        return self.job.call()


class _Progress:
    """The known results of some jobs.

    Attributes:
        done: results by the index of their job.
        begun: results of the first episodes, by the index of a job with more episodes.
    """

    def __init__(self, store: Store, jobs: Sequence[Job]) -> None:
        self.done: dict[int, Arrays] = {}
        self.begun: dict[int, Arrays] = {}
        self._folder, self._jobs = store.folder, jobs
        self._overwrite = store.run.overwrite
        self._made_with = ""
        if store.folder is not None:
            self._made_with = json.dumps(provenance())

    def read(self) -> None:
        """Read what the folder holds, and say in one line which other versions made it."""
        if self._folder is None or self._overwrite:
            return
        versions: dict[str, int] = {}
        for index, job in enumerate(self._jobs):
            if job.key is None:
                continue
            stored = self._stored(job)
            if stored is None:
                continue
            count, made_with, arrays = stored
            if count >= job.count:
                self.done[index] = {name: array[: job.count] for name, array in arrays.items()}
                if count == job.count:
                    self.done[index] = arrays
            else:
                self.begun[index] = arrays
            if made_with != self._made_with:
                versions[made_with] = versions.get(made_with, 0) + 1
        if versions:
            number = sum(versions.values())
            others = " and ".join(_difference(text, self._made_with) for text in versions)
            warnings.warn(
                f"{number} of {len(self._jobs)} blocks in {self._folder} were made with {others}; "
                "they are used as they are, and --overwrite plays them again",
                stacklevel=3,
            )

    def missing(self) -> list[_Task]:
        """Return the tasks that are left."""
        tasks = []
        for index, job in enumerate(self._jobs):
            if index in self.done:
                continue
            start = 0
            if index in self.begun:
                start = len(next(iter(self.begun[index].values())))
            tasks.append(_Task(index, job, start))
        return tasks

    def add(self, task: _Task, arrays: Arrays) -> None:
        """Add the result of a task, and write it."""
        job = task.job
        if task.start:
            begun = self.begun.pop(task.number)
            if not arrays[EXTENDABLE]:  # random choices: the whole job is played
                return
            clock = arrays.get(CLOCK)
            arrays = {name: np.concatenate([begun[name], arrays[name]]) for name in begun}
            if clock is not None:
                arrays[CLOCK] = clock
        self.done[task.number] = {
            name: array for name, array in arrays.items() if name != EXTENDABLE
        }
        if self._folder is None or job.key is None:
            return
        kept = {name: array for name, array in arrays.items() if name != CLOCK}
        if task.start:
            kept[EXTENDABLE] = np.array(True)
        kept[KEY] = np.array(_text_of(job))
        kept[MADE_WITH] = np.array(self._made_with)
        files = self._files_of(job)
        path = self._path_of(job, job.count)
        write_bytes(path, npz_bytes(kept))
        for count, file in files.items():
            if count < job.count:
                file.unlink()

    def _path_of(self, job: Job, count: int) -> Path:
        digest = hashlib.sha256(_text_of(job).encode()).hexdigest()[:32]
        assert self._folder is not None
        return self._folder / BLOCKS / f"{digest}_{count}.npz"

    def _files_of(self, job: Job) -> dict[int, Path]:
        """Return the files of a job with any number of episodes, by this number."""
        path = self._path_of(job, 0)
        stem = path.name.removesuffix("0.npz")
        files = {}
        for file in path.parent.glob(f"{stem}*.npz"):
            count = file.stem.removeprefix(stem)
            files[int(count)] = file
        return files

    def _stored(self, job: Job) -> tuple[int, str, Arrays] | None:
        """Return the best stored result of a job: episodes, versions, arrays; None if none is."""
        files = self._files_of(job)
        # The job itself, else one with more episodes, else one with as many as possible.
        order = sorted(files, key=lambda count: (count != job.count, count < job.count, -count))
        for count in order:
            try:
                arrays = read_npz(files[count])
                key = str(arrays.pop(KEY))
                made_with = str(arrays.pop(MADE_WITH))
            except (KeyError, ValueError) as error:
                warnings.warn(f"{error}; it is played again", stacklevel=5)
                continue
            extendable = bool(arrays.pop(EXTENDABLE, False)) and job.call_from is not None
            if key == _text_of(job) and (count == job.count or extendable):
                return count, made_with, arrays
        return None


def _text_of(job: Job) -> str:
    return json.dumps(job.key, sort_keys=True)


def _difference(before: str, now: str) -> str:
    """Return the versions of another run that differ from those of this one."""
    present = json.loads(now)
    differing = []
    for name, value in json.loads(before).items():
        if present.get(name) != value:
            differing.append(f"{name} {value}")
    return ", ".join(differing) or "other versions"


def _write_if_changed(folder: Path, files: Iterable[tuple[str, bytes]]) -> None:
    """Write files by name, all or none; leave those with equal content alone."""
    changed = []
    for name, content in files:
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            changed.append((path, content))
    write_together(changed)
