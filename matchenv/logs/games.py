"""Games from the rows of players: their sides, results and order, and the rows set aside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from matchenv.logs.agreement import Grouping, Result, chosen_result
from matchenv.logs.columns import Layout, ResultColumn
from matchenv.logs.faults import NO_GAME, UNREADABLE
from matchenv.logs.ranks import ranks_from_scores, sides_of_equal_rank
from matchenv.logs.results import AGREEING, DRAW
from matchenv.logs.rows import Rows
from matchenv.runtime.arrays import Integers, Masks
from matchenv.runtime.checks import counted


@dataclass
class Games:
    """The games of a log.

    Attributes:
        arrays: arguments of ``MatchLog``.
        line: (games,) first line of each game.
        lines: lines with a rated row.
        games: number of games in the rows, without those that were not played.
        result: columns of the results.
    """

    arrays: dict[str, Any]
    line: Integers
    lines: set[int]
    games: int
    result: ResultColumn


def games_of_rows(rows: Rows, layout: Layout) -> Games:
    """Return the games that can be rated, in order of play; add faults and notes to the rows.

    Games are sorted by their last time, if there are times. Games with equal times keep the order
    of the rows, reversed if the rows begin with the newest game. The order of the sides of a game,
    and of the members of a side, follows from their names, with a side first that a column says
    was first: no result can influence it.

    Raises:
        BadLogError: if columns that can be the result disagree.
    """
    game = pd.factorize(rows.frame["game"])[0]
    _add_returning_games(rows, game)
    grouping = _grouping_of(rows, game)
    usable = _without_faulty_games(rows, game)
    result, grouping = chosen_result(rows, grouping, usable, layout)
    _add_missing_results(rows, result)
    _add_contradictions(rows, grouping, _usable(rows, grouping), result)
    usable = _usable(rows, grouping)
    index = _canonical_order(rows, grouping, usable)
    line = rows.frame["line"].to_numpy()[index]
    start = np.flatnonzero(np.diff(game[index], prepend=-1))
    unplayed = np.unique(game[result.outcome.unplayed])
    arrays = _arrays(rows, grouping, index, result, layout)
    if "unordered" in arrays:
        team_game = np.repeat(np.arange(len(start)), np.diff(arrays["game_start"]))
        count = len(np.unique(team_game[arrays["unordered"]]))
        rows.notes.append(
            f"{counted(count, 'game')} with sides in unknown order, for example several losers: "
            "these sides are not compared with each other"
        )
    return Games(
        arrays=arrays,
        line=np.minimum.reduceat(line, start) if len(start) else start,
        lines=set(line.tolist()),
        games=len(np.setdiff1d(game[game >= 0], unplayed)),
        result=result.column,
    )


def _grouping_of(rows: Rows, game: Integers) -> Grouping:
    """Return the sides: rows of one team in a game; everybody is alone without a team."""
    team = pd.factorize(rows.frame["team"])[0]
    own = np.arange(len(game)) + team.max(initial=-1) + 1
    label = np.where(team >= 0, team, own)
    side = pd.factorize(game * (label.max(initial=0) + 1) + label)[0]
    return Grouping(game, side)


def _without_faulty_games(rows: Rows, game: Integers) -> Masks:
    """Return (rows,) whether no row of the game has a fault that leaves out the game."""
    faulty = np.zeros(game.max(initial=-1) + 2, np.bool_)
    faulty[game[rows.whole]] = True
    faulty[-1] = True  # rows without a game
    return ~faulty[game]


def _usable(rows: Rows, grouping: Grouping) -> Masks:
    """Return (rows,) whether the row can be rated: its game is good, and has two good sides."""
    game = grouping.game
    side = grouping.side
    good = _without_faulty_games(rows, game)
    faulty_side = np.zeros(side.max(initial=-1) + 1, np.bool_)
    faulty_side[side[rows.alone]] = True
    left = good & ~faulty_side[side]
    sides = pd.DataFrame({"game": game[left], "side": side[left]}).drop_duplicates()
    count = np.bincount(sides["game"], minlength=game.max(initial=-1) + 2)
    # A game that never had two sides is a fault of its own.
    has_fault = np.zeros(len(count), np.bool_)
    has_fault[game[good & rows.alone]] = True
    return left & ((count[game] > 1) | ~has_fault[game])


def _add_returning_games(rows: Rows, game: Integers) -> None:
    """Add rows of a game that comes back after another one, as if its number was used again.

    Rows with one time are one game wherever they stand. If the rows of most games are scattered,
    their order says nothing, and they are gathered.
    """
    split = ~rows.frame["line"].isin(list(rows.bad)).to_numpy()
    known = pd.Series(game).where(split & (game >= 0)).ffill().fillna(-1).to_numpy(np.int64)
    begins = np.diff(known, prepend=-2) != 0
    runs = np.bincount(known[begins & (known >= 0)], minlength=1)
    if np.count_nonzero(runs > 1) > 0.5 * np.count_nonzero(runs > 0):
        rows.notes.append("rows of a game are not together: they are gathered by the game's name")
        return
    run = pd.Series(np.cumsum(begins))
    back = (run != run.groupby(game).transform("min")).to_numpy()
    back = back & _without_faulty_games(rows, game)
    if back.any() and "time" in rows.frame:
        back = back & (rows.frame["time"].groupby(game).transform("nunique") != 1).to_numpy()
    rows.add(back, "game comes back after another", rows.frame["game"], "game {}")


def _add_missing_results(rows: Rows, result: Result) -> None:
    """Add rows without a result; they leave out their side only."""
    outcome = result.outcome
    role = result.column.role
    empty = np.full(len(rows.frame), "", dtype=object)
    rows.add(outcome.unplayed, NO_GAME, outcome.cells, alone=True)
    unknown = outcome.value.isna().to_numpy() & ~outcome.unfinished & ~outcome.unplayed
    rows.add(unknown & outcome.missing, f"missing {role}", empty, alone=True)
    rows.add(unknown & ~outcome.missing, f"{UNREADABLE} {role}", outcome.cells, "{!a}", alone=True)


def _add_contradictions(rows: Rows, grouping: Grouping, usable: Masks, result: Result) -> None:
    """Add contradictions within games whose rows are good on their own."""
    frame = rows.frame[["game", "player", "team", "at_home"]].loc[usable].copy()
    frame["number"] = grouping.game[usable]
    frame["side"] = grouping.side[usable]
    frame["value"] = result.outcome.value[usable]
    by_game = frame.groupby("number")
    by_side = frame.groupby("side")

    def add(wrong: Any, reason: str, column: str, form: str = "{}") -> None:
        """Add these rows of the frame."""
        whole = np.zeros(len(usable), np.bool_)
        whole[frame.index[np.asarray(wrong, dtype=np.bool_)]] = True
        rows.add(whole, reason, rows.frame[column], form)

    def add_game(wrong: pd.Series[bool], reason: str) -> None:
        """Add the first of these rows of each game."""
        add(wrong & ~frame["number"].where(wrong).duplicated(), reason, "game", "game {}")

    twice = frame.duplicated(["number", "player"])
    add(twice, "player twice in a game", "player")
    if by_side.size().max() > 1:
        some = frame["team"].notna().groupby(frame["number"]).transform("any")
        form = "others in game {} name theirs"
        add(frame["team"].isna() & some, "unknown team", "game", form)
    if result.is_common:
        differs = frame["value"] != by_side["value"].transform("first")
        rows.frame["cell"] = result.outcome.cells
        add(differs.fillna(False), f"side with two values of {result.column.role}", "cell")
    add_game(by_game["side"].transform("nunique") == 1, "game of one side")
    if result.column.role == "result":
        wrong = frame["number"].isin(_disagreeing_games(frame))
        add_game(wrong, "results of two sides that do not agree")
    frame["level"], frame["unknown"] = _levels(rows, grouping, usable, result)
    nothing = (by_game["level"].transform("nunique") == 1) & frame["unknown"]
    add_game(nothing, "order of no two sides is known")
    if "weight" in rows.frame:
        # Squares count, and the square of a tiny number is 0.
        weight = rows.frame["weight"][usable].astype(float)
        largest = weight.groupby(frame["side"]).transform("max")
        add_game(largest * largest == 0.0, "side whose weights are all 0")
    if "neutral" in rows.frame:
        grounds = rows.frame["neutral"][usable].groupby(frame["number"]).transform("nunique")
        add_game(grounds > 1, "game both on neutral ground and not")
    if len(frame) and frame["at_home"].notna().all():
        first = frame["side"].where(frame["at_home"].astype(bool))
        count = first.groupby(frame["number"]).transform("nunique")
        mixed = by_side["at_home"].transform("nunique") > 1
        add_game((count != 1) | mixed, "game without one side at home")


def _disagreeing_games(frame: pd.DataFrame) -> Any:
    """Return the numbers of games of two sides whose results do not agree."""
    sides = frame.drop_duplicates("side")
    ends = sides["value"].astype(float).groupby(sides["number"]).agg(["size", "min", "max"])
    two = ends[ends["size"] == 2]
    agree = [pair in AGREEING for pair in zip(two["min"], two["max"], strict=True)]
    return two.index[~np.array(agree, dtype=np.bool_)]


def _levels(
    rows: Rows, grouping: Grouping, usable: Masks, result: Result
) -> tuple[Integers, Masks]:
    """Return levels of the rows' sides, the higher the better, and which are in unknown order.

    Sides that did not finish are below all others, or have lost as others did. The order among them
    is unknown, and so is that among the winners and among the losers of a game of more than two
    sides.

    Returns:
        ``(level, unknown)``, both of shape (usable rows,).
    """
    side = grouping.side[usable]
    unfinished = result.outcome.unfinished[usable]
    values = result.of_sides(grouping.side, usable).loc[side].reset_index(drop=True)
    if result.column.role != "result":
        values = values.mask(unfinished)
    known = values.notna().to_numpy()
    level = np.zeros(len(side), np.int64)
    level[known] = 1 + np.unique(values[known].to_numpy(), return_inverse=True)[1]
    unknown = unfinished.copy()
    if "unordered" in rows.frame:
        unknown |= rows.frame["unordered"].to_numpy(np.bool_, na_value=False)[usable]
    if result.column.role == "result":
        numbers = result.outcome.value[usable].astype(float).to_numpy()
        is_zero_drawn = bool((numbers == -1.0).any())
        drawn = (numbers == DRAW) | ((numbers == 0.0) & is_zero_drawn)
        sides = pd.Series(side).groupby(grouping.game[usable]).transform("nunique")
        unknown |= ~drawn & (sides > 2).to_numpy()
    return level, unknown


def _order_of_play(rows: Rows, game: Integers, usable: Masks) -> Integers:
    """Return (games,) the position of each game in order of play; add notes on their order."""
    number = pd.Series(game)[usable]
    if "time" in rows.frame:
        last = rows.frame["time"][usable].groupby(number, sort=False).max()
        steps = last.diff()
        if (steps < 0).sum() > (steps > 0).sum():
            last = last[::-1]
            rows.notes.append("the rows begin with the newest game: sorted by time")
        elif (steps < 0).any():
            rows.notes.append("the rows are not in order of time: sorted by time")
        order = last.sort_values(kind="stable").index.to_numpy()
    else:
        order = number.drop_duplicates().to_numpy()
    position = np.full(game.max(initial=-1) + 1, -1)
    position[order] = np.arange(len(order))
    return position


def _canonical_order(rows: Rows, grouping: Grouping, usable: Masks) -> Integers:
    """Return indices of the usable rows: by game in order of play, side, and name.

    The side that a column says was first is the first one; others are sorted by the first name of
    their members.
    """
    position = _order_of_play(rows, grouping.game, usable)
    index = np.flatnonzero(usable)
    frame = rows.frame.iloc[index]
    name = pd.factorize(frame["player"], sort=True)[0]
    side = grouping.side[index]
    lowest = np.full(side.max(initial=-1) + 1, len(name))
    np.minimum.at(lowest, side, name)
    is_second = np.zeros(len(index), np.bool_)
    if frame["at_home"].notna().all():
        is_second = ~frame["at_home"].to_numpy(np.bool_)
    return index[np.lexsort((name, lowest[side], is_second, position[grouping.game[index]]))]


def _arrays(
    rows: Rows, grouping: Grouping, index: Integers, result: Result, layout: Layout
) -> dict[str, Any]:
    """Return the arguments of ``MatchLog`` for rows in order of play."""
    frame = rows.frame.iloc[index]
    side = grouping.side[index]
    game = grouping.game[index]
    team_start = np.flatnonzero(np.diff(side, prepend=-1))
    game_start = np.append(np.flatnonzero(np.diff(game[team_start], prepend=-1)), len(team_start))
    usable = np.zeros(len(rows.frame), np.bool_)
    usable[index] = True
    levels = pd.DataFrame(index=np.flatnonzero(usable))
    levels["level"], levels["unknown"] = _levels(rows, grouping, usable, result)
    of_sides = levels.loc[index[team_start]]
    rank = ranks_from_scores(of_sides["level"].to_numpy(), game_start)
    unordered = of_sides["unknown"].to_numpy() & (sides_of_equal_rank(rank, game_start) > 1)
    player, names = pd.factorize(frame["player"])
    arrays: dict[str, Any] = {
        "players": names.tolist(),
        "player": player.astype(np.int32),
        "team_start": np.append(team_start, len(frame)),
        "game_start": game_start,
        "rank": rank,
    }
    if unordered.any():
        arrays["unordered"] = unordered
    if "weight" in frame:
        weight = frame["weight"].astype(float)
        if "partial_play" in layout.columns:
            weight = weight / weight.groupby(game).transform("max")
        arrays["weight"] = weight.to_numpy(np.float64)
    if frame["at_home"].notna().all():
        first_rows = frame.iloc[team_start[game_start[:-1]]]
        arrays["neutral"] = np.zeros(len(first_rows), np.bool_)
        if "neutral" in frame:
            arrays["neutral"] = first_rows["neutral"].to_numpy(np.bool_)
    if "time" in frame:
        last = frame["time"].groupby(game, sort=False).max()
        if rows.unit > 1:
            last = last // rows.unit
        arrays["time"] = last.round().to_numpy(np.int64)
    return arrays
