"""JSON texts as plain data, and text from outside as a terminal can show it."""

from __future__ import annotations

import json
import unicodedata
from typing import Any, NoReturn

# Categories of Unicode: control characters, halves of characters, separators of lines and
# paragraphs.
UNSHOWN = ("Cc", "Cs", "Zl", "Zp")
# What turns the direction of writing round.
TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def parsed_json(text: str | bytes, name: str = "it") -> Any:
    """What a JSON text says.

    Args:
        text: the JSON, in UTF-8 if it is bytes.
        name: what it is, for the message.

    Raises:
        ValueError: if it is no JSON, nested beyond Python's recursion, or has NaN or infinity.
    """
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError(f"{name} must be JSON that is not nested so deeply") from None
    except ValueError as error:  # a broken encoding too
        raise ValueError(f"{name} must be JSON: {error}") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"numbers must be finite, got {constant}")


def shown(text: str, kept: str = "") -> str:
    """Text in which what a terminal would obey, or not show, is escaped as Python writes it.

    Args:
        text: from anywhere: a name out of a file, an error message.
        kept: characters to leave as they are, such as line breaks.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        each.encode("unicode_escape").decode("ascii")
        if each not in kept and (unicodedata.category(each) in UNSHOWN or each in TURNS)
        else each
        for each in text
    )
