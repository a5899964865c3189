"""What commands print."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from matchenv.cli import show
from matchenv.evaluation.tables import as_wide_as_the_terminal


def print_result(result: str | Callable[[], str], quiet: bool) -> None:
    """Print a result, unless ``--quiet`` was given.

    Args:
        result: the result; a function returns it with tables as wide as the terminal.
        quiet: whether to print nothing.
    """
    if quiet:
        return
    with as_wide_as_the_terminal():
        if callable(result):
            result = result()
        show(result.rstrip("\n"), flush=True)


def print_files(line: str, out: Path | None, quiet: bool) -> None:
    """Print on the error stream which files were written, so that a pipe gets only the table."""
    if out is not None and not quiet:
        show(line, file=sys.stderr)


def print_folder(out: Path | None, quiet: bool) -> None:
    """Print on the error stream which folder has the results, and the command that shows them."""
    if out is None:
        return
    path = str(out)
    if path.startswith("-"):
        path = f"./{path}"
    command = f"matchenv report {shlex.quote(path)} --out report.html"
    print_files(f"results are in {out}; to show them: {command}", out, quiet)
