"""Decisions of a service with many players: proposals, pairs, loading, standings."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from matchenv.benchmarks.throughput.timing import (
    Contest,
    Measurement,
    Side,
    contest,
    processor_seconds,
    seconds,
)
from matchenv.service import Game, NewPlayer, Pool

SECTION = "service"
PLAYERS, WAITING = 100_000, 1000
# For each rule: proposals in a turn, and what the 99th percentile is to stay below.
RULES = {"drawchance": (1000, 1.0), "kg": (100, 60.0)}
MATCH_MILLISECONDS, READ_SECONDS = 100.0, 0.3
DRIFT_PER_DAY = 0.01


def measure(turns: int) -> Iterator[Contest | Measurement]:
    """Times in a pool of many players whose beliefs widen with time.

    Args:
        turns: repetitions of each.
    """
    rng = np.random.default_rng(0)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "pool.db"
        fill(file, rng)
        for rule, (proposals, target) in RULES.items():
            with Pool.open(file, rule=rule) as pool:
                values = [slowest(pool, rng, proposals) for _ in range(turns + 1)][1:]
                ratio = contest(
                    SECTION,
                    f"proposals by {rule}, {PLAYERS:,} players",
                    "proposals/s",
                    *(_proposals(pool, proposals // 10), _bare_choices(pool, proposals // 10)),
                    turns=turns,
                )
            name = f"99th percentile of a proposal by {rule}, {PLAYERS:,} players, processor time"
            yield Measurement(SECTION, name, "milliseconds", values, target)
            yield ratio
        loads = [seconds(lambda: Pool.open(file).close()) for _ in range(turns + 1)]
        name = f"loading {PLAYERS:,} players"
        yield Measurement(SECTION, name, "seconds", loads[1:], READ_SECONDS)
        with Pool.open(file) as pool:
            values = [1e3 * match_seconds(pool, rng) for _ in range(turns + 1)][1:]
            name = f"pairs of {WAITING:,} who wait"
            yield Measurement(SECTION, name, "milliseconds", values, MATCH_MILLISECONDS)
            values = [processor_seconds(pool.standings) for _ in range(turns + 1)][1:]
            name = f"standings of {PLAYERS:,} players"
            yield Measurement(SECTION, name, "seconds", values, READ_SECONDS)
            values = [1e3 * seconds(lambda: pool.rate(game(rng))) for _ in range(turns + 1)][1:]
            name = "a game rated and safe in the file"
            yield Measurement(SECTION, name, "milliseconds", values)


def fill(file: Path, rng: np.random.Generator) -> None:
    """Write a pool of many players, most of them well known."""
    mu = rng.normal(25.0, 25.0 / 3.0, PLAYERS).tolist()
    sigma = rng.uniform(0.8, 25.0 / 3.0, PLAYERS).tolist()
    with Pool.open(file, drift_per_day=DRIFT_PER_DAY) as pool:
        pool.add_many(map(NewPlayer, map(name_of, range(PLAYERS)), mu, sigma))


def name_of(number: int) -> str:
    """The name of a player."""
    return f"player {number}"


def slowest(pool: Pool, rng: np.random.Generator, proposals: int) -> float:
    """The 99th percentile of the times of proposals, in milliseconds of the thread's own time.

    On a machine that others use, a clock's percentile is that of waiting for a core.
    """
    times = []
    for number in rng.integers(PLAYERS, size=proposals).tolist():
        start = time.thread_time()
        pool.propose(name_of(number))
        times.append(time.thread_time() - start)
    return float(1e3 * np.quantile(times, 0.99))


def _proposals(pool: Pool, count: int) -> Side:
    def work() -> None:
        for number in range(count):
            pool.propose(name_of(number))

    return "Pool.propose", work, count


def _bare_choices(pool: Pool, count: int) -> Side:
    """The highest draw density by NumPy, over arrays that are ready, for scale."""
    mu, sigma, *_ = (column.copy() for column in pool._players.columns)
    noise = 2.0 * pool.settings.beta**2

    def work() -> None:
        for number in range(count):
            variance = sigma * sigma + (sigma[number] ** 2 + noise)
            gap = mu - mu[number]
            np.argmax(np.exp(-0.5 * gap * gap / variance) / np.sqrt(variance))

    return "draw densities of all by NumPy", work, count


def match_seconds(pool: Pool, rng: np.random.Generator) -> float:
    """The time of one matching of those who wait."""
    waiting = rng.choice(PLAYERS, WAITING, replace=False)
    names = [name_of(number) for number in waiting.tolist()]
    return processor_seconds(lambda: pool.match(names))


def game(rng: np.random.Generator) -> Game:
    """A game of two players."""
    one, other = rng.choice(PLAYERS, 2, replace=False).tolist()
    return Game([[name_of(one)], [name_of(other)]], [1, 2])
