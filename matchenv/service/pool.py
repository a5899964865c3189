"""A pool of named players: their ratings, and who should meet whom."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from matchenv.leaderboard import Standing
from matchenv.service.given import (
    Game,
    NewPlayer,
    PlayerExistsError,
    UnknownPlayerError,
    as_games,
    as_newcomers,
    as_text,
    as_texts,
)
from matchenv.service.pairing import Asked, as_asked, pairs_of
from matchenv.service.played import after_games
from matchenv.service.players import NOBODY, Player, Players, sigma_after, sigmas_after
from matchenv.service.rules import as_rule
from matchenv.service.settings import PoolSettings
from matchenv.service.splitting import Units, fairest_split
from matchenv.service.storage import Change, Content, Storage
from matchenv.trueskill import Rating, match_quality, team_match_quality
from matchenv.validation import as_integer, as_number

# Players in the journal after which a snapshot takes its place; reading so many is quick.
JOURNAL = 20_000


class Meeting(NamedTuple):
    """Two players who should meet.

    Attributes:
        player: who was asked for, or the first of a pair.
        opponent: the other one.
        match_quality: of their game, in (0, 1].
    """

    player: str
    opponent: str
    match_quality: float


class Split(NamedTuple):
    """Teams.

    Attributes:
        teams: the sides, lists of names.
        match_quality: of their game, in (0, 1].
    """

    teams: list[list[str]]
    match_quality: float


class Pool:
    """Players by name, their ratings, and decisions about who meets whom.

    All methods may be called from several threads. A call that raises has changed nothing.
    Without ``open`` the pool is in memory alone.

    Args:
        rule: who is proposed: a one-player policy with ``act``, such as ``DrawChance(beta=...)``;
            a text such as ``"kg"``; None for DrawChance with the pool's beta.
        clock: gives the time in seconds; skills drift with it where ``drift_per_day`` is set.
        settings: attributes of ``PoolSettings`` by name.

    Raises:
        ValueError: for bad settings, or a rule that cannot choose from means and deviations.
    """

    def __init__(
        self, *, rule: Any = None, clock: Callable[[], float] = time.time, **settings: Any
    ) -> None:
        checked = PoolSettings.checked(**settings)
        self._start(checked, Content(Players(checked.recent)), None, rule, clock)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        rule: Any = None,
        clock: Callable[[], float] = time.time,
        **settings: Any,
    ) -> Self:
        """The pool in a file, which is made if it does not exist.

        What a method returned from is in the file, whatever happens to the process afterwards.

        Args:
            path: the file.
            rule: as for the class.
            clock: as for the class.
            settings: as for the class; a file that exists has its own, which these must equal.

        Raises:
            ValueError: for bad settings, others than the file has, a file that is no pool or is
                damaged, or one that another process has open.
            OSError: if it cannot be read or written.
        """
        checked = PoolSettings.checked(**settings)
        as_rule(rule, checked)
        storage = Storage(Path(path), checked)
        try:
            for name in settings:
                told, found = getattr(checked, name), getattr(storage.settings, name)
                if told != found:
                    raise ValueError(f"{name} must be {found!r} as in {path}, got {told!r}")
            pool = cls.__new__(cls)
            pool._start(storage.settings, storage.read(), storage, rule, clock)
        except BaseException:
            storage.close()
            raise
        return pool

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

    def add(
        self,
        name: str,
        mu: float | None = None,
        sigma: float | None = None,
        region: str | None = None,
    ) -> None:
        """Add a player.

        Args:
            name: 1 to 200 characters, no control characters.
            mu: mean of the belief about the skill; None for the pool's.
            sigma: its standard deviation, > 0; None for the pool's.
            region: players meet only within a region; those without one among themselves.

        Raises:
            PlayerExistsError: if the pool has the name already.
            ValueError: for a bad name, number or region.
        """
        self.add_many([NewPlayer(name, mu, sigma, region)])

    def add_many(self, players: Iterable[NewPlayer | str]) -> None:
        """Add players, all or none; arguments and errors as ``add``.

        Args:
            players: ``NewPlayer``s, or names.
        """
        newcomers = as_newcomers(players, self.settings.mu, self.settings.sigma)
        with self._lock:
            now = self._now()
            for each in newcomers:
                if each.name in self._players.slots:
                    raise PlayerExistsError(f"name must be new, {each.name!r} is in the pool")
            self._commit(
                Change(
                    [
                        Player(each.name, each.region, *belief_of(each), now, 0, ())
                        for each in newcomers
                    ]
                )
            )

    def remove(self, name: str) -> None:
        """Remove a player, and with the player all blocks.

        Raises:
            UnknownPlayerError: if there is none of that name.
        """
        with self._lock:
            self._slot(name)
            self._commit(Change(removed=[name]))

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

    def rate(self, games: Game | Iterable[Game]) -> None:
        """Take in one game or many, in their order; all or none.

        Args:
            games: a ``Game``, or a list of them or of tuples like them.

        Raises:
            UnknownPlayerError: for a name that the pool does not have.
            ValueError: for bad games, such as a player against itself or a NaN among the ranks.
        """
        given = as_games(games)
        with self._lock:
            players = after_games(self._players, given, self.settings, self._now())
            self._commit(Change(players, games=self._content.games + len(given)))

    def block(self, one: str, other: str) -> None:
        """See that two players do not meet.

        Raises:
            UnknownPlayerError: for a name that the pool does not have.
            ValueError: for a player and itself.
        """
        with self._lock:
            self._commit(Change(blocked=[self._pair(one, other)]))

    def unblock(self, one: str, other: str) -> None:
        """Let two players meet again; arguments and errors as ``block``."""
        with self._lock:
            self._commit(Change(unblocked=[self._pair(one, other)]))

    def propose(self, player: str, k: int = 1, among: Iterable[str] | None = None) -> list[Meeting]:
        """The best opponents for a player by the pool's rule, the best first.

        The second is whom the rule chooses where the first does not exist, and so on. Nobody is
        proposed of another region, of a blocked pair, or among the last opponents.

        Args:
            player: who asks.
            k: how many opponents, >= 1.
            among: who may be chosen, such as those online; None for the whole pool.

        Returns:
            At most k opponents, fewer where no more may be chosen.

        Raises:
            UnknownPlayerError: for a name that the pool does not have.
            ValueError: for k below 1, or a list that holds the player or a name twice.
        """
        most = as_integer("k", k, 1)
        with self._lock:
            own = self._slot(player)
            barred = self._barred(own, player)
            if among is not None:
                named = as_texts("among", among)
                if player in named:
                    raise ValueError(f"among must not hold the player itself, got {player!r}")
                chosen = {self._slot(name) for name in named}
                barred |= set(self._players.present().tolist()) - chosen - {own}
            found: list[Meeting] = []
            while len(found) < most:
                mu, sigma, slots = self._players.line_up(
                    own, barred, self._now(), self.settings.drift_per_day
                )
                if slots.size == 1:
                    break
                place = self._rule(mu, sigma) + 1
                quality = match_quality(
                    mu[0], sigma[0], mu[place], sigma[place], self.settings.beta
                )
                slot = int(slots[place])
                found.append(Meeting(player, self._players.names[slot], float(quality)))
                barred.add(slot)
            return found

    def match(self, waiting: Iterable[str] | Mapping[str, float]) -> list[Meeting]:
        """Pair those who wait, so that match qualities have the greatest sum.

        Exact up to 200 players of a region, among near neighbours in skill above. Regions, blocked
        pairs and last opponents as ``propose``.

        Args:
            waiting: names; or for each name the match quality that the player asks for, which may
                fall with the time of waiting. A pair is made where its quality is above the mean
                of what both ask for.

        Returns:
            The pairs; who is in none of them waits on.

        Raises:
            UnknownPlayerError: for a name that the pool does not have.
            ValueError: for a name that comes twice, or a bad number.
        """
        asked: Asked = as_asked(waiting)
        with self._lock:
            slots = np.array([self._slot(name) for name in asked.names], dtype=np.int64)
            now, names = self._now(), self._players.names
            barred = {int(slot): self._barred(int(slot), names[slot]) for slot in slots}
            pairs = pairs_of(self._players, slots, asked.quality, barred, self.settings, now)
            return [Meeting(names[one], names[other], value) for one, other, value in pairs]

    def split(
        self, players: Iterable[str], sides: int = 2, together: Sequence[Sequence[str]] = ()
    ) -> Split:
        """The fairest teams: of the highest match quality, with sizes as equal as can be.

        Exact up to 12 players, by exchanges from many starts above.

        Args:
            players: names.
            sides: how many teams, >= 2.
            together: parties, who stay in one team.

        Returns:
            The teams and their match quality.

        Raises:
            UnknownPlayerError: for a name that the pool does not have.
            ValueError: for fewer players than sides, a name that comes twice, a party whose
                members are not among the players, or parties that fit in no teams.
        """
        names = as_texts("players", players, 2)
        count = as_integer("sides", sides, 2, len(names))
        parties = [as_texts(f"together[{i}]", each, 1) for i, each in enumerate(together)]
        grouped = as_texts("together", [name for party in parties for name in party])
        for name in grouped:
            if name not in names:
                raise ValueError(f"together must hold names among players, got {name!r}")
        groups = parties + [[name] for name in names if name not in set(grouped)]
        with self._lock:
            rated = {name: self[name] for name in names}
        beta = self.settings.beta
        members = [[rated[name] for name in group] for group in groups]
        units = Units(
            np.array([len(group) for group in groups]),
            np.array([sum(one.mu for one in group) for group in members]),
            np.array([sum(one.sigma**2 + beta**2 for one in group) for group in members]),
        )
        side_of = fairest_split(units, count, beta)
        if side_of is None:
            raise ValueError(f"together must fit in {count} teams of {len(names)} players")
        teams: list[list[str]] = [[] for _ in range(count)]
        for group, side in zip(groups, side_of.tolist(), strict=True):
            teams[side] += group
        quality = team_match_quality([[rated[name] for name in team] for team in teams], beta)
        return Split(teams, quality)

    def expose(self, player: str) -> float:
        """mu - k sigma with k = mu_0 / sigma_0 of a newcomer, who has 0.

        Raises:
            UnknownPlayerError: if there is none of that name.
        """
        mu, sigma = self[player]
        return mu - self.settings.exposed_deviations * sigma

    def standings(self, limit: int | None = None) -> list[Standing]:
        """The players, the highest ``expose`` first; equal ones by name.

        Args:
            limit: so many of the first alone; None for all.

        Raises:
            ValueError: for a limit below 1.
        """
        most = None if limit is None else as_integer("limit", limit, 1)
        with self._lock:
            players, slots = self._players, self._players.present()
            grown = sigmas_after(
                players.sigma[slots], players.seen[slots], self._now(), self.settings.drift_per_day
            )
            mu = players.mu[slots]
            exposed = mu - self.settings.exposed_deviations * grown
            order = np.argsort(-exposed, kind="stable")
            if most is not None and most < order.size:
                # Those who are equal to the last one compete by name.
                order = order[exposed[order] >= exposed[order[most - 1]]]
            names = list(map(players.names.__getitem__, slots[order].tolist()))
            numbers = (mu[order], grown[order], exposed[order], players.played[slots[order]])
        columns = (names, *(each.tolist() for each in numbers))
        lines = list(map(Standing._make, zip(*columns, strict=True)))
        for start, end in _equal_runs(numbers[2]):
            lines[start:end] = sorted(lines[start:end], key=lambda line: line.name)
        return lines[:most]

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
            self._storage.write_snapshot(self._content)


def belief_of(player: NewPlayer) -> tuple[float, float]:
    """Mean and deviation of a player who was checked."""
    assert player.mu is not None
    assert player.sigma is not None
    return player.mu, player.sigma


def _equal_runs(values: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Where sorted values are equal: the first place and the one after the last."""
    ends = np.flatnonzero(np.diff(values, append=np.nan) != 0.0) + 1
    starts = np.concatenate(([0], ends[:-1])) if ends.size else ends
    long = ends - starts > 1
    return list(zip(starts[long].tolist(), ends[long].tolist(), strict=True))
