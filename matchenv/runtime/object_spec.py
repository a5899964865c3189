"""Objects written as text: ``module:Class:key=value,key=value``, for third-party classes."""

from __future__ import annotations

import inspect
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FORM = re.compile(r"(?P<module>\w+(\.\w+)*):(?P<name>[A-Za-z_]\w*)(:(?P<options>.*))?")

# Whether modules outside this package and the installed ones may be imported.
_any_code = True


def is_object_spec(text: Any) -> bool:
    """Return whether a text has the form ``module:Class`` or ``module:Class:key=value``."""
    return isinstance(text, str) and FORM.fullmatch(text) is not None


@contextmanager
def only_installed_code(*, allow_code: bool = False) -> Iterator[None]:
    """Refuse to import modules that are not installed, for the time of a block.

    For commands that read files which may come from others, such as the folder of a run.

    Args:
        allow_code: the user's permission (``--allow-code``): nothing is refused.
    """
    global _any_code
    before, _any_code = _any_code, allow_code
    try:
        yield
    finally:
        _any_code = before


def object_named(kind: str, given: Any, named: Mapping[str, Any], base: type) -> Any:
    """Return the object that a text names or describes, or the object itself.

    Args:
        kind: the kind of object, for example ``"prior"``, for messages.
        given: a name, ``module:Class:key=value`` for a subclass of ``base``, or an object.
        named: the objects that have a name.
        base: class of the objects, a public name of this package.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(given, base):
        return given
    if is_object_spec(given):
        return object_from_spec(kind, given, {}, named, base)
    if not isinstance(given, str) or given not in named:
        names = ", ".join(repr(name) for name in named)
        raise ValueError(
            f"{kind} must be one of {names} or a matchenv.{base.__name__}, also as "
            f"module:Class:key=value, got {given!r}"
        )
    return named[given]


def object_from_spec(
    kind: str,
    text: str,
    defaults: Mapping[str, Any],
    known: Iterable[str],
    base: type | None = None,
) -> Any:
    """Build an object of a third-party class.

    Args:
        kind: the kind of object, for example ``"policy"``, for messages.
        text: ``module:Class:key=value``. The module is looked for where Python looks, and in the
            working folder.
        defaults: arguments for those parameters of the class that have these names; options of
            the text override them.
        known: names that may stand in place of a spec, for messages.
        base: class that it must be a subclass of; nothing else is called. None: any callable.

    Raises:
        ValueError: if there is no such class, it refuses its options, or its module may not be
            imported (see ``only_installed_code``).
    """
    form = FORM.fullmatch(text)
    if form is None:
        raise ValueError(f"{kind} must be module:Class or module:Class:key=value, got {text!r}")
    # The command `matchenv` does not look in the working folder, `python -m matchenv` does. It
    # comes last, so that nothing there hides an installed package.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    top = form["module"].partition(".")[0]
    if not (_any_code or top == "matchenv" or top in sys.stdlib_module_names):
        found = find_spec(top)  # imports nothing
        places = list(found.submodule_search_locations or [found.origin or ""]) if found else []
        installed = tuple(sysconfig.get_path(name) for name in ("purelib", "platlib"))
        if not all(place.startswith(installed) for place in places):
            raise ValueError(
                f"{kind} {text!r} would run the code of {', '.join(places)}, which is not an "
                "installed package: look at it, then give --allow-code"
            )
    try:
        factory = getattr(import_module(form["module"]), form["name"])
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"{kind} {text!r} is read as module:Class, and there is none: {error} (the known "
            f"names are {', '.join(known)})"
        ) from error
    if base is not None and not (isinstance(factory, type) and issubclass(factory, base)):
        raise ValueError(f"{kind} {text!r} must name a subclass of {base.__name__}, got {factory}")
    return build_object(kind, text, factory, form["options"] or "", defaults)


def build_object(
    kind: str, text: str, factory: Callable[..., Any], options: str, defaults: Mapping[str, Any]
) -> Any:
    """Build an object from ``key=value`` options and defaults, as ``object_from_spec``.

    Raises:
        ValueError: for an unknown option, and values that the factory refuses.
    """
    try:
        parameters = inspect.signature(factory).parameters
    except (TypeError, ValueError) as error:
        raise ValueError(f"{kind} {text!r} cannot be made: {error}") from None
    any_name = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    allowed = {
        name: each
        for name, each in parameters.items()
        if name != "true_skill" and each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    }
    arguments = {key: value for key, value in defaults.items() if key in parameters}
    for key, value in parsed_options(kind, text, options).items():
        if key not in allowed and not any_name:
            raise ValueError(
                f"options of {kind} {text!r} must be name=value with a name of "
                f"{', '.join(sorted(allowed)) or 'none at all'}, got {key!r}"
            )
        is_switch = key in allowed and isinstance(allowed[key].default, bool)
        if is_switch and not isinstance(value, bool):
            raise ValueError(f"{key} of {kind} {text!r} must be true or false, got {value!r}")
        arguments[key] = value
    if arguments.get("true_skill", parameters) is None:
        raise ValueError(f"{kind} {text!r} must know the true skills, which are not known here")
    try:
        return factory(**arguments)
    except TypeError as error:
        raise ValueError(f"{kind} {text!r} cannot be made: {error}") from error


def parsed_options(kind: str, text: str, options: str) -> dict[str, Any]:
    """Parse the options ``key=value,key=value`` of a text into numbers, truth values and texts.

    Raises:
        ValueError: for an option that is not name=value.
    """
    arguments: dict[str, Any] = {}
    for option in filter(None, options.split(",")):
        key, separator, value = option.partition("=")
        if not separator or not key or key in arguments:
            raise ValueError(f"options of {kind} {text!r} must be name=value, got {option!r}"
                             f"{' again' if key in arguments else ''}")  # fmt: skip
        arguments[key] = parsed_value(value)
    return arguments


def parsed_value(text: str) -> Any:
    """Return the number, truth value or text that a text stands for."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text in ("true", "True") if text in ("true", "True", "false", "False") else text


def spec_of(kind: str, given: Any) -> str:
    """Return the text from which ``object_named`` makes an equal object; a text is its own.

    Raises:
        ValueError: unless it is a dataclass of a module's top level, whose arguments are numbers,
            truth values and texts.
    """
    if isinstance(given, str):
        return given
    with suppress(AttributeError, TypeError, ValueError):
        values = [(each, getattr(given, each.name)) for each in fields(given) if each.init]
        changed = (
            f"{each.name}={str(value).lower() if isinstance(value, bool) else value}"
            for each, value in values
            if value is not each.default
        )
        text = f"{type(given).__module__}:{type(given).__qualname__}:{','.join(changed)}"
        if object_from_spec(kind, text, {}, ()) == given:
            return text.rstrip(":")
    raise ValueError(
        f"{kind} must be a name, module:Class:key=value, or a dataclass of a module's top level "
        "whose fields can be written as key=value, since it stands in the files of results; "
        f"got {given!r}"
    )
