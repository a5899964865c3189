"""Command line of the study."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from baselines import POLICIES
from benchmarks.study.cells import CELLS
from benchmarks.study.settings import EQUATIONS, PAPER_POLICIES, StudySettings
from benchmarks.study.study import run_study
from benchmarks.study.tables import summary_text
from matchenv.settings import EQUAL_VARIANCES


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks.study",
        description="Repeat the simulation study of Ryzhov, Tariq and Powell (2011), section 4. "
        "Stopped at any moment, the same command goes on with it. See docs/study.md.",
    )
    made.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the study")
    made.add_argument(
        "--policies", nargs="+", default=list(PAPER_POLICIES), metavar="NAME",
        help=f"out of {', '.join(POLICIES)}, with options as in kg:multiplier=20, a trained "
        f"agent's name, or the folder of a run (default: {' '.join(PAPER_POLICIES)})",
    )  # fmt: skip
    for name, default, text in (
        ("paths", 10_000, "sets of true skills with each prior"),
        ("horizon", 500, "games with each"),
        ("opponents", 49, "opponents of player 0"),
        ("priors", 1, "draws of the prior"),
        ("seed", 0, "decides priors, skills and noise"),
    ):
        made.add_argument(
            f"--{name}", type=int, default=default, metavar="N", help=f"{text} (default: {default})"
        )
    made.add_argument(
        "--equations", choices=EQUATIONS, default=EQUATIONS[0],
        help="printed: with the paper's misprints (default: %(default)s)",
    )  # fmt: skip
    made.add_argument(
        "--equal-variance", choices=EQUAL_VARIANCES, default=EQUAL_VARIANCES[0],
        help="of equal priors: the paper's, or grown by the variance of the hidden means "
        "(default: %(default)s)",
    )  # fmt: skip
    made.add_argument(
        "--cells", nargs="+", metavar="CELL",
        help=f"out of {', '.join(cell.name for cell in CELLS)} (default: all)",
    )  # fmt: skip
    made.add_argument("--workers", type=int, metavar="W", help="processes (default: all cores)")
    made.add_argument("--quiet", action="store_true", help="no progress bar and no table")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit status, 2 for bad input."""
    options = vars(parser().parse_args(arguments))
    out, workers, quiet = (options.pop(name) for name in ("out", "workers", "quiet"))
    # So that a polite end reaches the workers too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        settings = StudySettings.checked(**options)
        results = run_study(settings, out, workers=workers, quiet=quiet)
    except (ValueError, OSError) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on", file=sys.stderr)
        return 130
    if not quiet:
        print(summary_text(settings, results), end="")
        print(f"\nFigures, tables and the verdict on the paper's claims: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
