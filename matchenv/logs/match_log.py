"""A log of matches in order of play, as flat arrays that compiled code can walk through.

Games hold teams, and teams hold entries (one player's part in one game). ``game_start`` and
``team_start`` say where each game's teams and each team's entries begin: game g has the teams
``game_start[g]`` to ``game_start[g + 1] - 1``, and so on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchenv.runtime.checks import as_non_negative_array
from matchenv.runtime.files import checksum
from matchenv.trueskill.sides import LARGEST_WEIGHT
from matchenv.trueskill.teams import dense_rank

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Indices = NDArray[np.int32]
Flags = NDArray[np.bool_]

# Arrays of a log, and their types.
ARRAYS = {
    "player": np.int32, "team_start": np.int64, "game_start": np.int64, "rank": np.int32,
    "time": np.int64, "weight": np.float64, "neutral": np.bool_,
}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class MatchLog:
    """Games in order of play; every array is checked, converted and made read-only.

    Attributes:
        players: names, each once.
        player: (entries,) int32, index into ``players``.
        team_start: (teams + 1,) int64, where each team's entries begin.
        game_start: (games + 1,) int64, where each game's teams begin.
        rank: (teams,) int32, number of teams of the same game that did better: 0 is best,
            equal ranks are a draw (see ``ranks_from_scores``).
        time: (games,) int64, seconds since any fixed moment, never falling, or None.
        weight: (entries,) float64, what each performance counts, for example the share of the
            game that was played; None if everybody counts 1. Only TrueSkill reads it.
        neutral: (games,) bool, whether the game was on neutral ground, where the first side has
            no advantage; None if none was.

    Raises:
        ValueError: for arrays that do not fit together, a game of fewer than two teams, a
            team without players, a player twice in one game, ranks that are not as
            described, times that go backwards, or weights that ``matchenv.trueskill.rate`` would
            refuse.
    """

    players: Sequence[str]
    player: Indices
    team_start: Integers
    game_start: Integers
    rank: Indices
    time: Integers | None = None
    weight: Floats | None = None
    neutral: Flags | None = None

    def __post_init__(self) -> None:
        players = list(self.players)
        if len(set(players)) != len(players):
            raise ValueError("players must not name anybody twice")
        object.__setattr__(self, "players", players)
        for name, value in self._arrays().items():
            object.__setattr__(self, name, _read_only(name, value))
        _check_starts("team_start", self.team_start, len(self.player), 1)
        _check_starts("game_start", self.game_start, self.num_teams, 2)
        sizes = {"rank": self.num_teams, "time": self.num_games, "neutral": self.num_games,
                 "weight": len(self.player)}  # fmt: skip
        for name, array in self._arrays().items():
            if name in sizes and array.shape != (sizes[name],):
                raise ValueError(f"{name} must have shape ({sizes[name]},), got {array.shape}")
        self._check_games()

    def _arrays(self) -> dict[str, Any]:
        """Return the arrays that there are, by name."""
        optional = ("time", "weight", "neutral")
        arrays = {name: getattr(self, name) for name in ARRAYS}
        return {k: each for k, each in arrays.items() if each is not None or k not in optional}

    def __repr__(self) -> str:
        times = "without times" if self.time is None else "with times"
        return (
            f"<MatchLog of {self.num_games} games, {self.num_teams} teams and "
            f"{self.num_players} players, {times}>"
        )

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
        """(teams,) players in each team."""
        return np.diff(self.team_start)

    @property
    def game_size(self) -> Integers:
        """(games,) teams in each game."""
        return np.diff(self.game_start)

    @property
    def entry_team(self) -> Integers:
        """(entries,) the team of each entry."""
        return np.repeat(np.arange(self.num_teams), self.team_size)

    @property
    def team_game(self) -> Integers:
        """(teams,) the game of each team."""
        return np.repeat(np.arange(self.num_games), self.game_size)

    @property
    def entry_game(self) -> Integers:
        """(entries,) the game of each entry."""
        return self.team_game[self.entry_team]

    @property
    def entry_before(self) -> Integers:
        """(entries,) the entry of the same player in the game before; -1 in the first one."""
        order, before = np.argsort(self.player, kind="stable"), np.full(len(self.player), -1)
        again = np.flatnonzero(np.diff(self.player[order]) == 0) + 1
        before[order[again]] = order[again - 1]
        return before

    @property
    def games_played(self) -> Integers:
        """(players,) games of each player."""
        return np.bincount(self.player, minlength=self.num_players)

    @property
    def checksum(self) -> str:
        """Checksum of the games; the players' names do not count."""
        return checksum(None, self._arrays())

    def team_sums(self, values: Floats) -> Floats:
        """Return (teams,) the sums over the members of each team of values of shape (entries,)."""
        return np.add.reduceat(values, self.team_start[:-1])

    def first_games(self, games: int) -> MatchLog:
        """Return the log of the first games, at most all, with all players."""
        teams = int(self.game_start[games])
        entries = int(self.team_start[teams])
        ends = {"player": entries, "team_start": teams + 1, "game_start": games + 1, "rank": teams,
                "time": games, "weight": entries, "neutral": games}  # fmt: skip
        return MatchLog(self.players, **{k: each[: ends[k]] for k, each in self._arrays().items()})

    def _check_games(self) -> None:
        """Check players, ranks and weights against the games."""
        outside = (self.player < 0) | (self.player >= self.num_players)
        if outside.any():
            entry = int(np.argmax(outside))
            raise ValueError(
                f"player must be an index into the {self.num_players} players, "
                f"got {self.player[entry]} at entry {entry}"
            )
        order = np.sort(self.entry_game * self.num_players + self.player)
        twice = order[1:][np.diff(order) == 0]
        if twice.size:
            game = int(twice[0]) // self.num_players
            raise ValueError(f"player must not hold anybody twice in one game, as in game {game}")
        # The lowest rank is the highest score.
        score = np.unique(-self.rank.astype(np.int64), return_inverse=True)[1]
        expected = _count_better(score, self.game_start)
        if (expected != self.rank).any():
            team = int(np.argmax(expected != self.rank))
            raise ValueError(
                "rank must be the number of teams of the same game that did better, got "
                f"{self.rank[team]} in place of {expected[team]} at team {team}"
            )
        if self.time is not None and (np.diff(self.time) < 0).any():
            game = int(np.argmax(np.diff(self.time) < 0)) + 1
            raise ValueError(
                f"time must not go backwards, got {self.time[game]} after {self.time[game - 1]} "
                f"at game {game}"
            )
        if self.weight is None or len(self.weight) == 0:
            return
        as_non_negative_array("weight", self.weight)
        if (self.weight > LARGEST_WEIGHT).any():
            raise ValueError(f"weight must be at most {LARGEST_WEIGHT:g}, got {self.weight.max()}")
        most = np.maximum.reduceat(self.weight, self.team_start[:-1])
        if (most * most == 0.0).any():
            team = int(np.argmin(most))
            raise ValueError(f"weight must be above 0 for a member of each team, not so in {team}")

    @classmethod
    def from_table(cls, frame: Any, **columns: str) -> MatchLog:
        """Return the log of a table with a row for each player in each game, or for each game.

        Games are in order of time, or that in which the table first names them. Needs pandas
        (``pip install "matchenv[logs]"``).

        Args:
            frame: a data frame of pandas or polars, or a dict of columns.
            **columns: names of columns by role, as in ``ReadingSettings.columns``; columns of usual
                names are found without. Times are numbers (seconds) or moments, UTC without a zone.

        Raises:
            ValueError: for a column that is missing, or anything that would make a row of a file
                bad.
        """
        from matchenv.logs.rows import log_of_table

        return log_of_table(frame, columns)

    def to_table(self) -> dict[str, Any]:
        """Return columns with a row for each entry, for example for ``pandas.DataFrame``.

        They are game, team, player and rank, and time, weight and neutral if there are any.
        """
        game, team = self.entry_game, self.entry_team
        columns: dict[str, Any] = {
            "game": game,
            "team": team - self.game_start[game],
            "player": [self.players[k] for k in self.player.tolist()],
            "rank": self.rank[team],
        }
        if self.weight is not None:
            columns["weight"] = np.array(self.weight)
        for name, values in (("time", self.time), ("neutral", self.neutral)):
            if values is not None:
                columns[name] = values[game]
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
        """Return a log of games of named players.

        Args:
            games: for each game its teams, for each team the names of its players.
            scores: for each game the score of each team; the higher wins, equal is a draw.
            time: (games,) seconds, or None.
            weights: for each game, for each team the weights of its players, or None.
            neutral: (games,) whether on neutral ground, or None.

        Raises:
            ValueError: as the class, and where games and scores differ in number.
        """
        games, scores = [list(teams) for teams in games], [list(each) for each in scores]
        for game, (teams, points) in enumerate(zip(games, scores, strict=True)):
            if len(teams) != len(points):
                raise ValueError(
                    f"scores must give one number for each team, got {len(points)} for "
                    f"{len(teams)} teams in game {game}"
                )
        sides = [names for teams in games for names in teams]
        entries = [name for names in sides for name in names]
        number = {name: k for k, name in enumerate(dict.fromkeys(entries))}
        game_start = np.cumsum([0, *map(len, games)])
        weight: Any = weights
        if weights is not None:
            weight = [float(each) for teams in weights for row in teams for each in row]
        arrays: Any = {"time": time, "weight": weight, "neutral": neutral}
        return cls(
            players=list(number),
            player=np.array([number[name] for name in entries], np.int32),
            team_start=np.cumsum([0, *map(len, sides)]),
            game_start=game_start,
            rank=ranks_from_scores([each for points in scores for each in points], game_start),
            **arrays,
        )


def ranks_from_scores(score: ArrayLike | Sequence[Any], game_start: ArrayLike) -> Indices:
    """Return the rank of each team in its game: how many teams of the game have a higher score.

    Args:
        score: (teams,) finite numbers of any size and kind, compared exactly; the higher wins.
        game_start: (games + 1,) where each game's teams begin.

    Returns:
        (teams,) int32; 0 is best, equal scores have equal ranks.

    Raises:
        ValueError: for NaN, infinity, or something that is no number.
    """
    return _count_better(dense_rank("score", score), np.asarray(game_start))


def _count_better(score: Integers, game_start: Integers) -> Indices:
    """Return the number of teams of the same game with a higher score, an integer from 0 on."""
    game = np.repeat(np.arange(len(game_start) - 1), np.diff(game_start))
    # Game by game, and within each from the highest score.
    order = game * (score.max(initial=0) + 1) - score
    _, level, count = np.unique(order, return_inverse=True, return_counts=True)
    before: Integers = np.cumsum(count) - count
    return (before[level] - game_start[game]).astype(np.int32)


def _read_only(name: str, value: ArrayLike) -> NDArray[Any]:
    """Return a copy as a row of the type of this array of a log."""
    array, dtype = np.asarray(value), np.dtype(ARRAYS[name])
    if array.ndim != 1 or (array.size and not np.can_cast(array.dtype, dtype, "same_kind")):
        raise ValueError(f"{name} must be a row of {dtype}, got {value!r}")
    converted: NDArray[Any] = array.astype(dtype)
    if dtype.kind == "i" and (converted != array).any():
        raise ValueError(f"{name} must fit into {dtype}")
    converted.setflags(write=False)
    return converted


def _check_starts(name: str, starts: Integers, count: int, least: int) -> None:
    """Check that ``starts`` cut ``count`` items into parts of at least ``least``."""
    if len(starts) == 0 or starts[0] != 0 or starts[-1] != count:
        raise ValueError(f"{name} must begin with 0 and end with {count}, got {starts!r}")
    sizes = np.diff(starts)
    if (sizes < least).any():
        index = int(np.argmax(sizes < least))
        raise ValueError(
            f"{name} must leave each part at least {least} long, got {sizes[index]} at {index}"
        )
