"""Games from the rows of players: their sides, results and order, and the rows set aside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from matchenv.logs.columns import Layout, ResultColumn
from matchenv.logs.faults import NO_GAME, UNREADABLE, BadLogError
from matchenv.logs.pairs import pairs_of_sides
from matchenv.logs.ranks import ranks_from_scores, sides_of_equal_rank
from matchenv.logs.results import AGREEING, DRAW, Outcomes
from matchenv.logs.rows import Rows
from matchenv.runtime.arrays import Integers, Masks

DECIMALS = 9  # of sums of scores: 0.1 + 0.2 is 0.3
# From this share of sides with equal values of all members, values are those of the side.
REPEATED = 0.95
# Below this share of readable cells, a column is no result where another one can be.
READABLE = 0.5


@dataclass
class Games:
    """The games of a log.

    Attributes:
        arrays: arguments of ``MatchLog``.
        line: (games,) first line of each game.
        lines: number of lines with a rated row.
        games: number of games in the rows, without those that were not played.
        result: columns of the results.
        notes: what was decided.
    """

    arrays: dict[str, Any]
    line: Integers
    lines: set[int]
    games: int
    result: ResultColumn | None
    notes: list[str]


@dataclass
class _Sides:
    """The sides of the rows: game and side numbers, and the results of one column."""

    game: Integers  # (rows,) number of the game, -1 if missing
    side: Integers  # (rows,) number of the side


def games_of_rows(rows: Rows, layout: Layout) -> Games:
    """Return the games that can be rated, in order of play; add faults to the rows.

    Games are sorted by their last time, if there are times. Games with equal times keep the order
    of the rows, reversed if the rows begin with the newest game. The order of the sides of a game,
    and of the members of a side, follows from their names, with a side first that a column says
    was first: no result can influence it.

    Raises:
        BadLogError: if columns that can be the result disagree.
    """
    notes = list(rows.notes)
    game = pd.factorize(rows.frame["game"])[0]
    _add_returning_games(rows, game, notes)
    sides = _sides_of(rows, game)
    usable = _without_whole_games(rows, game)
    result, outcome, common, sides = _chosen_result(rows, sides, usable, layout, notes)
    _add_result_faults(rows, outcome, result.role)
    usable = _usable(rows, sides)
    _add_faults(rows, sides, usable, outcome, result, common)
    usable = _usable(rows, sides)
    in_order = _order_of_games(rows, sides.game, usable, notes)
    index = _canonical_order(rows, sides, usable, in_order)
    arrays = _arrays(
        rows, sides, index, outcome, result.role, common, "partial_play" in layout.columns
    )
    played = pd.Series(outcome.unplayed).groupby(game).transform("any").to_numpy()
    line = rows.frame["line"].to_numpy()
    return Games(
        arrays,
        _first_lines(line[index], sides.game[index]),
        set(line[index].tolist()),
        len(np.unique(game[(game >= 0) & ~played])),
        result,
        notes,
    )


def _first_lines(line: Integers, game: Integers) -> Integers:
    """Return (games,) the first line of each game, of rows in order of play."""
    start = np.flatnonzero(np.diff(game, prepend=-1))
    if not len(start):
        return np.empty(0, np.int64)
    return np.minimum.reduceat(line, start)


def _sides_of(rows: Rows, game: Integers) -> _Sides:
    """Return the sides: rows of one team in a game; everybody is alone without a team."""
    team = pd.factorize(rows.frame["team"])[0]
    own = np.arange(len(game)) + team.max(initial=-1) + 1
    label = np.where(team >= 0, team, own)
    side = pd.factorize(game * (label.max(initial=0) + 1) + label)[0]
    return _Sides(game, side)


def _alone(sides: _Sides) -> _Sides:
    """Return sides of one row each."""
    return _Sides(sides.game, np.arange(len(sides.game)))


def _without_whole_games(rows: Rows, game: Integers) -> Masks:
    """Return (rows,) whether no row of the game has a fault that leaves out the game."""
    bad = np.zeros(game.max(initial=-1) + 2, np.bool_)
    bad[game[rows.whole]] = True
    bad[-1] = True  # rows without a game
    return ~bad[game]


def _usable(rows: Rows, sides: _Sides) -> Masks:
    """Return (rows,) whether the row can be rated: its game is good, and has two good sides."""
    good = _without_whole_games(rows, sides.game)
    bad_side = np.zeros(sides.side.max(initial=-1) + 2, np.bool_)
    bad_side[sides.side[rows.alone]] = True
    left = good & ~bad_side[sides.side]
    pairs = np.unique(np.column_stack((sides.game[left], sides.side[left])), axis=0)
    count = np.bincount(pairs[:, 0], minlength=sides.game.max(initial=-1) + 2)
    had_more = np.zeros(len(count), np.bool_)
    had_more[sides.game[good & rows.alone]] = True
    # A game that never had two sides is a fault of its own.
    return left & ((count[sides.game] > 1) | ~had_more[sides.game])


def _add_returning_games(rows: Rows, game: Integers, notes: list[str]) -> None:
    """Add rows of a game that comes back after another one, as if its number was used again.

    Rows with one time are one game wherever they stand. If the rows of most games are scattered,
    their order says nothing, and they are gathered.
    """
    split = ~rows.frame["line"].isin(list(rows.bad)).to_numpy()
    known = pd.Series(game).where(split & (game >= 0)).ffill().fillna(-1).to_numpy(np.int64)
    starts = np.flatnonzero(np.diff(known, prepend=-2))
    runs = np.bincount(known[starts][known[starts] >= 0], minlength=1)
    if np.count_nonzero(runs > 1) > 0.5 * np.count_nonzero(runs > 0):
        notes.append("rows of a game are not together: they are gathered by the game's name")
        return
    run = np.cumsum(np.diff(known, prepend=-2) != 0)
    first_run = pd.Series(run).groupby(game).transform("min").to_numpy()
    back = (run != first_run) & (game >= 0)
    if back.any() and "time" in rows.frame:
        times = rows.frame["time"].groupby(game).transform("nunique").to_numpy()
        back &= times != 1
    rows.add(back, "game comes back after another", rows.frame["game"], "game {}")


def _side_values(
    outcome: Outcomes, side: Integers, usable: Masks, common: bool
) -> tuple[Integers, Any]:
    """Return side numbers and the value of each side: the first member's, or the sum of all."""
    values = outcome.value[usable]
    groups = values.groupby(side[usable])
    if common:
        found = groups.first()
    else:
        found = groups.sum(min_count=1).astype("Float64").round(DECIMALS)
    return found.index.to_numpy(), found


def _share_common(outcome: Outcomes, sides: _Sides, usable: Masks) -> float | None:
    """Return the share of sides whose members have equal values, None without such sides.

    Sides of one member, and sides in which all values are 0, do not count.
    """
    groups = outcome.value[usable].groupby(sides.side[usable])
    size = groups.size()
    if not (size > 1).any():
        return None
    distinct = groups.nunique()
    counted = distinct[(size > 1) & ((distinct > 1) | (groups.first() != 0))]
    if not len(counted):
        return None
    return float((counted == 1).mean())


def _chosen_result(
    rows: Rows, sides: _Sides, usable: Masks, layout: Layout, notes: list[str]
) -> tuple[ResultColumn, Outcomes, bool, _Sides]:
    """Return the columns of the results, what they say, and whether members of a side share it.

    Columns that cannot be read, or differ within a side, are no results where others can be. The
    others must agree. The sides are returned, too: a column of teams whose members have different
    places does not name the sides.

    Raises:
        BadLogError: if two columns disagree.
    """
    candidates = list(rows.outcomes)
    has_members = bool((pd.Series(sides.side[usable]).value_counts() > 1).any())
    readable = [
        (result, outcome) for result, outcome in candidates if _is_readable(outcome, usable)
    ]
    if readable:
        for result, _ in candidates:
            if not any(result is other for other, _ in readable):
                notes.append(f"column {result} is no result: most of its cells cannot be read")
        candidates = readable
    if has_members and len(layout.results) > 0:
        shared = []
        for result, outcome in candidates:
            share = _share_common(outcome, sides, usable)
            is_shared = share is None or share >= REPEATED
            if result.role == "score" or is_shared or result.role in layout.chosen:
                shared.append((result, outcome))
            elif len(candidates) > 1:
                notes.append(f"column {result} is no result: members of one side have several")
        if shared:
            candidates = shared
        elif "team" not in layout.chosen and "team" in layout.columns:
            notes.append(
                f"column {layout.columns['team']!r} does not name the sides: its members have "
                "different results; everybody plays alone"
            )
            sides = _alone(sides)
    result, outcome = candidates[0]
    common = _is_common(result, outcome, sides, usable)
    if common and result.role == "score" and has_members and len(result.names) == 1:
        notes.append("members of a side have equal scores: they are read as the score of the side")
    for other, other_outcome in candidates[1:]:
        other_common = _is_common(other, other_outcome, sides, usable)
        _check_agreement(
            rows, sides, usable, (result, outcome, common), (other, other_outcome, other_common)
        )
    agreeing = [str(other) for other, _ in candidates[1:]]
    if agreeing:
        notes.append(f"column {' and '.join(agreeing)} agrees with {result}")
    return result, outcome, common, sides


def _is_readable(outcome: Outcomes, usable: Masks) -> bool:
    known = outcome.value.notna().to_numpy() | outcome.unfinished | outcome.unplayed
    return bool(known[usable].sum() > READABLE * usable.sum())


def _is_common(result: ResultColumn, outcome: Outcomes, sides: _Sides, usable: Masks) -> bool:
    """Return whether the members of a side share its result; scores add up otherwise."""
    if result.role != "score" or len(result.names) == 2:
        return True
    share = _share_common(outcome, sides, usable)
    return share is not None and share >= REPEATED


Candidate = tuple[ResultColumn, Outcomes, bool]


def _check_agreement(
    rows: Rows, sides: _Sides, usable: Masks, one: Candidate, other: Candidate
) -> None:
    """Refuse two columns of results that order two sides of a game differently.

    Raises:
        BadLogError: with both columns, the number of games, and the option that chooses.
    """
    side = sides.side[usable]
    game = sides.game[usable]
    first_row = pd.Series(np.flatnonzero(usable)).groupby(side).first()
    tables = []
    for result, outcome, common in (one, other):
        numbers, values = _side_values(outcome, sides.side, usable, common)
        known = values.astype("Float64").to_numpy(np.float64, na_value=np.nan)
        tables.append(pd.Series(known, numbers))
    game_of_side = pd.Series(game).groupby(side).first()
    table = pd.DataFrame({"game": game_of_side, "row": first_row, "one": tables[0],
                          "other": tables[1]}).dropna()  # fmt: skip
    table = table.sort_values("game", kind="stable")
    sizes = table.groupby("game").size()
    start = np.concatenate(([0], np.cumsum(sizes)))
    pairs = pairs_of_sides(start, np.zeros(len(table), np.int64))
    signs = []
    for result, name in ((one[0], "one"), (other[0], "other")):
        values = table[name].to_numpy()
        sign = np.sign(pairs.gap(values))
        both_worst = (values[pairs.first] < DRAW) & (values[pairs.second] < DRAW)
        many = sizes.to_numpy()[pairs.game] > 2
        # Equal scores can be decided otherwise; several losers are in no known order.
        unknown = (sign == 0) & ((result.role in ("score", "team_score")) | (many & both_worst))
        unknown |= (sign == 0) & many & (result.role == "result")
        signs.append(np.where(unknown, np.nan, sign))
    wrong = (signs[0] != signs[1]) & ~np.isnan(signs[0]) & ~np.isnan(signs[1])
    if not wrong.any():
        return
    games = np.unique(pairs.game[wrong])
    example = table["row"].to_numpy()[pairs.first[wrong][0]]
    line = int(rows.frame["line"].to_numpy()[int(example)])
    options = " or ".join(_option_of(result) for result, *_ in (one, other))
    raise BadLogError(
        f"columns {one[0]} and {other[0]} disagree about the result of {len(games):,} of "
        f"{len(sizes):,} games, for example in line {line}: choose with --columns {options}"
    )


def _option_of(result: ResultColumn) -> str:
    """Return the value of ``--columns`` that chooses columns of results."""
    if len(result.names) == 2 and result.role == "result":
        return f"winner={result.names[0]} loser={result.names[1]}"
    if len(result.names) == 2:
        return f"side1_score={result.names[0]} side2_score={result.names[1]}"
    return f"{result.role}={result.names[0]}"


def _add_result_faults(rows: Rows, outcome: Outcomes, role: str) -> None:
    """Add rows without a result; they leave out their side only."""
    unknown = outcome.value.isna().to_numpy() & ~outcome.unfinished
    empty = np.full(len(unknown), "")
    rows.add(outcome.unplayed, NO_GAME, empty, alone=True)
    unknown &= ~outcome.unplayed
    rows.add(unknown & outcome.missing, f"missing {role}", empty, alone=True)
    rows.add(unknown & ~outcome.missing, f"{UNREADABLE} {role}", outcome.cells, "{!a}", alone=True)


def _add_faults(
    rows: Rows, sides: _Sides, usable: Masks, outcome: Outcomes, result: ResultColumn, common: bool
) -> None:
    """Add contradictions within games whose rows are good on their own."""
    frame = rows.frame.loc[usable]
    game = pd.Series(sides.game[usable], frame.index)
    side = pd.Series(sides.side[usable], frame.index)
    name = frame["game"]

    def add(wrong: Any, reason: str, values: Any, form: str = "{}") -> None:
        whole = np.zeros(len(usable), np.bool_)
        whole[frame.index[np.asarray(wrong, dtype=np.bool_)]] = True
        cells = np.full(len(usable), "", dtype=object)
        cells[frame.index] = values
        rows.add(whole, reason, cells, form)

    def add_game(wrong: Any, reason: str) -> None:
        """Add the first row of each game."""
        add(wrong & ~game.where(wrong).duplicated(), reason, name, "game {}")

    twice = pd.DataFrame({"game": game, "player": frame["player"]}).duplicated()
    add(twice, "player twice in a game", frame["player"])
    named = frame["team"].notna()
    nameless = ~named & named.groupby(game).transform("any")
    if len(np.unique(sides.side)) < len(sides.side):  # otherwise teams are no sides
        add(nameless, "unknown team", name, "others in game {} name theirs")
    value = outcome.value[usable]
    if common:
        first = value.groupby(side).transform("first")
        differs = (value != first).fillna(False)
        add(differs, f"side with two values of {result.role}", outcome.cells[usable])
    count = side.groupby(game).transform("nunique")
    add_game(count == 1, "game of one side")
    if result.role == "result":
        by_side = pd.DataFrame({"game": game, "side": side, "value": value.astype(float)})
        ends = by_side.drop_duplicates("side").groupby("game")["value"].agg(["size", "min", "max"])
        pairs = zip(ends["min"], ends["max"], strict=True)
        agree = np.array([pair in AGREEING for pair in pairs], dtype=np.bool_)
        wrong_games = ends.index[(ends["size"] == 2) & ~agree]
        add_game(game.isin(wrong_games), "results of two sides that do not agree")
    level, unknown = _levels(rows, outcome, usable, result.role, common, sides)
    spread = pd.Series(level, frame.index).groupby(game).transform("nunique")
    nothing = (spread == 1) & pd.Series(unknown, frame.index)
    add_game(nothing, "order of no two sides is known")
    if "weight" in frame:
        # Squares count, and the square of a tiny number is 0.
        largest = frame["weight"].groupby(side).transform("max").astype(float)
        add_game(largest * largest == 0.0, "side whose weights are all 0")
    if "neutral" in frame:
        grounds = frame["neutral"].groupby(game).transform("nunique")
        add_game(grounds > 1, "game both on neutral ground and not")
    if frame["at_home"].notna().all() and len(frame):
        homes = frame["at_home"].astype(int)
        sides_at_home = homes.groupby(side).first().groupby(game.groupby(side).first()).sum()
        differ = homes.groupby(side).transform("nunique") > 1
        add_game(differ | (game.map(sides_at_home) != 1), "game without one side at home")


def _levels(
    rows: Rows, outcome: Outcomes, usable: Masks, role: str, common: bool, sides: _Sides
) -> tuple[Integers, Masks]:
    """Return (rows,) the level of each row's side, the higher the better, and whether it is unknown
    how sides of this level compare.

    Sides that did not finish are below all others. The order among them is unknown, and so is that
    among the winners and among the losers of a game of more than two sides.
    """
    side = sides.side[usable]
    value = outcome.value[usable].reset_index(drop=True)
    unfinished = outcome.unfinished[usable]
    if common:
        by_side = value.groupby(side).transform("first")
    else:
        by_side = value.groupby(side).transform("sum").astype("Float64").round(DECIMALS)
    by_side = by_side.mask(unfinished)
    level = np.zeros(len(side), np.int64)
    known = by_side.notna().to_numpy()
    level[known] = 1 + np.unique(by_side[known].to_numpy(), return_inverse=True)[1]
    unknown = unfinished.copy()
    if "unordered" in rows.frame:
        unknown |= rows.frame["unordered"].to_numpy(np.bool_, na_value=False)[usable]
    if role == "result":
        level[unfinished] = level.min(initial=1)
        numbers = value.astype(float).to_numpy(na_value=np.nan)
        has_minus_one = (numbers == -1.0).any()
        drawn = (numbers == DRAW) | ((numbers == 0.0) & has_minus_one)
        count = pd.Series(side).groupby(sides.game[usable]).transform("nunique").to_numpy()
        unknown |= ~drawn & (count > 2)
    return level, unknown


def _order_of_games(rows: Rows, game: Integers, usable: Masks, notes: list[str]) -> Integers:
    """Return (games,) the position of each game number in order of play."""
    frame = rows.frame.loc[usable]
    number = pd.Series(game[usable], frame.index)
    if "time" in frame:
        last = frame["time"].groupby(number, sort=False).max()
        steps = last.diff()
        if (steps < 0).sum() > (steps > 0).sum():
            last = last[::-1]
            notes.append("the rows begin with the newest game: sorted by time")
        elif (steps < 0).any():
            notes.append("the rows are not in order of time: sorted by time")
        order = last.sort_values(kind="stable").index.to_numpy()
    else:
        order = number.drop_duplicates().to_numpy()
    position = np.full(game.max(initial=-1) + 1, -1)
    position[order] = np.arange(len(order))
    return position


def _canonical_order(rows: Rows, sides: _Sides, usable: Masks, position: Integers) -> Integers:
    """Return indices of the usable rows: by game, side and name.

    The side that a column says was first is the first one; others are sorted by the first name of
    their members.
    """
    index = np.flatnonzero(usable)
    frame = rows.frame.iloc[index]
    name = pd.factorize(frame["player"], sort=True)[0]
    side = sides.side[index]
    lowest = np.full(side.max(initial=-1) + 1, len(name))
    np.minimum.at(lowest, side, name)
    at_home = np.zeros(len(index), np.bool_)
    if frame["at_home"].notna().all():
        at_home = frame["at_home"].to_numpy(np.bool_)
    return index[np.lexsort((name, lowest[side], ~at_home, position[sides.game[index]]))]


def _arrays(
    rows: Rows, sides: _Sides, index: Integers, outcome: Outcomes, role: str, common: bool,
    by_time: bool,
) -> dict[str, Any]:  # fmt: skip
    """Return the arguments of ``MatchLog`` for rows in order of play.

    With ``by_time`` weights are times, divided by the longest of the game.
    """
    frame = rows.frame.iloc[index]
    side = sides.side[index]
    game = sides.game[index]
    first = np.flatnonzero(np.diff(side, prepend=-1))  # row of each side
    game_start = np.append(np.flatnonzero(np.diff(game[first], prepend=-1)), len(first))
    chosen = np.zeros(len(sides.side), np.bool_)
    chosen[index] = True
    level_of_row = np.zeros(len(sides.side), np.int64)
    unknown_of_row = np.zeros(len(sides.side), np.bool_)
    level_of_row[chosen], unknown_of_row[chosen] = _levels(
        rows, outcome, chosen, role, common, sides
    )
    level = level_of_row[index][first]
    rank = ranks_from_scores(level, game_start)
    unordered = unknown_of_row[index][first] & (sides_of_equal_rank(rank, game_start) > 1)
    player, names = pd.factorize(frame["player"])
    arrays: dict[str, Any] = {
        "players": names.tolist(),
        "player": player.astype(np.int32),
        "team_start": np.append(first, len(frame)),
        "game_start": game_start,
        "rank": rank,
    }
    if unordered.any():
        arrays["unordered"] = unordered
    if "weight" in frame:
        weight = frame["weight"].astype(float)
        if by_time:
            weight = weight / weight.groupby(game).transform("max")
        arrays["weight"] = weight.to_numpy(np.float64)
    first_row = frame.iloc[first[game_start[:-1]]]
    if frame["at_home"].notna().all():
        neutral = np.zeros(len(first_row), np.bool_)
        if "neutral" in frame:
            neutral = first_row["neutral"].to_numpy(np.bool_)
        arrays["neutral"] = neutral
    if "time" in frame:
        last = frame["time"].groupby(game, sort=False).max()
        if rows.unit > 1:
            last = last // rows.unit
        arrays["time"] = last.round().to_numpy(np.int64)
    return arrays
