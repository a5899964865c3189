"""Random operations on a pool in a file against a plain model of it."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest

from matchenv.service import Game, NewPlayer, Pool, PoolSettings, RankedPlayer
from matchenv.trueskill import draw_density, rate

NAMES = [f"p{i}" for i in range(9)]
KEPT = PoolSettings(mu=30.0, sigma=4.0, recent=2, drift_per_day=0.4)
DAY = 86_400.0


class Model:
    """A pool as dicts of plain things."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.blocked: set[frozenset[str]] = set()
        self.games = 0
        self.now = 0.0

    def sigma(self, name: str) -> float:
        row = self.rows[name]
        days = max(0.0, self.now - row["seen"]) / DAY
        return math.sqrt(row["sigma"] * row["sigma"] + KEPT.drift_per_day**2 * days)

    def rate(self, game: Game) -> None:
        rated = rate(
            [[(self.rows[name]["mu"], self.sigma(name)) for name in side] for side in game.teams],
            game.ranks, beta=KEPT.beta, tau=KEPT.tau, draw_probability=KEPT.draw_probability,
        )  # fmt: skip
        for side, ratings in zip(game.teams, rated, strict=True):
            others = [name for other in game.teams if other is not side for name in other]
            for name, (mu, sigma) in zip(side, ratings, strict=True):
                row = self.rows[name]
                seen = max(self.now, row["seen"])
                row.update(mu=mu, sigma=sigma, seen=seen, played=row["played"] + 1)
                row["recent"] = (others + [n for n in row["recent"] if n not in others])[:2]
        self.games += 1

    def allowed(self, name: str) -> set[str]:
        row = self.rows[name]
        return {
            other
            for other, theirs in self.rows.items()
            if other != name
            and theirs["region"] == row["region"]
            and frozenset((name, other)) not in self.blocked
            and other not in row["recent"]
        }


class Both:
    """A pool in a file and the model: every operation is done on both, and they agree."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng, self.model, self.file = random.Random(seed), Model(), folder / "pool.db"
        self.pool = self.opened()

    def opened(self) -> Pool:
        pool = Pool.open(self.file, clock=lambda: self.model.now, **vars(KEPT))
        # Syncing to the disk is the work of another test.
        pool._storage._database.execute("PRAGMA synchronous=OFF")
        return pool

    def add(self) -> None:
        rng, name = self.rng, self.rng.choice(NAMES)
        if name in self.model.rows:
            return
        new = NewPlayer(name, rng.uniform(0, 50), rng.uniform(0.1, 9), rng.choice((None, "eu")))
        self.pool.add(*new)
        self.model.rows[name] = {"mu": new.mu, "sigma": new.sigma, "region": new.region,
                                 "seen": self.model.now, "played": 0, "recent": []}  # fmt: skip

    def remove(self) -> None:
        name = self.rng.choice(NAMES)
        if name not in self.model.rows:
            return
        self.pool.remove(name)
        del self.model.rows[name]
        self.model.blocked = {pair for pair in self.model.blocked if name not in pair}
        for row in self.model.rows.values():
            row["recent"] = [other for other in row["recent"] if other != name]

    def play(self) -> None:
        present, rng = sorted(self.model.rows), self.rng
        if len(present) < 2:
            return
        games = []
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            chosen = rng.sample(present, rng.choice((2, 2, min(4, len(present)), len(present))))
            cut = rng.randint(1, len(chosen) - 1)
            games.append(Game([chosen[:cut], chosen[cut:]], [rng.randint(0, 1), rng.randint(0, 1)]))
        self.pool.rate(games)
        for game in games:
            self.model.rate(game)

    def block(self) -> None:
        one, other = self.rng.choice(NAMES), self.rng.choice(NAMES)
        on = self.rng.random() < 0.4
        call = self.pool.block if on else self.pool.unblock
        if one == other or not {one, other} <= set(self.model.rows):
            return
        call(one, other)
        pair = {frozenset((one, other))}
        self.model.blocked = self.model.blocked | pair if on else self.model.blocked - pair

    def wait(self) -> None:
        """A clock may also go back, which takes nothing away."""
        self.model.now += self.rng.choice((0.0, -1.0, self.rng.uniform(0, 30))) * DAY

    def open_again(self) -> None:
        if self.rng.random() < 0.5:
            self.pool.close()
        else:  # as after a kill
            self.pool._storage.close()
        self.pool = self.opened()
        self.agree()

    def propose(self) -> None:
        name, k = self.rng.choice(NAMES), self.rng.randint(1, 4)
        if name not in self.model.rows:
            return
        row, allowed = self.model.rows[name], self.model.allowed(name)
        density = {
            other: draw_density(row["mu"], self.model.sigma(name), self.model.rows[other]["mu"],
                                self.model.sigma(other), KEPT.beta)
            for other in allowed
        }  # fmt: skip
        found = [each.opponent for each in self.pool.propose(name, k)]
        assert len(found) == min(k, len(allowed))
        for opponent in found:
            assert density[opponent] == max(density.values())
            del density[opponent]
        online = self.pool.propose(name, 9, among=sorted(allowed)[:1])
        assert [each.opponent for each in online] == sorted(allowed)[:1]

    def match(self) -> None:
        pairs = self.pool.match(list(self.model.rows))
        met = [name for pair in pairs for name in pair[:2]]
        assert len(met) == len(set(met))
        for one, other, _ in pairs:
            assert other in self.model.allowed(one)
            assert one in self.model.allowed(other)

    def agree(self) -> None:
        expected = []
        for name, row in self.model.rows.items():
            found, sigma = self.pool.player(name), self.model.sigma(name)
            assert (found.recent, found.region) == (tuple(row["recent"]), row["region"])
            exposed = row["mu"] - 30.0 / 4.0 * sigma  # 0 of a newcomer
            assert self.pool.expose(name) == pytest.approx(exposed, rel=1e-13, abs=1e-12)
            expected.append(RankedPlayer(name, row["mu"], sigma, exposed, row["played"]))
        expected.sort(key=lambda line: (-line.exposed, line.name))
        standings = self.pool.standings()
        assert [line.name for line in standings] == [line.name for line in expected]
        for line, other in zip(standings, expected, strict=True):
            assert line[1:] == pytest.approx(other[1:], rel=1e-13, abs=1e-12)
        assert self.pool.standings(2) == standings[:2]
        assert (len(self.pool), self.pool.games) == (len(self.model.rows), self.model.games)


# What is done, and how often.
OPERATIONS = {Both.add: 20, Both.remove: 6, Both.play: 30, Both.block: 10, Both.wait: 10,
              Both.open_again: 1, Both.propose: 20, Both.match: 4}  # fmt: skip


@pytest.mark.parametrize(
    ("seed", "operations", "check_every"),
    [(0, 700, 5), pytest.param(1, 200_000, 25, marks=pytest.mark.slow)],
)
def test_random_operations(tmp_path: Path, seed: int, operations: int, check_every: int) -> None:
    both = Both(tmp_path, seed)
    chosen = both.rng.choices(list(OPERATIONS), list(OPERATIONS.values()), k=operations)
    for number, operation in enumerate(chosen):
        operation(both)
        if number % check_every == 0:
            both.agree()
    both.open_again()
    both.pool.close()
