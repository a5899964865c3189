"""Find KG's multiplier for each cell of the study, on seeds of its own.

With --env MatchmakingQueue-v0, the best setting of each policy of the queue
under each load, and the front of waiting time against quality. Stopped at any
moment, the same command goes on with it.

Example:
    matchenv tune --out runs/tune --multiplier 5 20 99 --rank top --prior equal
"""

from __future__ import annotations

from matchenv.benchmarks.tune.tuning import DEFAULTS, MULTIPLIERS, run_tuning, tuning_text
from matchenv.cli import options as shared
from matchenv.cli.parser import Given, Parser
from matchenv.cli.study import cells, cells_given

MEASURES = ("true_reward", "reward")


def options(add: Parser) -> None:
    """Declare the options."""
    shared.policies(add, ())
    add.option("--multiplier", "factors of KG to be tried", MULTIPLIERS)
    cells(add, DEFAULTS)
    shared.either_environment(add)
    add.option("--measure", "in the queue, what is maximised", MEASURES[0], known=MEASURES)
    shared.results(add, required=True)


def run(given: Given) -> None:
    """Try all and print the table."""
    if shared.in_queue(given):
        from matchenv.benchmarks.queue.tuning import DEFAULT_POLICIES, run_queue_tuning
        from matchenv.evaluation.registry import expanded

        given.needs("benchmarks")
        text = run_queue_tuning(
            expanded(given.policy or DEFAULT_POLICIES),
            loads=given.load,
            env_kwargs=shared.queue_kwargs(given),
            workers=shared.engine(given),
            **given.chosen(("measure", "episodes", "seed", "out", "quiet")),
        ).text()
    else:
        given.refuse({"policy"}, f"with --env {shared.QUEUE} alone may be given")
        text = tuning_text(run_tuning(given.multiplier, **cells_given(given)).tried)
    given.say(text, end="")
    given.say_where()
