"""Play the same episodes with every policy, and compare.

Compares true draw densities in Matchmaking-v0, rewards, qualities and waiting
times in the queue, rewards and games needed in Ranking-v0. See
docs/benchmarks.md, docs/queue.md and docs/ranking.md.

Example:
    matchenv compare --policy pe 'kg:multiplier={10,20}' --rank top
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchenv.cli.options import (
    add_environment,
    add_games,
    add_policies,
    add_results,
    problem_from,
    run_options,
)
from matchenv.cli.output import print_folder, print_result
from matchenv.cli.parser import Arguments, Parser, refuse
from matchenv.evaluation.registry import QUEUE, expanded

if TYPE_CHECKING:
    from matchenv.benchmarks.compare.comparison import Comparison

# Default of ``run_comparison``, whose import takes longer than a help.
EPISODES = 200


def add_arguments(parser: Parser) -> None:
    """Add the options."""
    policies = parser.add_argument_group("policies")
    add_policies(policies)
    policies.add_argument("--against", help="policy to compare with (default: kg)")
    games = add_games(parser, EPISODES)
    games.add_argument(
        "--noise",
        choices=("opponent", "game"),
        default="opponent",
        help="games with the same luck for all policies: the k-th against each opponent, or the "
        "k-th of the episode",
    )
    add_environment(parser, loads=("thin", "middle", "thick"))
    results = add_results(parser)
    results.add_argument(
        "--bands",
        action="store_true",
        help="in the queue, also print who waits, whose games are even and who pays, by skill and "
        "by size of party, for games of two players; larger games always have these tables",
    )


def run(arguments: Arguments) -> None:
    """Compare policies."""
    from matchenv.benchmarks.compare import comparison

    if arguments.env != QUEUE:
        refuse(arguments, ("bands",), f"these options need --env {QUEUE}")

    def report(found: Comparison) -> None:
        print_result(lambda: found.table(bands=arguments.bands), arguments.quiet)

    comparison.run_comparison(
        expanded(arguments.policy) or None,
        **problem_from(arguments),
        against=arguments.against,
        episodes=arguments.episodes,
        seed=arguments.seed,
        run=run_options(arguments, report=report),
    )
    print_folder(arguments.out, arguments.quiet)
