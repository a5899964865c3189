"""A pool in a file: an SQLite database with a row for each player.

Each call that changes something is one transaction, synced with a rollback journal: once it has
returned, the file alone holds it, after a kill and after a loss of power. The row without a name
has the sum of the checksums of all others, so that a changed, missing or surplus row is noticed.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from matchenv.runtime.files import write_bytes
from matchenv.service.players import Player, PoolSettings

FORMAT = "matchenv pool 3"
# The content of a player's row is JSON.
TABLE = "CREATE TABLE rows (name TEXT PRIMARY KEY, content TEXT) WITHOUT ROWID"
Row = tuple[str, str]
# Errors of SQLite that are not about the file's content.
SYSTEM_ERRORS = (
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY,
)  # fmt: skip


class Storage:
    """The file of a pool, which no other process opens meanwhile.

    Args:
        path: the file; it is made if it does not exist.
        settings: for a new file.

    Attributes:
        settings: of the pool in the file.
        players: those in the file when it was opened.
        games: that were played before it was opened.

    Raises:
        ValueError: if the file is no pool, is damaged or is open elsewhere.
        OSError: if it cannot be read or written.
    """

    def __init__(self, path: Path, settings: PoolSettings) -> None:
        self.path = path
        if path.is_dir() or not path.parent.is_dir():
            raise ValueError(f"path must be a file in a folder that exists, got {path}")
        if not path.exists():
            _make(path, settings)
        try:
            self._database = sqlite3.connect(
                path, timeout=0.0, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise OSError(f"{path} cannot be opened: {error}") from None
        try:
            self._read()
        except (sqlite3.Error, KeyError, TypeError, ValueError) as error:
            self.close()
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in SYSTEM_ERRORS:
                raise OSError(f"{path} cannot be opened: {error}") from None
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise ValueError(f"path must not be open in another process, {path} is") from None
            raise ValueError(f"path must be a pool's file, got {path}: {error}") from None

    def _read(self) -> None:
        run = self._database.execute
        run("PRAGMA locking_mode=EXCLUSIVE")
        run("PRAGMA synchronous=EXTRA")
        run("BEGIN EXCLUSIVE")  # takes the lock, which is kept until the end
        tables = [name for (name,) in run("SELECT name FROM sqlite_master")]
        if tables != ["rows"]:
            raise ValueError("it has other tables" if tables else "it is empty")
        if run("PRAGMA quick_check").fetchall() != [("ok",)]:
            raise ValueError("it is damaged: SQLite cannot read all of it")
        first, *rows = run("SELECT name, content FROM rows ORDER BY name").fetchall()
        run("COMMIT")
        pool = json.loads(first[1])
        if pool["format"] != FORMAT:
            raise ValueError("it is of another format")
        self._sum = _sum_of(rows)
        if pool.pop("checksum") != _checksum(pool) or pool["players"] != self._sum or first[0]:
            raise ValueError("it is damaged: its content does not fit its checksum")
        self.settings, self.games = PoolSettings(**pool["settings"]), pool["games"]
        self.players = []
        for name, content in rows:
            *numbers, recent, blocked = json.loads(content)
            fields = (name, *numbers, tuple(recent), tuple(blocked))
            self.players.append(Player._make(fields))

    def commit(self, before: Sequence[Player], after: Sequence[Player], games: int) -> None:
        """Replace players in one transaction; once this returns, it survives.

        Args:
            before: those who change or leave, as the file has them.
            after: those who change or are new.
            games: since the pool was made.

        Raises:
            OSError: if it could not be written; then the file is as it was.
        """
        old, new = ([_player_row(player) for player in players] for players in (before, after))
        total = self._sum + _sum_of(new) - _sum_of(old)
        many = self._database.executemany
        try:
            self._database.execute("BEGIN")
            many("DELETE FROM rows WHERE name = ?", [row[:1] for row in old])
            rows = [*new, _pool_row(self.settings, games, total)]
            many("INSERT OR REPLACE INTO rows VALUES (?, ?)", rows)
            self._database.execute("COMMIT")
        except BaseException as error:
            with suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise OSError(f"{self.path} could not be written: {error}") from None
            raise
        self._sum = total

    def copy(self) -> bytes:
        """Return the content of a file with all that was committed."""
        return self._database.serialize()

    def close(self) -> None:
        """Release the file."""
        with suppress(sqlite3.Error):
            self._database.close()


def _make(path: Path, settings: PoolSettings) -> None:
    """Write the file of an empty pool, whole or not at all, and not over another file."""
    with closing(sqlite3.connect(":memory:")) as made:
        made.execute(TABLE)
        made.execute("INSERT INTO rows VALUES (?, ?)", _pool_row(settings, 0, 0))
        made.commit()
        content = made.serialize()
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        write_bytes(beside, content)
        with suppress(FileExistsError):
            os.link(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _player_row(player: Player) -> Row:
    return player.name, json.dumps(player[1:])


def _pool_row(settings: PoolSettings, games: int, players: int) -> Row:
    """Return the row without a name; ``players`` is what ``_sum_of`` returns of the others."""
    pool = {"format": FORMAT, "settings": asdict(settings), "games": games, "players": players}
    return "", json.dumps({**pool, "checksum": _checksum(pool)})


def _checksum(content: Any) -> int:
    return zlib.crc32(json.dumps(content).encode())


def _sum_of(rows: Iterable[Row]) -> int:
    """Return the sum of the rows' checksums, in which their order does not matter."""
    return sum(map(_checksum, rows))
