"""Judge the matcher that made the games of a log.

How even the games were, for whom not, and what other matchers would have done
with these players at this load. See docs/judge.md.

Example:
    matchenv judge games.csv --rule window.yml --out results/judge
"""

from __future__ import annotations

from matchenv.benchmarks.judge.settings import JudgeSettings
from matchenv.cli import options as shared
from matchenv.cli.parser import Existing, Given, Parser
from matchenv.logs.reading import ReadingSettings


def options(add: Parser) -> None:
    """Declare the options."""
    shared.log(add)
    add.fields_of(ReadingSettings)
    shared.policies(add, ())
    add.option("--fitted", "folder of matchenv fit, in place of a fit: of this log, or of games of "
               "the same players that were not matched on skill", None, Existing)  # fmt: skip
    add.group("matcher, load and runs")
    add.fields_of(JudgeSettings)
    shared.results(add)


def run(given: Given) -> None:
    """Judge and print the tables."""
    given.needs("agents", "benchmarks", "logs")
    from matchenv.benchmarks.judge import judge
    from matchenv.benchmarks.replay.fits import fitted_parameters

    read = shared.reading(given)
    found = judge(
        read.log,
        given.made(JudgeSettings),
        policies=shared.named_policies(given),
        parameters=None if given.fitted is None else fitted_parameters(given.fitted),
        name=read.file_name,
        run=shared.run_options(given),
    )
    given.say(found.text)
    given.say_where(f"{given.out}/judge.html is the page")
