"""The command ``matchenv`` and its sub-commands: one module and one dataclass for each.

A dataclass is a command: its fields are the options, its docstring is the help, and ``run`` does
the work. It stands above all rooms. Only the module of the command that is asked for is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from matchenv.cli.output import (
    ReaderGoneError,
    finish_output,
    one_line,
    prepare_output,
    show,
)

if TYPE_CHECKING:
    from matchenv.runtime.signals import Stopping


@dataclass(frozen=True)
class Entry:
    """Where a sub-command is found.

    Attributes:
        place: the module in this folder, and the dataclass in it.
        summary: what it does, in a line.
    """

    place: str
    summary: str


COMMANDS = {
    "train": Entry("train:Train", "train a policy and compare it with the baselines"),
    "compare": Entry("compare:Compare", "play the same games with every policy"),
    "study": Entry("study:Study", "repeat the simulation study of the 2011 paper"),
    "tune": Entry("tune:Tune", "find KG's multiplier for each cell of the study"),
    "bench": Entry("bench:Bench", "score a policy on matchenv-bench-v1"),
    "bound": Entry("bound:Bound", "bound what any policy can reach"),
    "optimum": Entry("optimum:Optimum", "the exact optimum of small problems"),
    "replay": Entry("replay:Replay", "rate a log of matches and judge the ratings"),
    "fit": Entry("fit:Fit", "fit the parameters of TrueSkill to a log of matches"),
    "smooth": Entry("smooth:Smooth", "skills through time in hindsight, from a whole log"),
    "judge": Entry("judge:Judge", "judge the matcher that made the games of a log"),
    "report": Entry("report:Report", "gather results in one page"),
    "watch": Entry("watch:Watch", "watch policies side by side, in a window or as a film"),
    "serve": Entry("serve:Serve", "keep ratings and match players over HTTP"),
    "warm-up": Entry("warm_up:WarmUp", "compile beforehand what a first episode would wait for"),
}

# Exit statuses; Ctrl-C and SIGTERM give 130 and 143. The last is that of a process that a closed
# pipe ends, as shells show it.
DONE, FAILED, BAD_INPUT, READER_GONE = 0, 1, 2, 141


def run_command(arguments: Sequence[str], stopping: Stopping | None = None) -> int:
    """Run a sub-command.

    Args:
        arguments: its name and its options.
        stopping: told what to say when the command is stopped.

    Returns:
        The exit status: 0, 1 if the work failed, 2 for bad input, 141 if nobody reads the output
        any more.
    """
    prepare_output()
    try:
        try:
            return _run(arguments, stopping)
        finally:
            finish_output()
    except ReaderGoneError:
        return READER_GONE
    except OSError as error:
        return say_error(f"the output cannot be written: {error}", FAILED)


def _run(arguments: Sequence[str], stopping: Stopping | None) -> int:
    name, *options = arguments or ["--help"]
    if name in ("-h", "--help"):
        show(help_text())
        return DONE
    if name == "--version":
        show(f"matchenv {_version()}")
        return DONE
    if name not in COMMANDS:
        return say_error(f"a command must be one of {', '.join(COMMANDS)}, got {name!r}", BAD_INPUT)
    from matchenv.cli.running import run

    module, _, kind = COMMANDS[name].place.partition(":")
    return run(name, getattr(import_module(f"{__name__}.{module}"), kind), options, stopping)


def help_text() -> str:
    """All sub-commands, a line for each."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {entry.summary}" for name, entry in COMMANDS.items()]
    return "\n".join(
        [
            "usage: matchenv COMMAND [OPTIONS]",
            "",
            "Match-making under uncertain skill.",
            "",
            *lines,
            "",
            "Options of a command: matchenv COMMAND --help. Version: matchenv --version.",
        ]
    )


def say_error(message: str, status: int) -> int:
    """Say what is wrong in one line, and give the status back."""
    with suppress(OSError):  # nobody may be there to read it
        print(f"error: {one_line(message)}", file=sys.stderr)
    return status


def _version() -> str:
    from matchenv import __version__

    return __version__
