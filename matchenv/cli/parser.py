"""The options of commands: argparse with our messages, groups and help.

``OPTIONS`` has those that several commands share.
"""

from __future__ import annotations

import argparse
import difflib
import inspect
import re
import shlex
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from matchenv.cli import show
from matchenv.envs import ENVIRONMENTS, part_of
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.protocols import LOADS
from matchenv.evaluation.protocols import ONE_PLAYER as PROTOCOL
from matchenv.evaluation.registry import ONE_PLAYER, QUEUE, expanded
from matchenv.evaluation.tables import as_wide_as_the_terminal
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.parallel import LOCAL

if TYPE_CHECKING:
    from matchenv.logs.reading import Reading

# Columns of the help, and where the explanations of options begin.
WIDTH, EXPLANATION = 80, 24

# What the extras of the package hold, by the names under which it is imported.
EXTRAS = {
    "agents": ("torch", "stable_baselines3", "sb3_contrib", "safetensors", "yaml", "pydantic",
               "tensorboard"),
    "benchmarks": ("matplotlib", "plotly", "pandas", "jinja2"),
    "logs": ("pandas", "openskill"),
    "render": ("pygame",),
    "serve": ("fastapi", "uvicorn"),
}  # fmt: skip
GOES_ON = "what is finished is kept: the same command goes on from here"

RANKS_TEXT = "places of player 0: top, middle, bottom, a number from 0 (the best), or any"
RANK_TEXT = RANKS_TEXT.replace("places", "place")
FOLDER_TEXT = "folder for the result files; the same command resumes there"

# By name: the help, the default, and where the default does not show it the type of a value.
OPTIONS: dict[str, tuple[Any, ...]] = {
    "policy": (
        "names of policies, with options as in kg:multiplier=20, or several as in "
        "'kg:multiplier={3,5}'; learned policies, folders of runs, module:Class of your own; an "
        "unknown name lists the known ones", (),
    ),
    "rank": (RANKS_TEXT, tuple(PROTOCOL.swept["rank"])),
    "prior": (
        "what policies know at the start: informative, equal, or a class as in "
        "matchenv:NormalPrior:mean=25,deviation=8.3", tuple(PROTOCOL.swept["prior"]),
    ),
    "episodes": ("instances in each cell", 0),
    "seed": ("random seed; the same seed gives the same numbers", 0),
    "env": ("where to play", ONE_PLAYER, tuple(ENVIRONMENTS)),
    "load": ("players who log on in a tick: thin, middle, thick or numbers", tuple(LOADS)),
    "env_kwargs": (
        "options of other environments than Matchmaking-v0 as KEY=VALUE, for example patience=10 "
        "or population=ratings.csv; outside the queue 'KEY={1,2}' plays with each value", (),
    ),
    "out": (f"{FOLDER_TEXT} (default: none are written)", None, Path),
    "workers": (
        "worker processes; results do not depend on it (default: one for each core)", None, int,
    ),
    "engine": (
        "where the workers run: local, this machine, or ray[:ADDRESS], a Ray cluster", LOCAL,
    ),
    "quiet": ("no progress bar and no table", False),
}  # fmt: skip
RESULTS = ("out", "workers", "engine", "quiet")

# Options of the environment: all, and those of a command whose cells and policies fix the others.
ALL_OPTIONS = tuple(each.name for each in fields(Settings))
ENVIRONMENT = tuple(
    name for name in ALL_OPTIONS if name not in ("rank", "prior", "reward", "belief", "noise")
)

# A command: it declares its options, is sent what the user gave, and does the work.
Command = Generator[None, "Given", None]


class Given(argparse.Namespace):
    """Values of a command's options, by name with underscores.

    Attributes:
        command: name of the command.
        said: names of the options that were given, even with their defaults.
        note: tells what the user should know when the command is stopped.
    """

    command: str
    said: frozenset[str]
    note: Callable[[], str] = staticmethod(lambda: "nothing was written")

    def made(self, kind: Any) -> Any:
        """Return a dataclass of options, as ``Parser.fields_of`` declared it."""
        return kind(
            **{
                each.name: self.made(hint) if is_dataclass(hint) else getattr(self, each.name)
                for each, hint in _fields(kind)
            }
        )

    def chosen(self, names: Iterable[str]) -> dict[str, Any]:
        """Return some of the options by name."""
        return {name: getattr(self, name) for name in names}

    def told(self, *names: str) -> dict[str, Any]:
        """Return those of the options that were given."""
        return self.chosen(name for name in names if name in self.said)

    def needs(self, *extras: str) -> None:
        """Check that extras of the package are installed, before any work begins.

        Raises:
            ImportError: if not; it says how to install them.
        """
        for extra in extras:
            for package in EXTRAS[extra]:
                if find_spec(package) is None:
                    raise ImportError(
                        f"matchenv {self.command} needs the package {package}: "
                        f'pip install "matchenv[{extra}]"'
                    )

    def refuse(self, names: Iterable[str], why: str) -> None:
        """Raise ``ValueError`` if one of these options was given.

        Args:
            names: of the options.
            why: begins the message, which ends with those that were given.
        """
        idle = sorted(self.said.intersection(names))
        if idle:
            raise ValueError(f"{why}, got {', '.join(map(option_of, idle))}")

    def problem(self) -> dict[str, Any]:
        """Return environment, cells and options as ``run_comparison`` takes them.

        Raises:
            ValueError: for options that mean nothing in the environment.
        """
        swept = part_of(self.env, "protocol").swept
        kwargs = {name: value for name, value in self.environment().items() if name not in swept}
        cells = {name: value if isinstance(value, tuple) else (value,)
                 for name, value in self.chosen(swept).items()}  # fmt: skip
        several = [text for text in self.env_kwargs if "{" in text]
        for text in expanded(several):
            for name, value in with_pairs([text], {}).items():
                cells[name] = (*cells.get(name, ()), value)
        single = [text for text in self.env_kwargs if text not in several]
        return {"env": self.env, "cells": cells, "env_kwargs": with_pairs(single, kwargs)}

    def environment(self) -> dict[str, Any]:
        """Return the options of the environment that were given, but for ``--env-kwargs``.

        Raises:
            ValueError: for options of another environment.
        """
        known = [each.name for each in fields(part_of(self.env, "settings"))]
        known += part_of(self.env, "protocol").swept
        for only, names in ((ONE_PLAYER, ALL_OPTIONS), (QUEUE, ("load",))):
            self.refuse(set(names).difference(known), f"with --env {only} alone may be given")
        return self.told(*known)

    def run_options(self, report: Callable[[Any], object] | None = None) -> RunOptions:
        """Return how a command works and what it keeps: it goes on where it was stopped.

        Args:
            report: told what was found.
        """
        if self.out is not None:
            self.note = lambda: GOES_ON
        return RunOptions(self.out, report=report, **self.chosen(("workers", "engine", "quiet")))

    def reading(self) -> Reading:
        """Read the log of a command; what was left out is said even when quiet."""
        from matchenv.logs.reading import ReadingSettings, read_log, reading_text

        found = read_log(self.log, self.made(ReadingSettings))
        show(reading_text(found, listed=0 if self.quiet else 5), file=sys.stderr)
        return found

    def say(self, text: str | Callable[[], str]) -> None:
        """Print a result, unless ``--quiet`` was given.

        Args:
            text: the result; a function returns it with tables as wide as the terminal.
        """
        if not self.quiet:
            with as_wide_as_the_terminal():
                said = text if isinstance(text, str) else text()
            show(said.rstrip("\n"), flush=True)

    def say_where(self, text: str | None = None, folder: Path | None = None) -> None:
        """Say where the results are, on the error stream, so that a pipe gets the table alone.

        Args:
            text: says so; None for the command that shows the folder.
            folder: of the results; None for ``--out``.
        """
        folder = folder or self.out
        if folder is not None and not self.quiet:
            shown = f"report {shlex.quote(str(folder))} --out report.html"
            show(text or f"{folder} has the results, shown by: matchenv {shown}", file=sys.stderr)


class Parser(argparse.ArgumentParser):
    """The options of one command.

    Args:
        name: of the command.
        text: its help: a description, and examples.
    """

    def __init__(self, name: str, text: str | None) -> None:
        super().__init__(
            prog=f"matchenv {name}", usage="%(prog)s [OPTIONS]", add_help=False, allow_abbrev=False,
            description=inspect.cleandoc(text or ""), argument_default=argparse.SUPPRESS,
            formatter_class=partial(
                argparse.RawDescriptionHelpFormatter, max_help_position=EXPLANATION, width=WIDTH
            ),
        )  # fmt: skip
        self.command, self.defaults = name, dict[str, Any]()
        self.steps: Command
        self._group: Any = self

    def group(self, title: str, *names: str, **defaults: Any) -> Any:
        """Begin a group of options in the help, with these as ``shared`` takes them; return it."""
        self._group = self.add_argument_group(title)
        self.shared(*names, **defaults)
        return self._group

    def shared(self, *names: str, **defaults: Any) -> None:
        """Declare options of ``OPTIONS`` or of ``Matchmaking-v0``.

        Args:
            names: of the options.
            defaults: other defaults than those of ``OPTIONS``.
        """
        for name in names:
            if name in OPTIONS:
                text, default, *kind = OPTIONS[name]
                self.option(option_of(name), text, defaults.get(name, default), *kind)
            else:
                self.fields_of(Settings, (name,))

    def environments(self, **defaults: Any) -> None:
        """Declare the environment where policies play, with defaults as ``shared`` takes them."""
        self.group("environment", *ENVIRONMENT)
        self.group("queue", "env", "load", "env_kwargs", **defaults)

    def log(self) -> None:
        """Declare the log that a command reads, and how."""
        from matchenv.logs.reading import ReadingSettings

        self.group("log")
        self.option("log", "the log, a .csv or .csv.gz file", None, Path)
        self.fields_of(ReadingSettings)

    def option(
        self, name: str, text: str, default: Any = None, kind: Any = None, **more: Any
    ) -> None:
        """Declare an option, or a word without an option's name.

        Args:
            name: such as ``--out``; without hyphens for a word.
            text: the help, without full stop and default.
            default: False for a flag; a tuple if several values are taken.
            kind: type of a value, a key of ``KINDS``, or a tuple of the allowed words; None for
                the default's.
            more: as argparse's ``add_argument`` takes it.
        """
        many, shown = isinstance(default, tuple), _shown(default)
        plain = name.removeprefix("--").replace("-", "_")
        if kind is None:
            value = default[0] if many and default else default
            kind = str if value is None or value == () else type(value)
        if kind is bool:
            more["action"] = "store_true"
        elif isinstance(kind, tuple):
            more["type"], more["metavar"] = partial(_one_of, kind), f"{{{','.join(kind)}}}"
        else:
            more["type"], more["metavar"] = KINDS[kind]
        if many:
            more |= {"nargs": "+", "action": "extend"}
        if name == plain:
            more["metavar"] = name.upper()
            self.usage = f"%(prog)s {name.upper()} [OPTIONS]"
        self.defaults[plain] = default
        text += f" (default: {shown})" if shown and "(default" not in text else ""
        self._group.add_argument(name, help=f"{text}.", **more)

    def fields_of(self, kind: Any, names: Iterable[str] = ()) -> None:
        """Declare the fields of a dataclass, and of those in it, as options.

        Args:
            kind: the dataclass. The help is a field's ``metadata["text"]``, or the text of the
                docstring's ``Attributes``.
            names: of the fields; none for all.
        """
        texts = _attribute_texts(kind)
        # A dataclass in it is a group of its own, after those of no group.
        for each, hint in sorted(_fields(kind), key=lambda field: is_dataclass(field[1])):
            if names and each.name not in names:
                continue
            if is_dataclass(hint):
                self.group(re.split("[.;]", inspect.getdoc(hint) or "")[0].lower())
                self.fields_of(hint)
                continue
            known = getattr(each.metadata.get("check"), "keywords", {}).get("known", ())
            text = each.metadata.get("text", texts.get(each.name, ""))
            self.option(option_of(each.name), re.sub('[`"]', "", text), each.default,
                        tuple(known) or _plain_type(hint))  # fmt: skip

    def given(self, words: Sequence[str]) -> Given:
        """Return the values of a command line.

        Raises:
            ValueError: for unknown words and bad values.
            SystemExit: after the help was shown.
        """
        found, rest = self.parse_known_args(list(words), Given())
        if rest:
            self._refuse(rest[0])
        said = vars(found)
        for name, value in said.items():
            said[name] = tuple(value) if isinstance(value, list) else value
        found.said = frozenset(said)
        found.command = self.command
        for name, value in self.defaults.items():
            said.setdefault(name, value)
        return found

    def _refuse(self, word: str) -> None:
        if word.startswith("--"):
            name = word.partition("=")[0]
            near = difflib.get_close_matches(name, self._option_string_actions, 1, 0.75)
            self.error(f"unknown option {name}{f'; perhaps you meant {near[0]}' if near else ''}")
        hint = f"; perhaps you meant --policy {word}" if "policy" in self.defaults else ""
        self.error(f"unexpected word {word!r}{hint}")

    def error(self, message: str) -> Any:
        """Raise ``ValueError`` with argparse's message in our form."""
        for form, ours in (
            (r"^argument (\S+): expected (at least )?one argument$", r"\1 needs a value"),
            (r"^argument (\S+): ignored explicit argument (.*)$", r"\1 takes no value, got \2"),
            (r"^argument (\S+): ", r"\1 "),
            (r"^(\S+) invalid int value: ", r"\1 must be an integer, got "),
            (r"^(\S+) invalid float value: ", r"\1 must be a number, got "),
            (r"^the following arguments are required: (.*)$", r"\1 must be given"),
        ):
            message = re.sub(form, ours, message, flags=re.DOTALL)
        raise ValueError(f"{message} (see {self.prog} --help)")


def with_pairs(texts: Sequence[str], found: dict[str, Any]) -> dict[str, Any]:
    """Return options with those of texts of ``--env-kwargs``.

    Raises:
        ValueError: for a text that is not KEY=VALUE, or an option given twice.
    """
    if not texts:
        return found
    from matchenv.agents import with_extra

    parse_pairs = with_extra("matchenv.agents.config_file", "parse_pairs")
    pairs: dict[str, Any] = parse_pairs("env-kwargs", list(texts))
    names = [*found, *(text.partition("=")[0].strip() for text in texts)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"env-kwargs must not repeat other options, got {', '.join(twice)}")
    return {**found, **pairs}


def option_of(name: str) -> str:
    """Return the option of a name: ``--num-opponents`` of ``num_opponents``."""
    return f"--{name.replace('_', '-')}"


def _one_of(known: Sequence[str], text: str) -> str:
    if text not in known:
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(known)}, got {text!a}")
    return text


def _integer_or_text(text: str) -> int | str:
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else _text(text)


def _text(text: str) -> str:
    if text != text.encode(errors="replace").decode():
        raise argparse.ArgumentTypeError(f"must be UTF-8, got {text!a}")
    return text


def _path(text: str) -> Path:
    if "\0" in text:
        raise argparse.ArgumentTypeError(f"must be a path, got {text!a}")
    return Path(_text(text))


# How a value of each type is read, and what the help calls it.
KINDS: dict[Any, tuple[Callable[[str], Any], str]] = {
    int: (int, "N"), float: (float, "X"), str: (_text, "TEXT"), Path: (_path, "PATH"),
    int | str: (_integer_or_text, "TEXT"),
}  # fmt: skip


def _shown(default: Any) -> str:
    if default is None or isinstance(default, bool):
        return ""
    if isinstance(default, tuple):
        return " ".join(map(_shown, default))
    return f"{default:.6g}" if isinstance(default, float) else str(default)


def _fields(kind: Any) -> list[tuple[Any, Any]]:
    """Return the fields of a dataclass with their types."""
    hints = get_type_hints(kind)
    return [(each, hints[each.name]) for each in fields(kind)]


def _plain_type(hint: Any) -> Any:
    """Return the type of one value, or the words that it may be."""
    while get_origin(hint) is not None and get_origin(hint) is not Literal:
        hint = next(each for each in get_args(hint) if each not in (type(None), ...))
    return get_args(hint) or hint


def _attribute_texts(kind: Any) -> dict[str, str]:
    """Return the texts of the attributes in a docstring."""
    docs = [inspect.cleandoc(each.__doc__ or "") for each in reversed(kind.__mro__)]
    listed = "\n".join(doc.partition("\nAttributes:\n")[2] for doc in docs)
    entries = re.findall(r"^    (\w+): (.*(?:\n {8,}.*)*)", listed, re.MULTILINE)
    return {name: " ".join(text.split()).rstrip(".") for name, text in entries}
