"""Options of an environment as a frozen dataclass whose fields check themselves."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, ClassVar, Self, TypeVar

Made = TypeVar("Made", bound=Callable[..., None])


def checked_by(check: Callable[..., Any], **limits: Any) -> dict[str, Any]:
    """The metadata of a field: what turns a given value into a good one, or refuses it.

    Args:
        check: called with the option's name and the given value; raises ``ValueError``.
        limits: further arguments of it.
    """
    return {"check": partial(check, **limits)}


@dataclass(frozen=True)
class Options:
    """A base for dataclasses of options; every field has the metadata of ``checked_by``.

    Attributes:
        sizes: options that ``repr`` shows always, the others only where they are no default.
    """

    sizes: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for each in fields(self):
            value = each.metadata["check"](each.name, getattr(self, each.name))
            object.__setattr__(self, each.name, value)

    @classmethod
    def checked(cls, **options: Any) -> Self:
        """Settings from untyped options, such as a file's or a command's.

        Raises:
            ValueError: for a value that is not allowed.
            TypeError: for an option that does not exist.
        """
        return cls(**options)

    def changed(self) -> dict[str, Any]:
        """The options that differ from the defaults."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return {each.name: given[each.name] for each in fields(self)
                if given[each.name] != each.default}  # fmt: skip

    def text_for(self, made: object, **sizes: Any) -> str:
        """An object as ``repr`` shows it: its sizes, and the options that are not the defaults.

        Args:
            made: an environment with these settings.
            sizes: further numbers to begin with.
        """
        shown = {**sizes, **{name: getattr(self, name) for name in self.sizes}}
        shown.update(self.changed())
        listed = ", ".join(f"{name}={value!r}" for name, value in shown.items())
        return f"{type(made).__name__}({listed})"

    def description(self) -> dict[str, Any]:
        """All options as plain data for JSON and YAML; an object by its repr."""
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        kept = (str, int, float, type(None))
        return {name: v if isinstance(v, kept) else repr(v) for name, v in plain.items()}


def shows_options_of(kind: type[Options]) -> Callable[[Made], Made]:
    """Let ``help`` and editors see the options that a constructor takes as ``**options``.

    Args:
        kind: the dataclass that they are of.
    """

    def shows(made: Made) -> Made:
        signature = inspect.signature(made)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        options = [
            inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=each.default,
                annotation=each.type,
            )
            for each in fields(kind)
        ]
        made.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
        return made

    return shows
