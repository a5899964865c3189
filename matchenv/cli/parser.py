"""The parser of a command: argparse with errors in one line and hints at the nearest names."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from matchenv.envs import ENVIRONMENTS
from matchenv.runtime.checks import as_choice, hint_of
from matchenv.runtime.object_spec import search_working_folder

# Width of the help in columns, and the column where descriptions begin.
WIDTH = 80
DESCRIPTION = 24


class Arguments(argparse.Namespace):
    """Values of a command's options, by name with underscores.

    Attributes:
        explicit: names of the options that were given, even with their defaults.
        note: what the user should know if a signal stops the command.
    """

    explicit: frozenset[str] = frozenset()
    note: str = "nothing was written"


class Collect(argparse.Action):
    """Collect the values of an option that can be given several times in a tuple.

    The action "extend" of argparse would add them to the default.
    """

    def __init__(
        self,
        option_strings: Sequence[str],
        dest: str,
        nargs: str = "+",
        default: tuple[Any, ...] = (),
        **more: Any,
    ) -> None:
        super().__init__(option_strings, dest, nargs, default=default, **more)

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: str | None = None
    ) -> None:
        """Add values to earlier ones."""
        earlier = getattr(namespace, self.dest)
        if earlier is self.default:
            earlier = ()
        setattr(namespace, self.dest, (*earlier, *values))


class Parser(argparse.ArgumentParser):
    """The options of one command.

    Args:
        prog: the program and the command.
        description: its help: a description and examples.
    """

    def __init__(self, prog: str, description: str | None) -> None:
        super().__init__(
            prog=prog,
            usage="%(prog)s [OPTIONS]",
            description=description,
            add_help=False,
            allow_abbrev=False,
            formatter_class=partial(_Help, max_help_position=DESCRIPTION, width=WIDTH),
        )

    def parse(self, words: Sequence[str]) -> Arguments:
        """Parse the options of a command line.

        Raises:
            ValueError: for unknown words and bad values.
            SystemExit: after the help was shown.
        """
        for word in words:
            if "\0" in word or word != word.encode(errors="replace").decode():
                self.error(f"arguments must be UTF-8 without null characters, got {word!a}")
        known = self._option_string_actions
        arguments, unknown = self.parse_known_args(list(words), Arguments())
        if unknown:
            name = unknown[0].partition("=")[0]
            hint = hint_of(name, known, 0.75)
            if "--policy" in known and not name.startswith("-"):
                hint = f"; perhaps you meant --policy {unknown[0]}"
            self.error(f"unrecognized argument {name!r}{hint}")
        explicit = set()
        for word in words:
            option = word.partition("=")[0]
            if option in known:
                explicit.add(known[option].dest)
        arguments.explicit = frozenset(explicit)
        return arguments

    def error(self, message: str) -> Any:
        """Raise ``ValueError`` instead of exiting."""
        raise ValueError(f"{message} (see {self.prog} --help)")


def option_of(name: str) -> str:
    """Return the option of a name, for example ``--num-opponents`` for ``num_opponents``."""
    return f"--{name.replace('_', '-')}"


def refuse(arguments: Arguments, names: Iterable[str], why: str) -> None:
    """Raise ``ValueError`` with a reason and their names if some of these options are given."""
    refused = sorted(arguments.explicit.intersection(names))
    if refused:
        raise ValueError(f"{why}, got {', '.join(map(option_of, refused))}")


def explicit_values(arguments: Arguments, names: Iterable[str]) -> dict[str, Any]:
    """Return the values of those of some options that were given."""
    values = {}
    for name in names:
        if name in arguments.explicit:
            values[name] = getattr(arguments, name)
    return values


def settings_from(settings_class: Any, arguments: Arguments, **values: Any) -> Any:
    """Build a dataclass from the options with the names of its fields.

    Args:
        settings_class: the dataclass.
        arguments: the options.
        values: fields that have no option.
    """
    for field in fields(settings_class):
        if field.name not in values:
            values[field.name] = getattr(arguments, field.name)
    return settings_class(**values)


def path(text: str) -> Path:
    """Return a path; refuse an empty one, which an unset variable of the shell gives."""
    if not text:
        raise argparse.ArgumentTypeError("must be a path, got ''")
    return Path(text)


def integer_or_text(text: str) -> int | str:
    """Return a number if the text is one."""
    if re.fullmatch(r"-?\d{1,18}", text):
        return int(text)
    return text


def environment(text: str) -> str:
    """Return the name in ``module:NAME`` after importing the module, which registers it."""
    module, _, name = text.rpartition(":")
    try:
        if module:
            search_working_folder()
            import_module(module)
        return as_choice("env", name, ENVIRONMENTS)
    except (ImportError, TypeError, ValueError) as error:
        raise argparse.ArgumentTypeError(str(error)) from error


# Names of values in the help, by their type; others are texts.
METAVARS: dict[Any, str] = {int: "N", float: "X", path: "PATH", environment: "NAME"}


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help that shows defaults, and whose lines do not end within a name like ``weng-lin-bt``."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)

    def _get_default_metavar_for_optional(self, action: argparse.Action) -> str:
        return METAVARS.get(action.type, "TEXT")

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        default = action.default
        if default is None or isinstance(default, bool) or default in ((), argparse.SUPPRESS):
            return text
        if "(default" in text:
            return text
        if isinstance(default, tuple):
            default = " ".join(default)
        elif isinstance(default, float):
            default = f"{default:.6g}"
        return f"{text} (default: {default})"
