"""Command line of the tuning."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from benchmarks.study.cells import CELLS
from benchmarks.tune.tuning import MULTIPLIERS, run_tuning, tuning_settings, tuning_text
from matchenv.settings import EQUAL_VARIANCES


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks.tune",
        description="Find KG's multiplier for each cell of the study, on seeds that the study "
        "never uses. Stopped at any moment, the same command goes on with it.",
    )
    made.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for results")
    made.add_argument(
        "--multipliers", nargs="+", type=float, default=list(MULTIPLIERS), metavar="M",
        help=f"to be tried (default: {' '.join(f'{value:g}' for value in MULTIPLIERS)})",
    )  # fmt: skip
    for name, default, text in (
        ("paths", 200, "sets of true skills with each prior"),
        ("horizon", 500, "games with each"),
        ("opponents", 49, "opponents of player 0"),
        ("priors", 10, "draws of the prior"),
        ("seed", 0, "decides priors, skills and noise"),
    ):
        made.add_argument(
            f"--{name}", type=int, default=default, metavar="N", help=f"{text} (default: {default})"
        )
    made.add_argument(
        "--equal-variance", choices=EQUAL_VARIANCES, default=EQUAL_VARIANCES[0],
        help="as in the study (default: %(default)s)",
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
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        tried = run_tuning(tuning_settings(**options), out, workers=workers, quiet=quiet)
    except (ValueError, OSError) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on", file=sys.stderr)
        return 130
    if not quiet:
        print(tuning_text(tried), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
