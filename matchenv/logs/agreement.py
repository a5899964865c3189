"""The columns of the results: which ones can hold them, and whether these agree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from matchenv.logs.columns import Layout, ResultColumn
from matchenv.logs.faults import BadLogError
from matchenv.logs.pairs import pairs_of_sides
from matchenv.logs.results import DRAW, Outcomes
from matchenv.logs.rows import Rows
from matchenv.runtime.arrays import Floats, Integers, Masks

DECIMALS = 9  # of sums of scores: 0.1 + 0.2 is 0.3
# From this share of sides with equal values of all members, values are those of the side.
REPEATED = 0.95
# Below this share of readable cells, a column is no result where another one can be.
READABLE = 0.5


class Grouping(NamedTuple):
    """The games and sides of the rows."""

    game: Integers  # (rows,) number of the game, -1 if missing
    side: Integers  # (rows,) number of the side

    def without_teams(self) -> Grouping:
        """Return a grouping in which everybody plays alone."""
        return Grouping(self.game, np.arange(len(self.game)))


class Result(NamedTuple):
    """The results of the rows, by one column or by those of both sides."""

    column: ResultColumn
    outcome: Outcomes
    is_common: bool  # whether the members of a side share its result; scores add up otherwise

    def of_sides(self, side: Integers, usable: Masks) -> pd.Series[Any]:
        """Return the value of each side by its number, from rows that can be used."""
        groups = self.outcome.value[usable].groupby(side[usable])
        if self.is_common:
            return groups.first()
        return groups.sum(min_count=1).astype("Float64").round(DECIMALS)


def chosen_result(
    rows: Rows, grouping: Grouping, usable: Masks, layout: Layout
) -> tuple[Result, Grouping]:
    """Return the results of a log, and the grouping of its rows into sides; add notes to the rows.

    Columns that cannot be read, or differ within a side, are no results where others can be. The
    others must agree. A column of teams whose members have different places does not name sides.

    Raises:
        BadLogError: if two columns disagree.
    """
    columns = _readable(rows, usable)
    columns, grouping = _shared_by_sides(rows, columns, grouping, usable, layout)
    results = []
    for column, outcome in columns:
        is_common = _is_common(column, outcome, grouping, usable)
        results.append(Result(column, outcome, is_common))
    chosen = results[0]
    has_members = len(np.unique(grouping.side[usable])) < np.count_nonzero(usable)
    if chosen.is_common and chosen.column.role == "score" and has_members:
        rows.notes.append(
            "members of a side have equal scores: they are read as the score of the side"
        )
    for other in results[1:]:
        _check_agreement(rows, grouping, usable, chosen, other)
        rows.notes.append(f"column {other.column} agrees with {chosen.column}")
    return chosen, grouping


def _readable(rows: Rows, usable: Masks) -> list[tuple[ResultColumn, Outcomes]]:
    """Return the columns whose cells can be read, or all if there are none."""
    readable = []
    unreadable = []
    for column, outcome in rows.outcomes:
        known = outcome.value.notna().to_numpy() | outcome.unfinished | outcome.unplayed
        if known[usable].sum() > READABLE * usable.sum():
            readable.append((column, outcome))
        else:
            unreadable.append(column)
    if not readable:
        return rows.outcomes[:1]
    for column in unreadable:
        rows.notes.append(f"column {column} is no result: most of its cells cannot be read")
    return readable


def _shared_by_sides(
    rows: Rows,
    columns: list[tuple[ResultColumn, Outcomes]],
    grouping: Grouping,
    usable: Masks,
    layout: Layout,
) -> tuple[list[tuple[ResultColumn, Outcomes]], Grouping]:
    """Return the columns that the members of a side share, or whose values add up.

    If places are those of players, as in a race, the teams are no sides: everybody plays alone.
    """
    if layout.sides is not None:
        return columns, grouping
    shared = []
    others = []
    for column, outcome in columns:
        share = _share_of_equal(outcome, grouping, usable)
        is_shared = share is None or share >= REPEATED
        if column.role == "score" or is_shared or column.role in layout.chosen:
            shared.append((column, outcome))
        else:
            others.append((column, outcome))
    says_sides = any(column.role != "score" for column, _ in shared)
    can_drop_teams = "team" in layout.columns and "team" not in layout.chosen
    if can_drop_teams and not says_sides:
        for column, outcome in others:
            if _are_places_of_players(column, outcome, grouping, usable):
                rows.notes.append(
                    f"column {layout.columns['team']!r} does not name the sides, since its members "
                    f"have different places in {column}: everybody plays alone"
                )
                return columns, grouping.without_teams()
    if not shared:
        return columns, grouping
    for column, _ in others:
        rows.notes.append(f"column {column} is no result: members of one side have several")
    return shared, grouping


def _share_of_equal(outcome: Outcomes, grouping: Grouping, usable: Masks) -> float | None:
    """Return the share of sides whose members have equal values, None without such sides.

    Sides of one member, and sides in which all values are 0, do not count.
    """
    groups = outcome.value[usable].groupby(grouping.side[usable])
    size = groups.size()
    if not (size > 1).any():
        return None
    distinct = groups.nunique()
    counted = distinct[(size > 1) & ((distinct > 1) | (groups.first() != 0))]
    if not len(counted):
        return None
    return float((counted == 1).mean())


def _are_places_of_players(
    column: ResultColumn, outcome: Outcomes, grouping: Grouping, usable: Masks
) -> bool:
    """Return whether each player of a game has a place of their own, in nearly all games."""
    if column.role != "rank":
        return False
    places = pd.DataFrame({"game": grouping.game, "value": outcome.value})[usable].dropna()
    repeated = places[places.duplicated()]["game"].nunique()
    return bool(repeated <= (1.0 - REPEATED) * places["game"].nunique())


def _is_common(column: ResultColumn, outcome: Outcomes, grouping: Grouping, usable: Masks) -> bool:
    """Return whether the members of a side share its result; scores add up otherwise."""
    if column.role != "score" or len(column.names) == 2:
        return True
    share = _share_of_equal(outcome, grouping, usable)
    return share is not None and share >= REPEATED


def _check_agreement(
    rows: Rows, grouping: Grouping, usable: Masks, one: Result, other: Result
) -> None:
    """Refuse two columns of results that order two sides of a game differently.

    Raises:
        BadLogError: with both columns, the number of games, and the option that chooses.
    """
    index = np.flatnonzero(usable)
    table = pd.DataFrame({"game": grouping.game[index], "row": index})
    table = table.groupby(grouping.side[index]).first()
    for name, result in (("one", one), ("other", other)):
        values = result.of_sides(grouping.side, usable)
        table[name] = values.astype("Float64").astype(float)
    table = table.dropna().sort_values("game", kind="stable")
    sizes = table.groupby("game").size().to_numpy()
    start = np.append(0, np.cumsum(sizes))
    pairs = pairs_of_sides(start, np.zeros(len(table), np.int64))
    many = sizes[pairs.game] > 2
    signs = []
    for name, result in (("one", one), ("other", other)):
        values = table[name].to_numpy()
        sign = np.sign(pairs.gap(values))
        signs.append(np.where(_is_open(result, values[pairs.first], sign, many), np.nan, sign))
    wrong = (signs[0] != signs[1]) & ~np.isnan(signs[0]) & ~np.isnan(signs[1])
    if not wrong.any():
        return
    count = len(np.unique(pairs.game[wrong]))
    example = int(table["row"].to_numpy()[pairs.first[wrong][0]])
    line = rows.frame["line"].to_numpy()[example]
    raise BadLogError(
        f"columns {one.column} and {other.column} disagree about the result of {count:,} of "
        f"{len(sizes):,} games, for example in line {line}: choose with --columns "
        f"{_option_of(one.column)} or --columns {_option_of(other.column)}"
    )


def _is_open(result: Result, value: Floats, sign: Floats, many: Masks) -> Masks:
    """Return whether a column leaves the order of pairs of sides open.

    Equal scores can be decided in another way, and winners or losers of a game of many sides are in
    no known order among themselves.

    Args:
        result: the column.
        value: (pairs,) value of the first side.
        sign: (pairs,) order of the two sides.
        many: (pairs,) whether the game has more than two sides.
    """
    equal = sign == 0
    if result.column.role == "result":
        return equal & many & (value != DRAW)
    if result.column.role == "rank":
        return np.zeros(len(sign), np.bool_)
    return equal


def _option_of(column: ResultColumn) -> str:
    """Return the value of ``--columns`` that chooses columns of results."""
    if len(column.names) == 1:
        return f"{column.role}={column.names[0]}"
    roles = ("side1_score", "side2_score")
    if column.role == "result":
        roles = ("winner", "loser")
    return f"{roles[0]}={column.names[0]} {roles[1]}={column.names[1]}"
