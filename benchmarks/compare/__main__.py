"""Command line of the comparison."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from matchenv.baselines import POLICIES
from matchenv.benchmarks.compare.comparison import (
    DEFAULT_EPISODES,
    DEFAULT_POLICIES,
    DEFAULT_PRIORS,
    DEFAULT_RANKS,
    run_comparison,
)
from matchenv.evaluation.cells import ANY
from matchenv.settings import EQUAL_VARIANCES, PRIORS, RANKINGS, RANKS, Settings


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = argparse.ArgumentParser(
        prog="python -m matchenv.benchmarks.compare",
        description="Play the same games with every policy and compare them. "
        "See docs/benchmarks.md.",
    )
    made.add_argument(
        "--policy", nargs="+", default=list(DEFAULT_POLICIES), metavar="RUN_OR_NAME",
        help=f"out of {', '.join(POLICIES)}, with options as in kg:multiplier=20, a trained "
        f"agent's name, or the folder of a run (default: {' '.join(DEFAULT_POLICIES)})",
    )  # fmt: skip
    made.add_argument("--against", default="kg", metavar="RUN_OR_NAME",
                      help="whom differences are taken to (default: %(default)s)")  # fmt: skip
    made.add_argument("--episodes", type=int, default=DEFAULT_EPISODES, metavar="N",
                      help="instances in each cell (default: %(default)s)")  # fmt: skip
    made.add_argument("--seed", type=int, default=0, metavar="S", help="default: %(default)s")
    made.add_argument(
        "--rank", nargs="+", default=list(DEFAULT_RANKS), metavar="RANK",
        help=f"places of player 0: {', '.join(RANKS)}, a number from 0 (the best), or {ANY} for "
        f"a random one (default: {' '.join(DEFAULT_RANKS)})",
    )  # fmt: skip
    made.add_argument(
        "--prior", nargs="+", default=list(DEFAULT_PRIORS), metavar="PRIOR",
        help=f"out of {', '.join(PRIORS)} (default: {' '.join(DEFAULT_PRIORS)})",
    )  # fmt: skip
    defaults = Settings.checked()
    group = made.add_argument_group("environment")
    for name, kind, text in (
        ("num_opponents", int, "opponents to choose from"),
        ("horizon", int, "games in an episode"),
        ("beta", float, "standard deviation of one performance"),
        ("draw_margin", float, "performances no further apart are a draw"),
        ("tau", float, "drift of a skill before each of the player's games"),
    ):
        default = getattr(defaults, name)
        group.add_argument(
            f"--{name.replace('_', '-')}", dest=name, type=kind, default=default, metavar="X",
            help=f"{text} (default: {default:.6g})",
        )  # fmt: skip
    for name, choices in (("rank_by", RANKINGS), ("equal_variance", EQUAL_VARIANCES)):
        group.add_argument(
            f"--{name.replace('_', '-')}", dest=name, choices=choices,
            default=getattr(defaults, name), help="default: %(default)s",
        )  # fmt: skip
    made.add_argument("--workers", type=int, metavar="W", help="processes (default: all cores)")
    made.add_argument("--out", type=Path, metavar="DIR", help="folder for the result files")
    made.add_argument("--timing", action="store_true",
                      help="write decisions per second into the files too")  # fmt: skip
    made.add_argument("--quiet", action="store_true", help="no progress bar and no table")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit status, 2 for bad input."""
    options = vars(parser().parse_args(arguments))
    names = ("policy", "against", "rank", "prior", "episodes", "seed", "workers", "out", "timing")
    policies, against, ranks, priors, episodes, seed, workers, out, timing = (
        options.pop(name) for name in names
    )
    quiet = options.pop("quiet")
    try:
        comparison = run_comparison(
            policies,
            against=against,
            ranks=ranks,
            priors=priors,
            episodes=episodes,
            seed=seed,
            env_kwargs=options,
            workers=workers,
            out=out,
            timing=timing,
            quiet=quiet,
        )
    except (ValueError, OSError) as error:
        # torch complains over several lines.
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted; with --out the same command goes on", file=sys.stderr)
        return 130
    if not quiet:
        print(comparison.table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
