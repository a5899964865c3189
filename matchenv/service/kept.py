"""What stands behind a pool: its content in memory, its file and its lock."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from matchenv.runtime.checks import as_number
from matchenv.service.given import UnknownPlayerError, as_text
from matchenv.service.players import NOBODY, Player, sigma_after
from matchenv.service.rules import as_rule
from matchenv.service.settings import PoolSettings
from matchenv.service.storage import Change, Content, Storage
from matchenv.trueskill import Rating

# Players in the journal after which a snapshot takes its place; reading so many is quick.
JOURNAL = 20_000


class Kept:
    """Players by name in memory, in a file too where there is one; what ``Pool`` decides with.

    Attributes:
        settings: of the pool.
    """

    def _start(
        self,
        settings: PoolSettings,
        content: Content,
        storage: Storage | None,
        rule: Any,
        clock: Callable[[], float],
    ) -> None:
        self.settings = settings
        self._lock = threading.RLock()
        self._rule = as_rule(rule, settings)
        self._clock = clock
        self._content = content
        self._players = content.players
        self._storage = storage
        self._closed = False

    def __repr__(self) -> str:
        return f"<Pool of {len(self)} players, {self.settings}>"

    def __len__(self) -> int:
        return len(self._players.slots)

    def __contains__(self, name: object) -> bool:
        return name in self._players.slots

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __getitem__(self, name: str) -> Rating:
        """The belief about a player now.

        Raises:
            UnknownPlayerError: if there is none of that name.
        """
        player = self.player(name)
        return Rating(player.mu, player.sigma)

    @property
    def games(self) -> int:
        """Games since the pool was made."""
        return self._content.games

    def close(self) -> None:
        """Write a snapshot and let go of the file; later calls that change something raise."""
        with self._lock:
            if self._storage is not None and not self._closed:
                try:
                    if self._storage.pending:
                        self._storage.write_snapshot(self._content)
                finally:
                    self._storage.close()
            self._closed = True

    def player(self, name: str) -> Player:
        """All about a player, with the deviation as it is now.

        Raises:
            UnknownPlayerError: if there is none of that name.
        """
        with self._lock:
            found = self._players.get(self._slot(name))
            drift = self.settings.drift_per_day
            sigma = sigma_after(found.sigma, found.seen, self._now(), drift)
            return found._replace(sigma=float(sigma))

    def _now(self) -> float:
        return as_number("clock()", self._clock())

    def _slot(self, name: Any) -> int:
        slot = self._players.slots.get(as_text("name", name))
        if slot is None:
            raise UnknownPlayerError(f"name must be of a player in the pool, got {name!r}")
        return slot

    def _pair(self, one: str, other: str) -> tuple[str, str]:
        self._slot(one)
        self._slot(other)
        if one == other:
            raise ValueError(f"other must be another player, got {other!r} twice")
        return one, other

    def _barred(self, slot: int, name: str) -> set[int]:
        """Slots of those who must not meet a player again."""
        barred = {self._players.slots[other] for other in self._content.blocked.get(name, ())}
        if self.settings.recent:
            barred |= set(self._players.recent[slot].tolist()) - {NOBODY}
        return barred

    def _commit(self, change: Change) -> None:
        """Write a change to the file first, then to memory."""
        if self._closed:
            raise ValueError("the pool must be open, it was closed")
        if self._storage is not None:
            self._storage.append(change)
        self._content.apply(change)
        if self._storage is not None and self._storage.pending >= JOURNAL:
            # The change is safe in the journal; where there is no room now, a later call tries.
            with suppress(OSError):
                self._storage.write_snapshot(self._content)
