"""SQLite storage of a pool, in a file or in memory.

Each change is one synced transaction with a rollback journal: once it returns, it survives a kill
and a power loss, and is in the database file itself.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from matchenv.runtime.checks import refusal
from matchenv.service.players import Game, Player, PoolSettings, RatedGame
from matchenv.trueskill import Rating

# SQLite's marks for the program that wrote a file, and for the version of its tables.
APPLICATION_ID = int.from_bytes(b"mtch", "big")
VERSION = 1

# Lists and mappings are JSON.
TABLES = (
    "CREATE TABLE pool (settings TEXT, games INTEGER)",
    "CREATE TABLE players (name TEXT PRIMARY KEY, region TEXT, mu REAL, sigma REAL, seen REAL, "
    "games_played INTEGER, recent TEXT, blocked TEXT) WITHOUT ROWID",
    "CREATE TABLE games (id TEXT PRIMARY KEY, number INTEGER, content TEXT, ratings TEXT) "
    "WITHOUT ROWID",
)


class StoredGame(NamedTuple):
    """A rated game with an id.

    Attributes:
        content: JSON of its teams, ranks and weights.
        rated: its number and ratings.
    """

    content: str
    rated: RatedGame

    def has_content(self, other: str) -> bool:
        """Return whether another JSON has equal teams, ranks and weights."""
        return self.content == other or json.loads(self.content) == json.loads(other)


class Storage:
    """Players by name, the settings of their pool and the games with an id, in a database.

    Calls must not overlap.

    Args:
        settings: settings of a new database; an existing one keeps its own.
        path: file, created if it does not exist; None for memory.

    Attributes:
        settings: settings of the pool.
        games: number of games rated since the pool was created.
        players: players by name.

    Raises:
        ValueError: if the file is not a pool, is damaged or is open in another process.
        OSError: if the file cannot be read or written.
    """

    def __init__(self, settings: PoolSettings, path: Path | None = None) -> None:
        self._path = None
        name = ":memory:"
        if path is not None:
            self._path = path.absolute()
            name = str(self._path)
        try:
            self._database = sqlite3.connect(name, timeout=0.0, check_same_thread=False)
        except sqlite3.Error as error:
            raise OSError(f"{path} cannot be opened: {error}") from None
        try:
            self._lock_file()
            if self._is_empty():
                self._create(settings)
            self._load()
            self._database.commit()
        except sqlite3.OperationalError as error:
            self.close()
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                raise ValueError(f"{path} must not be open in another process") from None
            raise OSError(f"{path} cannot be opened: {error}") from None
        except (sqlite3.DatabaseError, TypeError, ValueError) as error:
            self.close()
            raise ValueError(f"{path} must be a pool's file: {error}") from None
        if self._path is not None:
            self._opened = os.stat(self._path)

    def _lock_file(self) -> None:
        """Lock the database until it is closed, and begin a transaction."""
        run = self._database.execute
        run("PRAGMA locking_mode=EXCLUSIVE")
        run("PRAGMA journal_mode=DELETE")
        run("PRAGMA synchronous=EXTRA")
        run("PRAGMA fullfsync=1")  # macOS needs it to survive a power loss
        run("BEGIN EXCLUSIVE")

    def _is_empty(self) -> bool:
        """Return whether the database is new, or the process that created it was killed."""
        return self._path is None or self._path.stat().st_size == 0

    def _number(self, query: str) -> int:
        ((number,),) = self._database.execute(query)
        return int(number)

    def _create(self, settings: PoolSettings) -> None:
        run = self._database.execute
        run(f"PRAGMA application_id={APPLICATION_ID}")
        run(f"PRAGMA user_version={VERSION}")
        for table in TABLES:
            run(table)
        run("INSERT INTO pool VALUES (?, 0)", (json.dumps(asdict(settings)),))

    def _load(self) -> None:
        """Check the database and read the settings and the players."""
        run = self._database.execute
        if self._number("PRAGMA application_id") != APPLICATION_ID:
            raise ValueError("another program wrote it")
        version = self._number("PRAGMA user_version")
        if version != VERSION:
            raise ValueError(f"its version must be {VERSION}, got {version}")
        if run("PRAGMA integrity_check").fetchall() != [("ok",)]:
            raise ValueError("it is damaged")
        ((settings, self.games),) = run("SELECT settings, games FROM pool")
        self.settings = PoolSettings(**json.loads(settings))
        self.players: dict[str, Player] = {}
        for row in run("SELECT * FROM players ORDER BY name"):
            player = _player_of(row)
            self.players[player.name] = player

    def rated_games(self, ids: Iterable[str]) -> dict[str, StoredGame]:
        """Return those of the games that have been rated, by id.

        Raises:
            ValueError: if the database is closed.
        """
        query = "SELECT number, content, ratings FROM games WHERE id = ?"
        games = {}
        try:
            for game_id in ids:
                row = self._database.execute(query, (game_id,)).fetchone()
                if row is not None:
                    number, content, ratings = row
                    rated = RatedGame(number, _ratings_of(ratings))
                    games[game_id] = StoredGame(content, rated)
        except sqlite3.ProgrammingError:
            raise _closed() from None
        return games

    def write(
        self,
        players: Mapping[str, Player | None],
        games: int = 0,
        games_with_id: Mapping[str, StoredGame] | None = None,
    ) -> None:
        """Write a change, which survives a crash once this returns.

        Args:
            players: new and changed players by name; None removes a player.
            games: number of games that the change rates.
            games_with_id: those of the games that have an id.

        Raises:
            ValueError: if the database is closed.
            OSError: if writing fails; nothing has changed then.
        """
        removed = []
        changed = []
        for name, player in players.items():
            if player is None:
                removed.append((name,))
            else:
                changed.append(_row_of(player))
        rated = []
        for game_id, game in (games_with_id or {}).items():
            ratings = json.dumps(game.rated.ratings)
            rated.append((game_id, game.rated.number, game.content, ratings))
        self._check_file()
        try:
            with self._database:  # a transaction
                run = self._database.executemany
                run("DELETE FROM players WHERE name = ?", removed)
                run("INSERT OR REPLACE INTO players VALUES (?, ?, ?, ?, ?, ?, ?, ?)", changed)
                run("INSERT INTO games VALUES (?, ?, ?, ?)", rated)
                self._database.execute("UPDATE pool SET games = games + ?", (games,))
        except sqlite3.ProgrammingError:
            raise _closed() from None
        except sqlite3.Error as error:
            raise OSError(f"{self._path} could not be written: {error}") from None
        self.games += games
        for name, player in players.items():
            if player is None:
                del self.players[name]
            else:
                self.players[name] = player

    def _check_file(self) -> None:
        """Refuse to write to a file that has been removed, where no later start would find it."""
        if self.has_lost_file():
            raise OSError(f"{self._path} could not be written: it has been moved or removed")

    def has_lost_file(self) -> bool:
        """Return whether the path no longer names the file that was opened."""
        if self._path is None:
            return False
        try:
            return not os.path.samestat(os.stat(self._path), self._opened)
        except OSError:
            return True

    def backup(self) -> bytes:
        """Return the content of a file with everything so far.

        Raises:
            ValueError: if the database is closed.
        """
        try:
            return self._database.serialize()
        except sqlite3.ProgrammingError:
            raise _closed() from None

    def close(self) -> None:
        """Close the database; later changes raise."""
        with suppress(sqlite3.Error):
            self._database.close()


def content_of(game: Game) -> str:
    """Return the JSON of a game's teams, ranks and weights.

    Raises:
        ValueError: if they are no lists of names and numbers.
    """
    weights = None
    try:
        if game.weights is not None:
            weights = [list(row) for row in game.weights]
        content = [[list(side) for side in game.teams], list(game.ranks), weights]
        return json.dumps(content, default=float)  # numpy's numbers too
    except TypeError:
        raise refusal("a game with an id must hold lists of names and numbers", game) from None


def _row_of(player: Player) -> tuple[Any, ...]:
    """Return the row of a player, in the order of the table's columns."""
    return (
        player.name,
        player.region,
        player.mu,
        player.sigma,
        player.seen,
        player.games_played,
        json.dumps(player.recent),
        json.dumps(player.blocked),
    )


def _player_of(row: tuple[Any, ...]) -> Player:
    """Return the player of a row."""
    name, region, mu, sigma, seen, games_played, recent, blocked = row
    return Player(
        name=name,
        region=region,
        mu=mu,
        sigma=sigma,
        seen=seen,
        games_played=games_played,
        recent=tuple(json.loads(recent)),
        blocked=tuple(json.loads(blocked)),
    )


def _ratings_of(content: str) -> dict[str, Rating]:
    """Return ratings by name from their JSON."""
    ratings = {}
    for name, (mu, sigma) in json.loads(content).items():
        ratings[name] = Rating(mu, sigma)
    return ratings


def _closed() -> ValueError:
    return ValueError("the pool must be open, but it has been closed")
