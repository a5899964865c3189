"""Command line of the bound."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from matchenv.benchmarks.bound.report import table_text, write_files
from matchenv.benchmarks.bound.running import (
    DEFAULT_DEPTH,
    DEFAULT_EPISODES,
    DEFAULT_PENALTY,
    DEFAULT_POLICIES,
    DEFAULT_PRIORS,
    DEFAULT_RANKS,
    ENVIRONMENT_OPTIONS,
    run_bound,
)
from matchenv.benchmarks.compare.comparison import checked_environment


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = argparse.ArgumentParser(
        prog="python -m matchenv.benchmarks.bound",
        description="An upper bound on the mean total of true q that any policy can reach. "
        "See docs/limits.md.",
    )
    for name, defaults, text in (
        ("policy", DEFAULT_POLICIES, "who plays beside it, as in matchenv compare"),
        ("rank", DEFAULT_RANKS, "places of player 0"),
        ("prior", DEFAULT_PRIORS, "what policies know at the start"),
    ):
        made.add_argument(f"--{name}", nargs="+", default=list(defaults), metavar=name.upper(),
                          help=f"{text} (default: {' '.join(defaults)})")  # fmt: skip
    settings = checked_environment(None)
    for name, kind, default, text in (
        ("episodes", int, DEFAULT_EPISODES, "instances in each cell"),
        ("seed", int, 0, "decides instances and tapes"),
        ("depth", int, DEFAULT_DEPTH, "games with an opponent until its worth counts as known"),
        ("penalty", float, DEFAULT_PENALTY, "share of the penalty"),
        ("num_opponents", int, settings.num_opponents, "opponents to choose from"),
        ("horizon", int, settings.horizon, "games in an episode"),
        ("beta", float, settings.beta, "standard deviation of one performance"),
    ):
        made.add_argument(f"--{name.replace('_', '-')}", dest=name, type=kind, default=default,
                          metavar="X", help=f"{text} (default: {default:.6g})")  # fmt: skip
    made.add_argument("--workers", type=int, metavar="W", help="processes (default: all cores)")
    made.add_argument("--out", type=Path, metavar="DIR", help="folder for the result files")
    made.add_argument("--quiet", action="store_true", help="no progress bar and no table")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit status, 2 for bad input."""
    options = parser().parse_args(arguments)
    try:
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
        bounds = run_bound(
            options.policy,
            ranks=options.rank,
            priors=options.prior,
            episodes=options.episodes,
            seed=options.seed,
            env_kwargs={name: getattr(options, name) for name in ENVIRONMENT_OPTIONS},
            depth=options.depth,
            penalty=options.penalty,
            workers=options.workers,
            quiet=options.quiet,
        )
        if options.out is not None:
            write_files(bounds, options.out)
    except (ValueError, OSError) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted; nothing was written", file=sys.stderr)
        return 130
    if not options.quiet:
        print(table_text(bounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
