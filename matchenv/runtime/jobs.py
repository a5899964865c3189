"""Folders of results that are resumed where they were stopped: settings, finished jobs, results.

A job's result is a function of the job and the settings alone. It is kept under the settings, the
versions and the code that made it, with a checksum: a damaged one is done again.
"""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from matchenv.runtime.checks import as_flag
from matchenv.runtime.files import (
    LOCK,
    Arrays,
    checksum,
    folder_lock,
    json_bytes,
    npz_bytes,
    read_json,
    read_npz,
    write_bytes,
    write_together,
)
from matchenv.runtime.parallel import LOCAL, check_engine, results_of
from matchenv.runtime.provenance import provenance

SETTINGS, BLOCKS = "settings.json", "blocks"

# Array of times in seconds; never written, since no two runs have the same.
CLOCK = "clock"


@dataclass(frozen=True)
class Job:
    """A block of work, seeded by itself.

    Attributes:
        name: name of its file, the job's own.
        count: episodes in it.
        call: does the work, and returns its result; can be pickled.
        lasting: whether the result may be kept for later runs.
    """

    name: str
    count: int
    call: Callable[[], Arrays]
    lasting: bool = True


@dataclass(frozen=True)
class RunOptions:
    """Options of a command's run: workers, output folder, printing; no number depends on them.

    With more than one worker the call must stand under ``if __name__ == "__main__":`` in a
    script, since the workers import it.

    Attributes:
        out: folder for finished work and the result files; None keeps nothing. Work that was
            stopped goes on when it is asked for again with the same folder.
        replace_out: a folder with other results loses them; otherwise it is refused.
        workers: jobs that are done at the same time; None for one on each core.
        engine: where, as ``matchenv.runtime.parallel.results_of`` takes it.
        quiet: no progress bar.
        report: told what was found, even where the files cannot be written.

    Raises:
        ValueError: for a bad number of workers, engine or flag.
    """

    out: str | Path | None = None
    replace_out: bool = False
    workers: int | None = None
    engine: str = LOCAL
    quiet: bool = False
    report: Callable[[Any], object] | None = None

    def __post_init__(self) -> None:
        check_engine(self.engine, self.workers)
        for name in ("replace_out", "quiet"):
            as_flag(name, getattr(self, name))

    @contextmanager
    def store(self, settings: Mapping[str, Any]) -> Iterator[Store]:
        """Open the folder for the time of a block, in which no other process works.

        Args:
            settings: everything that decides the results, as plain data; versions and code are
                added.

        Raises:
            ValueError: for a folder with other settings (names those that differ) or with files of
                something else, and one in which another process works.
            OSError: for a folder that cannot be written.
        """
        if self.out is None:
            yield Store(self, None, "")
            return
        folder = Path(self.out)
        content = json_bytes({**settings, "made_with": provenance()})
        wanted = json.loads(content)
        with folder_lock(folder):
            known = _known_settings(folder)
            differing = [] if known is None else list(_differences(known, wanted))
            if differing and not self.replace_out:
                raise ValueError(
                    f"out holds results that were made with other settings, versions or files: "
                    f"{'; '.join(differing)}. Rerun with the original ones, or choose another "
                    f"folder than {folder}"
                )
            blocks = folder / BLOCKS
            if differing:
                # First, so that at no time these settings have the others' blocks.
                shutil.rmtree(blocks, ignore_errors=True)
            # Before there is anything else, so that the folder is known as ours at any time.
            if known != wanted:
                write_bytes(folder / SETTINGS, content)
            blocks.mkdir(exist_ok=True)
            yield Store(self, folder, checksum(wanted))


class Store(NamedTuple):
    """A folder of finished jobs and results; made by ``RunOptions.store``.

    Attributes:
        run: how to work.
        folder: the folder; None keeps nothing.
        key: a checksum of the settings.
    """

    run: RunOptions
    folder: Path | None
    key: str

    def results(self, jobs: Sequence[Job]) -> list[Arrays]:
        """Do the jobs that are not finished, and keep each result as it comes.

        Args:
            jobs: independent of each other, each with a name of its own.

        Returns:
            The arrays of each job, in the order of the jobs; ``CLOCK`` only of those done now.

        Raises:
            OSError: if a result cannot be written, a full disk included; the finished ones stay.
        """
        kept: dict[str, Path] = {}
        known: dict[str, Arrays] = {}
        if self.folder is not None:
            names = [job.name for job in jobs if job.lasting]
            kept = {name: self.folder / BLOCKS / f"{name}.npz" for name in names}
        for name, path in kept.items():
            try:
                if path.exists():
                    known[name] = read_npz(path, [self.key, name])
            except ValueError as error:
                warnings.warn(f"{error}; it is done again", stacklevel=2)
        missing = [job for job in jobs if job.name not in known]
        total, left = (sum(job.count for job in each) for each in (jobs, missing))
        work, where = methodcaller("call"), (self.run.workers, self.run.engine)
        with (
            closing(results_of(work, missing, *where)) as found,
            tqdm(total=total, initial=total - left, unit="episode", disable=self.run.quiet) as bar,
        ):
            for number, arrays in found:
                job = missing[number]
                known[job.name] = arrays
                if job.name in kept:
                    lasting = {key: array for key, array in arrays.items() if key != CLOCK}
                    write_bytes(kept[job.name], npz_bytes(lasting, [self.key, job.name]))
                bar.update(job.count)
        return [known[job.name] for job in jobs]

    def finish(self, found: Any, files: Iterable[tuple[str, bytes]]) -> None:
        """Write result files, by name, and report what was found.

        A file with equal content is left alone.

        Raises:
            OSError: if one cannot be written; all are as they were then, and what was found is
                reported all the same.
        """
        try:
            if self.folder is not None:
                new = []
                for name, content in files:
                    place = self.folder / name
                    if not place.is_file() or place.read_bytes() != content:
                        place.parent.mkdir(parents=True, exist_ok=True)
                        new.append((place, content))
                write_together(new)
        finally:
            if self.run.report is not None:
                self.run.report(found)


def _known_settings(folder: Path) -> dict[str, Any] | None:
    """Return what the results of a folder were made with; None for a new folder."""
    file = folder / SETTINGS
    try:
        found = read_json(file)
    except FileNotFoundError:
        if any(path.name != LOCK for path in folder.iterdir()):
            raise ValueError(
                f"out must be a new folder or one with results of this command, got {folder} "
                "with other files in it"
            ) from None
        return None
    except ValueError:
        raise ValueError(f"{file} is damaged; choose another folder") from None
    return found if isinstance(found, dict) else {}


def _differences(known: dict[str, Any], wanted: dict[str, Any], inside: str = "") -> Iterator[str]:
    for key in sorted(known.keys() | wanted.keys()):
        before, now = known.get(key), wanted.get(key)
        if isinstance(before, dict) and isinstance(now, dict):
            yield from _differences(before, now, f"{inside}{key}: ")
        elif before != now:
            yield f"{inside}{key} was {before!r} and is {now!r}"
