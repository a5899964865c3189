"""Configurations as plain data: YAML files, ``key=value`` texts, dataclasses; without torch."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import yaml

from matchenv.validation import as_integer, as_number

Config = TypeVar("Config")

# Characters; a run's configuration has some 1,000, and reading so many takes a second.
LONGEST_YAML = 50_000

WORDS = {str: "a text", bool: "true or false", dict: "a mapping", list: "a list"}


def read_config(kind: type[Config], package_file: str, path: Path | None = None) -> Config:
    """The configuration in a YAML file.

    Args:
        kind: the dataclass whose fields the file names.
        package_file: the package's own file in ``agents/hyperparameters``.
        path: a file of the user's; None reads the package's own.

    Raises:
        ValueError: for a file that is missing or damaged, or as ``built``.
    """
    return built(kind, read_yaml(package_file, path))


def read_yaml(package_file: str, path: Path | None = None) -> Any:
    """What a YAML file says, as plain data; 1e-3 and 1e6 are numbers, as everywhere else.

    Args:
        package_file: as ``read_config``.
        path: as there.

    Raises:
        ValueError: if it cannot be read or is no YAML.
    """
    source: Any = path
    if path is None:
        source = _package_files().joinpath(package_file)
    try:
        with source.open(encoding="utf-8") as file:
            text = file.read(LONGEST_YAML + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"config must be a readable file, got {path}: {error}") from None
    return _plain(parsed(text, "config"))


def package_names() -> tuple[str, ...]:
    """Names of the package's own files in ``agents/hyperparameters``, without their ending."""
    found = (Path(each.name) for each in _package_files().iterdir())
    return tuple(sorted(path.stem for path in found if path.suffix == ".yml"))


def _package_files() -> Traversable:
    return files("matchenv.agents").joinpath("hyperparameters")


class _PlainLoader(yaml.SafeLoader):
    """YAML without aliases, by which a short text could stand for more than any memory holds."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise ValueError("aliases (*name) are not allowed")
        return super().compose_node(parent, index)


class _PlainDumper(yaml.SafeDumper):
    """YAML without aliases, as it is read."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def parsed(text: str, name: str) -> Any:
    """What a YAML text says.

    Args:
        text: the YAML, at most ``LONGEST_YAML`` characters, without aliases.
        name: what it is, for the message.

    Raises:
        ValueError: if it is no YAML, or too much of it.
    """
    if len(text) > LONGEST_YAML:
        raise ValueError(
            f"{name} must be YAML of at most {LONGEST_YAML:,} characters, got {len(text):,}"
        )
    try:
        return yaml.load(text, _PlainLoader)
    except RecursionError:
        raise ValueError(f"{name} must be YAML that is not nested so deeply") from None
    # A date such as 2001-99-99 raises ValueError, and numbers raise many things.
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, AttributeError) as error:
        raise ValueError(f"{name} must be YAML, got {text[:80]!r}: {error}") from None


def yaml_text(data: Any) -> str:
    """Plain data as YAML that ``parsed`` reads."""
    return yaml.dump(data, Dumper=_PlainDumper, sort_keys=False)


def parse_pairs(name: str, pairs: list[str]) -> dict[str, Any]:
    """``key=value`` texts of a command line as a mapping.

    Args:
        name: the option's name, for the message.
        pairs: such as ``"rank=top"`` or ``"policy_kwargs={net_arch: [64, 64]}"``; the value is
            read as YAML.

    Raises:
        ValueError: for a text without ``=`` or a value that is no YAML.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        key, separator, text = pair.partition("=")
        if not separator or not key:
            raise ValueError(f"{name} must be key=value, got {pair!r}")
        values[key] = _plain(parsed(text, f"the value of {key} in {name}"))
    return values


def built(kind: type[Config], content: Any, name: str = "config") -> Config:
    """A dataclass from plain data; its own checks follow, ``check_types`` the first of them.

    Args:
        kind: the dataclass.
        content: a mapping with an entry for each field; one with a default may be left out.
        name: what the content is, for messages.

    Raises:
        ValueError: for an entry that is unknown or missing; it names the entry.
    """
    known = {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
    listed = ", ".join(known)
    if not isinstance(content, dict):
        raise ValueError(f"{name} must be a mapping with the entries {listed}, got {content!r}")
    for entry in content:
        if entry not in known:
            raise ValueError(f"{name} must have the entries {listed} and no other, got {entry!r}")
    for entry, each in known.items():
        if entry not in content and each.default is each.default_factory is MISSING:
            raise ValueError(f"{name} must have the entries {listed}, {entry} is missing")
    return kind(**content)


def check_types(config: Any) -> None:
    """See that the fields of a frozen dataclass are of their types; for its ``__post_init__``.

    A mapping becomes the dataclass that the field is to hold, a whole number passes for any
    number.

    Raises:
        ValueError: for a field of another type; it names the field.
    """
    hints = get_type_hints(type(config))
    for each in fields(config):
        value = _typed(hints[each.name], getattr(config, each.name), each.name)
        object.__setattr__(config, each.name, value)


def _typed(hint: Any, value: Any, name: str) -> Any:
    kind = get_origin(hint) or hint
    if kind is UnionType:
        return None if value is None else _typed(_not_none(hint), value, name)
    if is_dataclass(kind):
        return value if isinstance(value, kind) else built(kind, value, name)  # type: ignore[arg-type]
    if kind is int:
        return as_integer(name, value, -(2**63))
    if kind is float:
        return as_number(name, value)
    if kind in WORDS and not isinstance(value, kind):
        raise ValueError(f"{name} must be {WORDS[kind]}, got {value!r}")
    if kind is list:
        (inner,) = get_args(hint)
        return [_typed(inner, each, f"{name}[{i}]") for i, each in enumerate(value)]
    if kind is dict:
        inner = get_args(hint)[1]
        return {str(key): _typed(inner, each, f"{name}.{key}") for key, each in value.items()}
    return value


def _not_none(hint: Any) -> Any:
    (kind,) = (each for each in get_args(hint) if each is not NoneType)
    return kind


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return value
        return whole(number)
    return value


def whole(number: float) -> int | float:
    """The number as an integer if it is one."""
    return int(number) if number.is_integer() else number
