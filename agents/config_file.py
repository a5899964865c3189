"""Configurations as plain data: YAML files and pydantic types; no torch."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from matchenv.envs import environment_named
from matchenv.runtime.checks import hint_of
from matchenv.runtime.yaml_values import LONGEST_YAML, as_whole, parsed

Config = TypeVar("Config")

# pydantic's settings for classes whose fields are entries of a file.
CLOSED = ConfigDict(extra="forbid", allow_inf_nan=False)

# The search spaces of all algorithms.
SEARCH_SPACES = Path(__file__).parent / "hyperparameters" / "search_spaces.yml"


# A strict integer: a text or a truth value is none.
Whole = Annotated[int, BeforeValidator(as_whole), Field(strict=True)]


def hyperparameter_files(env_id: str) -> dict[str, Path]:
    """Return the packaged YAML files with hyperparameters of an environment, by name.

    Raises:
        ValueError: for an unknown environment; the known ones are listed.
    """
    location = environment_named(env_id).hyperparameters
    if location is None:
        return {}
    package, _, folder = location.partition(":")
    packaged = {}
    for file in sorted(Path(str(files(package)), folder).glob("*.yml")):
        if env_id in (parsed(file.read_text(encoding="utf-8"), file.name) or {}):
            packaged[file.stem] = file
    return packaged


def read_hyperparameters(env_id: str, algo: str, config: Path | None = None) -> dict[str, Any]:
    """Return the hyperparameters of a training as plain data.

    Args:
        env_id: name of the environment, a section of the file.
        algo: name of the algorithm.
        config: a YAML file, or the name of one of ``hyperparameter_files``, for example
            ``ppo_flat``; None for that of the algorithm.

    Raises:
        ValueError: if there is no such file, it is not YAML or has no such section.
    """
    if config is not None and config.exists():
        return read_section(config, env_id)
    packaged = hyperparameter_files(env_id)
    name = algo if config is None else str(config)
    if name in packaged:
        return read_section(packaged[name], env_id)
    known = ", ".join(packaged) or "none"
    if config is None:
        raise ValueError(
            f"config must name a YAML file, since no hyperparameters of {algo} for {env_id} are "
            f"packaged; those for other trainings are {known}"
        )
    raise ValueError(
        f"config must be a YAML file or one of {known}, got {name!r}{hint_of(name, packaged)}"
    )


def read_section(file: Path, section: str) -> dict[str, Any]:
    """Return one section of a YAML file as plain data.

    Args:
        file: the file.
        section: name of a mapping in the file.

    Raises:
        ValueError: if the file cannot be read, is not YAML or has no such section.
    """
    try:
        with file.open(encoding="utf-8") as stream:
            content = parsed(stream.read(LONGEST_YAML + 1), "config")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"config must be a readable file, got {file}: {error}") from None
    sections: dict[Any, Any] = {}
    if isinstance(content, dict):
        sections = content
    if not isinstance(sections.get(section), dict):
        known = ", ".join(map(str, sections)) or "none"
        raise ValueError(
            f"config {file} must have a mapping under {section!r}; its entries: {known}"
        )
    return dict(sections[section])


def built(config_type: type[Config], content: Any, name: str = "config") -> Config:
    """Validate plain data as an object of a pydantic class.

    Args:
        config_type: a pydantic model or dataclass with the configuration ``CLOSED``.
        content: a mapping of fields to values.
        name: what the content is, for messages.

    Raises:
        ValueError: for an unknown, missing or bad entry; the message names the entry, its value
            and what is allowed.
    """
    adapter = TypeAdapter(config_type)
    try:
        return adapter.validate_python(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    problem = first["type"]
    location = [str(key) for key in first["loc"]]
    if problem == "value_error":
        raise ValueError(str(first["ctx"]["error"]))
    if problem in ("missing", "unexpected_keyword_argument", "extra_forbidden"):
        field = ".".join(location)
        known = list(adapter.json_schema()["properties"])
        why = f"got {field!r}{hint_of(field, known)}"
        if problem == "missing":
            why = f"{field} is missing"
        raise ValueError(f"{name} must have the entries {', '.join(known)} and no others; {why}")
    # pydantic's names of the alternatives of a union end with a bracket.
    field = ".".join(key for key in location if not key.endswith("]")) or name
    rule = first["msg"].replace("Input should", "must")
    if problem in ("dataclass_type", "model_type"):
        rule = "must be a mapping"
    raise ValueError(f"{field} {rule}, got {first['input']!r:.200}")
