"""Options of commands: argparse with help from dataclasses and with suggestions.

``OPTIONS`` holds the options that several commands share.
"""

from __future__ import annotations

import argparse
import inspect
import re
import shlex
import sys
import textwrap
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from matchenv.cli import show
from matchenv.cli.extras import missing_packages
from matchenv.envs import ENVIRONMENTS, environment_named
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.registry import ONE_PLAYER, QUEUE, expanded
from matchenv.evaluation.tables import as_wide_as_the_terminal
from matchenv.runtime.checks import as_choice, hint_of
from matchenv.runtime.files import folder_lock, write_bytes
from matchenv.runtime.jobs import RunOptions
from matchenv.runtime.object_spec import search_working_folder
from matchenv.runtime.parallel import LOCAL
from matchenv.runtime.yaml_values import parse_pairs

if TYPE_CHECKING:
    from matchenv.logs.reading import Reading

# Width of the help in columns, and the column where descriptions begin.
WIDTH, DESCRIPTION = 80, 24

RESUMES = "finished work is kept: run the same command to resume"

RANK_TEXT = "rank of player 0: top, middle, bottom, a number from 0 (the best), or any"
PRIORS_TEXT = "initial beliefs: informative, equal"
FOLDER_TEXT = "folder for the result files; the same command resumes there"

# By name: the description, the default, and the type of a value unless the default shows it.
# Defaults of rank, prior and load are those of the protocols, whose import takes as long as a help.
OPTIONS: dict[str, tuple[Any, ...]] = {
    "policy": (
        "names with options, as kg:multiplier=20 or 'kg:multiplier={3,5}', learned policies, "
        "folders of runs, or module:Class; an unknown name lists all", (),
    ),
    "allow_code": ("import beliefs outside matchenv that learned policies name", False),
    "rank": (RANK_TEXT, ("top", "middle", "bottom")),
    "prior": (
        f"{PRIORS_TEXT}, or a class, for example matchenv:NormalPrior:mean=25,deviation=8.3",
        ("informative",),
    ),
    "episodes": ("episodes in each cell", 0),
    "seed": ("random seed", 0),
    "env": (f"environment: {', '.join(ENVIRONMENTS)}, or module:NAME", ONE_PLAYER, "environment"),
    "load": (
        "players who log on in a tick: thin, middle, thick or numbers", ("thin", "middle", "thick"),
    ),
    "env_kwargs": (
        "options of environments other than Matchmaking-v0 as KEY=VALUE, for example patience=10 "
        "or population=ratings.csv; compare and tune play 'KEY={1,2}', except in the queue", (),
    ),
    "out": (f"{FOLDER_TEXT} (default: write none)", None, Path),
    "workers": (
        "worker processes; results do not depend on it (default: one for each core)", None, int,
    ),
    "engine": (
        "where workers run: local, on this machine, or ray[:ADDRESS], on a Ray cluster", LOCAL,
    ),
    "quiet": ("no progress bar and no printed result", False),
    "overwrite": ("play everything again, also what the folder holds", False),
}  # fmt: skip
RESULTS = ("out", "overwrite", "workers", "engine", "quiet")
# Tables that commands write which read a log.
TABLES = ("ratings.csv", "bad_rows.csv", "curves.csv", "ranking.csv")

# Options of the environment: all, and those that cells and policies do not determine.
ALL_OPTIONS = tuple(field.name for field in fields(Settings))
ENVIRONMENT = tuple(
    name for name in ALL_OPTIONS if name not in ("rank", "prior", "reward", "belief", "noise")
)

# A command declares its options, receives their values, and does its work.
Command = Generator[None, "Given", None]


class Given(argparse.Namespace):
    """Values of a command's options, by name with underscores.

    Attributes:
        command: name of the command.
        explicit: names of the options that were given, even with their defaults.
        note: returns what the user should know if a signal stops the command.
    """

    command: str
    explicit: frozenset[str]
    note: Callable[[], str] = staticmethod(lambda: "nothing was written")

    def build(self, kind: Any) -> Any:
        """Build a dataclass whose options ``Parser.fields_of`` declared."""
        return kind(
            **{
                field.name: self.build(hint) if is_dataclass(hint) else getattr(self, field.name)
                for field, hint in _fields(kind)
            }
        )

    def values(self, *names: str) -> dict[str, Any]:
        """Return some options by name."""
        return {name: getattr(self, name) for name in names}

    def explicit_values(self, *names: str) -> dict[str, Any]:
        """Return those of some options that were given."""
        return self.values(*(name for name in names if name in self.explicit))

    def needs(self, *extras: str) -> None:
        """Check that extras of the package are installed, before any work begins.

        Raises:
            ImportError: if some are not; says how to install them.
        """
        missing: dict[str, None] = {}  # in order, each once
        incomplete = []
        for extra in extras:
            absent = missing_packages(extra)
            missing |= dict.fromkeys(absent)
            if absent:
                incomplete.append(extra)
        if missing:
            raise ImportError(
                f"matchenv {self.command} needs {', '.join(missing)}: "
                f'pip install "matchenv[{",".join(incomplete)}]"'
            )

    def refuse(self, names: Iterable[str], why: str) -> None:
        """Raise ``ValueError`` with a reason and their names if some of these options are given."""
        refused = sorted(self.explicit.intersection(names))
        if refused:
            raise ValueError(f"{why}, got {', '.join(map(option_of, refused))}")

    def problem(self) -> dict[str, Any]:
        """Return environment, cells and options as arguments of ``run_comparison``.

        Raises:
            ValueError: for options that the environment does not have.
        """
        from matchenv.evaluation.protocols import protocol_of

        swept = protocol_of(self.env).swept
        kwargs = {name: value for name, value in self.environment().items() if name not in swept}
        # Commands have defaults for what these two vary.
        own = swept if self.env in (ONE_PLAYER, QUEUE) else self.explicit.intersection(swept)
        cells = {name: value if isinstance(value, tuple) else (value,)
                 for name, value in self.values(*own).items()}  # fmt: skip
        kwargs = with_pairs(self.env_kwargs, kwargs)
        again = kwargs.keys() & swept
        self.refuse(again, "env-kwargs must not repeat other options")
        for name, value in list(kwargs.items()):
            if isinstance(value, list):
                cells[name] = tuple(kwargs.pop(name))
            elif name in again:
                cells[name] = (kwargs.pop(name),)
        return {"env": self.env, "cells": cells, "env_kwargs": kwargs}

    def environment(self) -> dict[str, Any]:
        """Return the options of the environment that were given, except ``--env-kwargs``.

        Raises:
            ValueError: for options of another environment.
        """
        from matchenv.evaluation.protocols import protocol_of

        known = [field.name for field in fields(environment_named(self.env).part("settings"))]
        known += protocol_of(self.env).swept
        for env, names in ((ONE_PLAYER, ALL_OPTIONS), (QUEUE, ("load",))):
            self.refuse(set(names).difference(known), f"these options need --env {env}")
        return self.explicit_values(*known)

    def run_options(self, report: Callable[[Any], object] | None = None) -> RunOptions:
        """Return the run options of a command that can be resumed.

        Args:
            report: called with the results.
        """
        if self.out is not None:
            self.note = lambda: RESUMES
        declared = [name for name in RESULTS if hasattr(self, name)]
        return RunOptions(report=report, **self.values(*declared))

    def reading(self, further: Iterable[str] = ()) -> Reading:
        """Read the log of a command, and print what was read and which rows were left out.

        Args:
            further: columns to read for each game, see ``read_log``.

        Raises:
            ValueError: for an unreadable log. Its bad rows are in ``bad_rows.csv`` of ``--out``.
        """
        from matchenv.logs.faults import BadLogError
        from matchenv.logs.reading import ReadingSettings, bad_rows_csv, read_log, reading_text

        log = self.log.resolve()
        replaced = log.name in TABLES or log.suffix == ".json"
        if replaced and self.out is not None and log.parent == self.out.resolve():
            raise ValueError(f"out must not have the log among its files, got {self.log}")
        if self.out is not None:
            with folder_lock(self.out):  # fails before the work if it cannot be written
                pass
        try:
            reading = read_log(self.log, self.build(ReadingSettings), further=further)
        except BadLogError as error:
            if error.bad_rows and self.out is None:
                error.args = (f"{error}; --out DIR writes all to bad_rows.csv",)
            elif error.bad_rows:
                with folder_lock(self.out):
                    write_bytes(self.out / "bad_rows.csv", bad_rows_csv(error.bad_rows))
                error.args = (f"{error}; all are in {self.out / 'bad_rows.csv'}",)
            raise
        show(reading_text(reading, listed=0 if self.quiet else 5), file=sys.stderr)
        return reading

    def print_result(self, text: str | Callable[[], str]) -> None:
        """Print a result, unless ``--quiet`` was given.

        Args:
            text: the result; a function returns it with tables as wide as the terminal.
        """
        if not self.quiet:
            with as_wide_as_the_terminal():
                result = text if isinstance(text, str) else text()
            show(result.rstrip("\n"), flush=True)

    def print_folder(self, text: str | None = None, folder: Path | None = None) -> None:
        """Print where the results are on the error stream, so that a pipe gets only the table.

        Args:
            text: the line; None for the command that shows the folder.
            folder: folder of the results; None for ``--out``.
        """
        folder = folder or self.out
        if folder is not None and not self.quiet:
            path = f"./{folder}" if str(folder).startswith("-") else str(folder)
            command = f"matchenv report {shlex.quote(path)} --out report.html"
            show(text or f"results are in {folder}; to show them: {command}", file=sys.stderr)


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help whose lines do not end within a name like ``weng-lin-bt``."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)


class Parser(argparse.ArgumentParser):
    """The options of one command.

    Args:
        name: name of the command.
        text: its help: a description and examples.
    """

    def __init__(self, name: str, text: str | None) -> None:
        super().__init__(
            prog=f"matchenv {name}", usage="%(prog)s [OPTIONS]", add_help=False, allow_abbrev=False,
            description=inspect.cleandoc(text or ""), argument_default=argparse.SUPPRESS,
            formatter_class=partial(_Help, max_help_position=DESCRIPTION, width=WIDTH),
        )  # fmt: skip
        self.command, self.defaults = name, dict[str, Any]()
        self.steps: Command
        self._group: Any = self

    def group(self, title: str, *names: str, **defaults: Any) -> Any:
        """Begin a group of options in the help with some of ``shared``, and return it."""
        self._group = self.add_argument_group(title)
        self.shared(*names, **defaults)
        return self._group

    def shared(self, *names: str, **defaults: Any) -> None:
        """Declare options of ``OPTIONS`` or of ``Matchmaking-v0``.

        Args:
            names: names of the options.
            defaults: defaults that differ from those of ``OPTIONS``.
        """
        for name in names:
            if name in OPTIONS:
                text, default, *kind = OPTIONS[name]
                self.option(option_of(name), text, defaults.get(name, default), *kind)
            else:
                self.fields_of(Settings, (name,))

    def environments(self, **defaults: Any) -> None:
        """Declare the options of all environments; ``defaults`` as for ``shared``."""
        self.group("environment", *ENVIRONMENT)
        self.group("other environments", "env", "load", "env_kwargs", **defaults)

    def log(self) -> None:
        """Declare the log that a command reads, and the options of reading."""
        from matchenv.logs.reading import ReadingSettings

        self.group("log")
        self.option("log", "the log, a .csv or .csv.gz file", None, Path)
        self.fields_of(ReadingSettings)

    def results(self) -> None:
        """Declare the results of a command that reads a log."""
        self.group("results and work")
        text = "folder for the result files, which replace earlier ones (default: write none)"
        self.option("--out", text, None, Path)
        self.shared("quiet")

    def option(
        self, name: str, text: str, default: Any = None, kind: Any = None, **more: Any
    ) -> None:
        """Declare an option or a positional argument.

        Args:
            name: name, for example ``--out``, or ``log`` for a positional argument.
            text: the description, without full stop and default.
            default: the default; False for a flag, a tuple for an option with several values.
            kind: type of a value, a key of ``KINDS``, or a tuple of choices; None for the
                default's.
            more: further arguments of argparse's ``add_argument``.
        """
        many, shown = isinstance(default, tuple), _shown(default)
        plain = name.removeprefix("--").replace("-", "_")
        if kind is None:
            value = default[0] if many and default else default
            kind = str if value is None or value == () else type(value)
        if kind is bool:
            more["action"] = "store_true"
        elif isinstance(kind, tuple):
            more["choices"] = kind
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
        """Declare the fields of a dataclass as options.

        A field that is a dataclass becomes a group. The description of a field is its
        ``metadata["description"]``, or its text in the ``Attributes`` of the docstring.

        Args:
            kind: the dataclass.
            names: names of the fields; none for all.
        """
        texts = _attribute_texts(kind)
        # Groups come last.
        for field, hint in sorted(_fields(kind), key=lambda pair: is_dataclass(pair[1])):
            if names and field.name not in names:
                continue
            if is_dataclass(hint):
                self.group(re.split("[.;]", inspect.getdoc(hint) or "")[0].lower())
                self.fields_of(hint)
                continue
            known = getattr(field.metadata.get("check"), "keywords", {}).get("known", ())
            text = field.metadata.get("description", texts.get(field.name, ""))
            text = re.sub("; None for (.*)$", r" (default: \1)", text)
            self.option(option_of(field.name), re.sub('[`"]', "", text), field.default,
                        tuple(known) or _plain_type(hint))  # fmt: skip

    def given(self, words: Sequence[str]) -> Given:
        """Parse a command line.

        Raises:
            ValueError: for unknown words and bad values.
            SystemExit: after the help was shown.
        """
        for word in words:
            if "\0" in word or word != word.encode(errors="replace").decode():
                self.error(f"arguments must be UTF-8 without null characters, got {word!a}")
        given, unknown = self.parse_known_args(list(words), Given())
        for word in unknown[:1]:
            name = word.partition("=")[0]
            hint = hint_of(name, self._option_string_actions, 0.75)
            if "policy" in self.defaults and not word.startswith("-"):
                hint = f"; perhaps you meant --policy {word}"
            self.error(f"unrecognized argument {name!r}{hint}")
        values = vars(given)
        for name, value in values.items():
            values[name] = tuple(value) if isinstance(value, list) else value
        given.explicit, given.command = frozenset(values), self.command
        for name, value in self.defaults.items():
            values.setdefault(name, value)
        return given

    def error(self, message: str) -> Any:
        """Raise ``ValueError`` instead of exiting."""
        raise ValueError(f"{message} (see {self.prog} --help)")


def with_pairs(texts: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
    """Return options together with those of ``--env-kwargs``.

    Raises:
        ValueError: for a text that is not KEY=VALUE, or an option that is given twice.
    """
    if not texts:
        return options
    pairs = parse_lists("env-kwargs", texts)
    names = [*options, *(text.partition("=")[0].strip() for text in texts)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"env-kwargs must not repeat other options, got {', '.join(twice)}")
    return {**options, **pairs}


def parse_lists(name: str, pairs: Iterable[str]) -> dict[str, Any]:
    """Parse ``key=value`` arguments whose values are YAML or lists, see ``expanded``.

    Raises:
        ValueError: for a text that is not key=value, a repeated key or a bad value.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        choices = expanded([pair])
        key = pair.partition("=")[0]
        if key in values:
            raise ValueError(f"{name} must give each key once, got {key!r} twice")
        if choices == [pair]:
            values |= parse_pairs(name, [pair])
            continue
        if "{" in key:
            raise ValueError(f"{name} must be key=value, got {pair!r}")
        values[key] = [parse_pairs(name, [choice])[key] for choice in choices]
    return values


def option_of(name: str) -> str:
    """Return the option of a name, for example ``--num-opponents`` for ``num_opponents``."""
    return f"--{name.replace('_', '-')}"


def _integer_or_text(text: str) -> int | str:
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else text


def _path(text: str) -> Path:
    if not text:  # an unset variable of the shell, and not the working folder
        raise argparse.ArgumentTypeError("must be a path, got ''")
    return Path(text)


def _environment(text: str) -> str:
    """Return the name in ``module:NAME`` after importing the module, which registers it."""
    module, _, name = text.rpartition(":")
    try:
        if module:
            search_working_folder()
            import_module(module)
        return as_choice("env", name, ENVIRONMENTS)
    except (ImportError, TypeError, ValueError) as error:
        raise argparse.ArgumentTypeError(str(error)) from error


# The parser of a value of each type, and its name in the help.
KINDS: dict[Any, tuple[Callable[[str], Any], str]] = {
    int: (int, "N"), float: (float, "X"), str: (str, "TEXT"), Path: (_path, "PATH"),
    int | str: (_integer_or_text, "TEXT"), "environment": (_environment, "NAME"),
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
    return [(field, hints[field.name]) for field in fields(kind)]


def _plain_type(hint: Any) -> Any:
    """Return the type of one value, or its choices."""
    while get_origin(hint) is not None and get_origin(hint) is not Literal:
        hint = next(arg for arg in get_args(hint) if arg not in (type(None), ...))
    return get_args(hint) or hint


def _attribute_texts(kind: Any) -> dict[str, str]:
    """Return the descriptions of the attributes in a docstring."""
    docs = [inspect.cleandoc(base.__doc__ or "") for base in reversed(kind.__mro__)]
    listed = "\n".join(doc.partition("\nAttributes:\n")[2] for doc in docs)
    entries = re.findall(r"^    (\w+): (.*(?:\n {8,}.*)*)", listed, re.MULTILINE)
    return {name: " ".join(text.split()).rstrip(".") for name, text in entries}
