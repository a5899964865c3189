"""Configurations as plain data: YAML files, ``key=value`` texts, pydantic's types; no torch."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
import yaml
from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

Config = TypeVar("Config")

# Characters; the configuration of a run has about 1,000, and reading so many takes a second.
LONGEST_YAML = 50_000

# The configuration of classes whose fields are entries of a file.
CLOSED = ConfigDict(extra="forbid", allow_inf_nan=False)

# Beyond it no buffer fits into a memory.
MOST = 100_000_000


def _whole(value: Any) -> Any:
    """Return NumPy's integers, and numbers such as 1e+6, as Python's integers."""
    whole = isinstance(value, np.integer) or (isinstance(value, float) and value.is_integer())
    return int(value) if whole else value


# Types of such fields: no text is accepted for a number, no number for a truth value.
Whole = Annotated[int, BeforeValidator(_whole), Field(strict=True)]
Count = Annotated[Whole, Field(ge=1)]
Large = Annotated[Count, Field(le=MOST)]
Number = Annotated[float, Field(strict=True)]
Positive = Annotated[Number, Field(gt=0.0)]
NonNegative = Annotated[Number, Field(ge=0.0)]
Share = Annotated[Number, Field(ge=0.0, le=1.0)]


def read_yaml(package_file: str, path: Path | None, section: str) -> dict[str, Any]:
    """Return a section of a YAML file as plain data; 1e-3 and 1e6 are numbers.

    Args:
        package_file: one of the package's own in ``agents/hyperparameters``.
        path: a file of the user's instead, or the name of another one of the package's, such as
            ``ppo_flat``.
        section: the name of a mapping in it.

    Raises:
        ValueError: if it cannot be read, is no YAML or has no such section.
    """
    ours = files("matchenv.agents").joinpath("hyperparameters")
    source: Any = ours.joinpath(package_file)
    if path is not None:
        named = ours.joinpath(f"{path.name}.yml")
        source = named if len(path.parts) == 1 and named.is_file() and not path.exists() else path
    try:
        with source.open(encoding="utf-8") as file:
            text = file.read(LONGEST_YAML + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"config must be a readable file, got {path}: {error}") from None
    content = parsed(text, "config")
    found = content.get(section) if isinstance(content, dict) else None
    if not isinstance(found, dict):
        known, file = [*content] if isinstance(content, dict) else "none", path or package_file
        raise ValueError(f"config {file} must have a mapping under {section!r}, and has {known}")
    return found


class _PlainLoader(yaml.SafeLoader):
    """YAML without aliases, by which a short text could stand for more than any memory holds."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise ValueError("aliases (*name) are not allowed")
        return super().compose_node(parent, index)


# To PyYAML, 1e-3 and 1e6 are texts.
_PlainLoader.add_implicit_resolver(
    "!power", re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)
_PlainLoader.add_constructor("!power", lambda _, node: _whole(float(node.value)))


def parsed(text: str, name: str) -> Any:
    """Return the content of a YAML text.

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
    """Return plain data as YAML that ``parsed`` reads."""
    # In a copy no object stands twice, for which YAML would have aliases.
    return yaml.safe_dump(json.loads(json.dumps(data)), sort_keys=False)


def parse_pairs(name: str, pairs: list[str]) -> dict[str, Any]:
    """Return ``key=value`` texts of a command line as a mapping.

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
        values[key] = parsed(text, f"the value of {key} in {name}")
    return values


def built(kind: type[Config], content: Any, name: str = "config") -> Config:
    """Return an object of a pydantic class from plain data.

    Args:
        kind: a pydantic model or dataclass with the configuration ``CLOSED``.
        content: a mapping with an entry for each field; one with a default may be left out.
        name: what the content is, for messages.

    Raises:
        ValueError: for an entry that is unknown, missing or bad; one line names the entry, its
            value and what is allowed.
    """
    adapter = TypeAdapter(kind)
    try:
        return adapter.validate_python(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    about, at, got = first["type"], first["loc"], f"got {first['input']!r:.200}"
    if about == "value_error":
        raise ValueError(str(first["ctx"]["error"]))
    place = ".".join(map(str, at))
    if about in ("missing", "unexpected_keyword_argument", "extra_forbidden"):
        why = f"{place} is missing" if about == "missing" else f"got {place!r}"
        known = ", ".join(adapter.json_schema()["properties"])
        raise ValueError(f"{name} must have the entries {known} and no others; {why}")
    where = ".".join(str(part) for part in at if not str(part).endswith("]")) or name
    mapping = about in ("dataclass_type", "model_type")
    said = "must be a mapping" if mapping else first["msg"].replace("Input should", "must")
    raise ValueError(f"{where} {said}, {got}")
