"""Configurations as plain data: YAML files, ``key=value`` arguments, pydantic types; no torch."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
import yaml
from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

Config = TypeVar("Config")

# Characters. The configuration of a run has about 1,000; parsing 50,000 takes a second.
LONGEST_YAML = 50_000

# pydantic's settings for classes whose fields are entries of a file.
CLOSED = ConfigDict(extra="forbid", allow_inf_nan=False)

# The packaged files of hyperparameters.
PACKAGED = Path(__file__).parent / "hyperparameters"


def _whole(value: Any) -> Any:
    """Convert NumPy integers, and floats such as 1e+6, to int."""
    whole = isinstance(value, np.integer) or (isinstance(value, float) and value.is_integer())
    return int(value) if whole else value


# A strict integer: a text or a truth value is none.
Whole = Annotated[int, BeforeValidator(_whole), Field(strict=True)]


def read_yaml(default: str, path: Path | None, section: str) -> dict[str, Any]:
    """Return one section of a YAML file as plain data.

    Args:
        default: name of a packaged file.
        path: file to read instead, or the name of a packaged one, for example ``ppo_flat``.
        section: name of a mapping in the file.

    Raises:
        ValueError: if the file cannot be read, is not YAML or has no such section.
    """
    file = PACKAGED / default
    if path is not None:
        named = PACKAGED / f"{path}.yml"
        file = named if named.is_file() and not path.exists() else path
    try:
        with file.open(encoding="utf-8") as stream:
            text = stream.read(LONGEST_YAML + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"config must be a readable file, got {path}: {error}") from None
    content = parsed(text, "config")
    sections = content if isinstance(content, dict) else {}
    if not isinstance(sections.get(section), dict):
        known = ", ".join(map(str, sections)) or "none"
        raise ValueError(
            f"config {path or default} must have a mapping under {section!r}; its entries: {known}"
        )
    return dict(sections[section])


class _PlainLoader(yaml.SafeLoader):
    """YAML without aliases, which can expand a short text beyond any memory."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise ValueError("aliases (*name) are not allowed")
        return super().compose_node(parent, index)


# PyYAML reads 1e-3 and 1e6 as texts.
_PlainLoader.add_implicit_resolver(
    "!power", re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)
_PlainLoader.add_constructor("!power", lambda _, node: _whole(float(node.value)))


def parsed(text: str, name: str) -> Any:
    """Parse YAML without aliases, of at most ``LONGEST_YAML`` characters.

    Args:
        text: the YAML.
        name: what the text is, for messages.

    Raises:
        ValueError: if the text is not YAML, is too long or is nested too deeply.
    """
    if len(text) > LONGEST_YAML:
        raise ValueError(
            f"{name} must be YAML of at most {LONGEST_YAML:,} characters, got {len(text):,}"
        )
    try:
        return yaml.load(text, _PlainLoader)
    # 2001-99-99 raises ValueError, deep nesting RecursionError, bad numbers the others.
    except (yaml.YAMLError, ValueError, TypeError, ArithmeticError, AttributeError,
            RecursionError) as error:  # fmt: skip
        raise ValueError(f"{name} must be YAML, got {text[:80]!r}: {error}") from None


def yaml_text(data: Any) -> str:
    """Return plain data as YAML that ``parsed`` reads."""
    # PyYAML writes an object that occurs twice as an alias; the copy has no such object.
    return yaml.safe_dump(json.loads(json.dumps(data)), sort_keys=False)


def parse_pairs(name: str, pairs: list[str]) -> dict[str, Any]:
    """Parse ``key=value`` arguments of a command; values are YAML.

    Args:
        name: the option's name, for messages.
        pairs: for example ``["rank=top", "policy_kwargs={net_arch: [64, 64]}"]``.

    Raises:
        ValueError: for a text without ``=``, a repeated key or a value that is not YAML.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        key, separator, text = pair.partition("=")
        if not separator or not key:
            raise ValueError(f"{name} must be key=value, got {pair!r}")
        if key in values:
            raise ValueError(f"{name} must give each key once, got {key!r} twice")
        values[key] = parsed(text, f"the value of {key} in {name}")
    return values


def built(kind: type[Config], content: Any, name: str = "config") -> Config:
    """Validate plain data as an object of a pydantic class.

    Args:
        kind: a pydantic model or dataclass with the configuration ``CLOSED``.
        content: a mapping of fields to values.
        name: what the content is, for messages.

    Raises:
        ValueError: for an unknown, missing or bad entry; the message names the entry, its value
            and what is allowed.
    """
    adapter = TypeAdapter(kind)
    try:
        return adapter.validate_python(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    problem, place = first["type"], [str(part) for part in first["loc"]]
    if problem == "value_error":
        raise ValueError(str(first["ctx"]["error"]))
    if problem in ("missing", "unexpected_keyword_argument", "extra_forbidden"):
        entry = ".".join(place)
        why = f"{entry} is missing" if problem == "missing" else f"got {entry!r}"
        known = ", ".join(adapter.json_schema()["properties"])
        raise ValueError(f"{name} must have the entries {known} and no others; {why}")
    entry = ".".join(part for part in place if not part.endswith("]")) or name
    is_mapping = problem in ("dataclass_type", "model_type")
    rule = "must be a mapping" if is_mapping else first["msg"].replace("Input should", "must")
    raise ValueError(f"{entry} {rule}, got {first['input']!r:.200}")
