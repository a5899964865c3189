"""The command ``matchenv`` and its subcommands.

A subcommand is a generator ``declare_NAME(add)`` in a module of this folder, which is imported when
the subcommand runs. Its docstring is the help. It declares its options, receives their values from
``given = yield``, and calls one function of another room. To add one, write it and add its line
below.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from importlib import import_module
from typing import Any, TextIO

from matchenv.runtime.checks import hint_of, printable
from matchenv.runtime.object_spec import only_own_code
from matchenv.runtime.signals import WORDS, received_signal

# The commands of each group, with their modules and summaries.
GROUPS = {
    "Policies": {
        "train": ("train", "train a policy and compare it with the baselines"),
        "compare": ("policies", "play the same games with every policy"),
        "tune": ("policies", "find the best setting of KG, or of the queue's policies"),
        "study": ("policies", "repeat the simulation study of the 2011 paper"),
        "bench": ("policies", "score a policy on matchenv-bench-v1"),
        "limits": ("policies", "bound what any policy can reach, or solve small problems"),
        "watch": ("policies", "watch policies side by side, in a window or as a film"),
        "report": ("policies", "gather results in one page"),
    },
    "Match logs and services": {
        "replay": ("logs", "rate a log of matches and judge the ratings"),
        "fit": ("logs", "fit the parameters of TrueSkill to a log of matches"),
        "smooth": ("logs", "estimate skills through time from a whole log"),
        "rank": ("rank", "rank items by pairwise games, and choose the next pairs"),
        "judge": ("logs", "judge the matcher that made the games of a log"),
        "serve": ("serve", "keep ratings and match players over HTTP"),
    },
    "Installation": {"warm-up": ("policies", "compile in advance what a first episode needs")},
}
COMMANDS = {name: text for group in GROUPS.values() for name, (_, text) in group.items()}

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
    given = None
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
        parser = parser_of(name)
        given = parser.given(words)
        from tqdm import tqdm

        # Its default is a semaphore of the system, which outlives a process that is killed.
        tqdm.set_lock(threading.RLock())
        permitted = getattr(given, "allow_code", False)
        permission = only_own_code(allow_code=True) if permitted else nullcontext()
        with permission, suppress(StopIteration):  # the end of the command
            parser.steps.send(given)
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        note = "" if given is None else given.note()
        # Libraries raise other errors for an interrupted import.
        if isinstance(error, KeyboardInterrupt) or received_signal() is not None:
            return interrupted(note)
        if given is None and isinstance(error, SystemExit):  # from --help
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


def parser_of(name: str) -> Any:
    """Return the parser of a command, whose ``steps`` wait for the values of its options."""
    from matchenv.cli.parser import Parser

    (module,) = (group[name][0] for group in GROUPS.values() if name in group)
    declare = getattr(import_module(f"{__name__}.{module}"), f"declare_{name.replace('-', '_')}")
    parser = Parser(name, declare.__doc__)
    parser.steps = declare(parser)
    next(parser.steps)
    last = parser.group("help")
    parser.option("--debug", "show where an error comes from", False)
    last.add_argument("-h", "--help", action="help", help="show this help.")
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
