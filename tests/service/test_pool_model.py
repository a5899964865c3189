"""Random operations on a pool in a file, compared with a plain model."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest

from matchenv.service import Game, Pool, PoolSettings, RankedPlayer
from matchenv.trueskill import draw_density, rate

NAMES = [f"p{i}" for i in range(9)]
SETTINGS = PoolSettings(mu=30.0, sigma=4.0, recent=2, drift_per_day=0.4)
DAY = 86_400.0


class PoolAndModel:
    """A pool in a file and a model of plain dicts; operations apply to both."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng = random.Random(seed)
        self.file = folder / "pool.db"
        self.rows: dict[str, dict[str, Any]] = {}
        self.blocked: set[frozenset[str]] = set()
        self.games = 0
        self.now = 0.0
        self.game_with_id: Game | None = None
        self.pool = self.opened()

    def opened(self) -> Pool:
        pool = Pool.open(self.file, clock=lambda: self.now, **vars(SETTINGS))
        # Another test covers syncing.
        pool._storage._database.execute("PRAGMA synchronous=OFF")
        return pool

    def sigma(self, name: str) -> float:
        """Return the present deviation; the prior of a player without games does not drift."""
        row = self.rows[name]
        days = 0.0
        if row["seen"] is not None:
            days = max(0.0, self.now - row["seen"]) / DAY
        return math.sqrt(row["sigma"] * row["sigma"] + SETTINGS.drift_per_day**2 * days)

    def allowed(self, name: str) -> set[str]:
        """Return the players whom a player may meet."""
        row = self.rows[name]
        allowed = set()
        for other, other_row in self.rows.items():
            is_excluded = other == name or other in row["recent"]
            is_blocked = frozenset((name, other)) in self.blocked
            if other_row["region"] == row["region"] and not is_excluded and not is_blocked:
                allowed.add(other)
        return allowed

    def add(self) -> None:
        name = self.rng.choice(NAMES)
        if name in self.rows:
            return
        row: dict[str, Any] = {"mu": SETTINGS.mu, "sigma": SETTINGS.sigma, "seen": None}
        row["region"] = self.rng.choice((None, "eu"))
        if self.rng.random() < 0.3:
            self.pool.add(name, region=row["region"])
            assert self.pool.expose(name) == 0.0
        else:
            row["mu"] = self.rng.uniform(0, 50)
            row["sigma"] = self.rng.uniform(0.1, 9)
            row["seen"] = self.now
            self.pool.add(name, row["mu"], row["sigma"], row["region"])
        self.rows[name] = {**row, "played": 0, "recent": []}

    def remove(self) -> None:
        name = self.rng.choice(NAMES)
        if name not in self.rows:
            return
        del self.rows[name]
        self.pool.remove(name)
        self.blocked = {pair for pair in self.blocked if name not in pair}
        for row in self.rows.values():
            row["recent"] = [other for other in row["recent"] if other != name]

    def play(self) -> None:
        present = sorted(self.rows)
        if len(present) < 2:
            return
        games = []
        for _ in range(self.rng.choice((1, 1, 1, 2, 3))):
            size = self.rng.choice((2, 2, min(4, len(present)), len(present)))
            players = self.rng.sample(present, size)
            cut = self.rng.randint(1, size - 1)
            ranks = [self.rng.randint(0, 1), self.rng.randint(0, 1)]
            games.append(Game([players[:cut], players[cut:]], ranks))
        self.game_with_id = games[-1]._replace(id=f"game {self.games}")
        games[-1] = self.game_with_id
        self.pool.rate(games)
        for game in games:
            self.rate(game)

    def rate(self, game: Game) -> None:
        """Rate a game in the model."""
        teams = []
        for side in game.teams:
            teams.append([(self.rows[name]["mu"], self.sigma(name)) for name in side])
        rated = rate(
            teams,
            game.ranks,
            beta=SETTINGS.beta,
            tau=SETTINGS.tau,
            draw_probability=SETTINGS.draw_probability,
        )
        opponents_of = (game.teams[1], game.teams[0])
        for side, opponents, ratings in zip(game.teams, opponents_of, rated, strict=True):
            for name, (mu, sigma) in zip(side, ratings, strict=True):
                row = self.rows[name]
                earlier = [other for other in row["recent"] if other not in opponents]
                row["mu"] = mu
                row["sigma"] = sigma
                row["recent"] = [*opponents, *earlier][:2]
                row["played"] += 1
                if row["seen"] is None or row["seen"] < self.now:
                    row["seen"] = self.now
        self.games += 1

    def repeat(self) -> None:
        """Repeat the last game with an id, whose players may have gone."""
        if self.game_with_id is not None:
            self.pool.rate(self.game_with_id)

    def block(self) -> None:
        one = self.rng.choice(NAMES)
        other = self.rng.choice(NAMES)
        if one == other or not {one, other} <= set(self.rows):
            return
        if self.rng.random() < 0.4:
            self.pool.block(one, other)
            self.blocked.add(frozenset((one, other)))
        else:
            self.pool.unblock(one, other)
            self.blocked.discard(frozenset((one, other)))

    def wait(self) -> None:
        """Advance the clock, or set it back."""
        self.now += self.rng.choice((0.0, -1.0, self.rng.uniform(0, 30))) * DAY

    def reopen(self) -> None:
        self.pool.close()
        self.pool = self.opened()
        self.agree()

    def propose(self) -> None:
        name = self.rng.choice(NAMES)
        k = self.rng.randint(1, 4)
        if name not in self.rows:
            return
        mu = self.rows[name]["mu"]
        sigma = self.sigma(name)
        allowed = self.allowed(name)
        density = {}
        for other in allowed:
            other_mu = self.rows[other]["mu"]
            density[other] = draw_density(mu, sigma, other_mu, self.sigma(other), SETTINGS.beta)
        opponents = [meeting.opponent for meeting in self.pool.propose(name, k)]
        assert len(opponents) == min(k, len(allowed))
        for opponent in opponents:
            assert density[opponent] == max(density.values())
            del density[opponent]
        online = sorted(allowed)[:1]
        meetings = self.pool.propose(name, 9, among=online)
        assert [meeting.opponent for meeting in meetings] == online

    def match(self) -> None:
        paired = []
        for player, opponent, _ in self.pool.match(list(self.rows)):
            paired += [player, opponent]
            assert opponent in self.allowed(player)
            assert player in self.allowed(opponent)
        assert len(paired) == len(set(paired))

    def agree(self) -> None:
        expected = []
        for name, row in self.rows.items():
            sigma = self.sigma(name)
            exposed = row["mu"] - 30.0 / 4.0 * sigma  # 0 for a new player
            expected.append(RankedPlayer(name, row["mu"], sigma, exposed, row["played"]))
            player = self.pool.player(name)
            assert (player.recent, player.region) == (tuple(row["recent"]), row["region"])
            assert self.pool.expose(name) == pytest.approx(exposed, rel=1e-13, abs=1e-12)
        expected.sort(key=lambda ranked: (-ranked.exposed, ranked.name))
        standings = self.pool.standings()
        for ranked, other in zip(standings, expected, strict=True):
            assert ranked.name == other.name
            assert ranked[1:] == pytest.approx(other[1:], rel=1e-13, abs=1e-12)
        assert self.pool.standings(2) == standings[:2]
        assert (len(self.pool), self.pool.games) == (len(self.rows), self.games)


# Relative frequencies.
OPERATIONS = {
    "add": 20,
    "remove": 6,
    "play": 30,
    "repeat": 3,
    "block": 10,
    "wait": 10,
    "reopen": 1,
    "propose": 20,
    "match": 4,
}


@pytest.mark.parametrize(
    ("seed", "operations", "check_every"),
    [(0, 700, 5), pytest.param(1, 200_000, 25, marks=pytest.mark.slow)],
)
def test_random_operations(tmp_path: Path, seed: int, operations: int, check_every: int) -> None:
    both = PoolAndModel(tmp_path, seed)
    chosen = both.rng.choices(list(OPERATIONS), list(OPERATIONS.values()), k=operations)
    for number, operation in enumerate(chosen):
        getattr(both, operation)()
        if number % check_every == 0:
            both.agree()
    both.reopen()
    both.pool.close()
