"""``matchenv judge``: how even a log's games were, and what other matchers would have made."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from tyro.conf import Positional

from matchenv.benchmarks.judge.settings import (
    DEFAULT_EPISODES,
    DEFAULT_HORIZON,
    DEFAULT_TUNING,
    ArrivalSettings,
)
from matchenv.cli.options import Parallel, Policies, Resumable, Seeded
from matchenv.cli.output import show
from matchenv.logs.reading import ReadingSettings


@dataclass(frozen=True, kw_only=True)
class Judge(Resumable, Parallel, Seeded, Policies):
    """Judge the matcher that made the games of a log.

    How even the games were, for whom not, and what other matchers would have done with these
    players at this load. See docs/judge.md.

    Example:
        matchenv judge games.csv --rule window.yml --out results/judge

    Attributes:
        log: the log, a .csv or .csv.gz file.
        rule: the present matcher: a YAML or JSON file with window and growth, a Python file with
            a class, or module:Class.
        fitted: folder of matchenv fit, in place of a fit: of this log, or of games of the same
            players that were not matched on skill.
        episodes: runs of each matcher.
        tuning_episodes: runs of each setting in the tuning.
        horizon: ticks of a run; a game has 10.
    """

    log: Positional[Path]
    rule: str | None = None
    fitted: Path | None = None
    reading: ReadingSettings = field(default_factory=ReadingSettings)
    arrivals: ArrivalSettings = field(default_factory=ArrivalSettings)
    episodes: int = DEFAULT_EPISODES
    tuning_episodes: int = DEFAULT_TUNING
    horizon: int = DEFAULT_HORIZON

    @property
    def extras(self) -> tuple[str, ...]:
        """It names policies, and draws a page into the folder."""
        return ("agents", "benchmarks", "logs")

    def run(self) -> None:
        """Judge and print the tables; what was left out of the log is said even when quiet."""
        from matchenv.benchmarks.judge import as_plain, judge, judgement_text
        from matchenv.benchmarks.replay.fits import fitted_parameters
        from matchenv.logs.reading import read_log, reading_text

        reading = read_log(self.log, self.reading)
        show(reading_text(reading, listed=0 if self.quiet else 5), file=sys.stderr)
        found = judge(
            reading.log,
            rule=self.rule,
            policies=self.policies,
            arrivals=self.arrivals,
            parameters=None if self.fitted is None else fitted_parameters(self.fitted),
            episodes=self.episodes,
            tuning_episodes=self.tuning_episodes,
            horizon=self.horizon,
            seed=self.seed,
            workers=self.on_engine,
            out=self.out,
            name=reading.file_name,
            quiet=self.quiet,
        )
        if not self.quiet:
            show(judgement_text(as_plain(found)))

    def say_where(self, results: Path | None) -> None:
        """Say where the page is."""
        if results is not None and not self.quiet:
            show(f"{results / 'judge.html'} is the page", file=sys.stderr)
