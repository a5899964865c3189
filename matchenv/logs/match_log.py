"""A log of matches in order of play, stored as flat arrays for compiled code.

A game has teams, and a team has entries; an entry is one player's part in one game. Game g has the
teams ``game_start[g]`` to ``game_start[g + 1] - 1``, and ``team_start`` does the same for the
entries of each team.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchenv.logs.pairs import Pairs, pairs_of_sides
from matchenv.logs.ranks import Indices, ranks_from_scores, sides_of_equal_rank
from matchenv.runtime.arrays import Floats, Integers, Masks
from matchenv.runtime.checks import as_array, as_integer, as_non_negative_array, refusal
from matchenv.runtime.files import checksum
from matchenv.trueskill.sides import LARGEST_WEIGHT

LATEST = 1e11  # seconds; numbers after the year 5000 are likely milliseconds

# Data type of each array of a log.
ARRAYS = {
    "player": np.int32,
    "team_start": np.int64,
    "game_start": np.int64,
    "rank": np.int32,
    "time": np.int64,
    "weight": np.float64,
    "neutral": np.bool_,
    "unordered": np.bool_,
}
OPTIONAL = ("time", "weight", "neutral", "unordered")


@dataclass(frozen=True, eq=False, repr=False)
class MatchLog:
    """Games in order of play. Every array is checked, converted and made read-only.

    Attributes:
        players: unique names.
        player: (entries,) int32, index into ``players``.
        team_start: (teams + 1,) int64, first entry of each team.
        game_start: (games + 1,) int64, first team of each game.
        rank: (teams,) int32, number of teams of the same game that did better: 0 is best, equal
            ranks are a draw (see ``ranks_from_scores``).
        time: (games,) int64, seconds since any fixed moment, non-decreasing, or None.
        weight: (entries,) float64, weight of each performance, for example the share of the game
            that the player took part in; None for weights of 1. Only TrueSkill uses it.
        neutral: (games,) bool, whether the game was on neutral ground. In other games the first
            side was at home, with the white pieces, or shown first, and can have an advantage. None
            if the order of the sides of a game means nothing: no side has an advantage.
        unordered: (teams,) bool, whether the order of the sides of this rank in its game is
            unknown, for example of losers where only the winner is recorded, or of those that did
            not finish a race. None for False: equal ranks are a draw.

    Raises:
        ValueError: for arrays that do not fit together, a game of fewer than two teams, an empty
            team, a player twice in a game, ranks other than described above, a game without two
            sides in a known order, decreasing times, or weights that are negative, above 1e9 or all
            0 in a team.
    """

    players: Sequence[str]
    player: Indices
    team_start: Integers
    game_start: Integers
    rank: Indices
    time: Integers | None = None
    weight: Floats | None = None
    neutral: Masks | None = None
    unordered: Masks | None = None

    def __post_init__(self) -> None:
        players = list(self.players)
        if len(set(players)) != len(players):
            raise ValueError("players must be unique names")
        object.__setattr__(self, "players", players)
        for name, value in self._arrays().items():
            object.__setattr__(self, name, _read_only(name, value))
        _check_starts("team_start", self.team_start, len(self.player), 1)
        _check_starts("game_start", self.game_start, self.num_teams, 2)
        sizes = {
            "rank": self.num_teams,
            "unordered": self.num_teams,
            "time": self.num_games,
            "neutral": self.num_games,
            "weight": len(self.player),
        }
        for name, array in self._arrays().items():
            if name in sizes and array.shape != (sizes[name],):
                raise ValueError(f"{name} must have shape ({sizes[name]},), got {array.shape}")
        self._check_games()

    def _arrays(self) -> dict[str, Any]:
        """Return the arrays by name, without optional ones that are None."""
        arrays = {}
        for name in ARRAYS:
            array = getattr(self, name)
            if array is not None or name not in OPTIONAL:
                arrays[name] = array
        return arrays

    def __repr__(self) -> str:
        return f"<MatchLog of {self.num_games} games and {self.num_players} players>"

    @property
    def num_players(self) -> int:
        """Number of players."""
        return len(self.players)

    @property
    def num_teams(self) -> int:
        """Number of teams over all games."""
        return len(self.team_start) - 1

    @property
    def num_games(self) -> int:
        """Number of games."""
        return len(self.game_start) - 1

    @property
    def team_size(self) -> Integers:
        """(teams,) number of players of each team."""
        return np.diff(self.team_start)

    @property
    def game_size(self) -> Integers:
        """(games,) number of teams of each game."""
        return np.diff(self.game_start)

    @property
    def entry_team(self) -> Integers:
        """(entries,) team of each entry."""
        return np.repeat(np.arange(self.num_teams), self.team_size)

    @property
    def team_game(self) -> Integers:
        """(teams,) game of each team."""
        return np.repeat(np.arange(self.num_games), self.game_size)

    @property
    def entry_game(self) -> Integers:
        """(entries,) game of each entry."""
        return self.team_game[self.entry_team]

    @property
    def has_first_side(self) -> bool:
        """Whether the first side of a game can have an advantage."""
        return self.neutral is not None and not self.neutral.all()

    @property
    def last_rank(self) -> Indices:
        """(teams,) worst rank that each team can have: its rank, unless sides are unordered."""
        if self.unordered is None:
            return self.rank
        equal = sides_of_equal_rank(self.rank, self.game_start)
        return np.where(self.unordered, self.rank + equal - 1, self.rank).astype(np.int32)

    @property
    def pairs(self) -> Pairs:
        """Pairs of sides that met and whose order is known; see ``pairs_of_sides``."""
        return pairs_of_sides(self.game_start, self.rank, self.unordered)

    @property
    def entry_before(self) -> Integers:
        """(entries,) entry of the same player in their previous game; -1 in the first one."""
        order = np.argsort(self.player, kind="stable")
        before = np.full(len(self.player), -1)
        again = np.flatnonzero(np.diff(self.player[order]) == 0) + 1
        before[order[again]] = order[again - 1]
        return before

    @property
    def games_played(self) -> Integers:
        """(players,) number of games of each player."""
        return np.bincount(self.player, minlength=self.num_players)

    @property
    def checksum(self) -> str:
        """Checksum of the games, without the names of the players."""
        return checksum(None, self._arrays())

    def team_sums(self, values: Floats) -> Floats:
        """Return (teams,) sums over the members of each team, of values of shape (entries,)."""
        return np.add.reduceat(values, self.team_start[:-1])

    def first_games(self, games: int) -> MatchLog:
        """Return the log of the first games, with all players."""
        games = as_integer("games", games, 0, self.num_games)
        teams = int(self.game_start[games])
        entries = int(self.team_start[teams])
        ends = {
            "player": entries,
            "team_start": teams + 1,
            "game_start": games + 1,
            "rank": teams,
            "time": games,
            "weight": entries,
            "neutral": games,
            "unordered": teams,
        }
        arrays = {name: array[: ends[name]] for name, array in self._arrays().items()}
        return MatchLog(self.players, **arrays)

    def _check_games(self) -> None:
        """Check players, ranks, times and weights against the games."""
        player = self.player
        count = self.num_players
        game = self.entry_game
        outside = (player < 0) | (player >= count)
        _refuse(outside, f"player must be an index into the {count} players", player, "entry")
        before = self.entry_before
        again = (before >= 0) & (game[before] == game)
        _refuse(again, "player must not repeat within a game", player, "entry")
        worse = self.rank != ranks_from_scores(-self.rank.astype(np.int64), self.game_start)
        rule = "rank must be the number of teams of the same game that did better"
        _refuse(worse, rule, self.rank, "team")
        if self.unordered is not None and self.num_games:
            self._check_unordered(self.unordered)
        if self.time is not None:
            back = np.diff(self.time, prepend=self.time[:1]) < 0
            _refuse(back, "time must not decrease", self.time, "game")
        if self.weight is not None and len(self.weight):
            weight = as_non_negative_array("weight", self.weight)
            rule = f"weight must be at most {LARGEST_WEIGHT:g}"
            _refuse(weight > LARGEST_WEIGHT, rule, weight, "entry")
            largest = np.maximum.reduceat(weight, self.team_start[:-1])
            rule = "weight must be above 0 for a member of each team"
            _refuse(largest * largest == 0.0, rule, largest, "team")

    def _check_unordered(self, unordered: Masks) -> None:
        """Check that sides of one rank agree, and that each game has two sides in known order."""
        level = self.game_start[self.team_game] + self.rank
        count = np.bincount(level, unordered, minlength=self.num_teams)[level]
        equal = sides_of_equal_rank(self.rank, self.game_start)
        differs = (count > 0) & (count < equal)
        _refuse(differs, "unordered must be equal for sides of one rank", unordered, "team")
        alone = unordered & (equal == 1)
        _refuse(alone, "unordered must be False for a side alone with its rank", unordered, "team")
        rule = "unordered must leave two sides in a known order"
        _refuse(unordered & (equal == self.game_size[self.team_game]), rule, unordered, "team")

    @classmethod
    def from_table(cls, frame: Any, **columns: str) -> MatchLog:
        """Return the log of a table with a row for each player in each game, or for each game.

        Games are sorted by time, or by their first row without times. Needs pandas
        (``pip install "matchenv[logs]"``).

        Args:
            frame: a pandas or polars data frame, or a dict of columns.
            **columns: names of columns by role, as in ``ReadingSettings.columns``. Columns with
                usual names need none. Times are numbers (seconds) or datetimes, UTC without a zone.

        Raises:
            ValueError: for a missing column, or a row that would be bad in a file.
        """
        from matchenv.logs.tables import arrays_of_table  # with pandas, which is slow to load

        return cls(**arrays_of_table(frame, columns))

    def to_table(self) -> dict[str, Any]:
        """Return columns with a row for each entry, for example for ``pandas.DataFrame``.

        The columns are game, team, player and rank, and weight, time, at_home, neutral and
        unordered if present.
        """
        game = self.entry_game
        team = self.entry_team
        number = team - self.game_start[game]
        columns: dict[str, Any] = {
            "game": game,
            "team": number,
            "player": [self.players[k] for k in self.player.tolist()],
            "rank": self.rank[team],
        }
        if self.weight is not None:
            columns["weight"] = np.array(self.weight)
        if self.time is not None:
            columns["time"] = self.time[game]
        if self.neutral is not None:
            columns["at_home"] = number == 0
            columns["neutral"] = self.neutral[game]
        if self.unordered is not None:
            columns["unordered"] = self.unordered[team]
        return columns

    @classmethod
    def from_games(
        cls,
        games: Iterable[Sequence[Sequence[str]]],
        scores: Iterable[Sequence[float]],
        time: ArrayLike | None = None,
        weights: Iterable[Sequence[Sequence[float]]] | None = None,
        neutral: ArrayLike | None = None,
    ) -> MatchLog:
        """Return the log of games between named players.

        Args:
            games: for each game its teams, for each team the names of its players.
            scores: for each game the score of each team; the higher one wins, equal is a draw.
            time: (games,) seconds, or None.
            weights: for each game, for each team the weights of its players, or None.
            neutral: (games,) whether on neutral ground; None if the order of the teams of a game
                means nothing, see ``MatchLog``.

        Raises:
            ValueError: see ``MatchLog``, and if games and scores differ in number.
        """
        games = [list(teams) for teams in games]
        scores = [list(points) for points in scores]
        if len(scores) != len(games):
            raise ValueError(f"scores must hold {len(games)} games, got {len(scores)}")
        for game, (teams, points) in enumerate(zip(games, scores, strict=True)):
            if len(points) != len(teams):
                rule = f"scores must hold {len(teams)} numbers for game {game}"
                raise refusal(rule, len(points))
        sides = [names for teams in games for names in teams]
        entries = [name for names in sides for name in names]
        number = {name: k for k, name in enumerate(dict.fromkeys(entries))}
        game_start = np.cumsum([0, *map(len, games)])
        weight: Any = None
        if weights is not None:
            rows = [row for teams in weights for row in teams]
            if list(map(len, rows)) != list(map(len, sides)):
                raise ValueError("weights must hold one number for each player of each team")
            weight = [float(number) for row in rows for number in row]
        arrays: Any = {"time": time, "weight": weight, "neutral": neutral}
        return cls(
            players=list(number),
            player=np.array([number[name] for name in entries], np.int32),
            team_start=np.cumsum([0, *map(len, sides)]),
            game_start=game_start,
            rank=ranks_from_scores([score for points in scores for score in points], game_start),
            **arrays,
        )


def check_seconds(time: Integers) -> None:
    """Refuse ascending times that are likely milliseconds, where durations matter."""
    if time.size and time[-1] > LATEST:
        raise ValueError(
            f"time must be in seconds, at most {LATEST:g}, got {time[-1]:d}: if it is in "
            "milliseconds, divide it by 1,000"
        )


def _refuse(wrong: Masks, rule: str, values: NDArray[Any], part: str) -> None:
    """Raise ``ValueError`` with the rule and the first value that is wrong."""
    if wrong.any():
        index = int(np.argmax(wrong))
        raise ValueError(f"{rule}, got {values[index]} at {part} {index}")


def _read_only(name: str, value: ArrayLike) -> NDArray[Any]:
    """Return a read-only copy with the data type of this array of a log."""
    array = as_array(name, value)
    dtype = np.dtype(ARRAYS[name])
    if array.ndim != 1 or (array.size and not np.can_cast(array.dtype, dtype, "same_kind")):
        raise refusal(f"{name} must be a one-dimensional array of {dtype}", value)
    converted: NDArray[Any] = array.astype(dtype)
    if dtype.kind == "i" and (converted != array).any():
        raise ValueError(f"{name} must fit into {dtype}")
    converted.setflags(write=False)
    return converted


def _check_starts(name: str, starts: Integers, count: int, least: int) -> None:
    """Check that ``starts`` divides ``count`` items into parts of at least ``least``."""
    if len(starts) == 0 or starts[0] != 0 or starts[-1] != count:
        raise refusal(f"{name} must begin with 0 and end with {count}", starts)
    sizes = np.diff(starts)
    _refuse(sizes < least, f"{name} must leave at least {least} in each part", sizes, "part")
