"""The players of a pool as arrays that are ready for every decision."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.runtime.compile import compiled
from matchenv.service.given import NewPlayer

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Codes = NDArray[np.int32]

SECONDS_A_DAY = 86_400.0
# The region of a slot in which nobody is, and the opponent who is not there.
NOBODY = -1
LEAST_CAPACITY = 16


class Player(NamedTuple):
    """All that is kept about a player.

    Attributes:
        name: of the player.
        region: where the player plays; None for those without one.
        mu: mean of the belief about the skill.
        sigma: its standard deviation at the time ``seen``.
        seen: time of the last game, or of the arrival, in seconds.
        games_played: number of games.
        recent: names of the last opponents, the last one first.
    """

    name: str
    region: str | None
    mu: float
    sigma: float
    seen: float
    games_played: int
    recent: tuple[str, ...]


def newcomer(given: NewPlayer, now: float) -> Player:
    """A player who was checked, without games."""
    assert given.mu is not None
    assert given.sigma is not None
    return Player(given.name, given.region, given.mu, given.sigma, now, 0, ())


@compiled
def sigma_after(sigma: float, seen: float, now: float, drift_per_day: float) -> float:
    """The standard deviation after a time without games.

    Args:
        sigma: at the time ``seen``.
        seen: in seconds.
        now: in seconds; a clock that went back counts as no time.
        drift_per_day: standard deviation of the skill's drift in one day.
    """
    days = max(0.0, now - seen) / SECONDS_A_DAY
    # ``drifted`` with the drift's variance: a large pool feels every square root.
    return np.sqrt(sigma * sigma + drift_per_day * drift_per_day * days)


@compiled
def sigmas_after(sigma: Floats, seen: Floats, now: float, drift_per_day: float) -> Floats:
    """``sigma_after`` for every slot."""
    grown = sigma.copy()
    if drift_per_day > 0.0:
        for i in range(sigma.size):
            grown[i] = sigma_after(sigma[i], seen[i], now, drift_per_day)
    return grown


@compiled
def line_up(
    mu: Floats,
    sigma: Floats,
    seen: Floats,
    region: Codes,
    barred: NDArray[np.bool_],
    used: int,
    own: int,
    now: float,
    drift_per_day: float,
    mu_out: Floats,
    sigma_out: Floats,
    slot_out: Integers,
) -> int:
    """Write a player and all who may be chosen for the player, as a knowledge state has them.

    Everybody stands at the place of the slot as far as that goes: a place that stays free is
    filled from the end. So two decisions see nearly the same order, and rules that sort have
    little to do.

    Args:
        mu: of all slots.
        sigma: of all slots, at the times ``seen``.
        seen: of all slots, in seconds.
        region: of all slots, ``NOBODY`` where nobody is.
        barred: of all slots, who may not be chosen; the player must be among them.
        used: slots that may be in use.
        own: slot of the player.
        now: in seconds.
        drift_per_day: as ``sigma_after``.
        mu_out: shape (slots + 1,), overwritten.
        sigma_out: as ``mu_out``.
        slot_out: shape (slots + 1,), overwritten with the slots.

    Returns:
        M, how many may be chosen; they stand from 1 to M, the player at 0.
    """
    # Whole columns first, which a processor does many numbers at a time, then what must not stay.
    mu_out[0], slot_out[0] = mu[own], own
    mu_out[1 : used + 1] = mu[:used]
    sigma_out[1 : used + 1] = sigma[:used]
    if drift_per_day > 0.0:
        for slot in range(used):
            sigma_out[slot + 1] = sigma_after(sigma[slot], seen[slot], now, drift_per_day)
    sigma_out[0] = sigma_out[own + 1]
    for slot in range(used):
        slot_out[slot + 1] = slot
    here = region[own]
    first, last = 0, used - 1
    while first <= last:
        if region[first] != here or barred[first]:
            while last > first and (region[last] != here or barred[last]):
                last -= 1
            if last == first:
                break
            slot_out[first + 1] = last
            mu_out[first + 1], sigma_out[first + 1] = mu_out[last + 1], sigma_out[last + 1]
            last -= 1
        first += 1
    return first


class Players:
    """Players by name in slots of arrays; a slot stays a player's until the player is removed.

    Args:
        recent: opponents that are remembered for each player.
        capacity: slots to begin with.

    Attributes:
        slots: the slot of each name.
        names: the name in each slot.
        mu: shape (slots,), means.
        sigma: shape (slots,), standard deviations at the times ``seen``.
        seen: shape (slots,), seconds.
        played: shape (slots,), games.
        region: shape (slots,), codes, ``NOBODY`` where nobody is.
        recent: shape (slots, recent), slots of the last opponents, ``NOBODY`` at the end.
        regions: the name of each code.
        used: slots that may be in use.
    """

    def __init__(self, recent: int = 0, capacity: int = LEAST_CAPACITY) -> None:
        self.slots: dict[str, int] = {}
        self.names: list[str] = []
        self.regions: list[str | None] = [None]
        self._codes: dict[str | None, int] = {None: 0}
        self._free: list[int] = []
        self.used = 0
        self.mu, self.seen = np.zeros(capacity), np.zeros(capacity)
        self.sigma = np.ones(capacity)
        self.played = np.zeros(capacity, dtype=np.int64)
        self.region = np.full(capacity, NOBODY, dtype=np.int32)
        self.recent = np.full((capacity, recent), NOBODY, dtype=np.int32)
        self._make_room()

    @classmethod
    def of_columns(
        cls,
        names: list[str],
        mu: Floats,
        sigma: Floats,
        seen: Floats,
        played: Integers,
        region: Codes,
        regions: list[str | None],
        recent: Codes,
    ) -> Players:
        """Players from whole columns, in slots 0, 1, ...; attributes as there."""
        count = len(names)
        players = cls(recent.shape[1], max(LEAST_CAPACITY, count + count // 8))
        players.names = list(names)
        players.slots = dict(zip(names, range(count), strict=True))
        players.used = count
        players.mu[:count], players.sigma[:count], players.seen[:count] = mu, sigma, seen
        players.played[:count], players.region[:count] = played, region
        players.recent[:count] = recent
        players.regions = list(regions)
        players._codes = {name: code for code, name in enumerate(regions)}
        return players

    def get(self, slot: int) -> Player:
        """All about the player in a slot."""
        return Player(
            self.names[slot],
            self.regions[self.region[slot]],
            float(self.mu[slot]),
            float(self.sigma[slot]),
            float(self.seen[slot]),
            int(self.played[slot]),
            tuple(self.names[each] for each in self.recent[slot].tolist() if each != NOBODY),
        )

    def put(self, players: Iterable[Player]) -> None:
        """Write players, new ones or known ones, who may name each other as opponents."""
        players = list(players)
        for player in players:
            if player.name not in self.slots:
                self._take_slot(player.name)
        for player in players:
            slot = self.slots[player.name]
            self.mu[slot], self.sigma[slot] = player.mu, player.sigma
            self.seen[slot], self.played[slot] = player.seen, player.games_played
            self.region[slot] = self._code(player.region)
            if self.recent.shape[1]:
                known = [self.slots[name] for name in player.recent if name in self.slots]
                self.recent[slot] = NOBODY
                self.recent[slot, : len(known)] = known

    def remove(self, name: str) -> None:
        """Free the slot of a player, whom nobody remembers as an opponent any more."""
        slot = self.slots.pop(name)
        self.names[slot] = ""
        self.region[slot] = NOBODY
        self._free.append(slot)
        if self.recent.shape[1]:
            rows = np.flatnonzero((self.recent == slot).any(axis=1))
            for row in rows.tolist():
                kept = self.recent[row][self.recent[row] != slot]
                self.recent[row] = NOBODY
                self.recent[row, : kept.size] = kept

    def present(self) -> Integers:
        """Slots in use, in ascending order."""
        return np.flatnonzero(self.region[: self.used] != NOBODY)

    def line_up(
        self, own: int, barred: Iterable[int], now: float, drift_per_day: float
    ) -> tuple[Floats, Floats, Integers]:
        """The player in a slot and all who may be chosen, as a knowledge state has them.

        Args:
            own: slot of the player.
            barred: slots of those who may not be chosen.
            now: in seconds.
            drift_per_day: as ``sigma_after``.

        Returns:
            Means, deviations and slots, shape (M + 1,), the player first. They are overwritten
            by the next call.
        """
        closed = [own, *barred]
        self._barred[closed] = True
        try:
            count = line_up(
                self.mu, self.sigma, self.seen, self.region, self._barred, self.used, own, now,
                drift_per_day, self._mu_out, self._sigma_out, self._slot_out,
            )  # fmt: skip
        finally:
            self._barred[closed] = False
        rows = slice(0, count + 1)
        return self._mu_out[rows], self._sigma_out[rows], self._slot_out[rows]

    def _take_slot(self, name: str) -> None:
        if self._free:
            slot = self._free.pop()
            self.names[slot] = name
        else:
            slot = self.used
            if slot == self.mu.size:
                self._grow()
            self.used += 1
            self.names.append(name)
        self.slots[name] = slot

    def _grow(self) -> None:
        more = self.mu.size
        for column, value in (
            ("mu", 0.0), ("sigma", 1.0), ("seen", 0.0), ("played", 0), ("region", NOBODY),
            ("recent", NOBODY),
        ):  # fmt: skip
            old = getattr(self, column)
            new = np.full((more, *old.shape[1:]), value, dtype=old.dtype)
            setattr(self, column, np.concatenate((old, new)))
        self._make_room()

    def _make_room(self) -> None:
        """Arrays that decisions write to."""
        size = self.mu.size
        self._barred = np.zeros(size, dtype=np.bool_)
        self._mu_out, self._sigma_out = np.empty(size + 1), np.empty(size + 1)
        self._slot_out = np.empty(size + 1, dtype=np.int64)

    def _code(self, region: str | None) -> int:
        if region not in self._codes:
            self._codes[region] = len(self.regions)
            self.regions.append(region)
        return self._codes[region]
