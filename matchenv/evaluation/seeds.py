"""Random streams: the seed of every instance, game and policy.

A seed is a function of what it is for, never of who computes it or of what is played beside it.
The streams of different purposes never meet:

- Seeds below 2^64 are those that people type, and those of the episodes of comparisons and
  studies: 64 random bits each, spawned from the seed that was typed.
- From 2^64 on are the seeds of training environments.
- From 2^65 on are those of evaluations during a training.
"""

from __future__ import annotations

import numpy as np

# First number of a spawn key in a comparison, in a bound and in an optimum.
INSTANCES, POLICIES, OUTCOMES, TRUTHS = range(4)
# First number of a spawn key of the queue (then REPORT or TUNING, then INSTANCES or POLICIES), of
# the benchmark (then INSTANCES or POLICIES, then the family), and of environments without a number
# of their own (then as of the queue).
QUEUE, BENCH, OTHERS = 4, 5, 6
# First number of a spawn key in a study: what it is for. Second: number of the prior. Third:
REPORT, TUNING = range(2)
STUDY_PRIOR, STUDY_EPISODES, STUDY_POLICIES = range(3)

TRAINING, EVALUATION = 2**64, 2**65
# Room for this many environments behind the first of a training.
ENVIRONMENTS = 2**20


def stream_of(seed: int, *key: int) -> np.random.Generator:
    """Return the generator of one random stream.

    Args:
        seed: as the user typed it, >= 0.
        key: purpose of the stream, as numbers.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def policy_key(label: str) -> tuple[int, ...]:
    """Return what a policy adds to the key of its stream: its label, and not its place in a list.

    So its results do not depend on the other policies.
    """
    return tuple(label.encode())


def episode_seeds(
    seed: int, first: int, count: int, key: tuple[int, ...] = (INSTANCES,)
) -> list[int]:
    """Return the seeds of the environments of episodes ``first`` to ``first + count - 1``.

    Args:
        seed: as the user typed it.
        first: number of the first episode.
        count: how many.
        key: purpose of the episodes; the default is a comparison's.
    """
    return [
        int(np.random.SeedSequence(seed, spawn_key=(*key, episode)).generate_state(1, np.uint64)[0])
        for episode in range(first, first + count)
    ]


def spans_of(episodes: int, size: int) -> list[tuple[int, int]]:
    """Return first episode and number of episodes of each block; the last may be smaller."""
    return [(first, min(size, episodes - first)) for first in range(0, episodes, size)]


def training_seed(seed: int) -> int:
    """Return the seed of a run's first training environment; environment i has it plus i."""
    return TRAINING + _environments_of(seed)


def evaluation_seed(seed: int) -> int:
    """Return the seed of a run's first held-out environment, the same for all evaluations."""
    return EVALUATION + _environments_of(seed)


def _environments_of(seed: int) -> int:
    return int(np.random.SeedSequence(seed).generate_state(1)[0]) * ENVIRONMENTS
