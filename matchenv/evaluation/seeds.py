"""Random streams: the seed of every instance, luck and policy.

A seed depends on its purpose, never on the worker or on the other policies. Streams of different
purposes never overlap:

- Seeds below 2^64 are those that users type, and those of the episodes of comparisons and studies,
  64 random bits spawned from the typed seed.
- Seeds from 2^64 are those of training environments.
- Seeds from 2^65 are those of evaluations during a training.
"""

from __future__ import annotations

import numpy as np

# First number of a spawn key in a comparison, a bound and an optimum.
INSTANCES, POLICIES, OUTCOMES, TRUTHS = range(4)
# First number of a spawn key of the queue (then REPORT or TUNING, then INSTANCES or POLICIES), of
# the benchmark (then INSTANCES or POLICIES, then the family), and of environments without a number
# of their own (then as for the queue).
QUEUE_RUNS = 4
BENCH = 5
OTHERS = 6
# First number of a spawn key in a study, its purpose. The second is the index of the prior, the
# third one of:
REPORT, TUNING = range(2)
STUDY_PRIOR, STUDY_EPISODES, STUDY_POLICIES = range(3)

TRAINING = 2**64
EVALUATION = 2**65
# Maximum number of environments of a training.
ENVIRONMENTS = 2**20


def stream_of(seed: int, *key: int) -> np.random.Generator:
    """Return the generator of a random stream.

    Args:
        seed: the user's seed, >= 0.
        key: purpose of the stream.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def policy_key(label: str) -> tuple[int, ...]:
    """Return what a policy adds to the key of its stream: its label, not its place in a list.

    Its results therefore do not depend on the other policies.
    """
    return tuple(label.encode())


def episode_seeds(
    seed: int, first: int, count: int, key: tuple[int, ...] = (INSTANCES,)
) -> list[int]:
    """Return the seeds of ``count`` episodes.

    Args:
        seed: the user's seed.
        first: index of the first episode.
        count: number of episodes.
        key: purpose of the episodes; by default a comparison.
    """
    seeds = []
    for episode in range(first, first + count):
        sequence = np.random.SeedSequence(seed, spawn_key=(*key, episode))
        seeds.append(int(sequence.generate_state(1, np.uint64)[0]))
    return seeds


def spans_of(episodes: int, size: int) -> list[tuple[int, int]]:
    """Return index of the first episode and number of episodes of each block."""
    return [(first, min(size, episodes - first)) for first in range(0, episodes, size)]


def training_seed(seed: int) -> int:
    """Return the seed of a run's first training environment; add i for environment i."""
    return TRAINING + int(np.random.SeedSequence(seed).generate_state(1)[0]) * ENVIRONMENTS


def evaluation_seed(seed: int) -> int:
    """Return the seed of a run's first held-out episode, the same in all evaluations."""
    return EVALUATION - TRAINING + training_seed(seed)
