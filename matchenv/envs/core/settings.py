"""Settings of an environment, whose fields check and document themselves; options of a reset."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, field, fields
from difflib import get_close_matches
from functools import partial
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from matchenv.belief import GameConstants
from matchenv.runtime.checks import (
    as_choice,
    as_float_array,
    as_integer,
    as_non_negative_number,
    as_number,
    as_positive_array,
    as_positive_number,
)

Floats = NDArray[np.float64]

# Standard deviation of one performance around skill in the 2011 study: beta^2 = 2.5.
PAPER_BETA = math.sqrt(2.5)

# Beyond these nothing could be played, and arrays would not fit into any memory.
MOST_OPPONENTS, LONGEST_HORIZON = 1_000_000, 1_000_000_000
# An observation is float32: larger numbers would reach a policy as infinity.
LARGEST_OBSERVED = 1e30

Made = TypeVar("Made", bound=type)


def option(default: Any, check: Callable[..., Any], text: str, **limits: Any) -> Any:
    """Declare a field of ``Options``.

    Args:
        default: of the option.
        check: called with the option's name and a given value; returns a good one or raises
            ``ValueError``.
        text: one sentence for the documentation table and for the help of commands.
        limits: further arguments of ``check``.
    """
    checked = partial(check, **limits)
    return field(default=default, kw_only=True, metadata={"check": checked, "text": text})


def as_limit(name: str, value: Any) -> int | None:
    """Return ``value`` as a positive number of games; None stays None.

    Raises:
        ValueError: if it is neither.
    """
    return None if value is None else as_integer(name, value, 1, LONGEST_HORIZON)


@dataclass(frozen=True)
class Options:
    """Base of the settings of an environment, with the options that all share.

    Each field is declared by ``option``.

    Attributes:
        sizes: options that ``repr`` always shows, the others only where they are no default.
    """

    sizes: ClassVar[tuple[str, ...]] = ()

    invalid_action: str = option(
        "replace", as_choice, 'for a forbidden action: `"replace"` it, or raise an `"error"`',
        known=("replace", "error"),
    )  # fmt: skip

    def __post_init__(self) -> None:
        for each in fields(self):
            value = each.metadata["check"](each.name, getattr(self, each.name))
            object.__setattr__(self, each.name, value)

    @classmethod
    def checked(cls, **options: Any) -> Self:
        """Build settings from untyped options, such as those of a file or a command.

        Raises:
            ValueError: for a value that is not allowed.
            TypeError: for an option that does not exist; it names the nearest.
        """
        known = [each.name for each in fields(cls)]
        for name in set(options) - set(known):
            near = get_close_matches(name, known, 1)
            meant = f"; perhaps you meant {near[0]}" if near else ""
            raise TypeError(f"options must be {', '.join(known)}, got {name!r}{meant}")
        return cls(**options)

    @classmethod
    def listed(cls) -> list[Field[Any]]:
        """Return the options, inherited ones last."""
        own, shared = cls.__annotations__, Options.__annotations__
        return sorted(fields(cls), key=lambda each: (each.name not in own, each.name in shared))

    def changed(self) -> dict[str, Any]:
        """Return the options that differ from the defaults."""
        listed = self.listed()
        changed = (each.name for each in listed if getattr(self, each.name) != each.default)
        return {name: getattr(self, name) for name in changed}

    def text_for(self, made: object, **sizes: Any) -> str:
        """Return the ``repr`` of an environment: its sizes, and options that are not defaults.

        Args:
            made: the environment with these settings.
            sizes: further numbers to begin with.
        """
        shown = {**sizes, **{name: getattr(self, name) for name in self.sizes}}
        shown.update(self.changed())
        listed = ", ".join(f"{name}={value!r}" for name, value in shown.items())
        return f"{type(made).__name__}({listed})"

    def description(self) -> dict[str, Any]:
        """Return all options as plain data for JSON and YAML; an object by its repr."""
        kept = (str, int, float, type(None))
        values = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: each if isinstance(each, kept) else repr(each) for name, each in values}


@dataclass(frozen=True)
class GameOptions(Options):
    """Base of settings whose games are TrueSkill's: the game's constants."""

    beta: float = option(
        PAPER_BETA, as_positive_number, "standard deviation of one performance around skill, > 0"
    )
    draw_margin: float = option(
        0.0, as_non_negative_number, "performances no further apart are a draw; 0: no draws"
    )
    tau: float = option(
        0.0, as_number, "drift of a skill before each of the player's games, >= 0",
        low=0.0, high=LARGEST_OBSERVED,
    )  # fmt: skip

    @property
    def constants(self) -> GameConstants:
        """beta, draw_margin and tau: what a belief must know of a game."""
        return GameConstants(self.beta, self.draw_margin, self.tau)


def documents_options(kind: type[Options]) -> Callable[[Made], Made]:
    """Show the options of an environment in its signature and, as a table, in its docstring.

    The line ``{options}`` of the docstring becomes a row for each option of ``kind``, so that an
    option is declared in one place.

    Args:
        kind: the settings that the constructor takes as ``**options``.
    """

    def documents(made: Made) -> Made:
        signature, rows = inspect.signature(made), []
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        for each in kind.listed():
            only = inspect.Parameter.KEYWORD_ONLY
            own.append(
                inspect.Parameter(each.name, only, default=each.default, annotation=each.type)
            )
            rows.append(f"    | `{each.name}` | `{each.default!r}` | {each.metadata['text']} |")
        made.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
        made.__doc__ = (made.__doc__ or "").replace("    {options}", "\n".join(rows))
        return made

    return documents


def checked_options(options: Any, known: Sequence[str]) -> dict[str, Any]:
    """Return the options of a reset that are given, without those that are None.

    Raises:
        ValueError: for anything but a dict or None, and for an unknown key.
    """
    if options is None:
        return {}
    if not isinstance(options, dict):
        raise ValueError(f"options must be a dict or None, got {options!r}")
    for key in set(options) - set(known):
        raise ValueError(f"options may hold {', '.join(map(repr, known))}, got {key!r}")
    return {name: value for name, value in options.items() if value is not None}


def as_given(name: str, value: Any, shapes: Sequence[tuple[int, ...]]) -> Floats:
    """Return means, deviations or skills of a reset's options as an array.

    Args:
        name: the option, ``"sigma"`` for deviations.
        value: its value.
        shapes: the allowed ones.

    Raises:
        ValueError: for another shape, or numbers that no observation can hold.
    """
    label = f"options[{name!r}]"
    check = as_positive_array if name == "sigma" else as_float_array
    array = check(label, value)
    if array.shape not in shapes:
        allowed = " or ".join(map(str, shapes))
        raise ValueError(f"{label} must have shape {allowed}, got {array.shape}")
    if (np.abs(array) > LARGEST_OBSERVED).any():
        raise ValueError(f"{label} must be at most {LARGEST_OBSERVED:g} in size")
    if name == "sigma" and (array < 1.0 / LARGEST_OBSERVED).any():
        raise ValueError(f"{label} must be at least {1.0 / LARGEST_OBSERVED:g}")
    return array
