"""A pool of named players: their ratings, and who should meet whom."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from matchenv.belief import DEFAULT_BELIEF
from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.registry import policy_named
from matchenv.runtime.checks import as_integer, as_number
from matchenv.service.players import (
    Game,
    Meeting,
    NewPlayer,
    Player,
    PlayerExistsError,
    PoolSettings,
    RankedPlayer,
    Split,
    UnknownPlayerError,
    as_name,
    as_names,
)
from matchenv.service.splitting import fairest_teams
from matchenv.service.storage import Storage
from matchenv.trueskill import Rating, TrueSkill, draw_margin_from_probability, match_quality
from matchenv.trueskill.teams import sides_of

Floats = NDArray[np.float64]

# From means and deviations, shape (M + 1,), the player first, to an opponent from 0 to M - 1.
Rule = Callable[[Floats, Floats], int]


class Pool:
    """Players by name, their ratings, and decisions about who meets whom.

    All methods may be called from several threads. They raise ``UnknownPlayerError`` for a name
    that the pool does not have, and ``ValueError``, of which it is one, for other bad arguments
    and a pool that was closed. A call that raises has changed nothing. Without ``open`` the pool
    is in memory alone.

    Args:
        rule: who is proposed: a one-player policy with ``act``, for example
            ``DrawChance(beta=...)``; a text, for example ``"kg"``; None for DrawChance with the
            pool's beta.
        clock: gives the time in seconds; skills drift with it where ``drift_per_day`` is set.
        settings: attributes of ``PoolSettings`` by name.

    Attributes:
        settings: of the pool.

    Raises:
        ValueError: for bad settings, or a rule that cannot choose from means and deviations.
    """

    def __init__(
        self, *, rule: Any = None, clock: Callable[[], float] = time.time, **settings: Any
    ) -> None:
        self.settings = PoolSettings(**settings)
        self._rule = _rule_of(rule, self.settings)
        shared = ("mu", "sigma", "beta", "tau", "draw_probability")
        self._system = TrueSkill(*(getattr(self.settings, name) for name in shared))
        self._clock = clock
        self._storage = Storage(self.settings)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        rule: Any = None,
        clock: Callable[[], float] = time.time,
        **settings: Any,
    ) -> Self:
        """Open the pool in a file, which is made if it does not exist; arguments as the class.

        A change is in the file once its method has returned, whatever happens to the process
        afterwards. So a copy of the file that is made between two changes is a pool, too;
        ``backup`` makes one at any time. A file that exists has settings of its own, which given
        ones must equal.

        Raises:
            ValueError: for bad settings, others than the file has, a file that is no pool or is
                damaged, or one that another process has open.
            OSError: if it cannot be read or written.
        """
        checked = cls(rule=rule, clock=clock, **settings).settings
        storage = Storage(checked, Path(path))
        try:
            for name in settings:
                given, found = getattr(checked, name), getattr(storage.settings, name)
                if given != found:
                    raise ValueError(f"{name} must be {found!r} as in {path}, got {given!r}")
            pool = cls(rule=rule, clock=clock, **vars(storage.settings))
            pool._storage = storage
        except BaseException:
            storage.close()
            raise
        return pool

    def close(self) -> None:
        """Close the file; later calls that change something raise."""
        self._storage.close()

    def backup(self) -> bytes:
        """Return the content of a file with everything up to now, which ``open`` reads."""
        return self._storage.copy()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Pool of {len(self)} players, {self.settings}>"

    def __len__(self) -> int:
        return len(self._storage.players)

    def __contains__(self, name: object) -> bool:
        return name in self._storage.players

    def __getitem__(self, name: str) -> Rating:
        """Return the current belief about a player."""
        player = self.player(name)
        return Rating(player.mu, player.sigma)

    @property
    def games(self) -> int:
        """Games since the pool was made."""
        return self._storage.games

    def player(self, name: str) -> Player:
        """Return all about a player, with the current deviation."""
        found = self._record(name)  # one look-up, which waits for no change
        return found._replace(sigma=float(self._current(found.sigma, found.seen, self._now())))

    def expose(self, player: str) -> float:
        """Return mu - k sigma with k = mu_0 / sigma_0 of a newcomer, who has 0."""
        return self._system.expose(self[player])

    def standings(self, limit: int | None = None) -> list[RankedPlayer]:
        """Return the players, the highest ``expose`` first; equal ones by name.

        Args:
            limit: number of players, from the first, >= 1; None for all.
        """
        most = None if limit is None else as_integer("limit", limit, 1)
        with self._storage.lock:
            players = list(self._storage.players.values())
        mu, sigma = self._beliefs(players)
        exposed = mu - self.settings.mu / self.settings.sigma * sigma
        order = np.lexsort((np.array([each.name for each in players]), -exposed))[:most]
        return [
            RankedPlayer(each.name, each.mu, float(sigma[i]), float(exposed[i]), each.games_played)
            for i, each in ((i, players[i]) for i in order.tolist())
        ]

    def add(
        self,
        name: str,
        mu: float | None = None,
        sigma: float | None = None,
        region: str | None = None,
    ) -> None:
        """Add a player; arguments as ``NewPlayer``.

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
        if isinstance(players, str | bytes) or not isinstance(players, Iterable):
            raise ValueError(f"players must be a list of NewPlayer, got {players!r}")
        given = [each if isinstance(each, NewPlayer) else NewPlayer(each) for each in players]
        as_names("name", [each.name for each in given])
        added: dict[str, Player | None] = {}
        with self._storage.lock:
            now = self._now()
            for name, mu, sigma, place in given:
                if name in self:
                    raise PlayerExistsError(f"name must be new, {name!r} is in the pool")
                region = None if place is None else as_name("region", place)
                added[name] = Player(name, region, *self._system.create_rating(mu, sigma), now)
            self._storage.write(added)

    def remove(self, name: str) -> None:
        """Remove a player, and with the player all blocks."""
        with self._storage.lock:
            changed: dict[str, Player | None] = {self._record(name).name: None}
            for each in self._storage.players.values():
                if name in each.recent or name in each.blocked:
                    recent, blocked = _without(name, each.recent), _without(name, each.blocked)
                    changed[each.name] = each._replace(recent=recent, blocked=blocked)
            self._storage.write(changed)

    def rate(self, games: Game | Iterable[Game]) -> None:
        """Rate the players of one game or many, in their order; all or none.

        The time since a player's last game counts before the first of the games.

        Args:
            games: a ``Game``, or a list of at least one; a message names the bad one of several.
        """
        several = games if isinstance(games, Iterable) else ()
        listed: list[Any] = [games] if isinstance(games, Game) else list(several)
        if not listed or not all(isinstance(each, Game) for each in listed):
            raise ValueError(f"games must be a Game or a list of at least one, got {games!r}")
        with self._storage.lock:
            now, changed = self._now(), dict[str, Player]()
            for i, game in enumerate(listed):
                try:
                    changed |= self._rated(game, changed, now)
                except ValueError as error:
                    if len(listed) == 1:
                        raise
                    raise type(error)(f"games[{i}]: {error}") from None
            self._storage.write(changed, games=len(listed))

    def block(self, one: str, other: str) -> None:
        """Keep two players from meeting."""
        self._set_blocked(one, other, True)

    def unblock(self, one: str, other: str) -> None:
        """Let two players meet again."""
        self._set_blocked(one, other, False)

    def propose(self, player: str, k: int = 1, among: Iterable[str] | None = None) -> list[Meeting]:
        """Return the best opponents for a player by the pool's rule, the best first.

        The second is whom the rule chooses where the first does not exist, and so on. Nobody is
        proposed of another region, of a blocked pair, or among the last opponents.

        Args:
            player: who asks.
            k: number of opponents, >= 1.
            among: who may be chosen, for example those online; None for the whole pool.

        Returns:
            At most k opponents, fewer where no more may be chosen.
        """
        most, found, beta = as_integer("k", k, 1), list[Meeting](), self.settings.beta
        with self._storage.lock:
            own = self._record(player)
            others: Iterable[Player] = self._storage.players.values()
            if among is not None:
                others = [self._record(name) for name in as_names("among", among)]
                if own in others:
                    raise ValueError(f"among must not hold the player itself, got {player!r}")
            apart = {player, *own.recent, *own.blocked}
            left = [x for x in others if x.region == own.region and x.name not in apart]
            mu, sigma = self._beliefs([own, *left])
            while left and len(found) < most:
                choice = self._rule(mu, sigma) + 1
                quality = match_quality(mu[0], sigma[0], mu[choice], sigma[choice], beta)
                found.append(Meeting(player, left.pop(choice - 1).name, float(quality)))
                mu, sigma = np.delete(mu, choice), np.delete(sigma, choice)
        return found

    def match(self, waiting: Iterable[str] | Mapping[str, float]) -> list[Meeting]:
        """Pair those who wait, so that match qualities have the greatest sum.

        Only players at most nine places apart are paired, in the order of the means of a region's
        waiting players. Regions, blocked pairs and last opponents as ``propose``.

        Args:
            waiting: names; or for each name the match quality that the player asks for, which may
                fall with the time of waiting. A pair is made where its quality is above the mean
                of what both ask for.

        Returns:
            The pairs; who is in none of them waits on.
        """
        from matchenv.baselines.queue.matching import best_pairs
        from matchenv.belief import GameConstants

        names = as_names("waiting", waiting)
        asked = np.zeros(len(names))
        if isinstance(waiting, Mapping):
            asked[:] = [as_number(f"waiting[{name!r}]", waiting[name]) for name in names]
        with self._storage.lock:
            records = [self._record(name) for name in names]
        mu, sigma = self._beliefs(records)
        beta, pairs = self.settings.beta, list[Meeting]()
        apart = {each.name: {*each.recent, *each.blocked} for each in records}
        regions: dict[str | None, list[int]] = {}
        for i, each in enumerate(records):
            regions.setdefault(each.region, []).append(i)
        for here in regions.values():
            place = {names[i]: k for k, i in enumerate(here)}
            barred = [(k, place[other]) for name, k in place.items()
                      for other in apart[name] & place.keys()]  # fmt: skip
            partners = best_pairs(
                mu[here], sigma[here], asked[here], 0.0, GameConstants(beta),
                barred=np.array(barred, dtype=np.int64).reshape(-1, 2),
            )  # fmt: skip
            for i, partner in zip(here, partners.tolist(), strict=True):
                if partner > place[names[i]]:
                    j = here[partner]
                    quality = match_quality(mu[i], sigma[i], mu[j], sigma[j], beta)
                    pairs.append(Meeting(names[i], names[j], float(quality)))
        return pairs

    def split(
        self, players: Iterable[str], sides: int = 2, together: Sequence[Sequence[str]] = ()
    ) -> Split:
        """Return the fairest teams: of the highest match quality, sizes as equal as can be.

        Exact up to 12 players, by exchanges from many starts above.

        Args:
            players: names.
            sides: number of teams, >= 2.
            together: parties, who stay in one team.

        Raises:
            ValueError: also for parties that fit in no teams.
        """
        names = as_names("players", players, 2)
        count = as_integer("sides", sides, 2, len(names))
        listed = sides_of("together", together)
        parties = [as_names(f"together[{i}]", each, 1) for i, each in enumerate(listed)]
        grouped = set(as_names("together", [name for party in parties for name in party]))
        for name in grouped - set(names):
            raise ValueError(f"together must hold names among players, got {name!r}")
        groups = parties + [[name] for name in names if name not in grouped]
        with self._storage.lock:
            rated = {name: self[name] for name in names}
        return fairest_teams(groups, rated, count, self.settings.beta)

    def _now(self) -> float:
        return as_number("clock()", self._clock())

    def _current(self, sigma: Any, seen: Any, now: float) -> Any:
        """Return deviations after the time since ``seen``; a clock that went back adds nothing."""
        drift = self.settings.drift_per_day
        if drift == 0.0:
            return sigma
        days = np.maximum(now - seen, 0.0) / 86_400.0
        return np.sqrt(sigma * sigma + drift * drift * days)

    def _record(self, name: Any, changed: Mapping[str, Player] | None = None) -> Player:
        """Return a player; of those in a change that goes on, as it has left them."""
        players, found = self._storage.players, None
        if isinstance(name, str):
            found = (changed or players).get(name) or players.get(name)
        if found is None:
            known = as_name("name", name)
            raise UnknownPlayerError(f"name must be of a player in the pool, got {known!r}")
        return found

    def _beliefs(self, players: Sequence[Player]) -> tuple[Floats, Floats]:
        """Return means and current deviations of players."""
        columns = map(attrgetter, ("mu", "sigma", "seen"))
        mu, sigma, seen = (np.fromiter(map(each, players), np.float64) for each in columns)
        return mu, self._current(sigma, seen, self._now())

    def _set_blocked(self, one: str, other: str, is_blocked: bool) -> None:
        with self._storage.lock:
            pair = {one: self._record(one), other: self._record(other)}
            if one == other:
                raise ValueError(f"other must be another player, got {other!r} twice")
            changed = {}
            for name, opponent in ((one, other), (other, one)):
                blocked = _without(opponent, pair[name].blocked) + (opponent,) * is_blocked
                changed[name] = pair[name]._replace(blocked=blocked)
            self._storage.write(changed)

    def _rated(self, game: Game, changed: Mapping[str, Player], now: float) -> dict[str, Player]:
        """Return the players of a game as they are after it."""
        listed = enumerate(sides_of("teams", game.teams))
        names = [as_names(f"teams[{i}]", side, 1) for i, side in listed]
        if len({*chain(*names)}) < sum(map(len, names)):
            as_names("teams", chain(*names))
        sides = [[self._record(name, changed) for name in side] for side in names]
        teams = [[(x.mu, float(self._current(x.sigma, x.seen, now))) for x in each]
                 for each in sides]  # fmt: skip
        rated: Any = self._system.rate(teams, game.ranks, game.weights)
        found = {}
        for side, ratings in zip(sides, rated, strict=True):
            met = (each.name for other in sides if other is not side for each in other)
            others = list(islice(met, self.settings.recent))
            for player, (mu, sigma) in zip(side, ratings, strict=True):
                # The last opponents, those of the last game first, nobody twice.
                recent = (*others, *(each for each in player.recent if each not in others))
                found[player.name] = player._replace(
                    mu=mu, sigma=sigma, seen=max(now, player.seen),
                    games_played=player.games_played + 1, recent=recent[: self.settings.recent],
                )  # fmt: skip
        return found


def _without(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(each for each in names if each != name)


def _rule_of(rule: Any, settings: PoolSettings) -> Rule:
    """Return a rule, as of ``Pool``, that chooses from means and deviations alone.

    A pool keeps no covariances: to policies of the full belief it shows the deviations of
    differences of independent skills. A policy that a text names looks ahead without drift.
    """
    policy = rule
    if rule is None or isinstance(rule, str):
        draws, beta = settings.draw_probability, settings.beta
        margin = float(draw_margin_from_probability(draws, beta, 2)) if draws > 0.0 else 0.0
        world = Settings.checked(beta=beta, draw_margin=margin, horizon=settings.games_left)
        policy = policy_named(rule or "drawchance", world)
    if getattr(policy, "needs_truth", False):
        raise ValueError(f"rule must not ask for true skills, which are unknown, got {rule!r}")
    acts = callable(getattr(policy, "act", None))
    if not acts and not getattr(policy, "is_shared", False):
        raise ValueError(
            "rule must be None, a text, a policy with act(knowledge_state, games_left), or a "
            f"learned policy that chooses among any number of opponents, got {rule!r}"
        )
    belief = getattr(policy, "belief", None) or DEFAULT_BELIEF

    @lru_cache(maxsize=64)  # a learned policy is made for each number of opponents
    def sized(opponents: int) -> Any:
        return policy.for_settings(replace(policy.settings, num_opponents=opponents, rank=None))

    def chosen(mu: Floats, sigma: Floats) -> int:
        state = KnowledgeState.of_prior(mu[None], sigma[None], belief)[0]
        if acts:
            action = policy.act(state, settings.games_left)
        else:
            action = sized(len(mu) - 1).predict(state.to_observation(1.0))[0]
        return as_integer("action", action, 0, len(mu) - 2)

    return chosen
