"""Folders of results that can be resumed: settings, finished jobs, result files.

The result of a job depends on the job and the settings alone. It is kept with a checksum under the
settings, versions and code that made it; a damaged result is computed again.
"""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
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
# In the folder of the blocks: the names of the result files.
FILES = "files.json"

# Name of an array of times in seconds, which is never written: no two runs have the same.
CLOCK = "clock"


@dataclass(frozen=True)
class Job:
    """A block of work with a seed of its own.

    Attributes:
        name: unique name, also of its file.
        count: number of episodes, for the progress bar.
        call: does the work and returns the result; can be pickled.
        lasting: whether later runs may reuse the result.
    """

    name: str
    count: int
    call: Callable[[], Arrays]
    lasting: bool = True


@dataclass(frozen=True)
class RunOptions:
    """How a command works: workers, output folder, printing. Results do not depend on it.

    Attributes:
        out: folder for finished jobs and result files; None keeps nothing. A call with the same
            folder resumes work that was stopped.
        replace_out: whether to delete results of other settings in the folder, not refuse them.
        workers: number of jobs at the same time, in processes of their own if it is more than 1;
            None for one on each core.
        engine: where jobs run; see ``matchenv.runtime.parallel.results_of``.
        quiet: whether to hide the progress bar.
        report: called with the results, even if the files cannot be written.

    Raises:
        ValueError: for a bad number of workers, engine or ``replace_out``.
    """

    out: str | Path | None = None
    replace_out: bool = False
    workers: int | None = 1
    engine: str = LOCAL
    quiet: bool = False
    report: Callable[[Any], object] | None = None

    def __post_init__(self) -> None:
        check_engine(self.engine, self.workers)
        as_flag("replace_out", self.replace_out)

    @contextmanager
    def store(self, settings: Mapping[str, Any]) -> Iterator[Store]:
        """Open the folder and lock it during a block.

        Args:
            settings: everything that determines the results, as plain data; versions and code are
                added.

        Raises:
            ValueError: for a folder with other settings (names them) or other files, and one in
                which another process works.
            OSError: if the folder cannot be written.
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
            if differing and not self.replace_out and any((folder / BLOCKS).glob("*")):
                raise ValueError(
                    f"out holds results that were made with other settings, versions or files: "
                    f"{'; '.join(differing)}. Rerun with the original ones, or choose another "
                    f"folder than {folder}"
                )
            blocks = folder / BLOCKS
            if differing:
                # Before the settings change, so that no result is ever under the wrong ones.
                with suppress(OSError, TypeError, ValueError):
                    for path in [(folder / name).resolve() for name in read_json(blocks / FILES)]:
                        if folder.resolve() in path.parents:  # a folder can be another's
                            path.unlink(missing_ok=True)
                shutil.rmtree(blocks, ignore_errors=True)
            if known != wanted:
                write_bytes(folder / SETTINGS, content)
            blocks.mkdir(exist_ok=True)
            yield Store(self, folder, checksum(wanted))


class Store(NamedTuple):
    """An open folder of finished jobs and results; made by ``RunOptions.store``.

    Attributes:
        run: the options.
        folder: the folder; None keeps nothing.
        key: a checksum of the settings.
    """

    run: RunOptions
    folder: Path | None
    key: str

    def results(self, jobs: Sequence[Job]) -> list[Arrays]:
        """Return the results of jobs, in order; run those not finished and keep their results.

        Args:
            jobs: independent jobs with unique names.

        Returns:
            The arrays of each job; ``CLOCK`` only of jobs that ran now.

        Raises:
            OSError: if a result cannot be written; earlier results stay.
        """
        done: dict[str, Arrays] = {}
        kept = {} if self.folder is None else {
            job.name: self.folder / BLOCKS / f"{job.name}.npz" for job in jobs if job.lasting
        }  # fmt: skip
        for name, path in kept.items():
            try:
                if path.exists():
                    done[name] = read_npz(path, [self.key, name])
            except ValueError as error:
                warnings.warn(f"{error}; it is computed again", stacklevel=2)
        missing = [job for job in jobs if job.name not in done]
        total, left = (sum(job.count for job in group) for group in (jobs, missing))
        running = results_of(methodcaller("call"), missing, self.run.workers, self.run.engine)
        with (
            closing(running),
            tqdm(total=total, initial=total - left, unit="episode", disable=self.run.quiet) as bar,
        ):
            for index, arrays in running:
                job = missing[index]
                done[job.name] = arrays
                if job.name in kept:
                    lasting = {key: array for key, array in arrays.items() if key != CLOCK}
                    write_bytes(kept[job.name], npz_bytes(lasting, [self.key, job.name]))
                bar.update(job.count)
        return [done[job.name] for job in jobs]

    def finish(self, found: Any, files: Iterable[tuple[str, bytes]]) -> None:
        """Report the results and write their files, by name; skip files with equal content.

        Raises:
            OSError: if a file cannot be written. No file has changed then, and the results have
                still been reported.
        """
        try:
            if self.folder is not None:
                changed, written = [], list(files)
                names = json_bytes(sorted(name for name, _ in written))
                for name, content in (*written, (f"{BLOCKS}/{FILES}", names)):
                    path = self.folder / name
                    if not path.is_file() or path.read_bytes() != content:
                        path.parent.mkdir(parents=True, exist_ok=True)
                        changed.append((path, content))
                write_together(changed)
        finally:
            if self.run.report is not None:
                self.run.report(found)


def _known_settings(folder: Path) -> dict[str, Any] | None:
    """Return the settings of the results in a folder; None for a new folder."""
    file = folder / SETTINGS
    try:
        known = read_json(file)
    except FileNotFoundError:
        if any(path.name != LOCK for path in folder.iterdir()):
            raise ValueError(
                f"out must be a new folder or one with results of this command, got {folder} "
                "with other files in it"
            ) from None
        return None
    except ValueError:
        raise ValueError(f"{file} is damaged; choose another folder") from None
    return known if isinstance(known, dict) else {}


def _differences(known: dict[str, Any], wanted: dict[str, Any], inside: str = "") -> Iterator[str]:
    for key in sorted(known.keys() | wanted.keys()):
        before, now = known.get(key), wanted.get(key)
        if isinstance(before, dict) and isinstance(now, dict):
            yield from _differences(before, now, f"{inside}{key}: ")
        elif before != now:
            yield f"{inside}{key} was {before!r} and is {now!r}"
