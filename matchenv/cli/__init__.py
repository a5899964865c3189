"""The command ``matchenv`` and its sub-commands.

A command is a generator ``declare_NAME(add)`` in a module of this folder, which is imported when
the command is asked for. Its docstring is the help; it declares the options, waits in a line
``given = yield`` for what the user gave, and calls one function of another room. To add a command,
write it and add its line below.
"""

from __future__ import annotations

import difflib
import io
import os
import sys
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

from matchenv.runtime.checks import printable

if TYPE_CHECKING:
    from matchenv.runtime.signals import Stopping

# By group: the commands, each with its module and what it does.
GROUPS = {
    "Policies": {
        "train": ("train", "train a policy and compare it with the baselines"),
        "compare": ("policies", "play the same games with every policy"),
        "tune": ("policies", "find the best setting of KG, or of the queue's policies"),
        "study": ("policies", "repeat the simulation study of the 2011 paper"),
        "bench": ("policies", "score a policy on matchenv-bench-v1"),
        "limits": ("policies", "what no policy can exceed, and the optimum of small problems"),
        "watch": ("policies", "watch policies side by side, in a window or as a film"),
        "report": ("policies", "gather results in one page"),
    },
    "Match logs and services": {
        "replay": ("logs", "rate a log of matches and judge the ratings"),
        "fit": ("logs", "fit the parameters of TrueSkill to a log of matches"),
        "smooth": ("logs", "skills through time in hindsight, from a whole log"),
        "rank": ("logs", "rank items by games of two, and name the pairs to play next"),
        "judge": ("logs", "judge the matcher that made the games of a log"),
        "serve": ("serve", "keep ratings and match players over HTTP"),
    },
    "Installation": {"warm-up": ("policies", "compile in advance what a first episode needs")},
}
COMMANDS = {name: text for group in GROUPS.values() for name, (_, text) in group.items()}

# Characters of an error message; a header with 10,000 columns would fill the screen.
LONGEST_MESSAGE = 2000

# Exit statuses; Ctrl-C and SIGTERM give 130 and 143. The last is that of a process that a closed
# pipe ends, as shells show it.
DONE, FAILED, BAD_INPUT, READER_GONE = 0, 1, 2, 141


class ReaderGoneError(Exception):
    """Nobody reads the output any more."""


def run_command(arguments: Sequence[str], stopping: Stopping | None = None) -> int:
    """Run a sub-command.

    Args:
        arguments: its name and its options.
        stopping: told what to say when the command is stopped.

    Returns:
        The exit status: 0, 1 if the work failed, 2 for bad input, 141 if nobody reads the output
        any more.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A character that the screen does not know costs no result.
            stream.reconfigure(errors="backslashreplace")
    status = DONE
    try:
        status = _run(arguments, stopping)
        show("", end="", flush=True)
    except (ReaderGoneError, OSError) as error:
        # Python would try again at its end, and complain over several lines.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, ReaderGoneError):
            return READER_GONE
        # What failed before has been said.
        return status or say_error(f"the output cannot be written: {error}", FAILED)
    return status


def _run(arguments: Sequence[str], stopping: Stopping | None) -> int:
    name, *words = arguments or ["--help"]
    if name in ("-h", "--help"):
        show(help_text())
        return DONE
    if name == "--version":
        show(f"matchenv {import_module('matchenv').__version__}")
        return DONE
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, 1)
        hint = f"; perhaps you meant {near[0]}" if near else ""
        known = ", ".join(COMMANDS)
        return say_error(f"a command must be one of {known}, got {name!r}{hint}", BAD_INPUT)
    from tqdm import tqdm

    from matchenv.runtime.parallel import WorkerEnded

    # The library's own lock is a semaphore of the system, which a killed process leaves behind.
    tqdm.set_lock(threading.RLock())

    given = None
    try:
        parser = parser_of(name)
        given = parser.given(words)
        if stopping is not None:
            stopping.note = lambda: given.note()
        with suppress(StopIteration):  # the end of the command
            parser.steps.send(given)
    except ReaderGoneError:
        raise
    except (Exception, SystemExit) as error:
        if given is None and isinstance(error, SystemExit):  # from --help
            return DONE
        if "--debug" in words:
            traceback.print_exc()
        # A package that is missing is the user's to install; what cannot be read or written, and
        # what we did not think of, is work that failed.
        bad_input = isinstance(error, ValueError | ImportError)
        known_error = bad_input or isinstance(error, OSError | FloatingPointError)
        message = str(error) if known_error else f"{type(error).__name__}: {error} (see --debug)"
        if isinstance(error, WorkerEnded) and given is not None:
            message += f"; {given.note()}"
        status = getattr(error, "exit_status", BAD_INPUT if bad_input else FAILED)
        return say_error(message, status)
    return DONE


def parser_of(name: str) -> Any:
    """Return the parser of a command, whose ``steps`` wait for what the user gave."""
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
    """Return all sub-commands, a line for each."""
    width = max(map(len, COMMANDS))
    lines = ["usage: matchenv COMMAND [OPTIONS]", ""]
    for title, group in GROUPS.items():
        lines += [f"{title}:", *(f"  {name:{width}}  {COMMANDS[name]}" for name in group)]
    tail = "Options of a command: matchenv COMMAND --help. Version: matchenv --version."
    return "\n".join([*lines, "", tail])


def show(text: str, *, end: str = "\n", file: TextIO | None = None, flush: bool = False) -> None:
    """Print text in which control characters, of names out of files, are escaped.

    Raises:
        ReaderGoneError: if the reader of a pipe has ended.
        OSError: if it cannot be written.
    """
    try:
        print(printable(text, kept="\n\t"), end=end, file=file or sys.stdout, flush=flush)
    except BrokenPipeError:
        raise ReaderGoneError from None
    except OSError as error:  # of a descriptor, which has no name
        raise OSError(error.errno, error.strerror, "standard output") from None


def one_line(message: str) -> str:
    """Return a message in one line, cut where it is very long."""
    # torch complains over several lines.
    line = printable(" ".join(message.split()))
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]} ..."


def say_error(message: str, status: int) -> int:
    """Say what is wrong in one line, and return the status."""
    with suppress(OSError):  # nobody may be there to read it
        print(f"error: {one_line(message)}", file=sys.stderr)
    return status
