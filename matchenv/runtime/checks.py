"""Argument checks: each kind of bad input raises one clear ``ValueError``.

Each function takes the argument's name for its message, which states the rule and the given value.
Callers check all arguments before they change anything.
"""

from __future__ import annotations

import errno
import operator
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Squares of skills and their sums must fit into float64.
LARGEST_SKILL = 1e150
SMALLEST = 1.0 / LARGEST_SKILL

# Most characters of a value in a message.
LONGEST_VALUE = 200


def as_float_array(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return ``value`` as a float64 array of finite numbers no larger than ``LARGEST_SKILL``."""
    rule = f"{name} must be finite and at most {LARGEST_SKILL:g} in size"
    try:
        array = np.asarray(value)
        # Integers from 2^64 on are an array of objects.
        real = array.dtype.kind in "fiub" or all(isinstance(x, int | float) for x in array.flat)
        if not real:
            raise TypeError
        array = array.astype(np.float64, copy=False)
    except OverflowError:
        raise refusal(rule, value) from None
    except (TypeError, ValueError, RuntimeError):  # the last one is torch's
        raise refusal(f"{name} must hold real numbers", value) from None
    if type(value) is not np.ndarray and isinstance(value, np.ndarray) and np.ma.is_masked(value):
        raise refusal(f"{name} must not hold masked numbers", value)
    # The comparison is False for NaN too.
    return _checked(array, np.abs(array) <= LARGEST_SKILL, rule)


def as_array(name: str, value: Any) -> NDArray[Any]:
    """Return ``value`` as an array of any type; refuse ragged lists."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError):
        raise refusal(f"{name} must be an array", value) from None


def as_positive_array(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return ``value`` as a float64 array of numbers of at least ``SMALLEST``."""
    array = as_float_array(name, value)
    return _checked(array, array >= SMALLEST, f"{name} must be positive (at least {SMALLEST:g})")


def as_non_negative_array(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return ``value`` as a float64 array of numbers of at least 0."""
    array = as_float_array(name, value)
    return _checked(array, array >= 0.0, f"{name} must not be negative")


def check_shapes(names: Iterable[str], *arrays: NDArray[Any]) -> None:
    """Refuse arrays whose shapes do not broadcast."""
    try:
        np.broadcast(*arrays)
    except ValueError:
        shapes = []
        for name, array in zip(names, arrays, strict=True):
            if array.ndim > 0:
                shapes.append(f"{name} {array.shape}")
        raise ValueError(f"shapes must broadcast, got {', '.join(shapes)}") from None


def shown(value: Any) -> str:
    """Return a value for a message, in one line of at most ``LONGEST_VALUE`` characters."""
    line = " ".join(repr(value).split())
    if len(line) > LONGEST_VALUE:
        line = f"{line[: LONGEST_VALUE - 1]}…"
    return line


def refusal(rule: str, value: Any) -> ValueError:
    """Return the error for a value that breaks a rule, with both in its message."""
    return ValueError(f"{rule}, got {shown(value)}")


@contextmanager
def errors_named(what: str) -> Iterator[None]:
    """Turn errors of third-party code or a damaged file into a ``ValueError`` that names it.

    Errors without a name, and those of memory and full disks, stay as they are.
    """
    try:
        yield
    except Exception as error:
        full = isinstance(error, OSError) and error.errno == errno.ENOSPC
        if not what or full or isinstance(error, MemoryError):
            raise
        message = str(error)
        if not isinstance(error, ValueError | ImportError):
            message = f"{type(error).__name__}: {error}"
        raise ValueError(f"{what}: {message}") from error


def _checked(array: NDArray[np.float64], good: NDArray[np.bool_], rule: str) -> NDArray[np.float64]:
    if good.all():
        return array
    index = tuple(np.argwhere(~good)[0].tolist())
    where = ""
    if len(index) == 1:
        where = f" at index {index[0]}"
    elif index:
        where = f" at index {index}"
    raise ValueError(f"{rule}, got {float(array[index])!r}{where}")


def as_number(
    name: str, value: Any, low: float = -LARGEST_SKILL, high: float = LARGEST_SKILL
) -> float:
    """Return ``value`` as one finite float in ``[low, high]``."""
    if type(value) is float and low <= value <= high:  # skips the slower checks
        return value
    array = as_float_array(name, value)
    if array.ndim != 0 or isinstance(value, bool | np.bool_):
        raise refusal(f"{name} must be one number", value)
    if array < low:
        raise refusal(f"{name} must be at least {low:g}", value)
    if array > high:
        raise refusal(f"{name} must be at most {high:g}", value)
    return float(array)


def _number(rule: str, good: Callable[[float], bool]) -> Callable[[str, Any], float]:
    """Return a check like ``as_number`` with one more rule."""

    def check(name: str, value: Any) -> float:
        number = as_number(name, value)
        if not good(number):
            raise refusal(f"{name} must {rule}", value)
        return number

    return check


as_positive_number = _number(f"be positive (at least {SMALLEST:g})", lambda x: x >= SMALLEST)
as_non_negative_number = _number("not be negative", lambda x: x >= 0.0)
as_probability = _number("be in [0, 1)", lambda x: 0.0 <= x < 1.0)
as_open_share = _number("be in (0, 1)", lambda x: 0.0 < x < 1.0)
as_share = _number("be in [0, 1]", lambda x: 0.0 <= x <= 1.0)
as_positive_share = _number("be in (0, 1]", lambda x: 0.0 < x <= 1.0)


def as_integer(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return ``value`` as an int in ``[low, high]``; refuse floats and booleans."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if isinstance(value, bool | np.bool_):
        number = None
    if number is not None and number >= low and (high is None or number <= high):
        return number
    allowed = f"of at least {low}"
    if high is not None:
        allowed = f"in [{low}, {high}]"
    raise refusal(f"{name} must be an integer {allowed}", value)


def as_flag(name: str, value: Any) -> bool:
    """Return ``value`` if it is True or False; refuse strings and numbers."""
    if not isinstance(value, bool | np.bool_):
        raise refusal(f"{name} must be True or False", value)
    return bool(value)


def as_choice(name: str, value: Any, known: Iterable[str]) -> str:
    """Return ``value`` if it is one of the ``known`` names."""
    names = list(known)
    if not isinstance(value, str) or value not in names:
        rule = f"{name} must be one of {', '.join(map(repr, names))}"
        raise ValueError(f"{rule}, got {shown(value)}{hint_of(value, names)}")
    return value


def hint_of(value: Any, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the end of a message about an unknown name: the most similar known name, if any.

    Args:
        value: the unknown name.
        known: the known names.
        cutoff: least similarity, in [0, 1], of ``difflib.get_close_matches``.
    """
    if not isinstance(value, str):
        return ""
    for similar in get_close_matches(value[:LONGEST_VALUE], known, 1, cutoff):
        return f"; perhaps you meant {similar}"
    return ""


def elements_of(value: Any) -> list[Any] | None:
    """Return the elements of ``value``; None for strings and values that have none."""
    if isinstance(value, str):
        return None
    try:
        elements = iter(value)
    except TypeError:  # also of arrays without axes
        return None
    return list(elements)


def as_list(name: str, value: Any) -> list[Any]:
    """Return the elements of ``value``, at least one; refuse strings."""
    elements = elements_of(value)
    if not elements:
        raise refusal(f"{name} must be a list of at least one", value)
    return elements


def as_outcomes(name: str, value: Any) -> Any:
    """Return outcomes, each +1, 0 or -1, as a float or a float64 array."""
    if type(value) is int and -1 <= value <= 1:  # skips the slower checks
        return float(value)
    outcomes = as_float_array(name, value)
    known = (outcomes == 0.0) | (np.abs(outcomes) == 1.0)
    if not known.all():
        raise ValueError(f"{name} must be +1, 0 or -1, got {float(outcomes[~known][0])!r}")
    return outcomes


def as_actions(
    actions: Any, count: int, num_opponents: int, name: str = "actions"
) -> NDArray[np.int64]:
    """Return actions as int64, shape (count,), each in [0, num_opponents)."""
    array = as_array(name, actions)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be integers of shape ({count},), "
            f"got dtype {array.dtype} and shape {array.shape}"
        )
    chosen = np.ascontiguousarray(array, dtype=np.int64)
    # Read as unsigned, negative numbers are large: one pass finds both kinds.
    if chosen.view(np.uint64).max(initial=0) >= num_opponents:
        index = int(np.flatnonzero((array < 0) | (array >= num_opponents))[0])
        raise ValueError(
            f"{name} must be in [0, {num_opponents - 1}], got {int(array[index])} at index {index}"
        )
    return chosen


def as_action_masks(value: Any, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return masks of the allowed actions as bool, with at least one allowed in each row.

    Args:
        value: booleans, or numbers that are 0 or 1.
        shape: required shape (..., M).
    """
    array = as_array("action_masks", value)
    if array.shape != shape:
        raise ValueError(f"action_masks must have shape {shape}, got {array.shape}")
    numeric = array.dtype.kind in "iuf" and np.isin(array, (0, 1)).all()
    if array.dtype != np.bool_ and not numeric:
        raise refusal("action_masks must hold True and False, or 1 and 0", value)
    masks = np.ascontiguousarray(array, dtype=np.bool_)
    empty = ~masks.any(axis=-1)
    if empty.any():
        where = ""
        if masks.ndim > 1:
            where = f" at index {int(np.argmax(empty.ravel()))}"
        raise ValueError(f"action_masks must allow at least one action, they allow none{where}")
    return masks


# Unicode categories: control characters, surrogates, line and paragraph separators.
UNPRINTABLE = ("Cc", "Cs", "Zl", "Zp")
# Characters that change the direction of writing.
DIRECTION_MARKS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, for example ``1 game`` or ``2 games``."""
    if number == 1:
        return f"{number} {noun}"
    return f"{number} {noun}s"


def printable(text: str, kept: str = "") -> str:
    """Return untrusted text with control characters and direction marks escaped.

    Args:
        text: for example a name from a file, or an error message.
        kept: characters to leave as they are, for example line breaks.
    """
    if text.isascii() and text.isprintable():
        return text
    escaped = []
    for char in text:
        is_control = unicodedata.category(char) in UNPRINTABLE or char in DIRECTION_MARKS
        if is_control and char not in kept:
            char = char.encode("unicode_escape").decode("ascii")
        escaped.append(char)
    return "".join(escaped)
