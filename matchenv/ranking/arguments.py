"""Checks of names, pairs and games that a ``Ranker`` is given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from matchenv.runtime.checks import elements_of, refusal


def with_names(index: Mapping[str, int], names: Iterable[Any]) -> dict[str, int]:
    """Return an index of names with further ones.

    Raises:
        ValueError: for a name that is empty, not a string or already in use.
    """
    longer = dict(index)
    for name in names:
        if not isinstance(name, str) or not name or name in longer:
            raise refusal("item must be a new name", name)
        longer[name] = len(longer)
    return longer


def rows_of(name: str, form: str, values: Any) -> Iterator[tuple[Any, ...]]:
    """Yield tuples of a form, for example ``"(a, b)"``.

    Raises:
        ValueError: for a row of another length.
    """
    length = form.count(",") + 1
    yield from _tuples(name, form, values, range(length, length + 1))


def game_rows(values: Any) -> Iterator[tuple[Any, ...]]:
    """Yield games of three to five fields.

    Raises:
        ValueError: for a row of another length.
    """
    yield from _tuples("games", "(a, b, outcome)", values, range(3, 6))


def _tuples(name: str, form: str, values: Any, lengths: range) -> Iterator[tuple[Any, ...]]:
    rows = elements_of(values)
    if rows is None:
        rows = [values]
    for value in rows:
        row = value if isinstance(value, tuple) else tuple(elements_of(value) or ())
        if len(row) not in lengths:
            raise refusal(f"{name} must hold tuples {form}", value)
        yield row
