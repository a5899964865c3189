"""Play the same episodes with every policy, and compare.

In Matchmaking-v0 the true draw densities are compared, in the queue rewards,
qualities and waiting times, elsewhere the rewards. See docs/benchmarks.md and
docs/queue.md.

Example:
    matchenv compare --policy pe 'kg:multiplier={10,20}' --rank top
"""

from __future__ import annotations

from matchenv.benchmarks.compare import comparison
from matchenv.cli import options as shared
from matchenv.cli.parser import Given, Parser
from matchenv.evaluation.protocols import ONE_PLAYER


def options(add: Parser) -> None:
    """Declare the options."""
    shared.policies(add, ())
    add.option("--against", "policy to compare with (default: kg; of others than Matchmaking-v0 "
               "and the queue the first)", None, str)  # fmt: skip
    shared.cells(add, comparison.DEFAULT_EPISODES)
    add.option("--noise", "what a game's random numbers depend on: the opponent and how often one "
               "has met them, or the number of the game", ONE_PLAYER.defaults["noise"],
               known=("opponent", "game"))  # fmt: skip
    shared.results(add)
    add.option("--timing", "write decisions per second into the files too", False)


def run(given: Given) -> None:
    """Play and print the table."""
    comparison.run_comparison(
        shared.named_policies(given) or None,
        **shared.problem(given, {"noise": given.noise}),
        against=given.against,
        episodes=given.episodes,
        seed=given.seed,
        run=shared.run_options(given, report=lambda found: given.say(found.table())),
    )
    given.say_where()
