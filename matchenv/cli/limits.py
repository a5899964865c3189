"""Bound the mean total of true q that any policy can reach, beside policies.

matchenv limits optimum solves a small problem exactly (3 opponents, 8 games)
and reports what policies lose. See docs/limits.md.

Example:
    matchenv limits --episodes 50 --rank middle --out runs/bound
    matchenv limits optimum --num-opponents 3 --horizon 5 --policy kg pe
"""

from __future__ import annotations

from functools import partial

from matchenv.benchmarks.limits import bound, optimum
from matchenv.cli.options import (
    NAMED_PRIORS,
    RANKS,
    add_allow_code,
    add_results,
    add_seed,
    add_settings,
    run_options,
    single,
)
from matchenv.cli.output import print_folder, print_result
from matchenv.cli.parser import Arguments, Collect, Parser, explicit_values, refuse
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.registry import expanded

# Options that each form does not have.
IDLE = {"bound": ("belief", "truths", "draw_margin"), "optimum": ("prior", "depth")}


def add_arguments(parser: Parser) -> None:
    """Add the options."""
    parser.usage = "%(prog)s WHAT [OPTIONS]"
    parser.add_argument_group("task").add_argument(
        "what", metavar="WHAT", nargs="?", default="bound", help="bound or optimum"
    )
    games = parser.add_argument_group("policies and games (defaults of the optimum in brackets)")
    bounded = " ".join(bound.DEFAULT_POLICIES)
    solved = " ".join(optimum.DEFAULT_POLICIES)
    games.add_argument(
        "--policy",
        action=Collect,
        help=f"policies, as in matchenv compare (default: {bounded} [{solved}])",
    )
    add_allow_code(games, "import beliefs outside matchenv that learned policies name")
    games.add_argument("--rank", action=Collect, help=f"{RANKS} (default: all three [any])")
    games.add_argument(
        "--episodes", type=int, help="episodes (default: 2000 for each rank and prior [100])"
    )
    add_seed(games)
    sizes = optimum.SIZES
    environment = parser.add_argument_group(
        f"environment [num_opponents {sizes['num_opponents']}, horizon {sizes['horizon']}]"
    )
    add_settings(environment, Settings, ("num_opponents", "horizon", "beta"))
    of_bound = parser.add_argument_group("bound")
    of_bound.add_argument(
        "--prior", action=Collect, default=bound.DEFAULT_PRIORS, help=NAMED_PRIORS
    )
    of_bound.add_argument(
        "--depth",
        type=int,
        default=bound.DEFAULT_DEPTH,
        help="games after which a skill counts as known",
    )
    of_optimum = parser.add_argument_group("optimum")
    add_settings(of_optimum, Settings, ("draw_margin", "belief"))
    of_optimum.add_argument(
        "--truths",
        type=int,
        default=64,
        help="sets of true skills drawn from the prior of each episode",
    )
    add_results(parser)


def run(arguments: Arguments) -> None:
    """Bound policies, or solve a problem."""
    what = arguments.what
    if what not in IDLE:
        raise ValueError(f"what must be one of {', '.join(IDLE)}, got {what!r}")
    refuse(arguments, IDLE[what], f"matchenv limits {what} does not have these options")
    # The functions have defaults of their own.
    options = explicit_values(arguments, ("episodes", "seed", "truths", "depth"))
    if "policy" in arguments.explicit:
        options["policies"] = expanded(arguments.policy)
    sizes = ("num_opponents", "horizon", "beta", "belief", "draw_margin")
    env_kwargs = explicit_values(arguments, sizes)
    run = run_options(arguments)
    if what == "optimum":
        if arguments.rank:
            env_kwargs["rank"] = single("rank", arguments.rank)
        losses = optimum.run_optimum(env_kwargs=env_kwargs, run=run, **options)
        table = partial(optimum.table_text, losses)
    else:
        if arguments.rank:
            options["ranks"] = arguments.rank
        bounds = bound.run_bound(priors=arguments.prior, env_kwargs=env_kwargs, run=run, **options)
        table = partial(bound.table_text, bounds)
    print_result(table, arguments.quiet)
    print_folder(arguments.out, arguments.quiet)
