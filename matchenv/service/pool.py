"""A pool of named players: their ratings, and who should meet whom."""

from __future__ import annotations

import copy
import os
import threading
import time
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

import numpy as np

from matchenv.belief import DEFAULT_BELIEF
from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.one_player.settings import Settings
from matchenv.evaluation.registry import policy_named
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import as_integer, as_number, errors_named, refusal
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
from matchenv.service.storage import Storage, create_file
from matchenv.trueskill import Rating, TrueSkill, draw_margin_from_probability, match_quality
from matchenv.trueskill.teams import sides_of

# Means and deviations, shape (M + 1,), the player first, to an opponent in [0, M).
Rule = Callable[[Floats, Floats], int]


class Pool(Storage):
    """Named players, their ratings, and decisions about who meets whom.

    All methods are thread-safe. They raise ``UnknownPlayerError`` for a name that is not in the
    pool, and its base class ``ValueError`` for other bad arguments and for changes of a closed
    pool. A call that raises has changed nothing. Without ``open`` the pool is in memory only.

    Args:
        rule: chooses opponents: a one-player policy with ``act``, its name, for example ``"kg"``,
            or None for DrawChance with the pool's beta.
        clock: returns the time in seconds, for ``drift_per_day``.
        settings: attributes of ``PoolSettings``.

    Attributes:
        settings: settings of the pool.
        games: number of games rated since the pool was created.

    Raises:
        ValueError: for bad settings, or a rule that cannot choose from means and deviations.
    """

    def __init__(
        self, *, rule: Any = None, clock: Callable[[], float] = time.time, **settings: Any
    ) -> None:
        self._clock = clock
        self._connect(PoolSettings(**settings))
        self._use(rule)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        rule: Any = None,
        clock: Callable[[], float] = time.time,
        **settings: Any,
    ) -> Self:
        """Open the pool in a file, created if it does not exist; see the class for other arguments.

        A change is in the file once its method has returned, whatever happens to the process
        afterwards. A copy of the file made between two changes is a pool too; ``backup`` makes one
        at any time. An existing file has its own settings, which the given ones must equal.

        Raises:
            ValueError: for bad or conflicting settings, or a file that is not a pool, is damaged
                or is open in another process.
            OSError: if it cannot be read or written.
        """
        pool = cls(rule=rule, clock=clock, **settings)  # checks all before a file is created
        given = pool.settings
        create_file(Path(path), pool.backup())
        pool.close()
        pool._connect(given, Path(path))
        try:
            for name in settings:
                value, stored = getattr(given, name), getattr(pool.settings, name)
                if value != stored:
                    raise ValueError(f"{name} must be {stored!r} as in {path}, got {value!r}")
            pool._use(rule)
        except ValueError:
            pool.close()
            raise
        return pool

    def _use(self, rule: Any) -> None:
        # A rule may keep state. A slow one must not hold up ratings.
        self._rule, self._choosing = _rule_of(rule, self.settings), threading.Lock()
        shared = ("mu", "sigma", "beta", "tau", "draw_probability")
        self._system = TrueSkill(*(getattr(self.settings, name) for name in shared))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Pool of {len(self)} players, {self.settings}>"

    def __len__(self) -> int:
        return len(self._players)

    def __contains__(self, name: object) -> bool:
        return name in self._players

    def __getitem__(self, name: str) -> Rating:
        """Return the current belief about a player."""
        player = self.player(name)
        return Rating(player.mu, player.sigma)

    def player(self, name: str) -> Player:
        """Return a player, with the current deviation."""
        player = self._record(name)  # a single lookup needs no lock
        sigma = self._current(player.sigma, player.seen, self._now())
        return player._replace(sigma=float(sigma))

    def expose(self, player: str) -> float:
        """Return mu - k sigma with k = mu_0 / sigma_0 of a new player, whose value is 0."""
        return self._system.expose(self[player])

    def standings(self, limit: int | None = None) -> list[RankedPlayer]:
        """Return the players by ``expose``, highest first; ties by name.

        Args:
            limit: number of players from the top, >= 1; None for all.
        """
        most = None if limit is None else as_integer("limit", limit, 1)
        with self._lock:
            players = list(self._players.values())
        mu, sigma = self._beliefs(players)
        exposed = mu - self.settings.mu / self.settings.sigma * sigma
        rows = [
            RankedPlayer(player.name, player.mu, s, value, player.games_played)
            for player, s, value in zip(players, sigma.tolist(), exposed.tolist(), strict=True)
        ]
        return sorted(rows, key=lambda row: (-row.exposed, row.name))[:most]

    def add(
        self,
        name: str,
        mu: float | None = None,
        sigma: float | None = None,
        region: str | None = None,
    ) -> None:
        """Add a player; see ``NewPlayer`` for the arguments.

        Raises:
            PlayerExistsError: if the name is already in the pool.
            ValueError: for a bad name, number or region.
        """
        self.add_many([NewPlayer(name, mu, sigma, region)])

    def add_many(self, players: Iterable[NewPlayer | str]) -> None:
        """Add players, all or none.

        Args:
            players: ``NewPlayer`` objects or names.

        Raises:
            ValueError: see ``add``.
        """
        if isinstance(players, str | bytes) or not isinstance(players, Iterable):
            raise refusal("players must be a list of NewPlayer", players)
        new = [each if isinstance(each, NewPlayer) else NewPlayer(each) for each in players]
        as_names("name", [player.name for player in new])
        added: dict[str, Player | None] = {}
        with self._lock:
            now = self._now()
            for name, mu, sigma, place in new:
                if name in self:
                    raise PlayerExistsError(f"name must be new, {name!r} is in the pool")
                region = None if place is None else as_name("region", place)
                added[name] = Player(name, region, *self._system.create_rating(mu, sigma), now)
            self._write(added)

    def remove(self, name: str) -> None:
        """Remove a player and all blocks of this player."""
        with self._lock:
            changed: dict[str, Player | None] = {self._record(name).name: None}
            for player in self._players.values():
                if name in player.recent or name in player.blocked:
                    recent, blocked = _without(name, player.recent), _without(name, player.blocked)
                    changed[player.name] = player._replace(recent=recent, blocked=blocked)
            self._write(changed)

    def rate(self, games: Game | Iterable[Game]) -> None:
        """Rate the players of one or more games, in order; all games or none.

        The drift since a player's last game is added before the first of the games.

        Args:
            games: a ``Game``, or a list of at least one.
        """
        listed = [games] if isinstance(games, Game) else games
        listed = list(listed) if isinstance(listed, Iterable) else []
        if not listed or not all(isinstance(game, Game) for game in listed):
            raise refusal("games must be a Game or a list of Game objects", games)
        with self._lock:
            now, changed = self._now(), dict[str, Player]()
            for i, game in enumerate(listed):
                try:
                    changed |= self._rated(game, ChainMap(changed, self._players), now)
                except ValueError as error:
                    if len(listed) == 1:
                        raise
                    raise type(error)(f"games[{i}]: {error}") from None
            self._write(changed, games=len(listed))

    def block(self, one: str, other: str) -> None:
        """Keep two players from meeting."""
        self._set_blocked(one, other, True)

    def unblock(self, one: str, other: str) -> None:
        """Let two players meet again."""
        self._set_blocked(one, other, False)

    def propose(self, player: str, k: int = 1, among: Iterable[str] | None = None) -> list[Meeting]:
        """Return the best opponents of a player by the pool's rule, best first.

        The second is the rule's choice without the first, and so on. Players of another region,
        blocked players and the last ``recent`` opponents are excluded.

        Args:
            player: the player who asks.
            k: number of opponents, >= 1.
            among: allowed opponents, for example those online; None for the whole pool.

        Returns:
            At most k opponents, fewer if no others are allowed.
        """
        most, meetings, beta = as_integer("k", k, 1), list[Meeting](), self.settings.beta
        with self._lock:
            own = self._record(player)
            others: Iterable[Player] = self._players.values()
            if among is not None:
                others = [self._record(name) for name in as_names("among", among)]
                if own in others:
                    raise ValueError(f"among must not contain the player, got {player!r}")
            apart = {player, *own.recent, *own.blocked}
            left = [x for x in others if x.region == own.region and x.name not in apart]
        mu, sigma = self._beliefs([own, *left])
        with self._choosing:
            while left and len(meetings) < most:
                choice = self._rule(mu, sigma) + 1
                quality = match_quality(mu[0], sigma[0], mu[choice], sigma[choice], beta)
                meetings.append(Meeting(player, left.pop(choice - 1).name, float(quality)))
                mu, sigma = np.delete(mu, choice), np.delete(sigma, choice)
        return meetings

    def match(self, waiting: Iterable[str] | Mapping[str, float]) -> list[Meeting]:
        """Pair players so that the sum of match qualities, minus the required ones, is largest.

        Only players of one region are paired, at most nine places apart in the order of its waiting
        players' means. Blocked players and last opponents are excluded.

        Args:
            waiting: names, or a mapping from names to the match quality that each player requires;
                lower it with the waiting time. A pair requires the mean of both values.

        Returns:
            The pairs; all others keep waiting.
        """
        from matchenv.baselines.queue.matching import best_pairs
        from matchenv.belief import GameConstants

        names = as_names("waiting", waiting)
        required = np.zeros(len(names))
        if isinstance(waiting, Mapping):
            required[:] = [as_number(f"waiting[{name!r}]", waiting[name]) for name in names]
        with self._lock:
            records = [self._record(name) for name in names]
        mu, sigma = self._beliefs(records)
        beta, pairs = self.settings.beta, list[Meeting]()
        regions: dict[str | None, list[int]] = {}
        for i, record in enumerate(records):
            regions.setdefault(record.region, []).append(i)
        for here in regions.values():
            place = {names[i]: k for k, i in enumerate(here)}
            barred = [(k, place[other]) for k, i in enumerate(here)
                      for other in {*records[i].recent, *records[i].blocked} & place.keys()
                      ]  # fmt: skip
            partners = best_pairs(
                mu[here], sigma[here], required[here], 0.0, GameConstants(beta),
                barred=np.array(barred, dtype=np.int64).reshape(-1, 2),
            )  # fmt: skip
            for k, partner in enumerate(partners.tolist()):
                if partner > k:
                    i, j = here[k], here[partner]
                    quality = match_quality(mu[i], sigma[i], mu[j], sigma[j], beta)
                    pairs.append(Meeting(names[i], names[j], float(quality)))
        return pairs

    def split(
        self, players: Iterable[str], sides: int = 2, together: Sequence[Sequence[str]] = ()
    ) -> Split:
        """Split players into the teams of highest match quality, with sizes as equal as possible.

        Exact up to 12 players; a local search from many starts above.

        Args:
            players: names.
            sides: number of teams, >= 2.
            together: parties, each of which stays in one team.

        Raises:
            ValueError: also if the parties do not fit into the teams.
        """
        names = as_names("players", players, 2)
        count = as_integer("sides", sides, 2, len(names))
        listed = sides_of("together", together)
        parties = [as_names(f"together[{i}]", party, 1) for i, party in enumerate(listed)]
        grouped = set(as_names("together", [name for party in parties for name in party]))
        for name in grouped - set(names):
            raise ValueError(f"together must contain only players, got {name!r}")
        groups = parties + [[name] for name in names if name not in grouped]
        with self._lock:
            ratings = {name: self[name] for name in names}
        return fairest_teams(groups, ratings, count, self.settings.beta)

    def _now(self) -> float:
        return as_number("clock()", self._clock())

    def _current(self, sigma: Any, seen: Any, now: float) -> Any:
        """Return deviations with the drift since ``seen``; a clock set back adds none."""
        drift = self.settings.drift_per_day
        if drift == 0.0:
            return sigma
        days = np.maximum(now - seen, 0.0) / 86_400.0
        return np.sqrt(sigma * sigma + drift * drift * days)

    def _record(self, name: Any, players: Mapping[str, Player] | None = None) -> Player:
        """Return a player of the pool, or of ``players`` in its place."""
        players = self._players if players is None else players
        player = players.get(name) if isinstance(name, str) else None
        if player is None:
            raise UnknownPlayerError(f"{as_name('name', name)!r} is not in the pool")
        return player

    def _beliefs(self, players: Sequence[Player]) -> tuple[Floats, Floats]:
        """Return means and current deviations, shape (n,) each."""
        columns = map(attrgetter, ("mu", "sigma", "seen"))
        mu, sigma, seen = (np.fromiter(map(column, players), np.float64) for column in columns)
        return mu, self._current(sigma, seen, self._now())

    def _set_blocked(self, one: str, other: str, is_blocked: bool) -> None:
        with self._lock:
            pair = {one: self._record(one), other: self._record(other)}
            if one == other:
                raise ValueError(f"other must be another player, got {other!r} twice")
            changed = {}
            for name, opponent in ((one, other), (other, one)):
                blocked = _without(opponent, pair[name].blocked) + (opponent,) * is_blocked
                changed[name] = pair[name]._replace(blocked=blocked)
            self._write(changed)

    def _rated(self, game: Game, players: Mapping[str, Player], now: float) -> dict[str, Player]:
        """Return the players of a game after it, given all players before it."""
        sides = [
            [self._record(name, players) for name in as_names(f"teams[{i}]", side, 1)]
            for i, side in enumerate(sides_of("teams", game.teams))
        ]
        as_names("teams", [player.name for side in sides for player in side])
        if len(sides) < 2:
            raise refusal("teams must have at least two sides", game.teams)
        if game.ranks is None:  # the order of the sides elsewhere; here most likely a mistake
            raise ValueError("ranks must be one number per side, got None")
        teams = [[(x.mu, float(self._current(x.sigma, x.seen, now))) for x in side]
                 for side in sides]  # fmt: skip
        rated: Any = self._system.rate(teams, game.ranks, game.weights)
        after = {}
        for side, ratings in zip(sides, rated, strict=True):
            others = (opponent.name for other in sides if other is not side for opponent in other)
            met = list(islice(others, self.settings.recent))
            for player, (mu, sigma) in zip(side, ratings, strict=True):
                # Distinct opponents, most recent first.
                recent = tuple(dict.fromkeys((*met, *player.recent)))[: self.settings.recent]
                after[player.name] = player._replace(
                    mu=mu, sigma=sigma, seen=max(now, player.seen),
                    games_played=player.games_played + 1, recent=recent,
                )  # fmt: skip
        return after


def _without(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(each for each in names if each != name)


def _rule_of(rule: Any, settings: PoolSettings) -> Rule:
    """Return a pool's rule as a function of means and deviations.

    A pool stores no covariances, so policies on the full belief see independent skills. A named
    policy looks ahead without drift.
    """
    policy = rule
    if rule is None or isinstance(rule, str):
        draws, beta = settings.draw_probability, settings.beta
        margin = float(draw_margin_from_probability(draws, beta, 2)) if draws > 0.0 else 0.0
        world = Settings.checked(beta=beta, draw_margin=margin, horizon=settings.games_left)
        policy = policy_named(rule or "drawchance", world)
    if getattr(policy, "needs_truth", False):
        raise ValueError(f"rule must not need true skills, which are unknown, got {rule!r}")
    acts = callable(getattr(policy, "act", None))
    if not acts and not getattr(policy, "is_shared", False):  # see ``LearnedPolicy``
        kinds = "a policy with act(knowledge_state, games_left), or a learned policy"
        raise refusal(f"rule must be None, a name, {kinds} for any number of opponents", rule)
    belief = getattr(policy, "belief", None) or DEFAULT_BELIEF

    def choose(mu: Floats, sigma: Floats, policy: Any = policy) -> int:
        state = KnowledgeState.of_prior(mu[None], sigma[None], belief)[0]
        if acts:
            action = policy.act(state, settings.games_left)
        else:
            action = policy.for_opponents(len(mu) - 1).predict(state.to_observation(1.0))[0]
        return as_integer("action", action, 0, len(mu) - 2)

    if not type(policy).__module__.startswith("matchenv."):
        mu = settings.mu + settings.sigma * np.array([0.0, 1.0, -1.0])
        with errors_named(f"rule {rule!r} cannot choose one of two players"):
            choose(mu, np.full(3, settings.sigma), copy.deepcopy(policy))
    return choose
