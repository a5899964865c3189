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
KEPT = PoolSettings(mu=30.0, sigma=4.0, recent=2, drift_per_day=0.4)
DAY = 86_400.0


class PoolAndModel:
    """A pool in a file and a model of plain dicts; operations apply to both."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng, self.file = random.Random(seed), folder / "pool.db"
        self.rows: dict[str, dict[str, Any]] = {}
        self.blocked: set[frozenset[str]] = set()
        self.games, self.now = 0, 0.0
        self.pool = self.opened()

    def opened(self) -> Pool:
        pool = Pool.open(self.file, clock=lambda: self.now, **vars(KEPT))
        # Another test covers syncing.
        pool._database.execute("PRAGMA synchronous=OFF")
        return pool

    def sigma(self, name: str) -> float:
        row = self.rows[name]
        days = max(0.0, self.now - row["seen"]) / DAY
        return math.sqrt(row["sigma"] * row["sigma"] + KEPT.drift_per_day**2 * days)

    def allowed(self, name: str) -> set[str]:
        row = self.rows[name]
        return {
            other
            for other, theirs in self.rows.items()
            if other not in (name, *row["recent"])
            and theirs["region"] == row["region"]
            and frozenset((name, other)) not in self.blocked
        }

    def add(self) -> None:
        rng, name = self.rng, self.rng.choice(NAMES)
        if name not in self.rows:
            new = {"mu": rng.uniform(0, 50), "sigma": rng.uniform(0.1, 9),
                   "region": rng.choice((None, "eu"))}  # fmt: skip
            self.pool.add(name, **new)
            self.rows[name] = {**new, "seen": self.now, "played": 0, "recent": []}

    def remove(self) -> None:
        name = self.rng.choice(NAMES)
        if self.rows.pop(name, None):
            self.pool.remove(name)
            self.blocked = {pair for pair in self.blocked if name not in pair}
            for row in self.rows.values():
                row["recent"] = [other for other in row["recent"] if other != name]

    def play(self) -> None:
        present, rng, games = sorted(self.rows), self.rng, []
        for _ in range(rng.choice((1, 1, 1, 2, 3)) if len(present) > 1 else 0):
            chosen = rng.sample(present, rng.choice((2, 2, min(4, len(present)), len(present))))
            cut = rng.randint(1, len(chosen) - 1)
            games.append(Game([chosen[:cut], chosen[cut:]], [rng.randint(0, 1), rng.randint(0, 1)]))
        if games:
            self.pool.rate(games)
        for game in games:
            teams = [[(self.rows[name]["mu"], self.sigma(name)) for name in side]
                     for side in game.teams]  # fmt: skip
            rated = rate(teams, game.ranks, beta=KEPT.beta, tau=KEPT.tau,
                         draw_probability=KEPT.draw_probability)  # fmt: skip
            for side, others, ratings in zip(game.teams, game.teams[::-1], rated, strict=True):
                for name, (mu, sigma) in zip(side, ratings, strict=True):
                    row = self.rows[name]
                    recent = [*others, *(n for n in row["recent"] if n not in others)][:2]
                    row.update(mu=mu, sigma=sigma, seen=max(self.now, row["seen"]),
                               played=row["played"] + 1, recent=recent)  # fmt: skip
            self.games += 1

    def block(self) -> None:
        one, other = self.rng.choice(NAMES), self.rng.choice(NAMES)
        if one != other and {one, other} <= set(self.rows):
            pair = {frozenset((one, other))}
            if self.rng.random() < 0.4:
                self.pool.block(one, other)
                self.blocked |= pair
            else:
                self.pool.unblock(one, other)
                self.blocked -= pair

    def wait(self) -> None:
        """Advance the clock, or set it back."""
        self.now += self.rng.choice((0.0, -1.0, self.rng.uniform(0, 30))) * DAY

    def reopen(self) -> None:
        self.pool.close()
        self.pool = self.opened()
        self.agree()

    def propose(self) -> None:
        name, k = self.rng.choice(NAMES), self.rng.randint(1, 4)
        if name in self.rows:
            mu, sigma, allowed = self.rows[name]["mu"], self.sigma(name), self.allowed(name)
            density = {other: draw_density(mu, sigma, self.rows[other]["mu"], self.sigma(other),
                                           KEPT.beta) for other in allowed}  # fmt: skip
            found = [each.opponent for each in self.pool.propose(name, k)]
            assert len(found) == min(k, len(allowed))
            for opponent in found:
                assert density[opponent] == max(density.values())
                del density[opponent]
            online = self.pool.propose(name, 9, among=sorted(allowed)[:1])
            assert [each.opponent for each in online] == sorted(allowed)[:1]

    def match(self) -> None:
        pairs = self.pool.match(list(self.rows))
        met = [name for pair in pairs for name in pair[:2]]
        assert len(met) == len(set(met))
        for one, other, _ in pairs:
            assert other in self.allowed(one)
            assert one in self.allowed(other)

    def agree(self) -> None:
        expected = []
        for name, row in self.rows.items():
            found, sigma = self.pool.player(name), self.sigma(name)
            assert (found.recent, found.region) == (tuple(row["recent"]), row["region"])
            exposed = row["mu"] - 30.0 / 4.0 * sigma  # 0 for a new player
            assert self.pool.expose(name) == pytest.approx(exposed, rel=1e-13, abs=1e-12)
            expected.append(RankedPlayer(name, row["mu"], sigma, exposed, row["played"]))
        expected.sort(key=lambda line: (-line.exposed, line.name))
        standings = self.pool.standings()
        assert [line.name for line in standings] == [line.name for line in expected]
        for line, other in zip(standings, expected, strict=True):
            assert line[1:] == pytest.approx(other[1:], rel=1e-13, abs=1e-12)
        assert self.pool.standings(2) == standings[:2]
        assert (len(self.pool), self.pool.games) == (len(self.rows), self.games)


# Relative frequencies.
OPERATIONS = {"add": 20, "remove": 6, "play": 30, "block": 10, "wait": 10, "reopen": 1,
              "propose": 20, "match": 4}  # fmt: skip


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
