"""Rows grouped into games: which games are whole, and their sides in order of rank."""

from __future__ import annotations

import bisect
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.replay.bad_rows import BadRows, Reason
from matchenv.benchmarks.replay.rows import Ints, Rows

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Sides:
    """Sides of games: rows of one side stand together, so do the sides of one game.

    Attributes:
        row: (rows kept,), index into the rows of the file, side by side.
        start: (sides + 1,), where each side's rows begin in ``row``.
        game: (sides,), number of the side's game.
    """

    row: Ints
    start: Ints
    game: Ints

    @property
    def of_row(self) -> Ints:
        """(rows kept,), the side of each entry of ``row``."""
        return np.repeat(np.arange(len(self.game)), np.diff(self.start))


def whole_games(rows: Rows, bad_rows: BadRows) -> Mask:
    """Which games can be rated: all those without a bad row.

    A game with a bad row is left out as a whole, since the rest of it would tell of
    another game than the one that was played.

    Args:
        rows: the rows of the log.
        bad_rows: takes what is wrong with games, beside what is wrong with single rows.

    Returns:
        (games,), True for the ones to rate.
    """
    named = rows.game >= 0
    _report_split_games_and_times(rows, bad_rows)
    _report_players_twice(rows, named & (rows.player >= 0), bad_rows)
    _report_unknown_teams(rows, named, bad_rows)
    # Sides are only looked at where each row says which one it belongs to.
    sides = find_sides(rows, _without_bad_rows(rows, bad_rows))
    _report_odd_sides(rows, sides, bad_rows)
    return _without_bad_rows(rows, bad_rows)


def find_sides(rows: Rows, games: Mask) -> Sides:
    """The sides of the given games, in the order in which the file first names them.

    Args:
        rows: the rows of the log.
        games: (games,), the games to look at; their rows stand together in the file, and
            either all name a team or none does.
    """
    kept = np.flatnonzero((rows.game >= 0) & games[rows.game]) if len(games) else rows.game[:0]
    game = rows.game[kept]
    # Who plays alone is a team of a name that no other row has.
    num_teams = int(rows.team.max(initial=-1)) + 1
    team = np.where(rows.team[kept] >= 0, rows.team[kept], num_teams + kept)
    key = game * (num_teams + len(rows.game)) + team
    _, first, side = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first[side], kind="stable")
    starts = np.flatnonzero(np.diff(first[side][order], prepend=-1))
    return Sides(kept[order], np.append(starts, len(kept)), game[order][starts])


def results_of_sides(rows: Rows, sides: Sides) -> NDArray[np.float64]:
    """(sides,), the sum of the members' scores, or the members' common rank."""
    if rows.ranked:
        return rows.result[sides.row[sides.start[:-1]]]
    total = np.bincount(sides.of_row, weights=rows.result[sides.row], minlength=len(sides.game))
    return total.astype(np.float64, copy=False)


def _without_bad_rows(rows: Rows, bad_rows: BadRows) -> Mask:
    whole = np.ones(len(rows.games), dtype=np.bool_)
    whole[rows.spoilt_games] = False
    if len(bad_rows):
        bad = np.isin(rows.line, np.fromiter(bad_rows.lines(), dtype=np.int64))
        whole[rows.game[bad & (rows.game >= 0)]] = False
    return whole


def _report_split_games_and_times(rows: Rows, bad_rows: BadRows) -> None:
    timed = np.ones(len(rows.games), dtype=np.bool_)
    named = np.flatnonzero(rows.game >= 0)
    game = rows.game[named]
    begins = np.flatnonzero(np.diff(game, prepend=-1))
    _, first = np.unique(game[begins], return_index=True)
    for run in np.setdiff1d(np.arange(len(begins)), first):
        row = named[begins[run]]
        bad_rows.add(rows.line[row], Reason.GAME_SPLIT, f"game {rows.games[rows.game[row]]}")
        timed[rows.game[row]] = False
    if rows.time is not None:
        timed[rows.game[named[np.isnan(rows.time[named])]]] = False
        _report_times_backwards(rows, np.flatnonzero(timed), bad_rows)


def _report_players_twice(rows: Rows, usable: Mask, bad_rows: BadRows) -> None:
    row = np.flatnonzero(usable)
    key = rows.game[row] * len(rows.players) + rows.player[row]
    order = np.argsort(key, kind="stable")
    again = order[1:][key[order[1:]] == key[order[:-1]]]
    for k in row[again]:
        bad_rows.add(rows.line[k], Reason.PLAYER_TWICE, rows.players[rows.player[k]])


def _report_unknown_teams(rows: Rows, named: Mask, bad_rows: BadRows) -> None:
    has_team = np.zeros(len(rows.games), dtype=np.bool_)
    has_team[rows.game[named & (rows.team >= 0)]] = True
    nameless = np.flatnonzero(named & (rows.team < 0))
    for k in nameless[has_team[rows.game[nameless]]]:
        bad_rows.add(rows.line[k], Reason.UNKNOWN_TEAM, "others in the game name theirs")


def _report_odd_sides(rows: Rows, sides: Sides, bad_rows: BadRows) -> None:
    count = np.bincount(sides.game, minlength=len(rows.games))
    for side in np.flatnonzero(count[sides.game] == 1):
        row = sides.row[sides.start[side]]
        bad_rows.add(rows.line[row], Reason.ONE_SIDE, f"game {rows.games[rows.game[row]]}")
    if rows.ranked:
        common = results_of_sides(rows, sides)[sides.of_row]
        for k in sides.row[rows.result[sides.row] != common]:
            bad_rows.add(rows.line[k], Reason.TWO_RANKS, f"rank {rows.result[k]:g}")


def times_of_games(rows: Rows, games: Ints) -> NDArray[np.float64]:
    """(games,), the latest time on any row of each of the given games."""
    if rows.time is None:
        raise ValueError("the log has no times")
    latest = np.full(len(rows.games), -np.inf)
    timed = (rows.game >= 0) & ~np.isnan(rows.time)
    np.maximum.at(latest, rows.game[timed], rows.time[timed])
    return latest[games]


def _report_times_backwards(rows: Rows, games: Ints, bad_rows: BadRows) -> None:
    """Report the fewest games whose removal leaves times that never run backwards."""
    time = times_of_games(rows, games)
    if np.all(np.diff(time) >= 0):
        return
    first_line = np.full(len(rows.games), np.iinfo(np.int64).max)
    named = rows.game >= 0
    np.minimum.at(first_line, rows.game[named], rows.line[named])
    for k in sorted(set(range(len(games))) - set(longest_rising(time.tolist()))):
        bad_rows.add(first_line[games[k]], Reason.TIME_BACKWARDS, f"game {rows.games[games[k]]}")


def longest_rising(values: list[float]) -> list[int]:
    """Indices of a longest subsequence that never falls (patience sorting)."""
    ends: list[float] = []
    end_index: list[int] = []
    before: list[int] = []
    for k, value in enumerate(values):
        pile = bisect.bisect_right(ends, value)
        before.append(end_index[pile - 1] if pile else -1)
        if pile == len(ends):
            ends.append(value)
            end_index.append(k)
        else:
            ends[pile], end_index[pile] = value, k
    chain = []
    k = end_index[-1] if end_index else -1
    while k >= 0:
        chain.append(k)
        k = before[k]
    return chain[::-1]
