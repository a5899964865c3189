"""What the command lines of the study and of the tuning have in common."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable

from matchenv.benchmarks.study.cells import CELLS
from matchenv.settings import EQUAL_VARIANCES


def add_size_options(made: argparse.ArgumentParser, *, paths: int, priors: int) -> None:
    """Add the numbers that define what is played.

    Args:
        made: the parser.
        paths: default number of paths.
        priors: default number of priors.
    """
    for name, default, text in (
        ("paths", paths, "sets of true skills with each prior"),
        ("horizon", 500, "games with each"),
        ("opponents", 49, "opponents of player 0"),
        ("priors", priors, "draws of the prior"),
        ("seed", 0, "decides priors, skills and noise"),
    ):
        made.add_argument(
            f"--{name}", type=int, default=default, metavar="N", help=f"{text} (default: {default})"
        )


def add_cell_options(made: argparse.ArgumentParser) -> None:
    """Add where it is played, by how many processes and how loudly."""
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


def exit_status(work: Callable[[], None]) -> int:
    """Do the work of a command that can be stopped: 0, 2 for bad input, 130 when stopped."""
    # So that a polite end reaches the workers too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        work()
    except (ValueError, OSError) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on", file=sys.stderr)
        return 130
    return 0
