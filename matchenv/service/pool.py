"""A pool of named players: their ratings, and who should meet whom."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from matchenv.ratings.leaderboard import RankedPlayer
from matchenv.runtime.checks import as_integer
from matchenv.service.answers import Meeting, Split, standings_of
from matchenv.service.given import (
    Game,
    NewPlayer,
    PlayerExistsError,
    as_games,
    as_newcomers,
    as_texts,
)
from matchenv.service.kept import Kept
from matchenv.service.pairing import Asked, as_asked, pairs_of
from matchenv.service.played import after_games
from matchenv.service.players import Players, newcomer
from matchenv.service.rules import as_rule
from matchenv.service.settings import PoolSettings
from matchenv.service.splitting import fairest_teams
from matchenv.service.storage import Change, Content, Storage
from matchenv.trueskill import match_quality
from matchenv.trueskill.teams import sides_of


class Pool(Kept):
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
            players: each a ``NewPlayer`` or a name.
        """
        newcomers = as_newcomers(players, self.settings.mu, self.settings.sigma)
        with self._lock:
            now = self._now()
            for each in newcomers:
                if each.name in self._players.slots:
                    raise PlayerExistsError(f"name must be new, {each.name!r} is in the pool")
            self._commit(Change([newcomer(each, now) for each in newcomers]))

    def remove(self, name: str) -> None:
        """Remove a player, and with the player all blocks.

        Raises:
            UnknownPlayerError: if there is none of that name.
        """
        with self._lock:
            self._slot(name)
            self._commit(Change(removed=[name]))

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
        listed = sides_of("together", together)
        parties = [as_texts(f"together[{i}]", each, 1) for i, each in enumerate(listed)]
        grouped = as_texts("together", [name for party in parties for name in party])
        for name in grouped:
            if name not in names:
                raise ValueError(f"together must hold names among players, got {name!r}")
        groups = parties + [[name] for name in names if name not in set(grouped)]
        with self._lock:
            rated = {name: self[name] for name in names}
        return fairest_teams(groups, rated, count, self.settings.beta)

    def expose(self, player: str) -> float:
        """mu - k sigma with k = mu_0 / sigma_0 of a newcomer, who has 0.

        Raises:
            UnknownPlayerError: if there is none of that name.
        """
        mu, sigma = self[player]
        return mu - self.settings.exposed_deviations * sigma

    def standings(self, limit: int | None = None) -> list[RankedPlayer]:
        """The players, the highest ``expose`` first; equal ones by name.

        Args:
            limit: so many of the first alone; None for all.

        Raises:
            ValueError: for a limit below 1.
        """
        most = None if limit is None else as_integer("limit", limit, 1)
        with self._lock:
            return standings_of(self._players, self.settings, self._now(), most)
