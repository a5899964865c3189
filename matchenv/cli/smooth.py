"""``matchenv smooth``: what a whole log says about every player at every time."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from tyro.conf import Positional

from matchenv.benchmarks.replay.fits import SmoothSettings, refuse_both, run_smooth, smooth_text
from matchenv.cli.options import Resumable
from matchenv.cli.output import show
from matchenv.logs.reading import ReadingSettings, read_log, reading_text


@dataclass(frozen=True, kw_only=True)
class Smooth(Resumable):
    """Compute every player's skill at every time from a whole log: TrueSkill Through Time.

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
        """Packages that read logs, and those that draw a figure."""
        return ("logs",) if self.plot is None else ("logs", "benchmarks")

    def check_given(self, given: set[str]) -> None:
        """Refuse parameters beside those of a fit."""
        refuse_both(self.settings.fitted, given)

    def run(self) -> None:
        """Smooth and print the table; what was left out is printed even when quiet."""
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
