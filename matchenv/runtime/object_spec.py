"""Object specifications: ``module:Class:key=value,key=value``, for third-party classes."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

from matchenv.runtime.checks import errors_named, hint_of, refusal, shown

FORM = re.compile(r"(?P<module>\w+(\.\w+)*):(?P<name>[A-Za-z_]\w*)(:(?P<options>.*))?")

BOOLEANS = {"true": True, "True": True, "false": False, "False": False}

# Whether modules of others may be imported. None: those that the user names, and no modules that
# only a policy file names.
_any_code: ContextVar[bool | None] = ContextVar("_any_code", default=None)


def is_object_spec(text: Any) -> bool:
    """Return whether a text has the form ``module:Class`` or ``module:Class:key=value``."""
    return isinstance(text, str) and FORM.fullmatch(text) is not None


class CodeRefused(ValueError):
    """A file names code that the user gave no permission to import."""


@contextmanager
def only_own_code(*, allow_code: bool = False) -> Iterator[None]:
    """Refuse modules of other packages, and classes without a required base, within a block.

    For commands that read files of other people, for example the folder of a run.

    Args:
        allow_code: the user's permission (``--allow-code``) to import any module.
    """
    token = _any_code.set(allow_code)
    try:
        yield
    finally:
        _any_code.reset(token)


def code_is_allowed() -> bool:
    """Return whether the user gave permission to import any module that a file names."""
    return _any_code.get() is True


def object_named(kind: str, value: Any, named: Mapping[str, Any], base: type) -> Any:
    """Return an object from its name, from a specification, or as it is.

    Args:
        kind: kind of object for messages, for example ``"prior"``.
        value: a key of ``named``, ``module:Class:key=value`` for a subclass of ``base``, or an
            instance of ``base``.
        named: objects by name.
        base: a public class of this package.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(value, base):
        return value
    if isinstance(value, str) and value in named:
        return named[value]
    factory, options = class_from_spec(kind, value, named, base)
    return build_object(kind, value, factory, options, {})


def search_working_folder() -> None:
    """Search the working folder for modules, last, so that it hides no installed package."""
    with suppress(FileNotFoundError):  # of a folder that was deleted
        if str(Path.cwd()) not in sys.path:
            sys.path.append(str(Path.cwd()))


def class_from_spec(
    kind: str, text: Any, known: Iterable[str], base: type | None = None
) -> tuple[Any, str]:
    """Import a third-party class, and return it with the options of the text.

    Args:
        kind: kind of object for messages, for example ``"policy"``.
        text: ``module:Class:key=value``. The working folder is searched last for the module.
        known: names that can be given instead, for messages.
        base: required base class; None allows any callable, which needs the user's permission.

    Raises:
        ValueError: if there is no such class, or its module may not be imported (see
            ``only_own_code``).
    """
    form = FORM.fullmatch(text) if isinstance(text, str) else None
    if form is None:
        allowed = ", ".join(map(repr, known))
        if base is not None:
            allowed += f" or a matchenv.{base.__name__}"
        raise refusal(f"{kind} must be one of {allowed}, or module:Class:key=value", text)
    label = f"{kind} {shown(text)}"
    if _any_code.get() is False and base is None:
        raise CodeRefused(f"{label} can run any code: look at it, then give --allow-code")
    search_working_folder()
    if _any_code.get() is False and form["module"].partition(".")[0] != "matchenv":
        raise CodeRefused(
            f"{label} would run the code of the module {form['module']}: look at it, then give "
            "--allow-code"
        )
    try:
        factory = getattr(import_module(form["module"]), form["name"])
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"{label} is read as module:Class, and there is none: {error} (the known "
            f"names are {', '.join(known)})"
        ) from error
    if base is not None and not (isinstance(factory, type) and issubclass(factory, base)):
        raise ValueError(f"{label} must name a subclass of {base.__name__}, got {factory}")
    return factory, form["options"] or ""


def build_object(
    kind: str, text: str, factory: Callable[..., Any], options: str, defaults: Mapping[str, Any]
) -> Any:
    """Build an object of a class from its options.

    Args:
        kind: kind of object for messages.
        text: the whole specification, for messages.
        factory: the class.
        options: ``key=value,key=value``; they override the defaults.
        defaults: arguments for the parameters of the class that have these names.

    Raises:
        ValueError: for an unknown option, and for values that the factory refuses.
    """
    label = f"{kind} {shown(text)}"
    with errors_named(f"{label} cannot be made"):
        parameters = dict(inspect.signature(factory).parameters)
    arguments = {name: value for name, value in defaults.items() if name in parameters}
    parameters.pop("true_skill", None)  # never from a text
    any_name = False
    allowed = {}
    for name, parameter in parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            any_name = True
        elif parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            allowed[name] = parameter.default
    for key, value in parsed_options(kind, text, options).items():
        if key not in allowed and not any_name:
            names = ", ".join(sorted(allowed)) or "none at all"
            rule = f"options of {label} must be name=value with a name of {names}"
            raise ValueError(f"{rule}, got {shown(key)}{hint_of(key, allowed)}")
        if isinstance(allowed.get(key), bool) and not isinstance(value, bool):
            raise refusal(f"{key} of {label} must be true or false", value)
        arguments[key] = value
    if arguments.get("true_skill", parameters) is None:
        raise ValueError(f"{label} must know the true skills, which are not known here")
    try:
        return factory(**arguments)
    except TypeError as error:
        raise ValueError(f"{label} cannot be made: {error}") from error


def parsed_options(kind: str, text: str, options: str) -> dict[str, Any]:
    """Parse the options ``key=value,key=value`` of a text into numbers, booleans and texts.

    Raises:
        ValueError: for an option that is not name=value, or given twice.
    """
    arguments: dict[str, Any] = {}
    for option in options.split(","):
        if not option:
            continue
        key, separator, value = option.partition("=")
        if not separator or not key or key in arguments:
            got = shown(option)
            if key in arguments:
                got += " again"
            raise ValueError(f"options of {kind} {shown(text)} must be name=value, got {got}")
        arguments[key] = parsed_value(value)
    return arguments


def parsed_value(text: str) -> Any:
    """Convert a text to a number or boolean, if it is one."""
    for number_type in (int, float):
        with suppress(ValueError):
            return number_type(text)
    return BOOLEANS.get(text, text)


def spec_of(kind: str, value: Any) -> str:
    """Return the text from which ``object_named`` makes an equal object; a text stays itself.

    Raises:
        ValueError: unless it is a dataclass of a module's top level whose arguments are numbers,
            booleans and texts.
    """
    if isinstance(value, str):
        return value
    with suppress(AttributeError, TypeError, ValueError):
        spec = _spec_with_options(value)
        factory, options = class_from_spec(kind, spec, (), type(value))
        if build_object(kind, spec, factory, options, {}) == value:
            return spec.rstrip(":")
    raise ValueError(
        f"{kind} must be a name, module:Class:key=value, or a dataclass of a module's top level "
        f"whose fields can be written as key=value, for the result files; got {shown(value)}"
    )


def _spec_with_options(value: Any) -> str:
    """Return the specification of a dataclass, with the fields that have no default value."""
    options = []
    for declared in fields(value):
        argument = getattr(value, declared.name)
        if not declared.init or argument is declared.default:
            continue
        if isinstance(argument, bool):
            argument = str(argument).lower()
        options.append(f"{declared.name}={argument}")
    return f"{type(value).__module__}:{type(value).__qualname__}:{','.join(options)}"
