"""Find the best options of each policy in each cell, on seeds of their own.

Without --policy, KG's multipliers; in the queue, all its policies and the
front of waiting time against quality. Stopped at any moment, the same command
goes on with it.

Example:
    matchenv tune --out runs/tune --policy 'kg:multiplier={5,20}' --rank top
"""

from __future__ import annotations

from matchenv.benchmarks.compare.tuning import DEFAULT_EPISODES, run_tuning
from matchenv.cli import options as shared
from matchenv.cli.parser import Given, Parser


def options(add: Parser) -> None:
    """Declare the options."""
    shared.policies(add, ())
    add.option("--measure", "what is maximised (default: what compare judges by)", None, str)
    shared.cells(add, DEFAULT_EPISODES)
    shared.results(add)


def run(given: Given) -> None:
    """Try all and print the table."""
    found = run_tuning(
        shared.named_policies(given) or None,
        **shared.problem(given, {}),
        **given.chosen(("measure", "episodes", "seed")),
        run=shared.run_options(given),
    )
    given.say(found.text(), end="")
    given.say_where()
