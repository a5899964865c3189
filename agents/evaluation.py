"""Whole episodes of one policy on given seeds: how a training is watched; without torch."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from matchenv import MatchmakingVectorEnv
from matchenv.validation import as_integer


class Predictor(Protocol):
    """Anything with stable-baselines3's ``predict``."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[NDArray[Any], Any]:
        """Actions for a batch of observations, and the policy's memory."""


def evaluate(
    policy: Predictor, env_kwargs: dict[str, Any], episodes: int, seed: int
) -> dict[str, float | int]:
    """Mean totals of an episode, the policy choosing deterministically.

    Args:
        policy: what chooses the opponents.
        env_kwargs: keyword arguments of the environment.
        episodes: how many, >= 1; episode i has the environment seed ``seed + i``.
        seed: of the first episode, >= 0.

    Returns:
        ``episodes``; ``mean_return``, the mean sum of rewards, and its ``standard_error``
        (0 for one episode); and the mean sums ``draw_density`` and ``true_draw_density``,
        whichever of the two the reward is.

    Raises:
        ValueError: for a bad argument.
    """
    as_integer("episodes", episodes, 1)
    env = MatchmakingVectorEnv(episodes, autoreset_mode=AutoresetMode.DISABLED, **env_kwargs)
    observation, _ = env.reset(seed=as_integer("seed", seed, 0))
    returns, density, true_density = np.zeros(episodes), np.zeros(episodes), np.zeros(episodes)
    memory = None
    episode_start = np.ones(episodes, dtype=np.bool_)
    for _ in range(env.settings.horizon):
        actions, memory = policy.predict(
            observation, state=memory, episode_start=episode_start, deterministic=True
        )
        observation, rewards, _, _, infos = env.step(actions)
        returns += rewards
        density += infos["draw_density"]
        true_density += infos["true_draw_density"]
        episode_start[:] = False
    spread = float(returns.std(ddof=1)) if episodes > 1 else 0.0
    return {
        "episodes": episodes,
        "mean_return": float(returns.mean()),
        "standard_error": spread / math.sqrt(episodes),
        "draw_density": float(density.mean()),
        "true_draw_density": float(true_density.mean()),
    }
