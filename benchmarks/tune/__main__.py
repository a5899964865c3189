"""Command line of the tuning."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from matchenv.benchmarks.study.options import add_cell_options, add_size_options, exit_status
from matchenv.benchmarks.tune.tuning import MULTIPLIERS, run_tuning, tuning_settings, tuning_text


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = argparse.ArgumentParser(
        prog="python -m matchenv.benchmarks.tune",
        description="Find KG's multiplier for each cell of the study, on seeds that the study "
        "never uses. Stopped at any moment, the same command goes on with it.",
    )
    made.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for results")
    made.add_argument(
        "--multipliers", nargs="+", type=float, default=list(MULTIPLIERS), metavar="M",
        help=f"to be tried (default: {' '.join(f'{value:g}' for value in MULTIPLIERS)})",
    )  # fmt: skip
    add_size_options(made, paths=200, priors=10)
    add_cell_options(made)
    return made


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit status, 2 for bad input."""
    options = vars(parser().parse_args(arguments))
    out, workers, quiet = (options.pop(name) for name in ("out", "workers", "quiet"))

    def work() -> None:
        tried = run_tuning(tuning_settings(**options), out, workers=workers, quiet=quiet)
        if not quiet:
            print(tuning_text(tried), end="")

    return exit_status(work)


if __name__ == "__main__":
    sys.exit(main())
