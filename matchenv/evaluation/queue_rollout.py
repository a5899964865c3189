"""The one loop that plays a policy through runs of the queue, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.utils.seeding import np_random
from numpy.typing import NDArray

from matchenv.envs.queue.settings import QUEUE_REWARDS, QueueSettings
from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.envs.queue.state import OVER, State
from matchenv.evaluation.queue_measures import SUMS, Tally
from matchenv.evaluation.rollout import one_thread
from matchenv.runtime.random import drawn_key

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Makes a policy for runs with these settings.
QueuePolicyMaker = Callable[[QueueSettings], Any]

# Visits are summed up after so many choices of every run, so that they do not fill the memory.
CHOICES_BETWEEN = 1000


class QueueDecisions:
    """A policy that is asked in many queues, with a clock.

    A policy with ``act`` is asked about all queues at once, from the simulator's view; one with
    ``choose`` about each queue; any other through the ``predict`` of sb3-contrib's MaskablePPO,
    from observations.

    Args:
        policy: who chooses.
        simulator: of the queues.
        rng: for stochastic policies.

    Attributes:
        count: choices that were timed: all but the first, which may compile or load.
        seconds: what they took.
    """

    def __init__(self, policy: Any, simulator: QueueSimulator, rng: np.random.Generator) -> None:
        self.count, self.seconds = 0, 0.0
        self._policy, self._simulator, self._rng = policy, simulator, rng
        self._first = True
        for method in ("act", "choose", "predict"):
            if callable(getattr(policy, method, None)):
                self._ask = getattr(self, f"_{method}")
                break
        else:
            raise ValueError(
                f"policy must have a method act, choose or predict, {policy!r} has none"
            )

    def of(self, state: State, idle: NDArray[np.bool_]) -> Integers:
        """Return a choice for each queue that is not idle, shape (B,)."""
        start = time.perf_counter()
        actions: Integers = self._ask(state, idle)
        if not self._first:
            self.seconds += time.perf_counter() - start
            self.count += int((~idle).sum())
        self._first = False
        return actions

    def _act(self, state: State, idle: NDArray[np.bool_]) -> Integers:
        chosen: Integers = self._policy.act(*self._simulator.view(state), rng=self._rng)
        return chosen

    def _choose(self, state: State, idle: NDArray[np.bool_]) -> Integers:
        actions = np.zeros(idle.size, dtype=np.int64)
        for row in np.flatnonzero(~idle).tolist():
            waiting = self._simulator.waiting_players(state, row)
            actions[row] = self._policy.choose(waiting, self._rng)
        return actions

    def _predict(self, state: State, idle: NDArray[np.bool_]) -> Integers:
        actions, _ = self._policy.predict(
            state.observation.copy(), action_masks=state.mask.copy(), deterministic=True
        )
        return np.asarray(actions).astype(np.int64)


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
    simulator = QueueSimulator(settings, keep_visits=True)
    keys = np.array([drawn_key(np_random(seed)[0]) for seed in seeds])
    state = simulator.begin(simulator.new_state(len(seeds)), np.arange(len(seeds)), keys)
    decisions = QueueDecisions(
        make(settings), simulator, np.random.default_rng() if rng is None else rng
    )
    reward, tally = np.zeros(len(seeds)), Tally(settings, len(seeds))
    idle = state.queue["phase"] == OVER
    steps = 0
    with one_thread():
        while not idle.all():
            actions = np.where(idle, 0, decisions.of(state, idle))
            _check_allowed(actions, state.mask, idle)
            state, paid, _, over = simulator.step(state, actions, ~idle)
            reward += paid
            idle |= over
            steps += 1
            if steps % CHOICES_BETWEEN == 0:
                tally.add(simulator.taken_visits(state))
    tally.add(simulator.taken_visits(state))
    believed, true = (tally.sums[:, 0, SUMS.index(name)] for name in QUEUE_REWARDS)
    costs = reward - (believed if settings.reward == QUEUE_REWARDS[0] else true)
    return QueueRollout(
        reward=costs + believed,
        true_reward=costs + true,
        queued=state.queue["queued"].astype(np.float64),
        abandoned=state.queue["abandoned"].astype(np.float64),
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
