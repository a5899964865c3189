"""Command line of the optimum."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from matchenv.belief import BELIEFS, DEFAULT_BELIEF
from matchenv.benchmarks.compare.cells import ANY
from matchenv.benchmarks.optimum.report import table_text, write_files
from matchenv.benchmarks.optimum.running import DEFAULT_POLICIES, run_optimum
from matchenv.settings import PAPER_BETA


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = argparse.ArgumentParser(
        prog="python -m matchenv.benchmarks.optimum",
        description="The exact optimum under the belief model on small problems, and what "
        "policies lose against it. See docs/limits.md.",
    )
    made.add_argument("--opponents", type=int, nargs="+", default=[3], metavar="M",
                      help="numbers of opponents (default: 3)")  # fmt: skip
    made.add_argument("--games", type=int, nargs="+", default=[8], metavar="N",
                      help="games in an episode; each with each M (default: 8)")  # fmt: skip
    made.add_argument(
        "--policy", nargs="+", default=list(DEFAULT_POLICIES), metavar="RUN_OR_NAME",
        help="as in matchenv compare; baselines are made for --belief "
        f"(default: {' '.join(DEFAULT_POLICIES)})",
    )  # fmt: skip
    made.add_argument("--belief", choices=list(BELIEFS), default=DEFAULT_BELIEF,
                      help="the model that is solved (default: %(default)s)")  # fmt: skip
    made.add_argument("--rank", default=ANY, metavar="RANK",
                      help="place of player 0 by prior mean (default: %(default)s)")  # fmt: skip
    for name, kind, default, text in (
        ("instances", int, 100, "priors"),
        ("truths", int, 64, "sets of true skills drawn from each prior"),
        ("seed", int, 0, "decides priors and truths"),
        ("beta", float, PAPER_BETA, "standard deviation of one performance"),
        ("draw_margin", float, 0.0, "performances no further apart are a draw"),
    ):
        made.add_argument(f"--{name.replace('_', '-')}", dest=name, type=kind, default=default,
                          metavar="X", help=f"{text} (default: {default:.6g})")  # fmt: skip
    made.add_argument("--out", type=Path, metavar="DIR", help="folder for the result files")
    made.add_argument("--quiet", action="store_true", help="no progress bar and no table")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit status, 2 for bad input."""
    options = parser().parse_args(arguments)
    found = []
    try:
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
        for opponents in options.opponents:
            for games in options.games:
                findings = run_optimum(
                    options.policy,
                    opponents=opponents,
                    games=games,
                    instances=options.instances,
                    truths=options.truths,
                    rank=options.rank,
                    seed=options.seed,
                    belief=options.belief,
                    env_kwargs={"beta": options.beta, "draw_margin": options.draw_margin},
                    quiet=options.quiet,
                )
                found.append(findings)
                if not options.quiet:
                    print(f"{table_text(findings)}\n", flush=True)
        if options.out is not None:
            write_files(found, options.out)
    except (ValueError, OSError) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted; nothing was written", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
