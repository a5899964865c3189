"""What ``python -m benchmarks.replay`` does, from the log to the files."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.replay.bad_rows import BadRow
from benchmarks.replay.reader import read_log
from benchmarks.replay.report import Report, as_json, report_on
from benchmarks.replay.settings import ReplaySettings
from benchmarks.replay.table_text import reading_text, report_text


def run(log_path: Path, settings: ReplaySettings, out: Path | None, *, quiet: bool) -> Report:
    """Read a log, rate it, say what was found and write it down.

    What was left out of the log is said on the error stream even when quiet.

    Args:
        log_path: the log.
        settings: all that decides the result.
        out: folder for the files, made if need be; None to write none.
        quiet: leave out the table, and name no single bad rows.

    Raises:
        BadLogError: for a log that cannot be read or, if strict, has a bad row; nothing is
            written then.
        ValueError: for parameters that a system refuses; nothing is written then.
    """
    reading = read_log(log_path, settings.reading)
    print(reading_text(reading, listed=0 if quiet else 5), file=sys.stderr)
    report = report_on(reading, settings)
    text = report_text(report)
    if not quiet:
        print(text)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for name, content in _files(report, text):
            _write_whole(out / name, content)
    return report


def _files(report: Report, text: str) -> Iterator[tuple[str, bytes]]:
    # Plotting is slow to load, and not needed without a folder to write to.
    from benchmarks.replay.plots import pictures

    yield from pictures(report).items()
    yield "bad_rows.csv", _bad_rows_csv(report.reading.bad_rows)
    yield "table.txt", f"{reading_text(report.reading)}\n\n{text}\n".encode()
    yield "report.json", f"{json.dumps(as_json(report), indent=1, allow_nan=False)}\n".encode()


def _bad_rows_csv(rows: list[BadRow]) -> bytes:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["line", "reason", "detail"])
    writer.writerows([row.line, str(row.reason), row.detail] for row in rows)
    return buffer.getvalue().encode("utf-8", errors="backslashreplace")


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file so that at each moment its name holds all of the old or of the new."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
