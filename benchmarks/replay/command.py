"""What ``matchenv replay`` does, from the log to the files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from matchenv.benchmarks.replay.report import Report, as_json, report_on
from matchenv.benchmarks.replay.settings import ReplaySettings
from matchenv.benchmarks.replay.table_text import reading_text, report_text
from matchenv.csv_log.reader import read_log
from matchenv.runtime.files import csv_bytes, folder_lock, json_bytes, write_together


def run(
    log_path: Path, settings: ReplaySettings, out: Path | None, *, quiet: bool = True
) -> Report:
    """Read a log, rate it with each system, and write down what was found.

    Args:
        log_path: the log.
        settings: all that decides the result.
        out: folder for the files, made if need be; None to write none.
        quiet: no progress bar.

    Raises:
        BadLogError: for a log that cannot be read or, if strict, has a bad row; nothing is
            written then.
        ValueError: for parameters that a system refuses, or if another process writes to the
            folder; nothing is written then.
        OSError: if a file cannot be written; those of before are untouched then, all of them.
    """
    report = report_on(read_log(log_path, settings.reading), settings, quiet=quiet)
    if out is not None:
        with folder_lock(out):
            write_together((out / name, content) for name, content in _files(report))
    return report


def _files(report: Report) -> Iterator[tuple[str, bytes]]:
    # Plotting is slow to load, and not needed without a folder to write to.
    from matchenv.benchmarks.replay.plots import figures

    yield from figures(report).items()
    rows = [(row.line, str(row.reason), row.detail) for row in report.reading.bad_rows]
    yield "bad_rows.csv", csv_bytes(("line", "reason", "detail"), rows)
    if report.ratings:
        yield "ratings.csv", csv_bytes(("player", "mu", "sigma", "games"), report.ratings)
    yield "table.txt", f"{reading_text(report.reading)}\n\n{report_text(report)}\n".encode()
    yield "report.json", json_bytes(as_json(report))
