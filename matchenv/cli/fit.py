"""``matchenv fit``: the parameters of TrueSkill that fit a log best."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from tyro.conf import Positional

from matchenv.benchmarks.replay.fits import fit_text, run_fit
from matchenv.cli.options import Resumable, Seeded
from matchenv.cli.output import show
from matchenv.logs.fitting import TRAIN_SHARE
from matchenv.logs.reading import ReadingSettings, read_log, reading_text


@dataclass(frozen=True, kw_only=True)
class Fit(Resumable, Seeded):
    """Fit the parameters of TrueSkill to a log of matches, and judge them on games held out.

    See docs/fit.md.

    Example:
        matchenv fit games.csv --out runs/fit

    Attributes:
        log: the log, a .csv or .csv.gz file.
        train_share: share of the games, from the first on, that the fit uses.
    """

    log: Positional[Path]
    reading: ReadingSettings = field(default_factory=ReadingSettings)
    train_share: float = TRAIN_SHARE

    @property
    def extras(self) -> tuple[str, ...]:
        """Packages that read logs."""
        return ("logs",)

    def run(self) -> None:
        """Fit and print the tables; what was left out is printed even when quiet."""
        reading = read_log(self.log, self.reading)
        show(reading_text(reading, listed=0 if self.quiet else 5), file=sys.stderr)
        found = run_fit(
            reading,
            train_share=self.train_share,
            seed=self.seed,
            out=self.out,
            quiet=self.quiet,
        )
        if not self.quiet:
            show(fit_text(found))

    def say_where(self, results: Path | None) -> None:
        """Say where the parameters are."""
        if results is not None and not self.quiet:
            show(f"{results / 'fit.json'} has the parameters", file=sys.stderr)
