"""Fit the parameters of TrueSkill to a log, and judge them on games held out.

See docs/fit.md.

Example:
    matchenv fit games.csv --out runs/fit
"""

from __future__ import annotations

from matchenv.benchmarks.replay.fits import fit_text, run_fit
from matchenv.cli import options as shared
from matchenv.cli.parser import Given, Parser
from matchenv.logs.fitting import TRAIN_SHARE
from matchenv.logs.reading import ReadingSettings


def options(add: Parser) -> None:
    """Declare the options."""
    shared.log(add)
    add.fields_of(ReadingSettings)
    add.group("fit")
    add.option("--train-share", "share of the games, from the first on, that the fit uses",
               TRAIN_SHARE)  # fmt: skip
    shared.seed(add)
    shared.results(add, parallel=False)


def run(given: Given) -> None:
    """Fit and print the tables."""
    given.needs("logs")
    found = run_fit(shared.reading(given), **given.chosen(("train_share", "seed", "out", "quiet")))
    given.say(fit_text(found))
    given.say_where(f"{given.out}/fit.json has the parameters")
