"""The command ``matchenv``; the same as ``python -m matchenv``."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

from matchenv.cli import one_line, run_command
from matchenv.runtime.signals import Stopping


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command as a process of its own.

    Args:
        arguments: of the command line, without the program's name; None takes the process's.

    Returns:
        The exit status: 0, 1 if the work failed, 2 for bad input, 141 if nobody reads the output
        any more; 130 and 143 are given for Ctrl-C and SIGTERM, after which this does not return.
    """
    # One line for users, who know nothing of the place in the code.
    warnings.formatwarning = lambda message, *_, **__: f"warning: {one_line(str(message))}\n"
    stopping = Stopping()
    words = sys.argv[1:] if arguments is None else arguments
    return stopping.run(lambda: run_command(words, stopping))


if __name__ == "__main__":
    sys.exit(main())
