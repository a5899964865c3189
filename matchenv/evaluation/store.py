"""A folder of results that goes on where it was stopped: settings, finished jobs, results."""

from __future__ import annotations

import hashlib
import json
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tqdm import tqdm

from matchenv.evaluation.engines import Workers, as_engine
from matchenv.evaluation.made_with import made_with
from matchenv.evaluation.result_files import json_bytes
from matchenv.evaluation.writers import Writers
from matchenv.runtime.array_files import Arrays, checked_npz_bytes, read_checked_npz
from matchenv.runtime.files import (
    is_unfinished,
    remove_unfinished_below,
    write_bytes,
    write_together,
)
from matchenv.runtime.folder_lock import LOCK, folder_lock
from matchenv.runtime.parallel import work_through
from matchenv.runtime.plain_data import parsed_json

Found = TypeVar("Found")

# Raised when the arrays of finished jobs mean something else than before.
FORMAT = 1
SETTINGS, BLOCKS = "settings.json", "blocks"

# Choices that were timed and seconds; never written, since no two runs share them.
CLOCK = "clock"


class Job(Protocol):
    """A block of work: what it gives is a function of the job alone."""

    @property
    def name(self) -> str:
        """Name of its file, the job's own."""

    @property
    def count(self) -> int:
        """Episodes in it."""

    @property
    def lasting(self) -> bool:
        """Whether what it gives may be kept for another time."""


AnyJob = TypeVar("AnyJob", bound=Job)


@dataclass(frozen=True)
class Store:
    """Where finished jobs and results lie; made by ``open_store``.

    Attributes:
        folder: where.
        settings_key: a digest of the settings.
    """

    folder: Path
    settings_key: str

    def path(self, name: str) -> Path:
        """The file of a job."""
        return self.folder / BLOCKS / f"{name}.npz"

    def has(self, name: str) -> bool:
        """Whether a job is finished; files appear under their names only when whole."""
        return self.path(name).exists()

    def load(self, name: str) -> Arrays:
        """What a finished job gave.

        Raises:
            ValueError: for a file that is damaged or of other settings; names it.
        """
        return read_checked_npz(self.path(name), [self.settings_key, name])

    def save(self, name: str, arrays: Arrays) -> None:
        """Write down what a job gave, whole or not at all.

        Raises:
            OSError: if it cannot be written, a full disk included.
        """
        write_bytes(self.path(name), self.packed(name, arrays))

    def packed(self, name: str, arrays: Arrays) -> bytes:
        """The file of what a job gave."""
        kept = {key: array for key, array in arrays.items() if key != CLOCK}
        return checked_npz_bytes([self.settings_key, name], kept)


def write_results(store: Store | None, files: Iterable[tuple[str, bytes]]) -> None:
    """Write results, by name, in folders of their own if the names have some.

    A file with that content is left alone. Without a store nothing is written.

    Raises:
        OSError: if one cannot be written; all are as they were then.
    """
    if store is None:
        return
    places = [(store.folder / name, content) for name, content in files]
    new = [(place, content) for place, content in places if not _holds(place, content)]
    for place, _ in new:
        place.parent.mkdir(parents=True, exist_ok=True)
    write_together(new)


def write_and_report(
    store: Store | None,
    files: Iterable[tuple[str, bytes]],
    found: Found,
    report: Callable[[Found], object] | None,
) -> None:
    """As ``write_results``; what was found is reported even where the files cannot be written.

    Args:
        store: as there.
        files: as there; not gone through without a store.
        found: what the files say.
        report: told of it; None for nobody.
    """
    try:
        write_results(store, files)
    finally:
        if report is not None:
            report(found)


@contextmanager
def open_store(
    out: str | Path | None, settings: Mapping[str, Any], *, replace: bool = False
) -> Iterator[Store | None]:
    """A folder for the time of a block, in which no other process works.

    Args:
        out: folder, made if it does not exist; None keeps nothing.
        settings: everything that decides what the jobs give, as plain data, beside versions and
            code, which are added.
        replace: a folder with other settings loses them and its finished jobs; otherwise it is
            refused.

    Raises:
        ValueError: for a folder with other settings (says which differ) or with files of
            something else, and one in which another process works.
        OSError: for a folder that cannot be written.
    """
    if out is None:
        yield None
        return
    folder = Path(out)
    content = json_bytes({"format": FORMAT, **settings, "made_with": made_with()})
    with folder_lock(folder):
        differing = _differing(folder, json.loads(content))
        if differing and not replace:
            raise ValueError(
                f"out holds results that were made with other settings, versions or files: "
                f"{'; '.join(differing)}; give those again or another folder than {folder}"
            )
        blocks = folder / BLOCKS
        if differing:
            # First, so that at no time these settings have the others' blocks.
            shutil.rmtree(blocks, ignore_errors=True)
        # Before there is anything else, so that the folder is known for ours at any time.
        if not _holds(folder / SETTINGS, content):
            write_bytes(folder / SETTINGS, content)
        blocks.mkdir(exist_ok=True)
        remove_unfinished_below(folder)
        try:
            yield Store(folder, hashlib.sha256(content).hexdigest())
        finally:
            # A process that was stopped while it wrote has left part of a file.
            remove_unfinished_below(folder)


def finish(
    jobs: Sequence[AnyJob],
    work: Callable[[AnyJob], Arrays],
    store: Store | None,
    *,
    workers: Workers = None,
    quiet: bool = False,
    unit: str = "episode",
) -> list[Arrays]:
    """Do the jobs that are not finished; each is on disk before its process takes the next.

    From other machines it comes to this one's disk a moment later.

    Args:
        jobs: independent of each other, each with a name of its own.
        work: a function at module level; what a job gives.
        store: where finished jobs lie; None keeps nothing.
        workers: processes (None: one for each core), or an engine; no number depends on it.
        quiet: no progress bar.
        unit: what the bar counts.

    Returns:
        The arrays of each job, in the order of the jobs; ``CLOCK`` only of those done now.

    Raises:
        OSError: if a job cannot be written; the finished ones stay.

    A finished job whose file is damaged is done again, with a warning that names it.
    """
    engine = as_engine(workers)
    known: dict[str, Arrays] = {}
    if store is not None:
        lasting = (job.name for job in jobs if job.lasting)
        known = {name: arrays for name in lasting if (arrays := _known(store, name)) is not None}
    missing = [job for job in jobs if job.name not in known]
    counted = sum(job.count for job in jobs)
    with (
        engine.pool() as pool,
        tqdm(
            total=counted,
            initial=counted - sum(job.count for job in missing),
            unit=unit,
            disable=quiet,
        ) as bar,
    ):
        if engine.is_here:
            found = work_through(
                missing,
                partial(_work_and_save, work, store),
                pool,
                lambda job, _: bar.update(job.count),
            )
        else:
            # Processes of other machines cannot write here.
            with Writers() as writers:

                def done(job: AnyJob, given: tuple[Arrays, bytes]) -> None:
                    if store is not None and job.lasting:
                        writers.write(store.path(job.name), given[1])
                    bar.update(job.count)

                given = work_through(missing, partial(_work_and_pack, work, store), pool, done)
                found = [arrays for arrays, _ in given]
    known.update(zip((job.name for job in missing), found, strict=True))
    return [known[job.name] for job in jobs]


def _known(store: Store, name: str) -> Arrays | None:
    """What a finished job gave; None for one that is to be done, or done again."""
    if not store.has(name):
        return None
    try:
        return store.load(name)
    except ValueError as error:
        warnings.warn(f"{error}; it is done again", stacklevel=3)
        return None


def _work_and_save(work: Callable[[AnyJob], Arrays], store: Store | None, job: AnyJob) -> Arrays:
    arrays = work(job)
    if store is not None and job.lasting:
        store.save(job.name, arrays)
    return arrays


def _work_and_pack(
    work: Callable[[AnyJob], Arrays], store: Store | None, job: AnyJob
) -> tuple[Arrays, bytes]:
    """What a job gives, and its file: packing costs more than writing, and is done there."""
    arrays = work(job)
    return arrays, b"" if store is None else store.packed(job.name, arrays)


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except FileNotFoundError:
        return False


def _is_ours(path: Path) -> bool:
    """Whether something is of a process that was stopped before it had written its settings."""
    if path.name == BLOCKS and path.is_dir():
        return not any(path.iterdir())
    return path.name == LOCK or is_unfinished(path)


def _differing(folder: Path, wanted: dict[str, Any]) -> list[str]:
    """What a folder's settings say that is not wanted, in words; nothing for a new folder."""
    file = folder / SETTINGS
    try:
        known = parsed_json(file.read_bytes())
    except FileNotFoundError:
        if not all(map(_is_ours, folder.iterdir())):
            raise ValueError(
                f"out must be a new folder or one with results of this command, got {folder} "
                "with other files in it"
            ) from None
        return []
    except ValueError:
        raise ValueError(f"{file} is damaged; give another folder") from None
    return list(_differences(known if isinstance(known, dict) else {}, wanted))


def _differences(known: dict[str, Any], wanted: dict[str, Any], inside: str = "") -> Iterator[str]:
    for key in sorted(known.keys() | wanted.keys()):
        before, now = known.get(key), wanted.get(key)
        if isinstance(before, dict) and isinstance(now, dict):
            yield from _differences(before, now, f"{inside}{key}: ")
        elif before != now:
            yield f"{inside}{key} was {before!r} and is {now!r}"
