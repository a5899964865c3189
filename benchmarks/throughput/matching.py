"""One tick of maximum-weight matching over all who wait, on one thread."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from matchenv.baselines.queue import KnowledgeMatching, MaximumWeightMatching
from matchenv.baselines.queue.matching import BAND, MOST_EXACT, best_pairs
from matchenv.benchmarks.throughput.timing import Contest, Measurement, seconds
from matchenv.envs.queue.settings import QueueSettings
from matchenv.envs.queue.view import NOBODY, WaitingPlayers
from matchenv.trueskill import match_quality

SECTION = "matching"
MANY, SOME, COMPARED = 10_000, 200, 600
TARGET_SECONDS, TARGET_MILLISECONDS, TARGET_LOSS = 1.0, 1.0, 1.0
NEWCOMERS = 0.2


def measure(turns: int) -> Iterator[Contest | Measurement]:
    """A tick with many and with some who wait, and what pairs of neighbours alone lose.

    Args:
        turns: queues of each size.
    """
    policy, kg = MaximumWeightMatching(), KnowledgeMatching()
    for name, rule in (("match quality", policy), ("match quality and KG", kg)):
        tick = f"a tick of matching by {name}"
        yield Measurement(
            SECTION, f"{tick}, {MANY:,} waiting", "seconds", _times(rule, MANY, turns),
            TARGET_SECONDS if rule is policy else None,
        )  # fmt: skip
        values = [1e3 * value / SOME for value in _times(rule, SOME, turns)]
        yield Measurement(
            SECTION, f"{tick}, {SOME} waiting", "milliseconds a player", values,
            TARGET_MILLISECONDS if rule is policy else None,
        )  # fmt: skip
    yield Measurement(
        SECTION,
        f"lost by pairing {BAND} neighbours alone, {COMPARED} waiting",
        "% of the exact value",
        [lost(turn) for turn in range(turns)],
        TARGET_LOSS,
    )


def many_waiting(count: int, seed: int) -> WaitingPlayers:
    """So many who wait, a fifth of them newcomers."""
    rng, settings = np.random.default_rng(seed), QueueSettings()
    population = settings.population
    rows = population.rows[np.zeros(count, dtype=np.int64)]
    new = rng.random(count) < NEWCOMERS
    regular = rows[:, 0] + rows[:, 1] * rng.standard_normal(count)
    mu = np.where(new, population.mean, regular)
    sigma = np.where(new, population.deviation, rows[:, 2])
    # A few games have been played, so that no two beliefs are equal.
    mu += 0.2 * rng.standard_normal(count)
    sigma *= rng.uniform(0.6, 1.0, count)
    return WaitingPlayers(
        mu=mu,
        sigma=sigma,
        waited=np.sort(rng.geometric(0.3, count))[::-1],
        player=np.arange(count),
        focal=0,
        candidates=np.full(settings.num_candidates, NOBODY),
        tick=seed,
        playing=0,
        settings=settings,
        true_skill=regular,
    )


def _times(policy: MaximumWeightMatching, count: int, turns: int) -> list[float]:
    queues = [many_waiting(count, seed) for seed in range(turns + 1)]
    policy.plan(queues.pop())
    return [seconds(lambda queue=queue: policy.plan(queue)) for queue in queues]  # type: ignore[misc]


def lost(seed: int) -> float:
    """Percent of the exact value that a matching of neighbours loses."""
    queue = many_waiting(COMPARED, seed)
    order = np.argsort(queue.mu)
    mu, sigma, waited = queue.mu[order], queue.sigma[order], queue.waited[order]
    policy = MaximumWeightMatching()
    asked = np.asarray(policy.reservation - policy.fall * waited, dtype=np.float64)
    values = []
    for most_exact in (COMPARED, MOST_EXACT):
        partners = best_pairs(
            mu, sigma, asked, 0.0, queue.settings.constants, most_exact=most_exact
        )
        first = np.flatnonzero(partners > np.arange(COMPARED))
        second = partners[first]
        quality = match_quality(
            mu[first], sigma[first], mu[second], sigma[second], queue.settings.beta
        )
        values.append(float((quality - 0.5 * (asked[first] + asked[second])).sum()))
    return 100.0 * (1.0 - values[1] / values[0])
