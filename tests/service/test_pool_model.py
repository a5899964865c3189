"""Random operations on a pool in a file against a plain model of it."""

from __future__ import annotations

import math
import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from matchenv.ratings.leaderboard import RankedPlayer
from matchenv.service import Game, Pool, UnknownPlayerError
from matchenv.service import PoolSettings
from matchenv.trueskill import draw_density, rate

NAMES = [f"p{i}" for i in range(9)]
RECENT, DRIFT, DAY = 2, 0.4, 86_400.0


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
        return math.sqrt(row["sigma"] * row["sigma"] + DRIFT * DRIFT * days)

    def rate(self, teams: list[list[str]], ranks: list[int]) -> None:
        kept = PoolSettings()
        rated = rate(
            [[(self.rows[name]["mu"], self.sigma(name)) for name in side] for side in teams],
            ranks, beta=kept.beta, tau=kept.tau, draw_probability=kept.draw_probability,
        )  # fmt: skip
        for side, ratings in zip(teams, rated, strict=True):
            others = [name for other in teams if other is not side for name in other]
            for name, (mu, sigma) in zip(side, ratings, strict=True):
                row = self.rows[name]
                row.update(mu=mu, sigma=sigma, seen=self.now, played=row["played"] + 1)
                row["recent"] = (others + [n for n in row["recent"] if n not in others])[:RECENT]
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
    """A pool in a file and the model: every operation is done on both, and what they say agrees."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.file = Path(self.folder.name) / "pool.db"
        self.model = Model()
        self.pool = Pool.open(self.file, clock=self.clock, recent=RECENT, drift_per_day=DRIFT)
        self._leave_syncing()

    def _leave_syncing(self) -> None:
        # Syncing to the disk is the work of another test.
        self.pool._storage._database.execute("PRAGMA synchronous=OFF")  # type: ignore[union-attr]

    def clock(self) -> float:
        return self.model.now

    def end(self) -> None:
        self.pool.close()
        self.folder.cleanup()

    def add(self, name: str, mu: float, sigma: float, region: str | None) -> None:
        if name in self.model.rows:
            with pytest.raises(ValueError, match="new"):
                self.pool.add(name, mu, sigma, region)
            return
        self.pool.add(name, mu, sigma, region)
        self.model.rows[name] = {
            "mu": mu, "sigma": sigma, "region": region, "seen": self.model.now, "played": 0,
            "recent": [],
        }  # fmt: skip

    def remove(self, name: str) -> None:
        if name not in self.model.rows:
            with pytest.raises(UnknownPlayerError):
                self.pool.remove(name)
            return
        self.pool.remove(name)
        del self.model.rows[name]
        self.model.blocked = {pair for pair in self.model.blocked if name not in pair}
        for row in self.model.rows.values():
            row["recent"] = [other for other in row["recent"] if other != name]

    def play(self, played: list[Game], broken: bool) -> None:
        if broken:
            spoilt = [*played, Game([[played[0].teams[0][0]], ["nobody"]], [0, 1])]
            with pytest.raises(UnknownPlayerError):
                self.pool.rate(spoilt)
        self.pool.rate(played)
        for game in played:
            self.model.rate(*game[:2])  # type: ignore[arg-type]

    def block(self, one: str, other: str, on: bool) -> None:
        call = self.pool.block if on else self.pool.unblock
        if one == other or not {one, other} <= set(self.model.rows):
            with pytest.raises(ValueError, match="must be"):
                call(one, other)
            return
        call(one, other)
        pair = {frozenset((one, other))}
        self.model.blocked = self.model.blocked | pair if on else self.model.blocked - pair

    def wait(self, days: float) -> None:
        self.model.now += days * DAY

    def open_again(self, close: bool) -> None:
        if close:
            self.pool.close()
        else:  # as after a kill: no snapshot
            self.pool._storage.close()  # type: ignore[union-attr]
        self.pool = Pool.open(self.file, clock=self.clock)
        self._leave_syncing()

    def propose(self, name: str, k: int) -> None:
        if name not in self.model.rows:
            with pytest.raises(UnknownPlayerError):
                self.pool.propose(name, k)
            return
        beta, row = PoolSettings().beta, self.model.rows[name]
        allowed = self.model.allowed(name)
        found = [each.opponent for each in self.pool.propose(name, k)]
        assert len(found) == len(set(found)) == min(k, len(allowed))
        density = {
            other: draw_density(
                row["mu"], self.model.sigma(name), self.model.rows[other]["mu"],
                self.model.sigma(other), beta,
            )
            for other in allowed
        }  # fmt: skip
        for opponent in found:
            assert density[opponent] == max(density[other] for other in allowed)
            allowed.remove(opponent)

    def match(self) -> None:
        pairs = self.pool.match(list(self.model.rows))
        met = [name for pair in pairs for name in pair[:2]]
        assert len(met) == len(set(met))
        for one, other, _ in pairs:
            assert other in self.model.allowed(one)
            assert one in self.model.allowed(other)

    def agree_on_counts(self) -> None:
        assert len(self.pool) == len(self.model.rows)
        assert self.pool.games == self.model.games

    def agree(self) -> None:
        self.agree_on_counts()
        expected = []
        for name, row in self.model.rows.items():
            found = self.pool.player(name)
            assert found.recent == tuple(row["recent"])
            assert found.region == row["region"]
            sigma = self.model.sigma(name)
            exposed = row["mu"] - 25.0 / (25.0 / 3.0) * sigma
            expected.append(RankedPlayer(name, row["mu"], sigma, exposed, row["played"]))
        expected.sort(key=lambda line: (-line.exposed, line.name))
        assert self.pool.standings() == expected


def random_play(both: Both, rng: random.Random) -> None:
    present = sorted(both.model.rows)
    if len(present) < 2:
        return
    played = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        chosen = rng.sample(present, rng.choice((2, 2, min(4, len(present)), len(present))))
        cut = rng.randint(1, len(chosen) - 1)
        ranks = [rng.randint(0, 1), rng.randint(0, 1)]
        played.append(Game([chosen[:cut], chosen[cut:]], ranks))
    both.play(played, rng.random() < 0.1)


# What is done, and how often.
OPERATIONS: dict[str, tuple[float, Callable[[Both, random.Random], None]]] = {
    "add": (
        20.0,
        lambda both, rng: both.add(
            rng.choice(NAMES), rng.uniform(0, 50), rng.uniform(0.1, 9), rng.choice((None, "eu"))
        ),
    ),
    "remove": (6.0, lambda both, rng: both.remove(rng.choice(NAMES))),
    "play": (30.0, random_play),
    "block": (
        10.0,
        lambda both, rng: both.block(rng.choice(NAMES), rng.choice(NAMES), rng.random() < 0.4),
    ),
    "wait": (10.0, lambda both, rng: both.wait(rng.choice((0.0, rng.uniform(0, 30))))),
    "open again": (1.0, lambda both, rng: both.open_again(rng.random() < 0.5)),
    "propose": (20.0, lambda both, rng: both.propose(rng.choice(NAMES), rng.randint(1, 4))),
    "match": (4.0, lambda both, _: both.match()),
}


def run_at_random(operations: int, seed: int, check_every: int) -> None:
    """So many operations on one pool; what fails is named with its number and its seed."""
    rng, both = random.Random(seed), Both()
    weights = [weight for weight, _ in OPERATIONS.values()]
    chosen = rng.choices(list(OPERATIONS), weights, k=operations)
    try:
        for number, name in enumerate(chosen):
            try:
                OPERATIONS[name][1](both, rng)
                both.agree_on_counts()
                if number % check_every == 0 or name == "open again":
                    both.agree()
            except BaseException as error:
                error.add_note(f"operation {number}, {name}, seed {seed}")
                raise
        both.open_again(close=False)
        both.agree()
    finally:
        both.end()


@pytest.mark.parametrize("seed", range(4))
def test_hundreds_of_operations(seed: int) -> None:
    run_at_random(500, seed, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_million_operations(seed: int) -> None:
    """A quarter each, so that several workers share them."""
    run_at_random(int(os.environ.get("POOL_OPERATIONS", "250000")), 100 + seed, 25)
