"""Which hyperparameters a tuning varies, and how: plain data; without torch and Optuna."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import StrictBool
from pydantic.dataclasses import dataclass as checked_dataclass

from matchenv.agents.algorithms import Algorithm
from matchenv.agents.config_file import CLOSED, Number, built, read_yaml
from matchenv.agents.hyperparameter_files import ABOUT_THE_RUN

PACKAGE_FILE = "search_spaces.yml"
# What a tuning cannot vary: all trials play as many games, in the same environments.
FIXED = ("n_timesteps",)


@checked_dataclass(frozen=True, config=CLOSED)
class Interval:
    """Numbers from ``low`` to ``high``, whole ones if both are.

    Attributes:
        low: the least.
        high: the greatest, above it.
        log: draw uniformly on a logarithmic scale, for numbers > 0.
    """

    low: Number
    high: Number
    log: StrictBool = False

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"high must be above low, {self.low!r}, got {self.high!r}")
        if self.log and self.low <= 0.0:
            raise ValueError(f"low must be > 0 where log is true, got {self.low!r}")

    def drawn(self, trial: Any, name: str) -> float:
        """A number that Optuna's trial suggests."""
        if all(float(end).is_integer() for end in (self.low, self.high)):
            return int(trial.suggest_int(name, int(self.low), int(self.high), log=self.log))
        return float(trial.suggest_float(name, self.low, self.high, log=self.log))


@dataclass(frozen=True)
class Choices:
    """One out of several numbers or texts.

    Attributes:
        values: at least one.
    """

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        plain = bool | int | float | str | None
        if not self.values or not all(isinstance(value, plain) for value in self.values):
            raise ValueError(
                f"choices must be numbers, texts or truth values, got {list(self.values)}"
            )

    def drawn(self, trial: Any, name: str) -> Any:
        """A value that Optuna's trial suggests."""
        return trial.suggest_categorical(name, self.values)


Space = dict[str, Interval | Choices]


def read_space(algorithm: Algorithm, path: Path | None = None) -> dict[str, Any]:
    """The search space of an algorithm in a YAML file, as plain data.

    Args:
        algorithm: whose hyperparameters they are.
        path: a file of the user's own; None reads the package's.

    Raises:
        ValueError: if the file is missing, no YAML or has no entry for the algorithm.
    """
    content = read_yaml(PACKAGE_FILE, path)
    section = content.get(algorithm.name) if isinstance(content, dict) else None
    if not isinstance(section, dict):
        raise ValueError(
            f"space must have a mapping under {algorithm.name!r}, {path or PACKAGE_FILE} has none"
        )
    return section


def checked_space(algorithm: Algorithm, content: dict[str, Any]) -> Space:
    """A search space from plain data.

    Args:
        algorithm: whose hyperparameters they are.
        content: for each name a list of choices, or ``low``, ``high`` and perhaps ``log``.

    Raises:
        ValueError: for no or an unknown name, or an entry that is neither; it names it.
    """
    known = sorted((algorithm.arguments() | set(ABOUT_THE_RUN)) - set(FIXED))
    if not content:
        raise ValueError(f"space must name a hyperparameter of {', '.join(known)}")
    space: Space = {}
    for name, entry in content.items():
        if name not in known:
            raise ValueError(f"space must have names among {', '.join(known)}; got {name!r}")
        try:
            space[name] = (
                Choices(tuple(entry))
                if isinstance(entry, list)
                else built(Interval, entry, "a list of choices or a mapping")
            )
        except ValueError as error:
            raise ValueError(f"space has a bad entry for {name}: {error}") from None
    return space
