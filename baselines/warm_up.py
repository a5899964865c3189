"""Compile in advance what the first episodes need."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from matchenv.belief import BELIEFS
from matchenv.envs.core.settings import Options
from matchenv.envs.one_player.env import MatchmakingEnv
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.queue.settings import QueueSettings
from matchenv.envs.ranking import RankingSettings
from matchenv.evaluation.registry import RESERVATION, baselines_of, policy_named
from matchenv.evaluation.rollout import rollout

# The arrival rate is high enough for the matching to run.
SMALL: list[Options] = [Settings(num_opponents=5, horizon=2, belief=name) for name in BELIEFS]
SMALL += [QueueSettings(arrival_rate=20.0, horizon=2, capacity=4), RankingSettings(num_items=5)]


def warm_up(report: Callable[[str], None] = lambda _: None) -> None:
    """Play a few games with every baseline, and draw a picture if pygame is installed.

    Numba caches the compiled functions for later processes if it can write to a folder.

    Args:
        report: called with a short text before each part.
    """
    for settings in SMALL:
        for name in baselines_of(settings.env_id):
            text = name
            if name == RESERVATION:
                text += ":policy=pe"
            if isinstance(settings, Settings):
                text += f":belief={settings.belief}"
            report(f"{text} in {settings.env_id}")
            policy = policy_named(text, settings)
            rollout(policy, settings, range(2), np.random.default_rng(0))
    if find_spec("pygame") is not None:
        report("pictures")
        env = MatchmakingEnv(num_opponents=5, horizon=2, render_mode="rgb_array")
        env.reset(seed=0)
        env.render()
        env.close()
