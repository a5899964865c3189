"""Play the same games with every policy, and compare the true draw densities.

With --env MatchmakingQueue-v0 it plays the same players and noise with policies
of the queue, and compares rewards, qualities and waiting times. See
docs/benchmarks.md and docs/queue.md.

Example:
    matchenv compare --policy pe 'kg:multiplier={10,20}' --rank top
"""

from __future__ import annotations

from matchenv.benchmarks.compare import comparison
from matchenv.cli import options as shared
from matchenv.cli.parser import Given, Parser


def options(add: Parser) -> None:
    """Declare the options."""
    shared.policies(add, comparison.DEFAULT_POLICIES)
    add.option("--against", "policy to compare with", "kg")
    add.group("games")
    add.option("--rank", shared.RANKS_TEXT, comparison.DEFAULT_RANKS)
    add.option("--prior", shared.PRIORS_TEXT, comparison.DEFAULT_PRIORS)
    add.option("--episodes", "instances in each cell, runs under each load",
               comparison.DEFAULT_EPISODES)  # fmt: skip
    shared.seed(add)
    add.option("--noise", "what a game's random numbers depend on: the opponent and how often one "
               "has met them, or the number of the game", comparison.DEFAULT_NOISE,
               known=("opponent", "game"))  # fmt: skip
    shared.environment(add)
    shared.either_environment(add)
    shared.results(add)
    add.option("--timing", "write decisions per second into the files too", False)


def run(given: Given) -> None:
    """Play and print the table."""
    queue = shared.in_queue(given)
    common = {
        "against": given.against,
        "episodes": given.episodes,
        "seed": given.seed,
        "workers": shared.engine(given),
        "out": given.out,
        "timing": given.timing,
        "quiet": given.quiet,
        "report": lambda found: given.say(found.table()),
    }
    if queue:
        from matchenv.benchmarks.queue.comparison import DEFAULT_POLICIES, run_queue_comparison

        given.needs("benchmarks")
        asked = shared.named_policies(given) if "policy" in given.said else DEFAULT_POLICIES
        run_queue_comparison(asked, loads=given.load, env_kwargs=shared.queue_kwargs(given),
                             **common)  # fmt: skip
    else:
        kwargs = {**given.chosen(shared.ENVIRONMENT), "noise": given.noise}
        comparison.run_comparison(shared.named_policies(given), ranks=given.rank,
                                  priors=given.prior, env_kwargs=kwargs, **common)  # fmt: skip
    given.say_where()
