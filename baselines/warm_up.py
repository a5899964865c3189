"""Compile in advance everything that the first episodes need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec

import numpy as np

from matchenv.baselines import PointEstimate
from matchenv.baselines.queue import Reserved
from matchenv.belief import BELIEFS
from matchenv.envs.one_player.env import MatchmakingEnv
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.registry import ONE_PLAYER, POLICIES, QUEUE, policy_class, policy_named
from matchenv.evaluation.rollout import rollout

SMALL = Settings(num_opponents=5, horizon=2)
# Enough players that the exact matching has work.
SMALL_QUEUE = QueueSettings(arrival_rate=20.0, horizon=2, capacity=4)


def warm_up(report: Callable[[str], None] = lambda _: None) -> None:
    """Play every baseline for two games, and draw a picture where pygame is installed.

    Numba keeps the compiled functions for later processes, where it has a folder to write to.

    Args:
        report: called with a short text before each part.
    """
    for belief in BELIEFS:
        for name in POLICIES[ONE_PLAYER]:
            report(f"{name} on the {belief} belief")
            settings = replace(SMALL, belief=belief)
            truth = np.zeros(SMALL.num_opponents + 1)
            policy = policy_named(f"{name}:belief={belief}", settings, lambda truth=truth: truth)  # type: ignore[misc]
            rollout(lambda *_, made=policy: made, settings, range(2), np.random.default_rng(0))
    for name in POLICIES[QUEUE]:
        rule = policy_class(name, QUEUE)
        report(f"{name} in the queue")
        made = Reserved(PointEstimate()) if issubclass(rule, Reserved) else rule()
        rollout(lambda *_, made=made: made, SMALL_QUEUE, range(2))
    if find_spec("pygame") is not None:
        report("pictures")
        env = MatchmakingEnv(
            num_opponents=SMALL.num_opponents, horizon=SMALL.horizon, render_mode="rgb_array"
        )
        env.reset(seed=0)
        env.render()
        env.close()
