"""Find the best options of each policy in each cell, on separate seeds.

Without --policy, tunes KG's multiplier; in the queue, tunes all its policies
and draws the front of waiting time against quality.

Example:
    matchenv tune --out runs/tune --policy 'kg:multiplier={5,20}' --rank top
"""

from __future__ import annotations

from matchenv.benchmarks.compare.tuning import DEFAULT_EPISODES, run_tuning
from matchenv.cli.options import (
    add_environment,
    add_games,
    add_policies,
    add_results,
    problem_from,
    run_options,
)
from matchenv.cli.output import print_folder, print_result
from matchenv.cli.parser import Arguments, Parser
from matchenv.evaluation.registry import expanded


def add_arguments(parser: Parser) -> None:
    """Add the options."""
    add_policies(parser.add_argument_group("policies"))
    add_games(parser, DEFAULT_EPISODES)
    add_environment(parser, loads=("thin", "middle", "thick"))
    add_results(parser)


def run(arguments: Arguments) -> None:
    """Tune policies."""
    tuning = run_tuning(
        expanded(arguments.policy) or None,
        **problem_from(arguments),
        episodes=arguments.episodes,
        seed=arguments.seed,
        run=run_options(arguments),
    )
    print_result(tuning.text, arguments.quiet)
    print_folder(arguments.out, arguments.quiet)
