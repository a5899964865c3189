"""Settings, whose fields check and document themselves, and checks of reset options."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from matchenv.belief import GameConstants
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import (
    as_choice,
    as_float_array,
    as_integer,
    as_non_negative_number,
    as_number,
    as_positive_array,
    as_positive_number,
    hint_of,
    refusal,
)
from matchenv.runtime.object_spec import is_object_spec

# Standard deviation of one performance around skill in the 2011 study: beta^2 = 2.5.
PAPER_BETA = math.sqrt(2.5)

# Limits that keep arrays within memory.
MOST_OPPONENTS = 1_000_000
LONGEST_HORIZON = 1_000_000_000
# Observations are float32, in which larger numbers overflow.
LARGEST_OBSERVED = 1e30


def option(default: Any, check: Callable[..., Any], description: str, **limits: Any) -> Any:
    """Declare a field of ``Options``.

    Args:
        default: of the option.
        check: called with the option's name and value; returns the value to store or raises
            ``ValueError``.
        description: for the documentation table and the help of commands.
        limits: further arguments of ``check``.
    """
    checked = partial(check, **limits)
    metadata = {"check": checked, "description": description}
    return field(default=default, kw_only=True, metadata=metadata)


def as_limit(name: str, value: Any) -> int | None:
    """Return ``value`` as a positive number of games, or None if it is None."""
    if value is None:
        return None
    return as_integer(name, value, 1, LONGEST_HORIZON)


@dataclass(frozen=True)
class Options:
    """Base of the settings of environments, whose fields are declared by ``option``.

    Settings of an environment also need an option ``horizon``, the largest number of steps, and the
    ``observation_size``. A subclass of an environment's settings, with more options, belongs to the
    same environment.

    Attributes:
        env_id: name of the environment in Gymnasium.
        sizes: options that the ``repr`` of an environment shows even with default values.
    """

    env_id: ClassVar[str]
    sizes: ClassVar[tuple[str, ...]] = ()

    invalid_action: str = option(
        "replace",
        as_choice,
        'for a forbidden action: `"replace"` it, or raise an `"error"`',
        known=("replace", "error"),
    )

    def __post_init__(self) -> None:
        for declared in fields(self):
            value = declared.metadata["check"](declared.name, getattr(self, declared.name))
            object.__setattr__(self, declared.name, value)

    @classmethod
    def checked(cls, **options: Any) -> Self:
        """Build settings from untyped options, for example from a file or a command.

        Raises:
            ValueError: for a value that is not allowed.
            TypeError: for an unknown option; it names the most similar option.
        """
        known = [declared.name for declared in fields(cls)]
        for name in options:
            if name not in known:
                hint = hint_of(name, known)
                raise TypeError(f"options must be {', '.join(known)}, got {name!r}{hint}")
        return cls(**options)

    @classmethod
    def listed(cls) -> list[Field[Any]]:
        """Return the options: the class's own first, those of all environments last."""
        own = cls.__annotations__
        shared = Options.__annotations__
        return sorted(
            fields(cls), key=lambda declared: (declared.name not in own, declared.name in shared)
        )

    def changed(self) -> dict[str, Any]:
        """Return the options that differ from the defaults."""
        changed = {}
        for declared in self.listed():
            value = getattr(self, declared.name)
            if value != declared.default:
                changed[declared.name] = value
        return changed

    @classmethod
    def changed_text(cls, values: Mapping[str, Any], **usual: Any) -> str:
        """Return the end of a line on settings: ``", beta 1.0"`` for an unusual beta.

        Args:
            values: a ``description``, or a part of it.
            usual: usual values of options, in place of their defaults. Sizes are left out.
        """
        line = ""
        for declared in cls.listed():
            name = declared.name
            if name not in values or name in cls.sizes:
                continue
            usual_value = usual.get(name, declared.default)
            # A description has the ``repr`` of an object.
            if values[name] not in (usual_value, repr(usual_value)):
                line += f", {name} {values[name]}"
        return line

    def text_for(self, env: object, **sizes: Any) -> str:
        """Return the ``repr`` of an environment with these settings; ``sizes`` come first."""
        arguments = dict(sizes)
        for name in self.sizes:
            arguments[name] = getattr(self, name)
        arguments.update(self.changed())
        listed = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        return f"{type(env).__name__}({listed})"

    def plain_options(self) -> dict[str, Any]:
        """Return the options that are numbers, names or sequences of these.

        They are kept beside networks that read observations of the environment. Options that are
        objects or name a class are left out. Settings in which such an option changes the meaning
        of an observation override this method.
        """
        plain = {}
        for declared in fields(self):
            value = getattr(self, declared.name)
            if _is_plain(value) and not is_object_spec(value):
                plain[declared.name] = value
        return plain

    def description(self) -> dict[str, Any]:
        """Return all options as plain data for JSON and YAML; objects become their ``repr``."""
        description = {}
        for declared in fields(self):
            value = getattr(self, declared.name)
            is_plain = value is None or isinstance(value, str | int | float)
            description[declared.name] = value if is_plain else repr(value)
        return description


def _is_plain(value: Any) -> bool:
    """Return whether a value is a number, a name, None or a sequence of these."""
    if isinstance(value, list | tuple):
        return all(_is_plain(element) for element in value)
    return value is None or isinstance(value, str | int | float)


@dataclass(frozen=True)
class GameOptions(Options):
    """Base of settings with TrueSkill's games: the constants of a game."""

    beta: float = option(
        PAPER_BETA, as_positive_number, "standard deviation of one performance around skill, > 0"
    )
    draw_margin: float = option(
        0.0, as_non_negative_number, "performances at most this far apart are a draw; 0: no draws"
    )
    tau: float = option(
        0.0,
        as_number,
        "drift of a skill before each of the player's games, >= 0",
        low=0.0,
        high=LARGEST_OBSERVED,
    )

    @property
    def constants(self) -> GameConstants:
        """The constants of a game."""
        return GameConstants(self.beta, self.draw_margin, self.tau)


def checked_options(options: Any, known: Sequence[str]) -> dict[str, Any]:
    """Return the options of a reset that are not None.

    Raises:
        ValueError: for a type other than dict or None, or an unknown key.
    """
    if options is None:
        return {}
    if not isinstance(options, dict):
        raise refusal("options must be a dict or None", options)
    for key in set(options) - set(known):
        raise refusal(f"options can hold {', '.join(map(repr, known))}", key)
    return {name: value for name, value in options.items() if value is not None}


def as_fixed(name: str, value: Any, shapes: Sequence[tuple[int, ...]]) -> Floats:
    """Return means, deviations or skills of a reset's options as an array.

    Args:
        name: name of the option; ``"sigma"`` must be positive.
        value: of the option.
        shapes: the allowed shapes.

    Raises:
        ValueError: for another shape, or numbers beyond ``LARGEST_OBSERVED``.
    """
    label = f"options[{name!r}]"
    check = as_positive_array if name == "sigma" else as_float_array
    array = check(label, value)
    if array.shape not in shapes:
        allowed = " or ".join(map(str, shapes))
        raise ValueError(f"{label} must have shape {allowed}, got {array.shape}")
    largest = np.abs(array).max(initial=0.0)
    if largest > LARGEST_OBSERVED:
        raise ValueError(f"{label} must be at most {LARGEST_OBSERVED:g} in size, got {largest:g}")
    smallest = array.min(initial=LARGEST_OBSERVED)
    if name == "sigma" and smallest < 1.0 / LARGEST_OBSERVED:
        raise ValueError(f"{label} must be at least {1.0 / LARGEST_OBSERVED:g}, got {smallest:g}")
    return array
