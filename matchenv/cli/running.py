"""From the words of a command line to a command that runs, and to an exit status."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import textwrap
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import tyro

from matchenv.cli import BAD_INPUT, DONE, FAILED, say_error
from matchenv.cli.options import Command
from matchenv.cli.output import ReaderGoneError, show
from matchenv.runtime.parallel import WorkerEnded, use_own_lock
from matchenv.runtime.signals import Stopping

CommandType = TypeVar("CommandType", bound=Command)

# What the extras of the package hold, by the names under which it is imported.
EXTRAS = {
    "agents": (
        "torch",
        "stable_baselines3",
        "sb3_contrib",
        "safetensors",
        "yaml",
        "pydantic",
        "tensorboard",
    ),
    "benchmarks": ("matplotlib", "plotly", "pandas", "jinja2"),
    "logs": ("pandas", "openskill"),
    "render": ("pygame",),
    "serve": ("fastapi", "uvicorn"),
}


def run(
    name: str, kind: type[Command], words: Sequence[str], stopping: Stopping | None = None
) -> int:
    """Read the options of a command and run it.

    Args:
        name: of the command.
        kind: its dataclass.
        words: the options as they were typed.
        stopping: told what to say when the command is stopped.

    Returns:
        The exit status.
    """
    debug = "--debug" in words
    try:
        command = parsed(name, kind, words)
        if stopping is not None:
            stopping.note = lambda: command.note
        for extra in command.extras:
            require(name, extra)
        use_own_lock()
        command.run()
        command.say_where(command.results)
    except SystemExit as ended:  # from --help
        return int(ended.code or DONE)
    except ReaderGoneError:
        raise
    except Exception as error:
        if debug:
            traceback.print_exc()
        # A package that is missing is the user's to install; what cannot be read or written, and
        # what we did not think of, is work that failed.
        bad_input = isinstance(error, ValueError | ImportError)
        known = bad_input or isinstance(error, OSError | FloatingPointError)
        message = str(error) if known else f"{type(error).__name__}: {error} (see --debug)"
        if isinstance(error, WorkerEnded):
            message += f"; {command.note}"
        status = getattr(error, "exit_status", BAD_INPUT if bad_input else FAILED)
        return say_error(message, status)
    return DONE


def parsed(name: str, kind: type[CommandType], words: Sequence[str]) -> CommandType:
    """The command that the words ask for.

    Raises:
        ValueError: for words that it does not know, and values that it does not take.
        SystemExit: after the help was shown.
    """
    said, asked = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(asked):
            command = tyro.cli(
                kind,
                prog=f"matchenv {name}",
                description=inspect.cleandoc(kind.__doc__ or "").partition("\nAttributes:")[0],
                args=together(kind, words),
                config=(tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes),
            )
    except SystemExit as ended:
        if ended.code:
            raise ValueError(f"{_one_line(said.getvalue())} (see matchenv {name} --help)") from None
        show(_plain(asked.getvalue()))
        raise
    check_text(command)
    command.check_given({_option(word)[2:].replace("-", "_") for word in words if _is_option(word)})
    return command


def check_text(options: Any) -> None:
    """Refuse what no file of results can hold and no file can be called.

    Args:
        options: dataclass of options, which may hold others.

    Raises:
        ValueError: for text with bytes that are not UTF-8, and paths with a zero byte.
    """
    for name in (each.name for each in fields(options)):
        value = getattr(options, name)
        if is_dataclass(value):
            check_text(value)
        for text in value if isinstance(value, tuple) else (value,):
            option = f"--{name.replace('_', '-')}"
            if isinstance(text, str) and text != text.encode(errors="replace").decode():
                raise ValueError(f"{option} must be UTF-8, got {text!a}")
            if isinstance(text, Path) and "\0" in str(text):
                raise ValueError(f"{option} must be a path, got {str(text)!a}")


def together(kind: type[Command], words: Sequence[str]) -> list[str]:
    """The same words, with the values of a list in one place.

    ``--policy kg --policy pe`` is ``--policy kg pe``; the parser would forget the first one.
    """
    lists = set(_lists(kind))
    found: dict[str, list[str]] = {}
    values = rest = list[str]()
    for word in words:
        if not _is_option(word):
            values.append(word)
        elif _option(word) in lists:
            values = found.setdefault(_option(word), [])
            values.extend(word.split("=", 1)[1:])
        else:
            values = rest
            values.append(word)
    return [*rest, *(word for option, values in found.items() for word in (option, *values))]


def _lists(kind: type[Any]) -> Iterator[str]:
    """The options that take several values."""
    for name, hint in get_type_hints(kind).items():
        if is_dataclass(hint):
            yield from _lists(hint)  # type: ignore[arg-type]
        elif tuple in (get_origin(hint), *map(get_origin, get_args(hint))):
            yield f"--{name.replace('_', '-')}"


def _is_option(word: str) -> bool:
    return word.startswith("--") and len(word) > 2


def _option(word: str) -> str:
    return word.partition("=")[0].replace("_", "-")


def require(name: str, extra: str) -> None:
    """See that an extra of the package is installed, before any work begins.

    Raises:
        ImportError: if not; it says how to install it.
    """
    for package in EXTRAS[extra]:
        if find_spec(package) is None:
            raise ImportError(
                f'matchenv {name} needs the package {package}: pip install "matchenv[{extra}]"'
            )


# Columns of a description.
WIDTH = 80

# What the parser's help is to look like: no rules, no words of Python, no digits beyond reading.
PLAINER = (
    (r"``", ""),
    (r"\n *-{3,} *(?=\n)", ""),
    (r"(?m)^ (?:[\w.]+\.)?(\w+)(?: options| arguments)? *$", r"\1:"),
    (r"(?:\{None\}\|)?\{?\[(\S+) \[\1 \.\.\.\]\]\}?", r"\1 ..."),
    (r"\{None\}\|(\S+)", r"\1       "),
    (r"\s+\(default:\s+(None|False|'')?\)", ""),
    (r"(?<=\d\.\d{5})\d+", ""),
    (r"(?<=\d)\.0(?=[ )])", ""),
    (r"\n\n(?=  )", "\n"),
    (r"(?m) +$", ""),
    # What is said of an option ends in a full stop, and its default stands before that.
    (r"\.(\s+\((?:default:[^()]*|required)\))", r"\1."),
)  # fmt: skip


def _plain(text: str) -> str:
    """The parser's help without its rules and its spaces."""
    for pattern, plainer in PLAINER:
        text = re.sub(pattern, plainer, text)
    return "\n".join(
        line if line.startswith(" ") else textwrap.fill(line, WIDTH)
        for line in text.strip().split("\n")
    )


def _one_line(text: str) -> str:
    """The parser's complaint, without its heading and its hints at the help."""
    parts = re.split(r"\n *-{3,} *\n", text)
    meant = [option for part in parts if "Perhaps" in part for option in re.findall(r"--\S+", part)]
    hint = f" Perhaps you meant {' or '.join(meant)}." if meant else ""
    return " ".join(parts[min(1, len(parts) - 1)].split()) + hint
