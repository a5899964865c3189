"""SQLite storage of a pool's players, in a file or in memory.

Each change is one synced transaction with a rollback journal: once it returns, it survives a kill
and a power loss, and is in the database file itself. The table ``pool`` holds the sum of the
checksums of all rows, which reveals changed, missing and extra rows when the file is opened.
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

from matchenv.runtime.checks import as_integer, as_number, as_positive_number, errors_named, refusal
from matchenv.runtime.files import errors_name, write_bytes
from matchenv.service.players import Player, PoolSettings, as_name

# Columns without a type keep floats bit for bit; ``recent`` and ``blocked`` are JSON.
TABLES = [
    "CREATE TABLE players (name TEXT PRIMARY KEY, region TEXT, mu, sigma, seen, games_played, "
    "recent, blocked) WITHOUT ROWID",
    "CREATE TABLE pool (settings, games, checksum)",
]
JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
CLOSED = "the pool must be open, but it has been closed"
Row = tuple[Any, ...]


class Storage:
    """Players by name and the settings of their pool, in a database: the base of ``Pool``.

    Attributes:
        settings: settings of the pool.
        games: number of games rated since the pool was created.
    """

    settings: PoolSettings
    games: int

    def _connect(self, settings: PoolSettings, path: Path | None = None) -> None:
        """Open a database.

        Args:
            settings: settings of a new database in memory.
            path: file of an existing database; None for memory.

        Raises:
            ValueError: if the file is not a pool, is damaged or is open in another process.
            OSError: if the file cannot be read.
        """
        self._path, self._process, self._lock = path, os.getpid(), threading.RLock()
        self._file = None if path is None else path.open("rb")
        self._database = sqlite3.connect(
            ":memory:" if path is None else path.absolute(), timeout=0.0, check_same_thread=False
        )
        try:
            if self._file is not None:
                _lock_file(self._file)
                _check_journal(Path(f"{os.path.realpath(self._file.name)}-journal"))
            self._load(settings if path is None else None)
        except (sqlite3.Error, BlockingIOError, TypeError, ValueError) as error:
            self.close()
            raise ValueError(
                f"path must be a pool's file that is not open in another process, got {path}: "
                f"{error}"
            ) from None

    def _load(self, new: PoolSettings | None) -> None:
        run = self._database.execute
        run("PRAGMA locking_mode=EXCLUSIVE")
        run("PRAGMA synchronous=EXTRA")
        run("PRAGMA fullfsync=1")  # macOS needs it to survive a power loss
        ((mode,),) = run("PRAGMA journal_mode=DELETE")
        if new is None and mode != "delete":  # a copy of the file alone would lack changes
            raise ValueError(f"its journal mode must be delete, got {mode}")
        run("BEGIN EXCLUSIVE")  # locks the database until it is closed
        if new is not None:
            for table in TABLES:
                run(table)
            text = json.dumps(asdict(new))
            run("INSERT INTO pool VALUES (?, 0, ?)", (text, _sum_of([(text,)])))
        tables = [table for (table,) in run("SELECT sql FROM sqlite_master ORDER BY name")]
        if tables != TABLES:
            raise ValueError("it has other tables" if tables else "it is empty")
        if run("PRAGMA quick_check").fetchall() != [("ok",)]:
            raise ValueError("it is damaged, SQLite cannot read all of it")
        rows = run("SELECT * FROM players ORDER BY name").fetchall()
        ((settings, self.games, checksum),) = run("SELECT * FROM pool")
        run("COMMIT")
        with errors_named("it is damaged"):
            self._players = {row[0]: _player_of(row) for row in rows}
            rows = list(map(_row_of, self._players.values()))  # as later changes will find them
            if checksum != as_integer("games", self.games, 0) + _sum_of([(settings,), *rows]):
                raise ValueError("its content does not match its checksum")
            self.settings = PoolSettings(**json.loads(settings))
            named = {x for player in self._players.values() for names in player[-2:] for x in names}
            if unknown := named - self._players.keys():
                raise refusal("recent and blocked must hold players", unknown)

    def _write(self, changed: Mapping[str, Player | None], games: int = 0) -> None:
        """Write a change, which survives a crash once this returns; the caller holds the lock.

        Args:
            changed: new and changed players by name; None removes a player.
            games: number of games that the change rates.

        Raises:
            ValueError: if the database is closed, or was opened before this process was forked.
            OSError: if writing fails; nothing has changed then.
        """
        if self._path is not None and os.getpid() != self._process:
            raise ValueError(f"the pool must be changed by the process that opened {self._path}")
        old = [_row_of(self._players[name]) for name in changed if name in self._players]
        new = [_row_of(player) for player in changed.values() if player is not None]
        run, many = self._database.execute, self._database.executemany
        try:
            with self._database:  # a transaction
                many("DELETE FROM players WHERE name = ?", [row[:1] for row in old])
                many("INSERT INTO players VALUES (?, ?, ?, ?, ?, ?, ?, ?)", new)
                # The checksum includes the number of games.
                pool = (games, games + _sum_of(new) - _sum_of(old))
                run("UPDATE pool SET games = games + ?, checksum = checksum + ?", pool)
        except sqlite3.ProgrammingError:
            raise ValueError(CLOSED) from None
        except sqlite3.Error as error:
            raise OSError(f"{self._path} could not be written: {error}") from None
        self.games += games
        for name, player in changed.items():
            if player is None:
                del self._players[name]
            else:
                self._players[name] = player

    def backup(self) -> bytes:
        """Return the content of a file with everything so far, which ``Pool.open`` reads."""
        with self._lock:
            try:
                return self._database.serialize()
            except sqlite3.ProgrammingError:
                raise ValueError(CLOSED) from None

    def close(self) -> None:
        """Close the file; later changes raise."""
        if os.getpid() != self._process:
            return  # a fork must not remove the journal of the process that opened the file
        with self._lock, suppress(sqlite3.Error):
            self._database.close()
        if self._file is not None:
            self._file.close()


def create_file(path: Path, content: bytes) -> None:
    """Write a new file, whole or not at all; an existing file stays as it is."""
    if path.exists():
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with errors_name(path), suppress(FileExistsError):
            write_bytes(temporary, content)
            try:
                os.link(temporary, path)
            except FileExistsError:
                raise
            except OSError:  # a file system without hard links
                path.touch(exist_ok=False)
                try:
                    write_bytes(path, content)
                except OSError:
                    path.unlink()
                    raise
    finally:
        with suppress(OSError):
            temporary.unlink()


def _lock_file(file: BinaryIO) -> None:
    """Lock a whole file, since SQLite's own locks end when this process closes any copy of it."""
    with suppress(ImportError):  # fcntl exists where SQLite's locks have this defect
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if isinstance(error, BlockingIOError):  # some network file systems have no locks
                raise


def _check_journal(journal: Path) -> None:
    """Refuse a journal that names a super-journal, a file of any name that SQLite would delete.

    Only transactions over several databases have one.
    """
    if journal.exists() and journal.read_bytes().endswith(JOURNAL_MAGIC):
        raise ValueError(f"{journal} must be the journal of one database, and names another file")


def _player_of(row: Row) -> Player:
    """Check a row, which another program may have written with the right checksum."""
    name, region, mu, sigma, seen, games_played, recent, blocked = row
    return Player(
        as_name("name", name),
        None if region is None else as_name("region", region),
        as_number("mu", mu),
        as_positive_number("sigma", sigma),
        as_number("seen", seen),
        as_integer("games_played", games_played, 0),
        *(() if names == "[]" else tuple(json.loads(names)) for names in (recent, blocked)),
    )


def _row_of(player: Player) -> Row:
    *plain, recent, blocked = player
    return (*plain, *(json.dumps(names) if names else "[]" for names in (recent, blocked)))


def _sum_of(rows: list[Row]) -> int:
    """Return the sum of the rows' checksums, which does not depend on their order."""
    return sum(zlib.crc32(json.dumps(row).encode()) for row in rows)
