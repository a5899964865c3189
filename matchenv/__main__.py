"""The command ``matchenv``; the same as ``python -m matchenv``."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

from matchenv.cli import interrupted, one_line, run_command
from matchenv.runtime.signals import ignore_signals, stop_at_signals


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command in this process, and handle its signals.

    Args:
        arguments: command line without the program's name; None for that of the process.

    Returns:
        The exit status; see ``run_command``.
    """
    # In one line, without the place in the code.
    warnings.formatwarning = lambda message, *_, **__: f"warning: {one_line(str(message))}\n"
    if arguments is None:
        arguments = sys.argv[1:]
    try:
        stop_at_signals()
        status = run_command(arguments)
        ignore_signals()
    except KeyboardInterrupt:  # just before or after the command's work
        status = interrupted()
    return status


if __name__ == "__main__":
    sys.exit(main())
