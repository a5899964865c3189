"""Scenes to draw."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from matchenv.envs.one_player.env import MatchmakingEnv
from matchenv.rendering.scene import EpisodeRecord, Scene

SceneMaker = Callable[..., Scene]


def played_scene(
    num_opponents: int = 9,
    games: int = 20,
    *,
    horizon: int = 40,
    show_true_skill: bool = True,
    seed: int = 0,
    **settings: object,
) -> Scene:
    """An episode in which opponents are chosen at random."""
    env = MatchmakingEnv(num_opponents=num_opponents, horizon=horizon, **settings)
    env.reset(seed=seed)
    record = EpisodeRecord(horizon, env.settings.beta, "DrawChance", show_true_skill)
    record.begin(env.knowledge_state.mu, env.knowledge_state.sigma, env.true_skill)
    rng = np.random.default_rng(seed)
    for _ in range(games):
        action = int(rng.integers(num_opponents))
        info = env.step(action)[4]
        record.add(action, info["outcome"], info["draw_density"], info["true_draw_density"])
    state = env.knowledge_state
    return record.scene(state.mu, state.sigma, env.true_skill)


@pytest.fixture
def make_scene() -> SceneMaker:
    """``played_scene``."""
    return played_scene
