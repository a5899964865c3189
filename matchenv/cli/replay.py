"""``matchenv replay``: match logs, rated in order of play."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from tyro.conf import Positional

from matchenv.benchmarks.replay.fits import refuse_both
from matchenv.benchmarks.replay.report import ReplaySettings, report_text, run_replay
from matchenv.cli.options import Written
from matchenv.cli.output import show
from matchenv.logs.reading import ReadingSettings, read_log, reading_text


@dataclass(frozen=True, kw_only=True)
class Replay(Written):
    """Rate a log of matches, and report how well each rating system forecast them.

    See docs/replay.md.

    Example:
        matchenv replay games.csv --columns player=name --out runs/replay

    Attributes:
        log: the log, a .csv or .csv.gz file.
    """

    log: Positional[Path]
    reading: ReadingSettings = field(default_factory=ReadingSettings)
    settings: ReplaySettings = field(default_factory=ReplaySettings)

    @property
    def extras(self) -> tuple[str, ...]:
        """Packages that read logs, and those that draw figures into the folder."""
        return ("logs",) if self.out is None else ("logs", "benchmarks")

    def check_given(self, given: set[str]) -> None:
        """Refuse parameters beside those of a fit."""
        refuse_both(self.settings.fitted, given)

    def run(self) -> None:
        """Rate the log and print the report; what was left out is printed even when quiet."""
        reading = read_log(self.log, self.reading)
        show(reading_text(reading, listed=0 if self.quiet else 5), file=sys.stderr)
        report = run_replay(reading, self.settings, out=self.out, quiet=self.quiet)
        if not self.quiet:
            show(report_text(report))
