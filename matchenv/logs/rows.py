"""Rows of players in games, from the columns of a long or of a wide log."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from matchenv.logs.columns import Layout, ResultColumn, Sides, plain_name
from matchenv.logs.faults import UNREADABLE, BadRow, BadRows
from matchenv.logs.numbers import MISSING, numbers_of
from matchenv.logs.results import (
    LOSS,
    UNFINISHED,
    UNPLAYED,
    WIN,
    Outcomes,
    outcomes_of,
    outcomes_of_sides,
)
from matchenv.logs.times import Times
from matchenv.runtime.arrays import Integers, Masks

TRUTH = dict.fromkeys(("true", "t", "yes", "y", "1", "1.0"), True)
TRUTH |= dict.fromkeys(("false", "f", "no", "n", "0", "0.0", *MISSING), False)
AT_HOME = {**TRUTH, **dict.fromkeys(("home", "h", "white"), True)}
AT_HOME |= dict.fromkeys(("away", "a", "black"), False)
# Beginnings of names of columns whose cells can be lists of players with commas.
OF_TEAMS = ("team", "side", "red", "blue", "radiant", "dire")
REMARKS = ("score", "result", "comment", "status", "remark", "notes")
ENDED_EARLY = re.compile(r"(^|[ (])(w/o|wo|walkover|ret\.?|retired|def\.?|default)\)?$")


@dataclass
class Rows:
    """A row for each player in each game, and faults outcome so far.

    Attributes:
        frame: columns line, game, player and team (strings, NA where missing); at_home (True for
            members of the side that was first, None where nothing says it), neutral, weight and
            time, if the log has them.
        outcomes: what each column that can hold results says of each row.
        bad: bad rows by line.
        whole: (rows,) whether a fault leaves out the whole game.
        alone: (rows,) whether a fault leaves out the side only, if two others are left.
        notes: what was decided.
        first_side: column that says which side was first; empty if none does.
        unit: how many units of the times make a second.
    """

    frame: pd.DataFrame
    outcomes: list[tuple[ResultColumn, Outcomes]]
    bad: BadRows
    whole: Masks
    alone: Masks
    notes: list[str]
    first_side: str = ""
    unit: int = 1

    def add(
        self,
        wrong: Masks,
        reason: str,
        values: Sequence[Any] | pd.Series[Any],
        form: str = "{}",
        *,
        alone: bool = False,
    ) -> None:
        """Add wrong rows to the bad ones, with formatted values; a line keeps its first fault."""
        if not wrong.any():
            return
        lines = self.frame["line"].to_numpy()
        cells = np.asarray(values, dtype=object)
        for index in np.flatnonzero(wrong).tolist():
            line = int(lines[index])
            self.bad.setdefault(line, BadRow(line, reason, form.format(cells[index])))
        if alone:
            self.alone |= wrong
        else:
            self.whole |= wrong


def rows_of_table(
    cells: Mapping[str, Sequence[str]],
    lines: Sequence[int],
    bad: BadRows,
    layout: Layout,
    times: Times | None,
) -> Rows:
    """Return the rows of players of a log.

    Args:
        cells: cells by column.
        lines: line of each row.
        bad: lines that could not be split.
        layout: columns by role.
        times: the time of each row.
    """
    if layout.sides is None:
        rows = _long_rows(cells, lines, bad, layout)
        source = np.arange(len(lines))
    else:
        rows, source = _wide_rows(cells, lines, bad, layout, layout.sides)
    rows.whole |= rows.frame["line"].isin(list(bad)).to_numpy()
    for role, name in (("game", "game"), ("player", "player")):
        missing = rows.frame[name].isna().to_numpy()
        rows.add(missing, f"missing {role}", np.full(len(missing), ""), alone=role == "player")
    if times is not None:
        rows.unit = times.unit
        rows.frame["time"] = times.values.take(source).to_numpy()
        unreadable = rows.frame["time"].isna().to_numpy()
        missing = times.missing.to_numpy()[source]
        texts = np.asarray(cells[times.columns[0]], dtype=object)[source]
        rows.add(unreadable & missing, "missing time", texts, "")
        rows.add(unreadable & ~missing, f"{UNREADABLE} time", texts, "{!a}")
    for role in ("neutral", "unordered", "weight", "partial_play"):
        if role in layout.columns:
            _add_values(rows, role, np.asarray(cells[layout.columns[role]], dtype=object)[source])
    return rows


def _add_values(rows: Rows, role: str, texts: Any) -> None:
    """Add a column of truth values or of weights to the rows."""
    codes, distinct = pd.factorize(pd.Series(texts, dtype=object))
    plain = pd.Series(distinct, dtype=object).str.strip()
    lower = plain.str.lower()
    name = role
    if role in ("neutral", "unordered"):
        values = lower.map(TRUTH)
    else:
        values = numbers_of(plain, role)
        name = "weight"
    rows.frame[name] = values.take(codes).to_numpy()
    unreadable = values.isna().to_numpy()[codes]
    missing = lower.isin(MISSING).to_numpy()[codes]
    rows.add(unreadable & missing, f"missing {role}", texts, "")
    rows.add(unreadable & ~missing, f"{UNREADABLE} {role}", texts, "{!a}")


def _names(cells: Sequence[str]) -> pd.Series[Any]:
    """Return names without blanks at their ends, NA where missing."""
    codes, distinct = pd.factorize(pd.Series(cells, dtype=object))
    names = pd.Series(distinct, dtype=object).str.strip()
    return names.mask(names.str.lower().isin(MISSING)).take(codes).reset_index(drop=True)


def _long_rows(
    cells: Mapping[str, Sequence[str]], lines: Sequence[int], bad: BadRows, layout: Layout
) -> Rows:
    """Return the rows of a log with a row for each player in each game."""
    columns = layout.columns
    frame = pd.DataFrame({"line": np.asarray(lines, dtype=np.int64)})
    for role in ("game", "player"):
        frame[role] = _names(cells[columns[role]])
    frame["team"] = _names(cells[columns["team"]]) if "team" in columns else None
    first_side, frame["at_home"] = _first_sides(cells, layout)
    outcomes = []
    for result in layout.results:
        texts = cells[result.names[0]]
        outcome = outcomes_of(texts, result.role)
        if result.role == "result":
            outcome = _winners_by_name(outcome, texts, result.names[0], frame)
        outcomes.append((result, outcome))
    nobody = np.zeros(len(frame), np.bool_)
    return Rows(frame, outcomes, bad, nobody, nobody.copy(), [], first_side)


def _first_sides(
    cells: Mapping[str, Sequence[str]], layout: Layout
) -> tuple[str, pd.Series[Any] | None]:
    """Return the column that says whether the side of each row was first, and what it says."""
    for role in ("at_home", "team"):
        if role not in layout.columns:
            continue
        name = layout.columns[role]
        texts = pd.Series(cells[name], dtype=object).str.strip().str.lower()
        words = set(texts.unique())
        if role == "team" and not (words <= {"home", "away"} or words <= {"white", "black"}):
            continue
        known = texts.map(AT_HOME)
        if known.notna().all() and known.nunique() == 2:
            return name, known
    return "", None


def _winners_by_name(
    outcome: Outcomes, cells: Sequence[str], name: str, frame: pd.DataFrame
) -> Outcomes:
    """Return outcomes where a column names the winning side or player of the game in each row.

    A column can also say in each row whether one of the sides won, for example radiant_win.
    """
    stem = re.sub("(win|won)$", "", plain_name(name))
    if stem and stem != plain_name(name):
        side = frame["team"].map(lambda team: plain_name(str(team)), na_action="ignore")
        if (side == stem).any():
            won = outcome.value.replace({0.0: LOSS})
            own = won.where(side == stem, -won)
            return outcome._replace(value=own.where(side.notna()))
    if outcome.value.notna().mean() > 0.5:
        return outcome
    winner = _names(cells)
    is_own = (winner == frame["player"]) | (winner == frame["team"])
    has_winner = is_own.groupby(frame["game"]).transform("any")
    named = is_own.map({True: WIN, False: LOSS}).where(has_winner & winner.notna())
    return outcome._replace(value=outcome.value.fillna(named))


def _wide_rows(
    cells: Mapping[str, Sequence[str]],
    lines: Sequence[int],
    bad: BadRows,
    layout: Layout,
    two: Sides,
) -> tuple[Rows, Integers]:
    """Return the rows of a log with a row for each game, and the row of the log of each."""
    count = len(lines)
    notes: list[str] = []
    if len(two.columns[0]) == len(two.columns[1]) == 1:
        sides = [list(cells[names[0]]) for names in two.columns]
        separator = _separator(sides, two)
        members = [_split_members(side, separator) for side in sides]
        if separator:
            notes.append(f"sides are lists of players, separated by {separator!r}")
    else:
        members = [_joined(cells, names) for names in two.columns]
        sides = [[" ".join(names) for names in side] for side in members]
    sizes = np.array([[len(names) for names in side] for side in members], np.int64).reshape(2, -1)
    per_side = sizes.T.ravel()  # game after game, first and second side
    source = np.repeat(np.repeat(np.arange(count), 2), per_side)
    second = np.repeat(np.tile([False, True], count), per_side)
    names: list[str] = []
    for first_names, second_names in zip(*members, strict=True):
        names += first_names
        names += second_names
    frame = pd.DataFrame({"line": np.asarray(lines, dtype=np.int64)[source]})
    frame["game"] = source.astype(str)
    frame["player"] = _names(names)
    frame["team"] = np.where(second, "second", "first")
    frame["at_home"] = ~second if two.is_first else None
    outcomes = []
    for result in layout.results:
        if result.role == "score":
            both = [outcomes_of(cells[name], "score") for name in result.names]
        else:
            name = result.names[0]
            both = list(outcomes_of_sides(cells[name], name, sides, two.words))
        outcomes.append((result, _interleaved(both, source, second)))
    if two.by_winner:
        result = ResultColumn("result", (*two.columns[0], *two.columns[1]))
        remarks = _winner_first(cells, layout, count)
        outcomes.append((result, _interleaved(remarks, source, second)))
        notes += _early_ends(cells, layout)
    is_bye = (frame["player"].str.lower() == "bye").to_numpy(np.bool_, na_value=False)
    unplayed = np.isin(source, source[is_bye])
    outcomes = [
        (result, out._replace(unplayed=out.unplayed | unplayed)) for result, out in outcomes
    ]
    nobody = np.zeros(len(frame), np.bool_)
    first_side = two.columns[0][0] if two.is_first else ""
    return Rows(frame, outcomes, bad, nobody, nobody.copy(), notes, first_side), source


def _winner_first(cells: Mapping[str, Sequence[str]], layout: Layout, count: int) -> list[Outcomes]:
    """Return the results of a log whose columns name the winner and the loser."""
    unplayed = np.zeros(count, np.bool_)
    for name in layout.further:
        if plain_name(name) in REMARKS:
            texts = pd.Series(cells[name], dtype=object).str.strip().str.lower()
            unplayed |= texts.isin(UNPLAYED).to_numpy()
    nothing = np.zeros(count, np.bool_)
    empty = np.full(count, "", dtype=object)
    both = []
    for value in (WIN, LOSS):
        values = pd.Series(np.full(count, value))
        both.append(Outcomes(values, nothing, unplayed, nothing, empty))
    return both


def _early_ends(cells: Mapping[str, Sequence[str]], layout: Layout) -> list[str]:
    """Return a note on games that ended by walkover or retirement."""
    names = [name for name in layout.further if plain_name(name) in REMARKS]
    for result in layout.results:
        names += result.names
    for name in names:
        texts = pd.Series(cells[name], dtype=object).str.strip().str.lower()
        early = texts.isin(UNFINISHED) | texts.str.contains(ENDED_EARLY)
        if early.any():
            return [
                f"{early.sum()} games with a walkover, retirement or default in {name!r} are "
                "rated as their winner says"
            ]
    return []


def _interleaved(both: Sequence[Outcomes], source: Integers, second: Masks) -> Outcomes:
    """Return the outcomes of rows of players, from those of the two sides of each game."""
    first, other = both
    value = first.value.take(source).reset_index(drop=True)
    value = value.where(~second, other.value.take(source).reset_index(drop=True))
    flags = []
    for one, two in zip(first[1:], other[1:], strict=True):
        flags.append(np.where(second, two[source], one[source]))
    return Outcomes(value, *flags)


def _joined(cells: Mapping[str, Sequence[str]], names: Iterable[str]) -> list[list[str]]:
    """Return the members of a side in each game, from a column for each member."""
    columns = [cells[name] for name in names]
    sides = []
    for row in zip(*columns, strict=True):
        members = [cell for cell in row if cell.strip().lower() not in MISSING]
        sides.append(members or [""])
    return sides


def _separator(sides: Sequence[Sequence[str]], two: Sides) -> str:
    """Return what separates the players in the columns of sides; empty if a side is one name."""
    texts = pd.Series([cell for side in sides for cell in side], dtype=object)
    if texts.str.match(r"\s*[\[({]").mean() > 0.5:
        return "[ ]"
    for separator in (";", "|", ","):
        if separator == "," and not two.words[0].startswith(OF_TEAMS):
            continue  # the comma of a name: Carlsen, Magnus
        if texts.str.contains(separator, regex=False).mean() > 0.5:
            return separator
    return ""


def _split_members(side: Sequence[str], separator: str) -> list[list[str]]:
    """Return the members of a side in each game."""
    if not separator:
        return [[cell] for cell in side]
    members = []
    for cell in side:
        if separator == "[ ]":
            members.append(_list_of(cell))
        else:
            members.append(cell.split(separator))
    return members


def _list_of(cell: str) -> list[str]:
    """Return the members of a list as JSON or Python write it."""
    try:
        items = json.loads(cell)
    except ValueError:
        items = [item.strip().strip("'\"") for item in cell.strip(" []{}()").split(",")]
    if not isinstance(items, list) or not items:
        return [""]
    return [str(item) for item in items]
