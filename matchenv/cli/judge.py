"""``matchenv judge``: how even a log's games were, and what other matchers would have done."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from tyro.conf import Positional

from matchenv.benchmarks.judge.settings import JudgeSettings
from matchenv.cli.options import Parallel, Policies, Resumable
from matchenv.cli.output import show
from matchenv.logs.reading import ReadingSettings


@dataclass(frozen=True, kw_only=True)
class Judge(Resumable, Parallel, Policies):
    """Judge the matcher that made the games of a log.

    How even the games were, for whom not, and what other matchers would have done with these
    players at this load. See docs/judge.md.

    Example:
        matchenv judge games.csv --rule window.yml --out results/judge

    Attributes:
        log: the log, a .csv or .csv.gz file.
        fitted: folder of matchenv fit, in place of a fit: of this log, or of games of the same
            players that were not matched on skill.
    """

    log: Positional[Path]
    settings: JudgeSettings = field(default_factory=JudgeSettings)
    fitted: Path | None = None
    reading: ReadingSettings = field(default_factory=ReadingSettings)

    @property
    def extras(self) -> tuple[str, ...]:
        """It names policies, and draws a page into the folder."""
        return ("agents", "benchmarks", "logs")

    def run(self) -> None:
        """Judge and print the tables; what was left out of the log is said even when quiet."""
        from matchenv.benchmarks.judge import judge
        from matchenv.benchmarks.replay.fits import fitted_parameters
        from matchenv.logs.reading import read_log, reading_text

        reading = read_log(self.log, self.reading)
        show(reading_text(reading, listed=0 if self.quiet else 5), file=sys.stderr)
        found = judge(
            reading.log,
            self.settings,
            policies=self.policies,
            parameters=None if self.fitted is None else fitted_parameters(self.fitted),
            name=reading.file_name,
            out=self.out,
            workers=self.on_engine,
            quiet=self.quiet,
        )
        if not self.quiet:
            show(found.text)

    def say_where(self, results: Path | None) -> None:
        """Say where the page is."""
        if results is not None and not self.quiet:
            show(f"{results / 'judge.html'} is the page", file=sys.stderr)
