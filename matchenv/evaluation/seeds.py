"""Random streams: which seed every instance, game and policy has.

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

# First number of a spawn key of the queue. Second: REPORT or TUNING. Third: INSTANCES or POLICIES.
QUEUE = 4

# First number of a spawn key of the benchmark. Second: INSTANCES or POLICIES. Third: the family.
BENCH = 5

# First number of a spawn key of environments without a number of their own. Second and third as
# of the queue.
OTHERS = 6

# First number of a spawn key in a study: what it is for. Second: number of the prior. Third:
REPORT, TUNING = range(2)
STUDY_PRIOR, STUDY_EPISODES, STUDY_POLICIES = range(3)

TRAINING = 2**64
EVALUATION = 2**65
# Room for this many environments behind the first of a training.
ENVIRONMENTS = 2**20


def sequence_of(seed: int, *key: int) -> np.random.SeedSequence:
    """The source of one random stream.

    Args:
        seed: what the user typed, >= 0.
        key: what the stream is for, as numbers.
    """
    return np.random.SeedSequence(seed, spawn_key=key)


def stream_of(seed: int, *key: int) -> np.random.Generator:
    """The generator of one random stream; arguments as ``sequence_of``."""
    return np.random.default_rng(sequence_of(seed, *key))


def policy_key(label: str) -> tuple[int, ...]:
    """What a policy adds to the key of its stream: its label.

    Its place in a list does not count, so that its results do not depend on the other policies.
    """
    return tuple(label.encode())


def episode_seeds(
    seed: int, first: int, count: int, key: tuple[int, ...] = (INSTANCES,)
) -> list[int]:
    """Seeds of the environments of episodes ``first`` to ``first + count - 1``.

    Args:
        seed: what the user typed.
        first: number of the first episode.
        count: how many.
        key: what the episodes are for; the default is a comparison's.
    """
    return [
        int(sequence_of(seed, *key, episode).generate_state(1, np.uint64)[0])
        for episode in range(first, first + count)
    ]


def spans_of(episodes: int, size: int) -> list[tuple[int, int]]:
    """First episode and number of episodes of each block; the last block may be smaller."""
    return [(first, min(size, episodes - first)) for first in range(0, episodes, size)]


def training_seed(seed: int) -> int:
    """The seed of the first training environment of a run; environment i has it plus i.

    Args:
        seed: the run's seed, >= 0.
    """
    return TRAINING + _environments_of(seed)


def evaluation_seed(seed: int) -> int:
    """The seed of the first held-out environment of a run, the same for all its evaluations.

    Args:
        seed: the run's seed, >= 0.
    """
    return EVALUATION + _environments_of(seed)


def _environments_of(seed: int) -> int:
    return int(np.random.SeedSequence(seed).generate_state(1)[0]) * ENVIRONMENTS
