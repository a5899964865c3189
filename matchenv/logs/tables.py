"""Games of a table: from the columns of a log to the arrays of its games."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from matchenv.logs.columns import Layout, find_layout
from matchenv.logs.faults import BadRows
from matchenv.logs.games import Games, games_of_rows
from matchenv.logs.rows import rows_of_table
from matchenv.logs.times import (
    AMERICAN,
    EUROPEAN,
    Times,
    is_ambiguous,
    time_text,
    times_of_rows,
    unit_of,
)


@dataclass(frozen=True)
class TableReading:
    """The games of a table, and how they were read."""

    layout: Layout
    times: Times | None
    games: Games
    first_side: str  # column that says which side was first; empty if none does
    read_as: tuple[str, ...]  # lines that say what was read from which column


def read_games(
    cells: Mapping[str, Sequence[str]],
    lines: Sequence[int],
    bad: BadRows,
    chosen: Sequence[str] = (),
    time_format: str | None = None,
) -> TableReading:
    """Return the games of a table that can be rated.

    Args:
        cells: cells by column.
        lines: line of each row.
        bad: lines that could not be split; further bad rows are added.
        chosen: ROLE=NAME, see ``find_layout``.
        time_format: see ``read_times``.

    Raises:
        BadLogError: for columns that are missing or disagree, or an unknown format.
    """
    layout = find_layout(cells, chosen)
    times, notes = times_of_rows(cells, layout, time_format)
    rows = rows_of_table(cells, lines, bad, layout, times)
    games = games_of_rows(rows, layout)
    read_as = [_columns_text(layout, games), _first_side_text(rows.first_side)]
    read_as.append(_time_text(cells, times, games, time_format))
    unused = [name for name in layout.further if name.lower().replace("_", "") == "timeplayed"]
    if unused:
        notes.append(
            f"column {unused[0]!r} is not used: --partial-play {unused[0]} weighs performances by "
            "the share of the game that a player took part in"
        )
    return TableReading(layout, times, games, rows.first_side, (*read_as, *notes, *rows.notes))


def _columns_text(layout: Layout, games: Games) -> str:
    """Return which columns were read."""
    row = "player in a game" if layout.sides is None else "game"
    columns = []
    if layout.sides is not None:
        columns = [f"sides {' and '.join(map(_names_text, layout.sides.columns))}"]
    for role, name in layout.columns.items():
        if role == "at_home" or (role == "neutral" and "neutral" not in games.arrays):
            continue
        columns.append(f"{role} {name!r}")
    columns.append(f"{games.result.role} {games.result}")
    return f"read as: a row for each {row}; {', '.join(columns)}"


def _names_text(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _first_side_text(first_side: str) -> str:
    """Return which column says which side was first."""
    if not first_side:
        return "first side: no column says who was at home or first, so no side has an advantage"
    return f"first side: by {first_side!r}"


def _time_text(
    cells: Mapping[str, Sequence[str]],
    times: Times | None,
    games: Games,
    time_format: str | None,
) -> str:
    """Return which column was read as time, how, and the first and the last time."""
    if times is None:
        return "time: no column; games are in the order of the file"
    columns = " and ".join(map(repr, times.columns))
    form = times.format
    if form == "number":
        form = f"numbers in {unit_of(times.values)[1]}"
    span = ""
    time = games.arrays["time"]
    if len(time):
        ends = [time_text(float(seconds), times.format, times.unit) for seconds in time[[0, -1]]]
        span = f", {ends[0]} to {ends[1]}"
    hint = ""
    if times.format == AMERICAN and time_format is None and is_ambiguous(cells[times.columns[0]]):
        hint = f"; --time-format {EUROPEAN} is possible too"
    return f"time: {columns}, read as {form}{span}{hint}"


def _cells_of_table(frame: Any) -> dict[str, list[str]]:
    """Return the columns of a table as strings, blank for missing values."""
    cells: dict[str, list[str]] = {}
    for column in getattr(frame, "columns", frame):
        name = str(column).strip()
        if name in cells:
            raise ValueError(f"two columns are named {name!r}")
        values = pd.Series(list(frame[column]), dtype=object)
        cells[name] = values.map(str).where(values.notna(), "").tolist()
    if len({len(values) for values in cells.values()}) > 1:
        raise ValueError("its columns have different lengths")
    return cells


def arrays_of_table(frame: Any, columns: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of ``MatchLog`` for a table; see ``MatchLog.from_table``."""
    try:
        cells = _cells_of_table(frame)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"frame must be a data frame or a dict of columns of equal length: {error}"
        ) from None
    count = len(next(iter(cells.values()), []))
    bad: BadRows = {}
    chosen = [f"{role}={name}" for role, name in columns.items()]
    reading = read_games(cells, range(count), bad, chosen)
    if bad:
        row = min(bad.values())
        raise ValueError(
            f"frame must be a log of matches: row {row.line}: {row.reason} ({row.detail})"
        )
    return reading.games.arrays
