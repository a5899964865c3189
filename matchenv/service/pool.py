"""A pool of named players: their ratings, and who should meet whom."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.checks import as_integer, as_number, as_positive_number, refusal
from matchenv.service.opponents import rule_of
from matchenv.service.players import (
    Game,
    GameExistsError,
    Meeting,
    NewPlayer,
    Player,
    PlayerExistsError,
    PoolSettings,
    RankedPlayer,
    RatedGame,
    Split,
    UnknownPlayerError,
    as_name,
    as_names,
    check_distinct,
)
from matchenv.service.splitting import fairest_teams
from matchenv.service.storage import Storage, StoredGame, content_of
from matchenv.trueskill import Rating, match_quality, rate
from matchenv.trueskill.teams import sides_of

SECONDS_PER_DAY = 86_400.0


@dataclass
class Change:
    """Players and games that a list of games changes.

    Attributes:
        players: the players after the games, by name.
        new_games: number of games that had not been rated before.
        games_with_id: those of the new games that have an id.
        rated: each game of the list, new or not.
    """

    players: dict[str, Player] = field(default_factory=dict)
    new_games: int = 0
    games_with_id: dict[str, StoredGame] = field(default_factory=dict)
    rated: list[RatedGame] = field(default_factory=list)


class Pool:
    """Named players, their ratings, and decisions about who meets whom.

    All methods are thread-safe. They raise ``UnknownPlayerError`` for a name that is not in the
    pool, and its base class ``ValueError`` for other bad arguments and for changes of a closed
    pool. A call that raises has changed nothing. Without ``open`` the pool is in memory only.

    Args:
        rule: chooses opponents: a one-player policy with ``act``, its name, for example ``"kg"``,
            or None for DrawChance with the pool's beta.
        clock: returns the time in seconds, for ``drift_per_day``.
        settings: attributes of ``PoolSettings``.

    Raises:
        ValueError: for bad settings, or a rule that cannot choose from means and deviations.
    """

    def __init__(
        self, *, rule: Any = None, clock: Callable[[], float] = time.time, **settings: Any
    ) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._storage = Storage(PoolSettings(**settings))
        self._rule = rule_of(rule, self.settings)
        # A rule may keep state, and a slow one must not hold up ratings.
        self._rule_lock = threading.Lock()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        rule: Any = None,
        clock: Callable[[], float] = time.time,
        **settings: Any,
    ) -> Self:
        """Open the pool in a file, created if it does not exist; see the class for other arguments.

        A change is in the file once its method has returned, whatever happens to the process
        afterwards. A copy of the file made between two changes is a pool too; ``backup`` makes one
        at any time. An existing file has its own settings, which the given ones must equal.

        Raises:
            ValueError: for bad or conflicting settings, or a file that is not a pool, is damaged
                or is open in another process.
            OSError: if it cannot be read or written.
        """
        pool = cls(rule=rule, clock=clock, **settings)  # checks all before a file is created
        requested = pool.settings
        pool.close()
        storage = Storage(requested, Path(path))
        try:
            for name in settings:
                value = getattr(requested, name)
                stored = getattr(storage.settings, name)
                if value != stored:
                    raise ValueError(f"{name} must be {stored!r} as in {path}, got {value!r}")
            if storage.settings != requested:
                pool._rule = rule_of(rule, storage.settings)
        except ValueError:
            storage.close()
            raise
        pool._storage = storage
        return pool

    @property
    def settings(self) -> PoolSettings:
        """Settings of the pool."""
        return self._storage.settings

    @property
    def games(self) -> int:
        """Number of games rated since the pool was created."""
        return self._storage.games

    @property
    def _players(self) -> dict[str, Player]:
        return self._storage.players

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Pool of {len(self)} players, {self.settings}>"

    def __len__(self) -> int:
        return len(self._players)

    def __contains__(self, name: object) -> bool:
        return name in self._players

    def __getitem__(self, name: str) -> Rating:
        """Return the current belief about a player."""
        player = self.player(name)
        return Rating(player.mu, player.sigma)

    def close(self) -> None:
        """Close the file; later changes raise."""
        with self._lock:
            self._storage.close()

    def backup(self) -> bytes:
        """Return the content of a file with everything so far, which ``Pool.open`` reads."""
        with self._lock:
            return self._storage.backup()

    def has_lost_file(self) -> bool:
        """Return whether the pool's file has been moved or removed since it was opened."""
        return self._storage.has_lost_file()

    # Players

    def player(self, name: str) -> Player:
        """Return a player, with the current deviation."""
        player = self._player_named(name)  # a single lookup needs no lock
        return player._replace(sigma=self._current_sigma(player, self._now()))

    def expose(self, player: str) -> float:
        """Return mu - k sigma with k = mu_0 / sigma_0 of a new player, whose value is 0."""
        rating = self[player]
        return self.exposed(rating.mu, rating.sigma)

    def exposed(self, mu: Any, sigma: Any) -> Any:
        """Return mu - k sigma of beliefs, with k = mu_0 / sigma_0 of a new player.

        The ratio of the deviations comes first, so that a new player has exactly 0.
        """
        return mu - self.settings.mu * (sigma / self.settings.sigma)

    def standings(self, limit: int | None = None) -> list[RankedPlayer]:
        """Return the players by ``expose``, highest first; ties by name.

        Args:
            limit: number of players from the top, >= 1; None for all.
        """
        if limit is not None:
            limit = as_integer("limit", limit, 1)
        with self._lock:
            players = list(self._players.values())
        mu, sigma = self._beliefs(players)
        exposed = self.exposed(mu, sigma).tolist()
        deviations = sigma.tolist()
        rows = []
        for i, player in enumerate(players):
            row = RankedPlayer(
                player.name, player.mu, deviations[i], exposed[i], player.games_played
            )
            rows.append(row)
        rows.sort(key=lambda row: (-row.exposed, row.name))
        return rows[:limit]

    def add(
        self,
        name: str,
        mu: float | None = None,
        sigma: float | None = None,
        region: str | None = None,
    ) -> None:
        """Add a player; see ``NewPlayer`` for the arguments.

        Raises:
            PlayerExistsError: if the name is already in the pool.
            ValueError: for a bad name, number or region.
        """
        self.add_many([NewPlayer(name, mu, sigma, region)])

    def add_many(self, players: Iterable[NewPlayer | str]) -> None:
        """Add players, all or none.

        Args:
            players: ``NewPlayer`` objects or names.

        Raises:
            ValueError: see ``add``.
        """
        if isinstance(players, str | bytes) or not isinstance(players, Iterable):
            raise refusal("players must be a list of NewPlayer", players)
        now = self._now()
        added: list[Player] = []
        for new in players:
            if not isinstance(new, NewPlayer):
                new = NewPlayer(new)
            added.append(self._added(new, now))
        names = [player.name for player in added]
        check_distinct("name", names)
        with self._lock:
            for name in names:
                if name in self:
                    raise PlayerExistsError(f"name must be new, {name!r} is in the pool")
            self._storage.write(dict(zip(names, added, strict=True)))

    def _added(self, new: NewPlayer, now: float) -> Player:
        """Return a checked new player."""
        name = as_name("name", new.name)
        region = None
        if new.region is not None:
            region = as_name("region", new.region)
        mu = self.settings.mu
        sigma = self.settings.sigma
        seen = None
        if new.mu is not None:
            mu = as_number("mu", new.mu)
            seen = now
        if new.sigma is not None:
            sigma = as_positive_number("sigma", new.sigma)
            seen = now
        return Player(name, region, mu, sigma, seen)

    def remove(self, name: str) -> None:
        """Remove a player and all blocks of this player."""
        with self._lock:
            removed = self._player_named(name)
            changed: dict[str, Player | None] = {removed.name: None}
            for player in self._players.values():
                if name in player.recent or name in player.blocked:
                    changed[player.name] = player._replace(
                        recent=_without(name, player.recent),
                        blocked=_without(name, player.blocked),
                    )
            self._storage.write(changed)

    def block(self, one: str, other: str) -> None:
        """Keep two players from meeting."""
        self._set_blocked(one, other, True)

    def unblock(self, one: str, other: str) -> None:
        """Let two players meet again."""
        self._set_blocked(one, other, False)

    def _set_blocked(self, one: str, other: str, is_blocked: bool) -> None:
        with self._lock:
            first = self._player_named(one)
            second = self._player_named(other)
            if one == other:
                raise ValueError(f"other must be another player, got {other!r} twice")
            changed = {
                one: _with_block(first, other, is_blocked),
                other: _with_block(second, one, is_blocked),
            }
            self._storage.write(changed)

    # Games

    def rate(self, games: Game | Iterable[Game]) -> list[RatedGame]:
        """Rate the players of one or more games, in order; all games or none.

        The drift since a player's last game is added before the first of the games. A game whose id
        has been rated before is not rated again.

        Args:
            games: a ``Game``, or a list of at least one.

        Returns:
            For each game its number and the ratings of its players after it. For a game that had
            been rated before, they are those of the first time.

        Raises:
            GameExistsError: for a different game with a known id.
            UnknownPlayerError, ValueError: see the class.
        """
        listed = _listed(games)
        with self._lock:
            change = self._rated(listed)
            if change.new_games > 0:
                self._storage.write(change.players, change.new_games, change.games_with_id)
        return change.rated

    def check(self, games: Game | Iterable[Game]) -> None:
        """Raise what ``rate`` would raise, without rating; other calls go on meanwhile."""
        self._rated(_listed(games))

    def _rated(self, games: list[Game]) -> Change:
        """Return what rating games would change."""
        now = self._now()
        ids = [as_name("id", game.id) for game in games if game.id is not None]
        with self._lock:
            known = self._storage.rated_games(ids)
        change = Change()
        for i, game in enumerate(games):
            try:
                self._rate_next(game, change, known, now)
            except ValueError as error:
                if len(games) == 1:
                    raise
                raise type(error)(f"games[{i}]: {error}") from None
        return change

    def _rate_next(
        self, game: Game, change: Change, known: dict[str, StoredGame], now: float
    ) -> None:
        """Rate one game after those of a change, and add it.

        Args:
            game: the game.
            change: what the games before it change.
            known: rated games by id, to which the game is added.
            now: time in seconds.
        """
        if game.id is None:
            change.rated.append(self._rate_new(game, change, now))
            return
        content = content_of(game)
        stored = known.get(game.id)
        if stored is None:
            stored = StoredGame(content, self._rate_new(game, change, now))
            known[game.id] = stored
            change.games_with_id[game.id] = stored
        elif not stored.has_content(content):
            raise GameExistsError(f"id must be new, {game.id!r} is the id of a different game")
        change.rated.append(stored.rated)

    def _rate_new(self, game: Game, change: Change, now: float) -> RatedGame:
        """Rate a game that has not been rated before, and add its players to a change."""
        sides = self._sides_of(game, change)
        if game.ranks is None:  # the order of the sides elsewhere; here most likely a mistake
            raise ValueError("ranks must be one number per side, got None")
        teams = []
        for side in sides:
            teams.append([(player.mu, self._current_sigma(player, now)) for player in side])
        settings = self.settings
        rated = rate(
            teams,
            game.ranks,
            beta=settings.beta,
            tau=settings.tau,
            draw_probability=settings.draw_probability,
            weights=game.weights,
        )
        names = [[player.name for player in side] for side in sides]
        ratings = {}
        for i, side in enumerate(sides):
            opponents = self._recent_of(names, i)
            for player, rating in zip(side, rated[i], strict=True):
                change.players[player.name] = self._after_game(player, rating, opponents, now)
                ratings[player.name] = rating
        change.new_games += 1
        return RatedGame(self.games + change.new_games, ratings)

    def _sides_of(self, game: Game, change: Change) -> list[list[Player]]:
        """Return the checked sides of a game after a change."""
        sides = []
        names = []
        for i, side in enumerate(sides_of("teams", game.teams)):
            if isinstance(side, str | bytes) or not isinstance(side, Iterable):
                raise refusal(f"teams[{i}] must be a list of names", side)
            players = [self._player_named(name, change.players) for name in side]
            if not players:
                raise ValueError(f"teams[{i}] must contain at least one name, got none")
            sides.append(players)
            names += [player.name for player in players]
        check_distinct("teams", names)
        if len(sides) < 2:
            raise refusal("teams must have at least two sides", game.teams)
        return sides

    def _recent_of(self, names: list[list[str]], own_side: int) -> list[str]:
        """Return as many opponents of a side as are kept."""
        most = self.settings.recent
        opponents: list[str] = []
        for i, side in enumerate(names):
            if len(opponents) >= most:
                break
            if i != own_side:
                opponents += side
        return opponents[:most]

    def _after_game(
        self, player: Player, rating: tuple[float, float], opponents: list[str], now: float
    ) -> Player:
        """Return a player with a new rating and new last opponents."""
        mu, sigma = rating
        seen = now
        if player.seen is not None:
            seen = max(now, player.seen)
        # Distinct opponents, most recent first.
        recent = tuple(dict.fromkeys((*opponents, *player.recent)))[: self.settings.recent]
        games_played = player.games_played + 1
        return Player(
            player.name, player.region, mu, sigma, seen, games_played, recent, player.blocked
        )

    # Decisions

    def propose(self, player: str, k: int = 1, among: Iterable[str] | None = None) -> list[Meeting]:
        """Return the best opponents of a player by the pool's rule, best first.

        The second is the rule's choice without the first, and so on. Players of another region,
        blocked players and the last ``recent`` opponents are excluded.

        Args:
            player: the player who asks.
            k: number of opponents, >= 1.
            among: allowed opponents, for example those online; None for the whole pool.

        Returns:
            At most k opponents, fewer if no others are allowed.
        """
        most = as_integer("k", k, 1)
        with self._lock:
            own = self._player_named(player)
            opponents = self._allowed_opponents(own, among)
        mu, sigma = self._beliefs([own, *opponents])
        meetings: list[Meeting] = []
        with self._rule_lock:
            while opponents and len(meetings) < most:
                choice = self._rule(mu, sigma)
                opponent = opponents.pop(choice)
                column = choice + 1
                quality = self._match_quality(mu, sigma, 0, column)
                meetings.append(Meeting(player, opponent.name, quality))
                mu = np.delete(mu, column)
                sigma = np.delete(sigma, column)
        return meetings

    def _allowed_opponents(self, own: Player, among: Iterable[str] | None) -> list[Player]:
        """Return the players whom a player may meet, of ``among`` or of the whole pool."""
        candidates: Iterable[Player] = self._players.values()
        if among is not None:
            candidates = [self._player_named(name) for name in as_names("among", among)]
            if own in candidates:
                raise ValueError(f"among must not contain the player, got {own.name!r}")
        excluded = {own.name, *own.recent, *own.blocked}
        allowed = []
        for candidate in candidates:
            if candidate.region == own.region and candidate.name not in excluded:
                allowed.append(candidate)
        return allowed

    def match(self, waiting: Iterable[str] | Mapping[str, float]) -> list[Meeting]:
        """Pair players so that the sum of match qualities, minus the required ones, is largest.

        Only players of one region are paired, at most nine places apart in the order of its waiting
        players' means. Blocked players and last opponents are excluded.

        Args:
            waiting: names, or a mapping from names to the match quality that each player requires;
                lower it with the waiting time. A pair requires the mean of both values.

        Returns:
            The pairs; all others keep waiting.
        """
        names = as_names("waiting", waiting)
        required = np.zeros(len(names))
        if isinstance(waiting, Mapping):
            for i, name in enumerate(names):
                required[i] = as_number(f"waiting[{name!r}]", waiting[name])
        with self._lock:
            players = [self._player_named(name) for name in names]
        mu, sigma = self._beliefs(players)
        regions: dict[str | None, list[int]] = {}
        for i, player in enumerate(players):
            regions.setdefault(player.region, []).append(i)
        meetings = []
        for members in regions.values():
            region = np.array(members)
            region_players = [players[i] for i in members]
            partners = self._partners(region_players, mu[region], sigma[region], required[region])
            for position, partner in enumerate(partners.tolist()):
                if partner > position:
                    i = members[position]
                    j = members[partner]
                    quality = self._match_quality(mu, sigma, i, j)
                    meetings.append(Meeting(names[i], names[j], quality))
        return meetings

    def _partners(
        self, players: list[Player], mu: Floats, sigma: Floats, required: Floats
    ) -> Integers:
        """Return the index of each player's partner, or -1; all of one region.

        Args:
            players: the waiting players.
            mu: their means, shape (n,).
            sigma: their standard deviations, shape (n,).
            required: the match quality that each requires, shape (n,).
        """
        from matchenv.baselines.queue.matching import best_pairs
        from matchenv.belief import GameConstants

        index_of = {player.name: i for i, player in enumerate(players)}
        barred = []
        for i, player in enumerate(players):
            for other in {*player.recent, *player.blocked}:
                if other in index_of:
                    barred.append((i, index_of[other]))
        constants = GameConstants(self.settings.beta)
        pairs = np.array(barred, dtype=np.int64).reshape(-1, 2)
        return best_pairs(mu, sigma, required, 0.0, constants, barred=pairs)

    def split(
        self, players: Iterable[str], sides: int = 2, together: Sequence[Sequence[str]] = ()
    ) -> Split:
        """Split players into the teams of highest match quality, with sizes as equal as possible.

        Exact up to 12 players; a local search from many starts above.

        Args:
            players: names.
            sides: number of teams, >= 2.
            together: parties, each of which stays in one team.

        Raises:
            ValueError: also if the parties do not fit into the teams.
        """
        names = as_names("players", players, 2)
        count = as_integer("sides", sides, 2, len(names))
        groups = []
        for i, party in enumerate(sides_of("together", together)):
            groups.append(as_names(f"together[{i}]", party, 1))
        grouped = [name for party in groups for name in party]
        check_distinct("together", grouped)
        known = set(names)
        for name in grouped:
            if name not in known:
                raise ValueError(f"together must contain only players, got {name!r}")
        in_a_party = set(grouped)
        for name in names:
            if name not in in_a_party:
                groups.append([name])
        with self._lock:
            ratings = {name: self[name] for name in names}
        return fairest_teams(groups, ratings, count, self.settings.beta)

    # Beliefs at the present time

    def _now(self) -> float:
        return as_number("clock()", self._clock())

    def _current_sigma(self, player: Player, now: float) -> float:
        """Return the deviation of a belief with the drift since the player was seen."""
        if player.seen is None or self.settings.drift_per_day == 0.0:
            return player.sigma
        return float(self._drifted(player.sigma, now - player.seen))

    def _beliefs(self, players: Sequence[Player]) -> tuple[Floats, Floats]:
        """Return means and current deviations, shape (n,) each."""
        mu = np.array([player.mu for player in players], dtype=np.float64)
        sigma = np.array([player.sigma for player in players], dtype=np.float64)
        if self.settings.drift_per_day > 0.0:
            now = self._now()
            away = np.zeros(len(players))
            for i, player in enumerate(players):
                if player.seen is not None:
                    away[i] = now - player.seen
            sigma = self._drifted(sigma, away)
        return mu, sigma

    def _drifted(self, sigma: Any, away: Any) -> Any:
        """Return deviations after seconds without a game; a clock set back adds none."""
        days = np.maximum(away, 0.0) / SECONDS_PER_DAY
        return np.sqrt(sigma * sigma + self.settings.drift_per_day**2 * days)

    def _match_quality(self, mu: Floats, sigma: Floats, i: int, j: int) -> float:
        return float(match_quality(mu[i], sigma[i], mu[j], sigma[j], self.settings.beta))

    def _player_named(self, name: Any, changed: Mapping[str, Player] | None = None) -> Player:
        """Return a player of the pool as stored, or as changed."""
        player = None
        if isinstance(name, str):
            if changed is not None:
                player = changed.get(name)
            if player is None:
                player = self._players.get(name)
        if player is None:
            raise UnknownPlayerError(f"{as_name('name', name)!r} is not in the pool")
        return player


def latest_ratings(games: Iterable[RatedGame]) -> dict[str, Rating]:
    """Return each player's rating after the last of some games, by name."""
    latest: dict[str, Rating] = {}
    for game in sorted(games, key=lambda game: game.number):
        latest.update(game.ratings)
    return dict(sorted(latest.items()))


def _listed(games: Any) -> list[Game]:
    """Return one or more games as a list."""
    if isinstance(games, Game):
        return [games]
    listed = []
    if isinstance(games, Iterable):
        listed = list(games)
    if not listed or not all(isinstance(game, Game) for game in listed):
        raise refusal("games must be a Game or a list of Game objects", games)
    return listed


def _with_block(player: Player, other: str, is_blocked: bool) -> Player:
    blocked = _without(other, player.blocked)
    if is_blocked:
        blocked = (*blocked, other)
    return player._replace(blocked=blocked)


def _without(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(other for other in names if other != name)
