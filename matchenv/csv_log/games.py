"""Entries grouped into games: which games are whole, and their sides."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from matchenv.csv_log.bad_rows import BadRows, Reason
from matchenv.csv_log.entries import Entries, Number
from matchenv.csv_log.times import Time
from matchenv.match_tables import shares_of_longest

Value = TypeVar("Value")


@dataclass(slots=True)
class Game:
    """One game of the log.

    Attributes:
        name: as the log has it.
        entries: numbers of its entries, in file order.
        members: the same entries in order of their sides; the file's first side comes first.
        sizes: how many of them each side has.
        time: the latest time on its entries; None for a log without times.
    """

    name: str
    entries: list[int]
    members: Sequence[int] = ()
    sizes: Sequence[int] = ()
    time: Time | None = None

    def results(self, entries: Entries) -> list[Number]:
        """For each side the sum of its members' scores, or its members' common rank."""
        values = [entries.result[k] or 0 for k in self.members]
        if len(self.sizes) == len(values):
            return values
        return [side[0] if entries.ranked else sum(side) for side in self._by_side(values)]

    def weights(self, entries: Entries) -> list[list[float]]:
        """For each side what its members' performances count; 1 for all in a log without weights.

        Times of play count as shares of the game's longest.
        """
        if entries.weight is None:
            return self._by_side([1.0] * len(self.members))
        sides = self._by_side([entries.weight[k] or 0.0 for k in self.members])
        return shares_of_longest(sides) if entries.weight_is_time else sides

    def _by_side(self, values: list[Value]) -> list[list[Value]]:
        starts = itertools.accumulate(self.sizes, initial=0)
        return [values[a : a + size] for a, size in zip(starts, self.sizes, strict=False)]


def whole_games(
    entries: Entries, spoilt: set[str], bad_rows: BadRows
) -> tuple[list[Game], list[Game]]:
    """All games of a log, and those of them that can be rated: the ones without a bad row.

    A game with a bad row is left out as a whole: the rest of its rows would describe a game
    that was not played.

    Args:
        entries: the entries of the log.
        spoilt: names of games with a row that could not even be split.
        bad_rows: takes what is wrong with games, beside what is wrong with single rows.

    Returns:
        ``(games, whole)``, in the order in which the file first names them.
    """
    games, in_order = _group(entries, bad_rows)
    if entries.time is not None:
        for game in games:
            game.time = max(map(entries.time.__getitem__, game.entries))
        unreadable = {k for k, time in enumerate(entries.time) if math.isnan(time)}
        timed = [game for game in in_order if unreadable.isdisjoint(game.entries)]
        # The fewest games whose removal leaves times that never run backwards.
        kept = set(longest_rising([game.time for game in timed if game.time is not None]))
        for k in sorted(set(range(len(timed))) - kept):
            first_line = entries.line[timed[k].entries[0]]
            bad_rows.add(first_line, Reason.TIME_BACKWARDS, f"game {timed[k].name}")
    for game in games:
        _report_members(game, entries, bad_rows)
    bad_lines = bad_rows.lines()
    bad = {k for k, line in enumerate(entries.line) if line in bad_lines}
    sound = [game for game in games if game.name not in spoilt and bad.isdisjoint(game.entries)]
    return games, [game for game in sound if _sides_are_right(game, entries, bad_rows)]


def longest_rising(values: list[Time]) -> list[int]:
    """Indices of a longest subsequence that never falls (patience sorting)."""
    ends: list[Time] = []
    end_index: list[int] = []
    before: list[int] = []
    for k, value in enumerate(values):
        pile = bisect.bisect_right(ends, value)
        before.append(end_index[pile - 1] if pile else -1)
        ends[pile : pile + 1] = [value]
        end_index[pile : pile + 1] = [k]
    chain = []
    k = end_index[-1] if end_index else -1
    while k >= 0:
        chain.append(k)
        k = before[k]
    return chain[::-1]


def _group(entries: Entries, bad_rows: BadRows) -> tuple[list[Game], list[Game]]:
    """All games, and those whose rows stand together; a return to a game is reported."""
    games: dict[str, Game] = {}
    split = set()
    named = [k for k, name in enumerate(entries.game) if name is not None]
    for name, run in itertools.groupby(named, entries.game.__getitem__):
        rows = list(run)
        if name in games:
            bad_rows.add(entries.line[rows[0]], Reason.GAME_SPLIT, f"game {name}")
            split.add(name)
            games[name].entries += rows
        elif name is not None:
            games[name] = Game(name, rows)
    return list(games.values()), [game for game in games.values() if game.name not in split]


def _report_members(game: Game, entries: Entries, bad_rows: BadRows) -> None:
    """Report players who come twice, and entries without a team where others name theirs."""
    players, teams = (
        [values[k] for k in game.entries] for values in (entries.player, entries.team)
    )
    if len(set(players)) < len(players):
        seen: set[str | None] = {None}
        for k, player in zip(game.entries, players, strict=True):
            if player is not None and player in seen:
                bad_rows.add(entries.line[k], Reason.PLAYER_TWICE, player)
            seen.add(player)
    if None in teams and len(set(teams)) > 1:
        for k in game.entries:
            if entries.team[k] is None:
                bad_rows.add(entries.line[k], Reason.UNKNOWN_TEAM, "others in the game name theirs")


def _sides_are_right(game: Game, entries: Entries, bad_rows: BadRows) -> bool:
    """Find the sides of a game; report a single one, one of two ranks, and one of no weight.

    Its entries all name a team, or none does: then everybody plays alone.
    """
    before = len(bad_rows)
    game.members, game.sizes = game.entries, (1,) * len(game.entries)
    if entries.team[game.entries[0]] is not None:
        sides: dict[str | None, list[int]] = {}
        for k in game.entries:
            sides.setdefault(entries.team[k], []).append(k)
        game.members = list(itertools.chain(*sides.values()))
        game.sizes = list(map(len, sides.values()))
        for side in sides.values() if entries.ranked else ():
            for k in side:
                rank = entries.result[k]
                if rank is not None and rank != entries.result[side[0]]:
                    bad_rows.add(entries.line[k], Reason.TWO_RANKS, f"rank {float(rank):g}")
    first_line = entries.line[game.entries[0]]
    if len(game.sizes) == 1:
        bad_rows.add(first_line, Reason.ONE_SIDE, f"game {game.name}")
    # The square is what counts, and is 0 for the smallest of numbers too.
    weights = game.weights(entries) if entries.weight is not None else []
    if any(max(side) ** 2 == 0.0 for side in weights):
        bad_rows.add(first_line, Reason.NOBODY_PLAYED, f"game {game.name}")
    if entries.neutral is not None and len({entries.neutral[k] for k in game.entries}) > 1:
        bad_rows.add(first_line, Reason.TWO_GROUNDS, f"game {game.name}")
    return len(bad_rows) == before
