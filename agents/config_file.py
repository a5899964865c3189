"""Configurations of trainings, read from YAML into their dataclasses; without torch."""

from __future__ import annotations

from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import yaml

from matchenv.agents.hyperparameter_files import as_plain_value

Config = TypeVar("Config")


def read_config(kind: type[Config], package_file: str, path: Path | None = None) -> Config:
    """The configuration in a YAML file.

    Args:
        kind: the dataclass whose fields the file names, all of them and no other.
        package_file: the package's own file in ``agents/hyperparameters``.
        path: a file of the user's; None reads the package's own.

    Raises:
        ValueError: for a file that is missing or damaged, or a bad value.
    """
    try:
        source: Any = path
        if path is None:
            source = files("matchenv.agents").joinpath("hyperparameters", package_file)
        content = yaml.safe_load(source.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ValueError(f"config must be a readable YAML file: {error}") from None
    names = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    if not isinstance(content, dict) or set(content) != names:
        raise ValueError(f"config must have the entries {', '.join(sorted(names))}")
    return kind(**as_plain_value(content))
