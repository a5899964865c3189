"""The command ``matchenv``; the same as ``python -m matchenv``."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

from matchenv.cli import one_line, run_command
from matchenv.runtime.signals import Stopping


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command in this process, and handle its signals.

    Args:
        arguments: command line without the program's name; None for that of the process.

    Returns:
        The exit status; see ``run_command``. After Ctrl-C and SIGTERM the process ends with 130 and
        143, and this does not return.
    """
    # In one line, without the place in the code.
    warnings.formatwarning = lambda message, *_, **__: f"warning: {one_line(str(message))}\n"
    stopping = Stopping()
    words = sys.argv[1:] if arguments is None else arguments
    return stopping.run(lambda: run_command(words, stopping))


if __name__ == "__main__":
    sys.exit(main())
