"""The command ``matchenv`` and its subcommands.

Each subcommand is a module of this folder that is imported when it runs. Its docstring begins the
help, ``add_arguments`` adds its options to an argparse parser, and ``run`` calls functions of other
rooms with their values. To add one, write the module and add its line below.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

from matchenv.runtime.checks import hint_of, printable
from matchenv.runtime.object_spec import only_own_code
from matchenv.runtime.signals import WORDS, received_signal

if TYPE_CHECKING:
    from matchenv.cli.parser import Parser

# The commands of each group, with their summaries.
GROUPS = {
    "Policies": {
        "train": "train a policy and compare it with the baselines",
        "compare": "play the same games with every policy",
        "tune": "find the best setting of KG, or of the queue's policies",
        "study": "repeat the simulation study of the 2011 paper",
        "bench": "score a policy on matchenv-bench-v1",
        "limits": "bound what any policy can reach, or solve small problems",
        "watch": "watch policies side by side, in a window or as a film",
        "report": "gather results in one page",
    },
    "Match logs and services": {
        "replay": "rate a log of matches and judge the ratings",
        "fit": "fit the parameters of TrueSkill to a log of matches",
        "smooth": "estimate skills through time from a whole log",
        "rank": "rank items by pairwise games, and choose the next pairs",
        "judge": "judge the matcher that made the games of a log",
        "serve": "keep ratings and match players over HTTP",
    },
    "Installation": {"warm-up": "compile in advance what a first episode needs"},
}
COMMANDS = GROUPS["Policies"] | GROUPS["Match logs and services"] | GROUPS["Installation"]

# Most characters of an error message.
LONGEST_MESSAGE = 2000

# Exit statuses; Ctrl-C and SIGTERM give 130 and 143. READER_GONE is what shells show for SIGPIPE.
DONE, FAILED, BAD_INPUT, READER_GONE = 0, 1, 2, 141


STANDARD_OUTPUT = "standard output"


def run_command(arguments: Sequence[str]) -> int:
    """Run a subcommand.

    Args:
        arguments: its name and options.

    Returns:
        The exit status: 0, 1 if the work failed, 2 for bad input, 130 and 143 after Ctrl-C and
        SIGTERM, 141 if the reader of the output has ended.
    """
    if sys.stderr is None:  # closed, as in some services
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for what the terminal cannot show
    status = _run(arguments)
    try:
        show("", end="", flush=True)
    except OSError as error:
        # Python would try again at exit, and print a traceback.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return status or _refused(error)
    return status


def _run(arguments: Sequence[str]) -> int:
    name, *words = arguments or ["--help"]
    parsed = None
    try:
        if name in ("-h", "--help"):
            show(help_text())
            return DONE
        if name == "--version":
            show(f"matchenv {import_module('matchenv').__version__}")
            return DONE
        if name not in COMMANDS:
            hint = hint_of(name, COMMANDS)
            raise ValueError(f"a command must be one of {', '.join(COMMANDS)}, got {name!r}{hint}")
        parsed = parser_of(name).parse(words)
        from tqdm import tqdm

        # Its default is a semaphore of the system, which outlives a process that is killed.
        tqdm.set_lock(threading.RLock())
        permission: AbstractContextManager[None] = nullcontext()
        if getattr(parsed, "allow_code", False):
            permission = only_own_code(allow_code=True)
        with permission:
            command_module(name).run(parsed)
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        note = ""
        if parsed is not None:
            note = parsed.note
        # Libraries raise other errors for an interrupted import.
        if isinstance(error, KeyboardInterrupt) or received_signal() is not None:
            return interrupted(note)
        if parsed is None and isinstance(error, SystemExit):  # from --help
            return DONE
        if "--debug" in words:
            traceback.print_exc()
        return _refused(error, note)
    return DONE


def interrupted(note: str = "") -> int:
    """Print a line about the signal that stopped the command, and return the exit status."""
    number = received_signal() or signal.SIGINT
    line = WORDS[number]
    if note:
        line += f"; {note}"
    with suppress(OSError):  # a terminal that is gone
        print(line, file=sys.stderr, flush=True)
    return 128 + number


def _refused(error: BaseException, note: str = "") -> int:
    """Print an error in one line and return the exit status, both by its type."""
    if isinstance(error, BrokenPipeError) and error.filename == STANDARD_OUTPUT:
        return READER_GONE
    from matchenv.runtime.parallel import WorkerEnded

    bad_input = isinstance(error, ValueError | ImportError)  # an extra that is not installed
    message = f"{error}; {note}" if isinstance(error, WorkerEnded) else str(error)
    if not bad_input and not isinstance(error, OSError | FloatingPointError):
        message = f"{type(error).__name__}: {error} (see --debug)"
    with suppress(OSError):  # a terminal that is gone
        print(f"error: {one_line(message)}", file=sys.stderr)
    return getattr(error, "exit_status", BAD_INPUT if bad_input else FAILED)


def command_module(name: str) -> Any:
    """Import the module of a command."""
    return import_module(f"{__name__}.{name.replace('-', '_')}")


def parser_of(name: str) -> Parser:
    """Return the parser of a command."""
    from matchenv.cli.parser import Parser

    command = command_module(name)
    parser = Parser(f"matchenv {name}", command.__doc__)
    command.add_arguments(parser)
    group = parser.add_argument_group("help")
    group.add_argument("--debug", action="store_true", help="show where an error comes from")
    group.add_argument("-h", "--help", action="help", help="show this help")
    return parser


def help_text() -> str:
    """Return the help of ``matchenv``: all commands with their summaries."""
    width = max(map(len, COMMANDS))
    lines = ["usage: matchenv COMMAND [OPTIONS]", ""]
    for title, group in GROUPS.items():
        lines += [f"{title}:", *(f"  {name:{width}}  {COMMANDS[name]}" for name in group)]
    tail = "Options of a command: matchenv COMMAND --help. Version: matchenv --version."
    return "\n".join([*lines, "", tail])


def show(text: str, *, end: str = "\n", file: TextIO | None = None, flush: bool = False) -> None:
    """Print text with control characters escaped, since it may hold names from files.

    Raises:
        OSError: if it cannot be written; names the standard output.
    """
    try:
        print(printable(text, kept="\n\t"), end=end, file=file or sys.stdout, flush=flush)
    except OSError as error:
        raise OSError(error.errno, error.strerror, STANDARD_OUTPUT) from None


def one_line(message: str) -> str:
    """Return a message in one line of at most ``LONGEST_MESSAGE`` characters."""
    line = printable(" ".join(message.split()))
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]} ..."
