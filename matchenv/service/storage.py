"""A pool in a file: a snapshot of all players, and a journal of what changed since.

The file is an SQLite database in WAL mode, synced at each commit: what was committed is there
after a kill at any moment, and after a loss of power. Changes are written as what they lead to,
so that reading them back computes nothing.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from matchenv.service.players import NOBODY, Player, Players
from matchenv.service.settings import PoolSettings

FORMAT = "matchenv pool 1"
TABLES = """
CREATE TABLE IF NOT EXISTS snapshot (part TEXT PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS journal (
    number INTEGER PRIMARY KEY, change TEXT NOT NULL, checksum INTEGER NOT NULL
);
"""
# What SQLite answers where the file's content is not to blame.
SYSTEM_ERRORS = (
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY,
)  # fmt: skip
NUMBERS = {"mu": "<f8", "sigma": "<f8", "seen": "<f8", "played": "<i8", "region": "<i4"}


@dataclass(frozen=True)
class Change:
    """What one call changed.

    Attributes:
        players: as they are now, new ones too.
        removed: names.
        blocked: pairs that must not meet.
        unblocked: pairs that may meet again.
        games: games since the pool was made; None if they are as before.
    """

    players: list[Player] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    blocked: list[tuple[str, str]] = field(default_factory=list)
    unblocked: list[tuple[str, str]] = field(default_factory=list)
    games: int | None = None


@dataclass
class Content:
    """All that a pool remembers.

    Attributes:
        players: with their beliefs.
        blocked: for each name those who must not meet the player.
        games: games since the pool was made.
    """

    players: Players
    blocked: dict[str, set[str]] = field(default_factory=dict)
    games: int = 0

    def apply(self, change: Change) -> None:
        """Make a change."""
        for name in change.removed:
            self.players.remove(name)
            for other in self.blocked.pop(name, set()):
                self._part(other, name)
        self.players.put(change.players)
        for one, other in change.blocked:
            self.blocked.setdefault(one, set()).add(other)
            self.blocked.setdefault(other, set()).add(one)
        for one, other in change.unblocked:
            self._part(one, other)
            self._part(other, one)
        if change.games is not None:
            self.games = change.games

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Every blocked pair once."""
        for one, others in self.blocked.items():
            yield from ((one, other) for other in others if one < other)

    def _part(self, one: str, other: str) -> None:
        others = self.blocked.get(one, set())
        others.discard(other)
        if not others:
            self.blocked.pop(one, None)


class Storage:
    """The file of a pool, which no other process opens meanwhile.

    Args:
        path: the file; it is made if it does not exist.
        settings: for a new file; None for the defaults.

    Attributes:
        settings: of the pool in the file.
        pending: journal entries since the snapshot, counted in players.

    Raises:
        ValueError: if the file is no pool, is damaged or is open elsewhere.
        OSError: if it cannot be read or written.
    """

    def __init__(self, path: Path, settings: PoolSettings | None) -> None:
        self.path = path
        self.pending = 0
        # Of the snapshot and the journal's entries after it, so that none can be missing.
        self._link = 0
        if path.is_dir() or not path.parent.is_dir():
            raise ValueError(f"path must be a file in a folder that exists, got {path}")
        try:
            self._database = sqlite3.connect(
                path, timeout=0.0, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise OSError(f"{path} cannot be opened: {error}") from None
        try:
            self._begin(settings)
        except BaseException as error:
            with suppress(sqlite3.Error):
                self._database.close()
            if isinstance(error, sqlite3.Error | KeyError | TypeError):
                raise self._explained(error) from None
            raise

    def _begin(self, settings: PoolSettings | None) -> None:
        run = self._database.execute
        run("PRAGMA locking_mode=EXCLUSIVE")
        run("PRAGMA journal_mode=WAL")
        run("PRAGMA synchronous=FULL")
        run("BEGIN IMMEDIATE")
        tables = {name for (name,) in run("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and tables != {"snapshot", "journal"}:
            raise ValueError(f"path must be a pool's file, {self.path} has other tables")
        for statement in TABLES.split(";"):
            run(statement)
        parts = self._parts()
        if parts:
            if parts["format"].decode() != FORMAT:
                raise ValueError(f"path must be a pool's file, {self.path} is of another format")
            self.settings = PoolSettings.checked(**json.loads(parts["settings"]))
        else:
            self.settings = settings or PoolSettings()
            self._link = self._write_snapshot(Content(Players(self.settings.recent)))
        run("COMMIT")

    def read(self) -> Content:
        """All that was committed.

        Raises:
            ValueError: if the file is damaged.
        """
        try:
            content = _content_of(self._parts(), self.settings.recent)
            rows = self._database.execute("SELECT change, checksum FROM journal ORDER BY number")
            for text, expected in rows:
                self._link = zlib.crc32(text.encode(), self._link)
                if self._link != expected:
                    raise ValueError("its journal is damaged")
                change = _change_of(text)
                content.apply(change)
                self.pending += len(change.players) + len(change.removed)
        except (sqlite3.Error, KeyError, TypeError, ValueError) as error:
            raise self._explained(error) from None
        return content

    def append(self, change: Change) -> None:
        """Write a change; once this returns, it survives.

        Raises:
            OSError: if it could not be written; then it is not in the file.
        """
        text = json.dumps(vars(change), allow_nan=False)
        link = zlib.crc32(text.encode(), self._link)
        try:
            self._database.execute(
                "INSERT INTO journal (change, checksum) VALUES (?, ?)", (text, link)
            )
        except sqlite3.Error as error:
            raise OSError(f"{self.path} could not be written: {error}") from None
        self._link = link
        self.pending += len(change.players) + len(change.removed)

    def write_snapshot(self, content: Content) -> None:
        """Write all players anew and empty the journal, in one commit.

        Raises:
            OSError: if it could not be written; then the file is as before.
        """
        run = self._database.execute
        try:
            run("BEGIN IMMEDIATE")
            try:
                link = self._write_snapshot(content)
                run("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    run("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise OSError(f"{self.path} could not be written: {error}") from None
        self.pending = 0
        self._link = link

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def _write_snapshot(self, content: Content) -> int:
        parts = {"format": FORMAT.encode(), "settings": json.dumps(asdict(self.settings)).encode()}
        parts |= _parts_of(content)
        checksum = _checksum(parts)
        rows = [*parts.items(), ("checksum", b"%08x" % checksum)]
        self._database.execute("DELETE FROM journal")
        self._database.executemany("REPLACE INTO snapshot VALUES (?, ?)", rows)
        return checksum

    def _parts(self) -> dict[str, bytes]:
        parts = dict(self._database.execute("SELECT part, content FROM snapshot"))
        if parts:
            expected, self._link = parts.pop("checksum", None), _checksum(parts)
            if expected != b"%08x" % self._link:
                raise ValueError(f"path must be a pool's file, {self.path} is damaged")
        return parts

    def _explained(self, error: Exception) -> ValueError | OSError:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in SYSTEM_ERRORS:
            return OSError(f"{self.path} cannot be opened: {error}")
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            return ValueError(
                f"path must not be open elsewhere, another process serves {self.path}"
            )
        return ValueError(f"path must be a pool's file, got {self.path}: {error}")


def _checksum(parts: dict[str, bytes]) -> int:
    value = 0
    for name in sorted(parts):
        value = zlib.crc32(parts[name], zlib.crc32(name.encode(), value))
    return value


def _parts_of(content: Content) -> dict[str, bytes]:
    players = content.players
    slots = players.present()
    # Names hold no line breaks: the pool refuses them.
    parts = {"names": "\n".join(players.names[slot] for slot in slots.tolist()).encode()}
    for name, kind in NUMBERS.items():
        parts[name] = getattr(players, name)[slots].astype(kind).tobytes()
    # Opponents are remembered by their slots, which now have no holes.
    place = np.full(players.mu.size + 1, NOBODY, dtype="<i4")
    place[slots] = np.arange(slots.size)
    parts["recent"] = place[players.recent[slots]].tobytes()
    rest = {
        "regions": players.regions,
        "blocked": sorted(content.pairs()),
        "games": content.games,
    }
    return parts | {"rest": json.dumps(rest).encode()}


def _content_of(parts: dict[str, bytes], recent: int) -> Content:
    columns: dict[str, Any] = {
        name: np.frombuffer(parts[name], dtype=kind) for name, kind in NUMBERS.items()
    }
    rest = json.loads(parts["rest"])
    names = parts["names"].decode().split("\n") if parts["names"] else []
    opponents = np.frombuffer(parts["recent"], dtype="<i4").reshape(len(names), recent)
    players = Players.of_columns(names, recent=opponents, regions=rest["regions"], **columns)
    content = Content(players, games=rest["games"])
    content.apply(Change(blocked=[(one, other) for one, other in rest["blocked"]]))
    return content


def _change_of(text: str) -> Change:
    found = json.loads(text)
    players = [Player._make((*each[:-1], tuple(each[-1]))) for each in found["players"]]
    return Change(
        players,
        found["removed"],
        [(one, other) for one, other in found["blocked"]],
        [(one, other) for one, other in found["unblocked"]],
        found["games"],
    )
