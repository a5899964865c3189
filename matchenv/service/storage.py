"""The players of a pool: rows of an SQLite database, in a file or in memory.

Each change is one transaction, synced with a rollback journal: once it has returned, the file alone
holds it, after a kill and after a loss of power. The table ``pool`` has the sum of the checksums of
all rows, so that a changed, missing or surplus one is noticed when the file is opened.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from matchenv.runtime.files import write_bytes
from matchenv.service.players import Player, PoolSettings

# Columns without a type keep floats bit by bit; ``recent`` and ``blocked`` are JSON.
TABLES = [
    "CREATE TABLE players (name TEXT PRIMARY KEY, region TEXT, mu, sigma, seen, games_played, "
    "recent, blocked) WITHOUT ROWID",
    "CREATE TABLE pool (settings, games, checksum)",
]
# Errors of SQLite that are not about the file's content.
SYSTEM_ERRORS = (
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY,
)  # fmt: skip
CLOSED = "the pool must be open, it was closed"
Row = tuple[Any, ...]


class Storage:
    """Players by name, and the settings of their pool.

    Args:
        settings: for a new pool.
        path: the file, which is made if it does not exist; None for memory.

    Attributes:
        settings: of the pool.
        players: by name, as the file has them.
        games: that were played.
        lock: to be held by whoever reads before a change, and by reads that belong together.

    Raises:
        ValueError: if the file is no pool, is damaged or is open elsewhere.
        OSError: if it cannot be read or written.
    """

    def __init__(self, settings: PoolSettings, path: Path | None = None) -> None:
        self.path, self.lock = path, threading.RLock()
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise ValueError(f"path must be a file in a folder that exists, got {path}")
        if path is not None and not path.exists():
            _make(path, Storage(settings).copy())
        self._process, self._file = os.getpid(), None if path is None else path.open("rb")
        try:
            if self._file is not None:
                _lock(self._file)
            self._database = sqlite3.connect(
                path or ":memory:", timeout=0.0, check_same_thread=False
            )
            if path is None:
                text = json.dumps(asdict(settings))
                for table in TABLES:
                    self._database.execute(table)
                values = (text, 0, _sum_of([(text,)]))
                self._database.execute("INSERT INTO pool VALUES (?, ?, ?)", values)
                self._database.commit()
            self._read()
        except (sqlite3.Error, BlockingIOError, TypeError, ValueError) as error:
            self.close()
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in SYSTEM_ERRORS:
                raise OSError(f"{path} cannot be opened: {error}") from None
            in_use = code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if in_use or isinstance(error, BlockingIOError):
                raise ValueError(f"path must not be open in another process, {path} is") from None
            raise ValueError(f"path must be a pool's file, got {path}: {error}") from None

    def _read(self) -> None:
        run = self._database.execute
        run("PRAGMA locking_mode=EXCLUSIVE")
        run("PRAGMA synchronous=EXTRA")
        run("BEGIN EXCLUSIVE")  # takes the lock, which is kept until the end
        tables = [table for (table,) in run("SELECT sql FROM sqlite_master ORDER BY name")]
        if tables != TABLES:
            raise ValueError("it has other tables" if tables else "it is empty")
        if run("PRAGMA quick_check").fetchall() != [("ok",)]:
            raise ValueError("it is damaged: SQLite cannot read all of it")
        rows = run("SELECT * FROM players ORDER BY name").fetchall()
        ((settings, self.games, checksum),) = run("SELECT * FROM pool")
        run("COMMIT")
        if checksum != self.games + _sum_of([(settings,), *rows]):
            raise ValueError("it is damaged: its content does not fit its checksum")
        self.settings = PoolSettings(**json.loads(settings))
        self.players = {}
        for *plain, recent, blocked in rows:
            lists = (tuple(json.loads(each)) for each in (recent, blocked))
            self.players[plain[0]] = Player(*plain, *lists)

    def write(self, changed: Mapping[str, Player | None], games: int = 0) -> None:
        """Write a change; once this returns, it survives.

        Args:
            changed: players by name who are new or differ; None for one who leaves.
            games: that were played.

        Raises:
            ValueError: if it is closed, or this process is a fork of the one that opened it.
            OSError: if it could not be written; then all is as it was.
        """
        if self.path is not None and os.getpid() != self._process:
            raise ValueError(f"the pool must be changed by the process that opened {self.path}")
        with self.lock:
            old = [_row_of(self.players[name]) for name in changed if name in self.players]
            new = [_row_of(player) for player in changed.values() if player is not None]
            run, many = self._database.execute, self._database.executemany
            try:
                with self._database:  # a transaction
                    many("DELETE FROM players WHERE name = ?", [row[:1] for row in old])
                    many("INSERT INTO players VALUES (?, ?, ?, ?, ?, ?, ?, ?)", new)
                    # The number of games counts in the sum as it is.
                    pool = (games, games + _sum_of(new) - _sum_of(old))
                    run("UPDATE pool SET games = games + ?, checksum = checksum + ?", pool)
            except sqlite3.ProgrammingError:
                raise ValueError(CLOSED) from None
            except sqlite3.Error as error:
                raise OSError(f"{self.path} could not be written: {error}") from None
            self.games += games
            for name, player in changed.items():
                if player is None:
                    del self.players[name]
                else:
                    self.players[name] = player

    def copy(self) -> bytes:
        """Return the content of a file with all that was committed.

        Raises:
            ValueError: if it is closed.
        """
        with self.lock:
            try:
                return self._database.serialize()
            except sqlite3.ProgrammingError:
                raise ValueError(CLOSED) from None

    def close(self) -> None:
        """Release the file."""
        if os.getpid() != self._process:
            return  # SQLite would remove the journal of the process that opened the file
        with self.lock, suppress(sqlite3.Error, AttributeError):  # where it was never opened
            self._database.close()
        if self._file is not None:
            self._file.close()


def _make(path: Path, content: bytes) -> None:
    """Write a new file, whole or not at all, and not over another one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        write_bytes(beside, content)
        with suppress(FileExistsError):
            os.link(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _lock(file: BinaryIO) -> None:
    """Lock a file as a whole: SQLite's locks end where this process copies it by other means."""
    with suppress(ImportError):  # elsewhere SQLite's locks do not end
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if isinstance(error, BlockingIOError):  # other errors: some network file systems
                raise


def _row_of(player: Player) -> Row:
    *plain, recent, blocked = player
    return (*plain, json.dumps(recent), json.dumps(blocked))


def _sum_of(rows: list[Row]) -> int:
    """Return the sum of the rows' checksums, in which their order does not matter."""
    return sum(zlib.crc32(json.dumps(row).encode()) for row in rows)
