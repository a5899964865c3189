"""Command line of the throughput benchmark."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from matchenv.atomic_files import write_bytes
from matchenv.benchmarks.throughput.report import as_json, line
from matchenv.benchmarks.throughput.sections import sections
from matchenv.benchmarks.throughput.timing import Contest, Reading
from matchenv.evaluation.result_files import json_bytes
from matchenv.validation import as_integer


def parser(known: list[str]) -> argparse.ArgumentParser:
    """The options of the command."""
    made = argparse.ArgumentParser(
        prog="python -m matchenv.benchmarks.throughput",
        description="Speed, as ratios against rivals that run in turn with us: the median and "
        "the spread over the turns. See docs/benchmarks.md.",
    )
    made.add_argument("--only", nargs="+", choices=known, default=known, metavar="SECTION",
                      help=f"out of {', '.join(known)} (default: all)")  # fmt: skip
    made.add_argument("--turns", type=int, default=7, metavar="N",
                      help="turns of each side (default: %(default)s)")  # fmt: skip
    made.add_argument("--out", type=Path, metavar="DIR", help="folder for throughput.json")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit status, 2 for bad input."""
    known = sections()
    options = parser(list(known)).parse_args(arguments)
    results: list[Contest | Reading] = []
    try:
        turns = as_integer("turns", options.turns, 1)
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
        for name in options.only:
            print(f"== {name}", flush=True)
            for result in known[name](turns):
                results.append(result)
                print(line(result), flush=True)
        if options.out is not None:
            write_bytes(options.out / "throughput.json", json_bytes(as_json(results, turns)))
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
