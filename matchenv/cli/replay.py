"""Rate a log of matches, and report how well each rating system forecast them.

See docs/replay.md.

Example:
    matchenv replay games.csv --columns player=name --out runs/replay
"""

from __future__ import annotations

from matchenv.benchmarks.replay.fits import refuse_both
from matchenv.benchmarks.replay.report import ReplaySettings, report_text, run_replay
from matchenv.cli import options as shared
from matchenv.cli.parser import Given, Parser
from matchenv.logs.reading import ReadingSettings


def options(add: Parser) -> None:
    """Declare the options."""
    shared.log(add)
    add.fields_of(ReadingSettings)
    add.group("rating systems and report")
    add.fields_of(ReplaySettings)
    shared.results(add, parallel=False)
    add.resumes = False


def run(given: Given) -> None:
    """Rate the log and print the report."""
    refuse_both(given.fitted, set(given.said))
    settings = given.made(ReplaySettings)
    given.needs("logs", *(() if given.out is None else ("benchmarks",)))
    content = run_replay(shared.reading(given), settings, out=given.out, quiet=given.quiet)
    given.say(report_text(content))
    given.say_where()
