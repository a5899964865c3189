"""Sums over runs of the queue that a policy plays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.queue.settings import QueueSettings
from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.evaluation.queue_measures import SUMS, Tally
from matchenv.evaluation.rollout import Batch, Decisions, steps

Floats = NDArray[np.float64]

# Makes a policy for runs with these settings.
QueuePolicyMaker = Callable[[QueueSettings], Any]

# Visits are summed up after so many choices of every run, so that they do not fill the memory.
CHOICES_BETWEEN = 1000


@dataclass(frozen=True)
class QueueRollout:
    """What a policy made of B runs.

    Attributes:
        reward: summed match qualities of both players by the belief, less the costs, shape (B,).
        true_reward: the same with the true match qualities.
        queued: times that somebody joined the queue, shape (B,).
        abandoned: players who gave up, shape (B,).
        tally: sums over all visits to the queue that ended.
        decisions: choices that were timed.
        seconds: what they took.
    """

    reward: Floats
    true_reward: Floats
    queued: Floats
    abandoned: Floats
    tally: Tally
    decisions: int
    seconds: float


def queue_rollout(
    make: QueuePolicyMaker,
    settings: QueueSettings,
    seeds: Sequence[int],
    rng: np.random.Generator | None = None,
) -> QueueRollout:
    """Play a policy through a batch of runs.

    Every policy meets the same players at the same times, with the same patience, and the n-th
    game of a run has the same noise: all are functions of the seed and of what they are for.

    Args:
        make: makes the policy.
        settings: of the runs.
        seeds: one for each run.
        rng: for a stochastic policy.

    Raises:
        ValueError: for a choice that is not allowed.
    """
    simulator = QueueSimulator(replace(settings, reward="match_quality"), keep_visits=True)
    batch = Batch(simulator, seeds)
    decisions = Decisions(make(settings), np.random.default_rng() if rng is None else rng)
    reward, tally = np.zeros(len(seeds)), Tally(settings, len(seeds))
    for count, (step,) in enumerate(steps(decisions, [batch]), start=1):
        reward += step.reward
        if count % CHOICES_BETWEEN == 0:
            tally.add(simulator.taken_visits(batch.state))
    tally.add(simulator.taken_visits(batch.state))
    believed, true = (
        tally.sums[:, 0, SUMS.index(name)] for name in ("match_quality", "true_match_quality")
    )
    costs = reward - believed
    facts = simulator.facts(batch.state)
    return QueueRollout(
        reward=costs + believed,
        true_reward=costs + true,
        queued=facts["queued"].astype(np.float64),
        abandoned=facts["abandoned"].astype(np.float64),
        tally=tally,
        decisions=decisions.count,
        seconds=decisions.seconds,
    )
