"""The one loop that plays a policy through runs of the queue, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.utils.seeding import np_random
from numpy.typing import NDArray

from matchenv.evaluation.queue_measures import SUMS, Tally
from matchenv.evaluation.rollout import one_thread
from matchenv.queue.queues import Queues, slots_in_line
from matchenv.queue.settings import QUEUE_REWARDS, QueueSettings
from matchenv.queue.shown import ShownPlayers
from matchenv.queue.state import ABANDONED, FOCAL, NONE, OVER, PHASE, QUEUED, TICK, Batch
from matchenv.queue.waiting import NOBODY
from matchenv.runtime.compile import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Makes a policy for runs with these settings.
QueuePolicyMaker = Callable[[QueueSettings], Any]

# Visits are summed up after so many choices of every run, so that they do not fill the memory.
CHOICES_BETWEEN = 1000


class QueueDecisions:
    """A policy that is asked in many queues, with a clock.

    A policy with ``choose_many`` is asked about all queues at once, from what is shown; one with
    ``plan`` once in a tick of each queue; one with ``choose`` about each queue; any other through
    the ``predict`` of sb3-contrib's MaskablePPO, from observations.

    Args:
        policy: who chooses.
        queues: where.
        rng: for stochastic policies.

    Attributes:
        count: choices that were timed: all but the first, which may compile or load.
        seconds: what they took.
    """

    def __init__(self, policy: Any, queues: Queues, rng: np.random.Generator) -> None:
        self.count, self.seconds = 0, 0.0
        self._policy, self._queues, self._rng = policy, queues, rng
        self._planned_tick = np.full(queues.count, -1, dtype=np.int64)
        self._partner = np.full((queues.count, 0), NONE, dtype=np.int64)
        self._first = True
        for method in ("choose_many", "plan", "choose", "predict"):
            if callable(getattr(policy, method, None)):
                self._ask = getattr(self, f"_{method}")
                break
        else:
            raise ValueError(f"policy must have a method choose or predict, {policy!r} has none")

    def of(self, idle: NDArray[np.bool_]) -> Integers:
        """A choice for each queue that is not idle, shape (B,)."""
        start = time.perf_counter()
        actions: Integers = self._ask(idle)
        if not self._first:
            self.seconds += time.perf_counter() - start
            self.count += int((~idle).sum())
        self._first = False
        return actions

    def _choose_many(self, idle: NDArray[np.bool_]) -> Integers:
        shown = ShownPlayers.of_batch(self._queues.batch, self._queues.settings)
        chosen: Integers = self._policy.choose_many(shown, self._rng)
        return chosen

    def _plan(self, idle: NDArray[np.bool_]) -> Integers:
        batch = self._queues.batch
        if self._partner.shape[1] < batch.room:
            wider = np.full((self._queues.count, batch.room), NONE, dtype=np.int64)
            wider[:, : self._partner.shape[1]] = self._partner
            self._partner = wider
        ticks = batch.numbers[:, TICK]
        for row in np.flatnonzero((ticks != self._planned_tick) & ~idle).tolist():
            partners = self._policy.plan(self._queues.waiting_players(row))
            slots = slots_in_line(batch, row)
            self._partner[row, slots] = np.where(partners == NOBODY, NONE, slots[partners])
            self._planned_tick[row] = ticks[row]
        return _answers(batch, self._partner, idle)

    def _choose(self, idle: NDArray[np.bool_]) -> Integers:
        actions = np.zeros(idle.size, dtype=np.int64)
        for row in np.flatnonzero(~idle).tolist():
            waiting = self._queues.waiting_players(row)
            actions[row] = self._policy.choose(waiting, self._rng)
        return actions

    def _predict(self, idle: NDArray[np.bool_]) -> Integers:
        batch = self._queues.batch
        actions, _ = self._policy.predict(
            batch.observation.copy(), action_masks=batch.mask.copy(), deterministic=True
        )
        return np.asarray(actions).astype(np.int64)


@compiled
def _answers(batch: Batch, partner: Integers, idle: NDArray[np.bool_]) -> Integers:
    """What the plans say of each focal player; who is paired with no candidate waits."""
    actions = np.zeros(idle.size, dtype=np.int64)
    for row in range(idle.size):
        if idle[row]:
            continue
        planned = partner[row, batch.numbers[row, FOCAL]]
        if planned == NONE:
            continue
        for place in range(batch.candidates.shape[1]):
            if batch.candidates[row, place] == planned:
                actions[row] = place + 1
                break
    return actions


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
    queues = Queues(settings, len(seeds))
    queues.keep_visits()
    queues.begin(np.arange(len(seeds)), [np_random(seed)[0] for seed in seeds])
    decisions = QueueDecisions(
        make(settings), queues, np.random.default_rng() if rng is None else rng
    )
    reward, tally = np.zeros(len(seeds)), Tally(settings, len(seeds))
    idle = queues.batch.numbers[:, PHASE] == OVER
    steps = 0
    with one_thread():
        while not idle.all():
            actions = np.where(idle, 0, decisions.of(idle))
            _check_allowed(actions, queues.batch.mask, idle)
            paid, over = queues.step(actions, idle)
            reward += paid
            idle |= over
            steps += 1
            if steps % CHOICES_BETWEEN == 0:
                tally.add(queues.taken_visits())
    tally.add(queues.taken_visits())
    numbers = queues.batch.numbers
    believed, true = (tally.sums[:, 0, SUMS.index(name)] for name in QUEUE_REWARDS)
    costs = reward - (believed if settings.reward == QUEUE_REWARDS[0] else true)
    return QueueRollout(
        reward=costs + believed,
        true_reward=costs + true,
        queued=numbers[:, QUEUED].astype(np.float64),
        abandoned=numbers[:, ABANDONED].astype(np.float64),
        tally=tally,
        decisions=decisions.count,
        seconds=decisions.seconds,
    )


def _check_allowed(actions: Integers, mask: NDArray[np.bool_], idle: NDArray[np.bool_]) -> None:
    rows = np.flatnonzero(~idle)
    chosen = actions[rows]
    inside = (chosen >= 0) & (chosen < mask.shape[1])
    good = inside & mask[rows, np.where(inside, chosen, 0)]
    if not good.all():
        wrong = int(chosen[~good][0])
        raise ValueError(f"the policy must choose actions that the mask allows, got {wrong}")
