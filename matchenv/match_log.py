"""A log of matches in order of play, as flat arrays that compiled code can walk through.

Games hold teams and teams hold entries (one player's part in one game). ``game_start``
and ``team_start`` say where each game's teams and each team's entries begin, so that game
g has teams ``game_start[g]`` to ``game_start[g + 1] - 1``, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchenv.exact_order import places_in_order
from matchenv.log_arrays import as_flags, as_integers, check_shape, check_starts, read_only
from matchenv.runtime.checks import as_non_negative_array
from matchenv.runtime.compile import compiled
from matchenv.trueskill.sides import LARGEST_WEIGHT

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Indices = NDArray[np.int32]
Flags = NDArray[np.bool_]


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
        score: (teams,) float64, the nearest to what the log had; a log of ranks alone has
            ``-rank``.
        time: (games,) int64, seconds since any fixed moment, or None.
        weight: (entries,) float64, what each performance counts, such as the share of the game
            that was played; None if everybody counts 1. TrueSkill alone reads it.
        neutral: (games,) bool, whether the game was on neutral ground, where the first side has
            no advantage; None if none was.

    Raises:
        ValueError: for arrays that do not fit together, a game of fewer than two teams, a
            team without players, a player twice in one game, ranks that are not as
            described, or weights that ``matchenv.trueskill.rate`` would refuse.
    """

    players: Sequence[str]
    player: Indices
    team_start: Integers
    game_start: Integers
    rank: Indices
    score: Floats
    time: Integers | None = None
    weight: Floats | None = None
    neutral: Flags | None = None

    def __post_init__(self) -> None:
        names = list(self.players)
        if len(set(names)) != len(names):
            raise ValueError("players must not name anybody twice")
        object.__setattr__(self, "players", names)
        for name in ("player", "team_start", "game_start", "rank", "time"):
            value = getattr(self, name)
            if value is not None:
                dtype = np.int32 if name in ("player", "rank") else np.int64
                object.__setattr__(self, name, read_only(as_integers(name, value, dtype)))
        score = np.array(self.score, dtype=np.float64)
        object.__setattr__(self, "score", read_only(score))
        check_starts("team_start", self.team_start, len(self.player), 1)
        check_starts("game_start", self.game_start, self.num_teams, 2)
        check_shape("rank", self.rank, self.num_teams)
        check_shape("score", score, self.num_teams)
        if self.time is not None:
            check_shape("time", self.time, self.num_games)
        if not np.isfinite(score).all():
            raise ValueError(f"score must be finite, got {score[~np.isfinite(score)][0]!r}")
        if self.weight is not None:
            object.__setattr__(self, "weight", read_only(self._checked_weight(self.weight)))
        if self.neutral is not None:
            object.__setattr__(self, "neutral", read_only(as_flags("neutral", self.neutral)))
            check_shape("neutral", self.neutral, self.num_games)
        self._check_players()
        self._check_ranks()

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

    def _check_players(self) -> None:
        outside = (self.player < 0) | (self.player >= self.num_players)
        if outside.any():
            entry = int(np.argmax(outside))
            raise ValueError(
                f"player must be an index into the {self.num_players} players, "
                f"got {self.player[entry]} at entry {entry}"
            )
        game = first_repeated_player(
            self.player, self.team_start, self.game_start, self.num_players
        )
        if game >= 0:
            raise ValueError(f"player must not hold anybody twice in one game, as in game {game}")

    def _check_ranks(self) -> None:
        expected = _count_better(-self.rank.astype(np.int64), np.array(self.game_start))
        wrong = expected != self.rank
        if wrong.any():
            team = int(np.argmax(wrong))
            raise ValueError(
                "rank must be the number of teams of the same game that did better, got "
                f"{self.rank[team]} in place of {expected[team]} at team {team}"
            )

    def _checked_weight(self, weight: ArrayLike) -> Floats:
        array = np.array(as_non_negative_array("weight", weight))
        check_shape("weight", array, len(self.player))
        if (array > LARGEST_WEIGHT).any():
            raise ValueError(f"weight must be at most {LARGEST_WEIGHT:g}, got {array.max()!r}")
        most = np.maximum.reduceat(array, self.team_start[:-1]) if len(array) else array
        if (most * most == 0.0).any():
            team = int(np.argmin(most))
            raise ValueError(f"weight must be above 0 for a member of each team, not so in {team}")
        return array

    @classmethod
    def from_table(
        cls,
        frame: Any,
        *,
        game: str = "game",
        player: str = "player",
        team: str | None = None,
        score: str | None = None,
        rank: str | None = None,
        time: str | None = None,
        weight: str | None = None,
        time_played: str | None = None,
        neutral: str | None = None,
    ) -> MatchLog:
        """A log from a table with a row for each player in each game.

        Games are in the order in which the table first names them, sides in that within the game.

        Args:
            frame: a data frame of pandas or polars, or a dict of columns.
            game: the column that says which game.
            player: the column of names, read as text.
            team: the column of sides; without it, or where a game has none, all play alone.
            score: the column of scores; a side's is the sum of its members', the higher wins.
            rank: the column of ranks, in place of scores; the lower wins.
            time: the column of times: numbers (seconds) or moments, UTC where no zone is said.
            weight: the column of weights.
            time_played: the column of how long each player took part, in any unit, in place of
                weights: the weight is the share of the game's longest.
            neutral: the column of booleans that says which games were on neutral ground.

        Raises:
            ValueError: as the class, for a column that is not there, something missing, sides of
                two ranks, times that run backwards, or a game that is both neutral and not.
        """
        from matchenv.match_tables import Roles, read_table

        roles = Roles(game, player, team, score, rank, time, weight, time_played, neutral)
        return cls.from_games(**read_table(frame, roles))

    def to_table(self, make: Callable[[dict[str, Any]], Any] = dict) -> Any:
        """The log, a row for each entry: game, team, player, rank; time, weight, neutral if any.

        Args:
            make: makes the table of a dict of columns: ``pandas.DataFrame``,
                ``polars.DataFrame``, or ``dict`` for the columns themselves.
        """
        from matchenv.match_tables import write_table

        return write_table(self, make)

    @classmethod
    def from_games(
        cls,
        games: Iterable[Sequence[Sequence[str]]],
        scores: Iterable[Sequence[float]],
        time: ArrayLike | None = None,
        weights: Iterable[Sequence[Sequence[float]]] | None = None,
        neutral: ArrayLike | None = None,
    ) -> MatchLog:
        """A log from games of named players.

        Args:
            games: for each game its teams, for each team the names of its players.
            scores: for each game the score of each team; the higher wins, equal is a draw.
            time: (games,) seconds, or None.
            weights: for each game, for each team the weights of its players, or None.
            neutral: (games,) whether on neutral ground, or None.

        Raises:
            ValueError: as the class, and where games and scores differ in number.
        """
        weight = None
        if weights is not None:
            weight = [float(w) for teams in weights for row in teams for w in row]
        number: dict[str, int] = {}
        player: list[int] = []
        team_start, game_start = [0], [0]
        score: list[Any] = []
        for teams, points in zip(games, scores, strict=True):
            if len(teams) != len(points):
                raise ValueError(
                    f"scores must give one number for each team, got {len(points)} for "
                    f"{len(teams)} teams in game {len(game_start) - 1}"
                )
            for names in teams:
                player.extend(number.setdefault(name, len(number)) for name in names)
                team_start.append(len(player))
            score.extend(points)
            game_start.append(len(score))
        starts = np.asarray(game_start, dtype=np.int64)
        rank = ranks_from_scores(score, starts)
        try:
            nearest = np.asarray(list(map(float, score)), dtype=np.float64)
        except OverflowError as error:
            raise ValueError(f"scores must be within the range of float64: {error}") from None
        return cls(
            players=list(number),
            player=np.asarray(player, dtype=np.int32),
            team_start=np.asarray(team_start, dtype=np.int64),
            game_start=starts,
            rank=rank,
            score=nearest,
            time=None if time is None else np.asarray(time),
            weight=None if weight is None else np.asarray(weight, dtype=np.float64),
            neutral=None if neutral is None else np.asarray(neutral),
        )


def ranks_from_scores(score: ArrayLike | Sequence[Any], game_start: ArrayLike) -> Indices:
    """Rank of each team in its game: how many teams of the game have a higher score.

    Args:
        score: (teams,) finite numbers of any size and kind, compared exactly; the higher wins.
        game_start: (games + 1,) where each game's teams begin.

    Returns:
        (teams,) int32; 0 is best, equal scores have equal ranks.

    Raises:
        ValueError: for NaN, infinity, or something that is no number.
    """
    # A copy is writable: one compiled version serves frozen logs and fresh arrays alike.
    return _count_better(places_in_order("score", score), np.array(game_start, np.int64))


@compiled
def _count_better(score: Integers, game_start: Integers) -> Indices:
    rank = np.zeros(score.size, dtype=np.int32)
    for game in range(game_start.size - 1):
        first, last = game_start[game], game_start[game + 1]
        for team in range(first, last):
            for other in range(first, last):
                if score[other] > score[team]:
                    rank[team] += 1
    return rank


@compiled
def first_repeated_player(
    player: Indices, team_start: Integers, game_start: Integers, num_players: int
) -> int:
    """The first game in which a player appears twice, or -1."""
    last_game = np.full(num_players, -1, dtype=np.int64)
    for game in range(game_start.size - 1):
        for entry in range(team_start[game_start[game]], team_start[game_start[game + 1]]):
            if last_game[player[entry]] == game:
                return game
            last_game[player[entry]] = game
    return -1


@compiled
def largest_game(team_start: Integers, game_start: Integers) -> tuple[int, int]:
    """The most teams and the most entries of any game."""
    teams, entries = 0, 0
    for game in range(game_start.size - 1):
        first, last = game_start[game], game_start[game + 1]
        teams = max(teams, last - first)
        entries = max(entries, team_start[last] - team_start[first])
    return teams, entries
