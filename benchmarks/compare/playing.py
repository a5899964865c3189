"""One policy through one block of episodes: a pure function of its job."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from matchenv import MatchmakingVectorEnv
from matchenv.baselines import Policy
from matchenv.benchmarks.compare.cells import Cell
from matchenv.benchmarks.compare.contestants import Contestant, Predicting, belief_of, policy_of
from matchenv.benchmarks.compare.seeds import episode_seeds, lots
from matchenv.settings import Settings

Floats = NDArray[np.float64]

# What is kept of each episode.
MEASURES = (
    "draw_density",
    "true_draw_density",
    "squared_error",
    "skill_difference",
    "win_ratio",
)

# Episodes that are played side by side. Lots are drawn for a block, so its size is part of
# the result; it must not follow the number of workers.
LARGEST_BLOCK = 100
LARGEST_BLOCK_PLAYERS = 1_000_000


@dataclass(frozen=True)
class Job:
    """A block of episodes for one policy in one cell.

    Attributes:
        contestant: who plays.
        cell: where.
        settings: of the environment, but for the cell's rank and prior.
        seed: the comparison's.
        block: number of the block.
        first: number of its first episode.
        count: episodes in it.
    """

    contestant: Contestant
    cell: Cell
    settings: Settings
    seed: int
    block: int
    first: int
    count: int


@dataclass(frozen=True)
class Played:
    """What a job gave.

    Attributes:
        measures: shape (5, count), rows as ``MEASURES``.
        decisions: choices that were timed.
        seconds: what they took.
    """

    measures: Floats
    decisions: int
    seconds: float


def block_size(settings: Settings) -> int:
    """Episodes in a block: fewer where their players would fill the memory."""
    return max(1, min(LARGEST_BLOCK, LARGEST_BLOCK_PLAYERS // settings.num_players))


def play(job: Job) -> Played:
    """Play the episodes of a job.

    Every policy meets the same instances and the same performance noise: they come from
    seeds of the episodes, and a game's noise does not depend on the opponent chosen.

    Returns:
        For each episode the sums of the draw density under the belief and of the true one,
        the squared error of the belief about player 0 after the last game, the mean
        difference of true skills (player 0 less opponent), and the share of games won, a
        draw counting half.
    """
    policy = policy_of(job.contestant, job.settings, lambda: env.true_skill)
    env = environment(job, belief_of(policy))
    observation, _ = env.reset(seed=[*episode_seeds(job.seed, job.first, job.count)])
    chooser = Chooser(policy, env, lots(job.seed, job.block, job.contestant.label))
    sums = np.zeros((len(MEASURES), job.count))
    with one_thread():
        for _ in range(job.settings.horizon):
            observation, _, _, _, info = env.step(chooser.choose(observation))
            sums[0] += info["draw_density"]
            sums[1] += info["true_draw_density"]
            sums[3] += info["skill_difference"]
            sums[4] += 0.5 * (1.0 + info["outcome"])
    sums[2] = (env.knowledge_state.mu[:, 0] - env.true_skill[:, 0]) ** 2
    sums[3:] /= job.settings.horizon
    return Played(sums, chooser.decisions, chooser.seconds)


def environment(job: Job, belief: str) -> MatchmakingVectorEnv:
    """The environment of a job, one copy for each episode.

    The belief is the policy's own; instances, noise and true skills do not depend on it.
    """
    settings, cell = job.settings, job.cell
    return MatchmakingVectorEnv(
        job.count,
        num_opponents=settings.num_opponents,
        horizon=settings.horizon,
        beta=settings.beta,
        draw_margin=settings.draw_margin,
        tau=settings.tau,
        rank_by=settings.rank_by,
        equal_variance=settings.equal_variance,
        rank=cell.rank,
        prior=cell.prior,
        belief=belief,
        autoreset_mode=AutoresetMode.DISABLED,
    )


class Chooser:
    """A policy at work in an environment, with a clock.

    Args:
        policy: who chooses.
        env: where.
        rng: for a baseline that draws lots.

    Attributes:
        decisions: choices that were timed: all but the first, which may compile or load.
        seconds: what they took.
    """

    def __init__(
        self, policy: Policy | Predicting, env: MatchmakingVectorEnv, rng: np.random.Generator
    ) -> None:
        self.decisions = 0
        self.seconds = 0.0
        self._policy = policy
        self._env = env
        self._rng = rng
        self._memory: Any = None
        self._first = True

    def choose(self, observation: NDArray[np.float32]) -> NDArray[np.int64]:
        """Actions for all episodes, shape (count,)."""
        policy = self._policy
        if isinstance(policy, Policy):
            state, left = self._env.knowledge_state, self._env.games_left
            start = time.perf_counter()
            actions = policy.act(state, left, self._rng)
        else:
            starts = np.full(len(observation), self._first)
            start = time.perf_counter()
            actions, self._memory = policy.predict(observation, self._memory, starts)
        if not self._first:
            self.seconds += time.perf_counter() - start
            self.decisions += len(observation)
        self._first = False
        return np.asarray(actions)


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep a network to one thread: with more, its last digits depend on their number.

    Only where a policy has loaded torch; nothing here imports it.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
