"""Objects named by texts: ``module:Class:key=value,key=value``, for classes of the user's own."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

FORM = re.compile(r"(?P<module>\w+(\.\w+)*):(?P<name>[A-Za-z_]\w*)(:(?P<options>.*))?")


def names_class(text: Any) -> bool:
    """Whether a text has the form ``module:Class`` or ``module:Class:key=value``."""
    return isinstance(text, str) and FORM.fullmatch(text) is not None


def own_object(
    kind: str,
    text: str,
    told: Mapping[str, Any],
    known: Iterable[str],
    base: type | None = None,
) -> Any:
    """The object of a class of the user's own.

    Args:
        kind: what it is to be, such as ``"policy"``, for messages.
        text: of the form that ``names_class`` asks for. The module is looked for where Python
            looks, and in the working folder.
        told: arguments that the constructor is given if it takes them; an option of the text
            goes before.
        known: names that mean something else, for messages.
        base: the class must be below this one; nothing else is called. None: anything may be.

    Raises:
        ValueError: if there is no such class, or it refuses its options.
    """
    form = FORM.fullmatch(text)
    if form is None:
        raise ValueError(f"{kind} must be module:Class or module:Class:key=value, got {text!r}")
    # The command `matchenv` does not look in the working folder, `python -m matchenv` does. It
    # comes last, so that nothing there hides an installed package.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        made = getattr(import_module(form["module"]), form["name"])
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"{kind} {text!r} is read as module:Class, and there is none: {error} (the known "
            f"names are {', '.join(known)})"
        ) from error
    if base is not None and not (isinstance(made, type) and issubclass(made, base)):
        raise ValueError(f"{kind} {text!r} must name a subclass of {base.__name__}, got {made!r}")
    return made_with(kind, text, made, form["options"] or "", told)


def made_with(
    kind: str, text: str, made: Callable[..., Any], options: str, told: Mapping[str, Any]
) -> Any:
    """What a class or function makes of the options of a text and of what it is told.

    Args:
        kind: as ``own_object``.
        text: as there, for messages.
        made: the class or function.
        options: ``key=value,key=value``.
        told: as ``own_object``.

    Raises:
        ValueError: for an option that it does not take, and values that it refuses.
    """
    try:
        parameters = inspect.signature(made).parameters
    except (TypeError, ValueError) as error:
        raise ValueError(f"{kind} {text!r} cannot be made: {error}") from None
    any_name = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    allowed = [
        name
        for name, each in parameters.items()
        if name != "true_skill" and each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    ]
    arguments = {key: value for key, value in told.items() if key in parameters}
    for key, value in options_of(kind, text, options).items():
        if key not in allowed and not any_name:
            raise ValueError(
                f"options of {kind} {text!r} must be name=value with a name of "
                f"{', '.join(sorted(allowed)) or 'none at all'}, got {key!r}"
            )
        is_switch = key in parameters and isinstance(parameters[key].default, bool)
        if is_switch and not isinstance(value, bool):
            raise ValueError(f"{key} of {kind} {text!r} must be true or false, got {value!r}")
        arguments[key] = value
    if arguments.get("true_skill", parameters) is None:
        raise ValueError(f"{kind} {text!r} must know the true skills, which are not known here")
    try:
        return made(**arguments)
    except TypeError as error:
        raise ValueError(f"{kind} {text!r} cannot be made: {error}") from error


def options_of(kind: str, text: str, options: str) -> dict[str, Any]:
    """The options of a text by name: numbers, truth values and texts.

    Args:
        kind: as ``own_object``.
        text: as there, for messages.
        options: ``key=value,key=value``.

    Raises:
        ValueError: for one that is not name=value.
    """
    arguments: dict[str, Any] = {}
    for option in filter(None, options.split(",")):
        key, separator, value = option.partition("=")
        if not separator or not key:
            raise ValueError(f"options of {kind} {text!r} must be name=value, got {option!r}")
        arguments[key] = _value(value)
    return arguments


def _value(text: str) -> Any:
    if text in ("true", "True", "false", "False"):
        return text in ("true", "True")
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def text_of(kind: str, given: Any) -> str:
    """The text by which ``own_object`` makes an equal object.

    Args:
        kind: what it is, such as ``"prior"``, for messages.
        given: a dataclass of a module's top level, whose arguments are numbers, truth values
            and texts.

    Raises:
        ValueError: for any other object.
    """
    made = type(given)
    if getattr(sys.modules.get(made.__module__), made.__qualname__, None) is not made:
        raise _no_text(kind, given, f"{made.__qualname__} is not at the top level of its module")
    if not is_dataclass(made):
        raise _no_text(kind, given, f"{made.__qualname__} is no dataclass")
    options = []
    for each in fields(made):
        value = getattr(given, each.name)
        said = str(value).lower() if isinstance(value, bool) else str(value)
        if each.init and value is not each.default:
            if not isinstance(value, bool | int | float | str) or "," in said:
                raise _no_text(kind, given, f"its {each.name} cannot be written as key=value")
            options.append(f"{each.name}={said}")
    text = ":".join(filter(None, (f"{made.__module__}:{made.__qualname__}", ",".join(options))))
    twin = made(**options_of(kind, text, ",".join(options)))
    for each in fields(made):
        if not _same(getattr(twin, each.name), getattr(given, each.name)):
            raise _no_text(kind, given, f"its {each.name} cannot be written as key=value")
    return text


def _same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and isinstance(one, bool | int | float | str)
                            and one == other)  # fmt: skip


def _no_text(kind: str, given: Any, why: str) -> ValueError:
    return ValueError(
        f"{kind} must be a name, module:Class:key=value, or a dataclass that can be written so, "
        f"since it stands in the files of results; got {given!r}, but {why}"
    )
