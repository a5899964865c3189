"""Compile beforehand what a first episode would wait for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import numpy as np

from matchenv.baselines.catalogue import POLICIES
from matchenv.baselines.point_estimate import PointEstimate
from matchenv.baselines.policy import Policy
from matchenv.baselines.queue import QUEUE_POLICIES, QueuePolicy, Reserved
from matchenv.belief import BELIEFS
from matchenv.envs.one_player.env import MatchmakingEnv
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.queue_rollout import queue_rollout
from matchenv.evaluation.rollout import TrueSkills, rollout
from matchenv.settings import Settings

# Two opponents would leave parts of KG's search without work.
SMALL = Settings(num_opponents=5, horizon=2)
# Enough players that the exact matching has work.
SMALL_QUEUE = QueueSettings(arrival_rate=20.0, horizon=2, capacity=4)


def warm_up(tell: Callable[[str], None] = lambda _: None) -> None:
    """Play every baseline for a moment, and draw a picture where that is possible.

    So all that needs it is compiled: games of one player on every belief, and the queue.

    What is compiled is kept for later processes, where there is a folder to keep it in.

    Args:
        tell: is told what comes next, a short text each time.
    """
    for belief in BELIEFS:
        for name, kind in POLICIES.items():
            tell(f"{name} on the {belief} belief")
            settings = replace(SMALL, belief=belief)
            rollout(_made(kind, belief), settings, range(2), np.random.default_rng(0))
    for name, rule in QUEUE_POLICIES.items():
        tell(f"{name} in the queue")
        queue_rollout(partial(_made_for_queue, rule), SMALL_QUEUE, range(2))
    if find_spec("pygame") is not None:
        tell("pictures")
        env = MatchmakingEnv(
            num_opponents=SMALL.num_opponents, horizon=SMALL.horizon, render_mode="rgb_array"
        )
        env.reset(seed=0)
        env.render()
        env.close()


def _made(kind: type[Policy], belief: str) -> Callable[[Settings, TrueSkills], Policy]:
    def make(settings: Settings, true_skill: TrueSkills) -> Policy:
        known: tuple[TrueSkills, ...] = (true_skill,) if kind.needs_truth else ()
        return kind(*known, belief=belief, horizon=settings.horizon)

    return make


def _made_for_queue(kind: type[QueuePolicy], settings: QueueSettings) -> QueuePolicy:
    del settings
    return Reserved(PointEstimate()) if issubclass(kind, Reserved) else kind()
