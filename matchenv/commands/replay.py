"""``matchenv replay``: match logs, rated in order of play."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from tyro.conf import Positional

from matchenv.benchmarks.replay.settings import ReplaySettings
from matchenv.commands.options import Written
from matchenv.commands.output import show


@dataclass(frozen=True, kw_only=True)
class Replay(Written):
    """Rate a log of matches, and report how well each rating system foresaw them.

    See docs/replay.md.

    Example:
        matchenv replay games.csv --columns player=name --out runs/replay

    Attributes:
        log: the log, a .csv or .csv.gz file.
    """

    log: Positional[Path]
    settings: ReplaySettings = field(default_factory=ReplaySettings)

    @property
    def extras(self) -> tuple[str, ...]:
        """It draws figures into the folder."""
        return () if self.out is None else ("benchmarks",)

    def run(self) -> None:
        """Rate the log and print the report; what was left out of it is said even when quiet."""
        from matchenv.benchmarks.replay.command import run
        from matchenv.benchmarks.replay.table_text import reading_text, report_text

        report = run(self.log, self.settings, self.out, quiet=self.quiet)
        show(reading_text(report.reading, listed=0 if self.quiet else 5), file=sys.stderr)
        if not self.quiet:
            show(report_text(report))
