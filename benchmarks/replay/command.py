"""What ``matchenv replay`` does, from the log to the files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from matchenv.atomic_files import write_bytes
from matchenv.benchmarks.replay.reader import read_log
from matchenv.benchmarks.replay.report import Report, as_json, report_on
from matchenv.benchmarks.replay.settings import ReplaySettings
from matchenv.benchmarks.replay.table_text import reading_text, report_text
from matchenv.evaluation.result_files import csv_bytes, json_bytes


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
        OSError: if a file cannot be written; the old one of its name is untouched.
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
            write_bytes(out / name, content)
    return report


def _files(report: Report, text: str) -> Iterator[tuple[str, bytes]]:
    # Plotting is slow to load, and not needed without a folder to write to.
    from matchenv.benchmarks.replay.plots import pictures

    yield from pictures(report).items()
    rows = [(row.line, str(row.reason), row.detail) for row in report.reading.bad_rows]
    yield "bad_rows.csv", csv_bytes(("line", "reason", "detail"), rows)
    yield "table.txt", f"{reading_text(report.reading)}\n\n{text}\n".encode()
    yield "report.json", json_bytes(as_json(report))
