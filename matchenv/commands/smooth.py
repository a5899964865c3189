"""``matchenv smooth``: what a whole log says about every player at every time."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, fields
from pathlib import Path

from tyro.conf import Positional

from matchenv.benchmarks.replay.settings import ModelSettings
from matchenv.benchmarks.replay.smooth_report import SmoothSettings
from matchenv.commands.options import Resumable
from matchenv.commands.output import show
from matchenv.csv_log.settings import ReadingSettings


@dataclass(frozen=True, kw_only=True)
class Smooth(Resumable):
    """Work out every player's skill at every time from a whole log: TrueSkill Through Time.

    See docs/ratings.md.

    Example:
        matchenv smooth games.csv --players ann bob --plot curves.png

    Attributes:
        log: the log, a .csv or .csv.gz file.
        plot: file of a figure of the players' curves, .png, .svg or .pdf.
    """

    log: Positional[Path]
    reading: ReadingSettings = field(default_factory=ReadingSettings)
    settings: SmoothSettings = field(default_factory=SmoothSettings)
    plot: Path | None = None

    @property
    def extras(self) -> tuple[str, ...]:
        """A figure needs plotting."""
        return () if self.plot is None else ("benchmarks",)

    def check_given(self, given: set[str]) -> None:
        """Refuse parameters beside those of a fit."""
        twice = sorted(given & {each.name for each in fields(ModelSettings)})
        if self.settings.fitted is not None and twice:
            raise ValueError(f"{', '.join(twice)} must not be given with fitted, which has its own")

    def run(self) -> None:
        """Smooth and print the table; what was left out of the log is said even when quiet."""
        from matchenv.benchmarks.replay.smooth_report import run_smooth, smooth_text
        from matchenv.benchmarks.replay.table_text import reading_text
        from matchenv.csv_log.reader import read_log

        reading = read_log(self.log, self.reading)
        show(reading_text(reading, listed=0 if self.quiet else 5), file=sys.stderr)
        found = run_smooth(reading, self.settings, out=self.out, plot=self.plot, quiet=self.quiet)
        if not self.quiet:
            show(smooth_text(found))

    def say_where(self, results: Path | None) -> None:
        """Say where the curves and the figure are."""
        if self.quiet:
            return
        if results is not None:
            show(f"{results} has curves.{self.settings.table} and smooth.json", file=sys.stderr)
        if self.plot is not None:
            show(f"{self.plot} has the figure", file=sys.stderr)
