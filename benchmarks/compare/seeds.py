"""Seeds of a comparison: functions of the episode or block alone, never of who computes it."""

from __future__ import annotations

import numpy as np

INSTANCES, LOTS, TAPES, TRUTHS = range(4)


def episode_seeds(seed: int, first: int, count: int) -> list[int]:
    """Seeds of the environments of episodes ``first`` to ``first + count - 1``.

    They are 64-bit numbers, so that two comparisons, or a comparison and a training run whose
    environments are seeded with small numbers, do not meet the same instances.

    Args:
        seed: the comparison's.
        first: number of the first episode.
        count: how many.
    """
    return [
        int(np.random.SeedSequence(seed, spawn_key=(INSTANCES, e)).generate_state(1, np.uint64)[0])
        for e in range(first, first + count)
    ]


def lots(seed: int, block: int, label: str) -> np.random.Generator:
    """The generator of a policy that draws lots, in one block of episodes.

    It depends on the policy's label, not on its place in the list, so that a policy has the
    same result whoever plays beside it.
    """
    return np.random.default_rng(
        np.random.SeedSequence(seed, spawn_key=(LOTS, block, *label.encode()))
    )


def generator_of(seed: int, purpose: int, episode: int) -> np.random.Generator:
    """A generator of one episode's own, apart from that of its instance.

    Args:
        seed: the comparison's.
        purpose: ``TAPES`` or ``TRUTHS``.
        episode: number of the episode.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purpose, episode)))
