"""Values in YAML: of options ``KEY=VALUE``, and of files."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import yaml

# Characters. The configuration of a run has about 1,000; parsing 50,000 takes a second.
LONGEST_YAML = 50_000


def as_whole(value: Any) -> Any:
    """Convert NumPy integers, and floats such as 1e+6, to int."""
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


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
_PlainLoader.add_constructor("!power", lambda _, node: as_whole(float(node.value)))

# PyYAML's own errors; ValueError for 2001-99-99, RecursionError for deep nesting, the others for
# bad numbers.
_YAML_ERRORS = (
    yaml.YAMLError,
    ValueError,
    TypeError,
    ArithmeticError,
    AttributeError,
    RecursionError,
)


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
    except _YAML_ERRORS as error:
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
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise ValueError(f"{name} must be key=value, got {pair!r}")
        if key in values:
            raise ValueError(f"{name} must give each key once, got {key!r} twice")
        values[key] = parsed(value, f"the value of {key} in {name}")
    return values
