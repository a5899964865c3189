"""The queue: choices a second of many environments on one core, with the cheapest policies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import matchenv
from matchenv.benchmarks.throughput.timing import Contest, Measurement, Side, contest, seconds

SECTION = "queue"
NUM_ENVS = 256
CAPACITY = 32
STEPS = 400

# Nanoseconds of a choice in which 500,000 of them take a second.
TARGET = 2000.0


def measure(turns: int) -> Iterator[Contest | Measurement]:
    """What a choice costs, and the queue beside its sibling of as many opponents.

    Args:
        turns: repetitions.
    """
    name = f"{NUM_ENVS} environments of capacity {CAPACITY}"
    for label, often in (("any choice that is allowed", 1.0), ("a game in one of four", 0.25)):
        _, work, choices = queue_side(often)
        work()
        each = [1e9 * seconds(work) / choices for _ in range(turns)]
        yield Measurement(SECTION, f"{name}, {label}", "ns a choice", each, target=TARGET)
    yield contest(
        SECTION, f"{name}, Matchmaking-v0", "choices/s", queue_side(1.0), sibling_side(),
        turns=turns,
    )  # fmt: skip


def queue_side(often: float) -> Side:
    """Queues in their middle load.

    Args:
        often: probability to take one of the candidates, all alike, or to wait.
    """
    env = matchenv.MatchmakingQueueVectorEnv(NUM_ENVS, capacity=CAPACITY)
    env.reset(seed=0)
    shares = np.random.default_rng(0).random((STEPS, NUM_ENVS)) / often

    def turn() -> None:
        for row in shares:
            masks = env.action_masks()
            allowed = masks.sum(axis=1)
            env.step(np.where(row < 1.0, row * allowed, 0.0).astype(np.int64))

    turn()
    return "MatchmakingQueue-v0", turn, float(STEPS * NUM_ENVS)


def sibling_side() -> Side:
    """The sibling with as many opponents as the queue has candidates."""
    env = matchenv.MatchmakingVectorEnv(NUM_ENVS, num_opponents=CAPACITY - 1)
    env.reset(seed=0)
    actions = np.random.default_rng(0).integers(0, CAPACITY - 1, (STEPS, NUM_ENVS))

    def turn() -> None:
        for row in actions:
            env.step(row)

    turn()
    return "Matchmaking-v0", turn, float(STEPS * NUM_ENVS)
