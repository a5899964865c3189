"""Command line of the study."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from matchenv.baselines import POLICIES
from matchenv.benchmarks.study.options import add_cell_options, add_size_options, exit_status
from matchenv.benchmarks.study.settings import EQUATIONS, PAPER_POLICIES, StudySettings
from matchenv.benchmarks.study.study import run_study
from matchenv.benchmarks.study.tables import summary_text


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = argparse.ArgumentParser(
        prog="python -m matchenv.benchmarks.study",
        description="Repeat the simulation study of Ryzhov, Tariq and Powell (2011), section 4. "
        "Stopped at any moment, the same command goes on with it. See docs/study.md.",
    )
    made.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the study")
    made.add_argument(
        "--policies", nargs="+", default=list(PAPER_POLICIES), metavar="NAME",
        help=f"out of {', '.join(POLICIES)}, with options as in kg:multiplier=20, a trained "
        f"agent's name, or the folder of a run (default: {' '.join(PAPER_POLICIES)})",
    )  # fmt: skip
    add_size_options(made, paths=10_000, priors=1)
    made.add_argument(
        "--equations", choices=EQUATIONS, default=EQUATIONS[0],
        help="printed: with the paper's misprints (default: %(default)s)",
    )  # fmt: skip
    add_cell_options(made)
    return made


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit status, 2 for bad input."""
    options = vars(parser().parse_args(arguments))
    out, workers, quiet = (options.pop(name) for name in ("out", "workers", "quiet"))

    def work() -> None:
        settings = StudySettings.checked(**options)
        results = run_study(settings, out, workers=workers, quiet=quiet)
        if not quiet:
            print(summary_text(settings, results), end="")
            print(f"\nFigures, tables and the verdict on the paper's claims: {out}")

    return exit_status(work)


if __name__ == "__main__":
    sys.exit(main())
