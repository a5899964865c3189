"""The wrappers of examples/learn_on_wrapped_games.py change what is learnt from, not the games."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
from matchenv.agents import load
from matchenv.agents.run_config import configured
from matchenv.agents.vec_env import MatchmakingVecEnv
from matchenv.baselines import DrawChance

SCRIPT = Path(__file__).resolve().parent.parent / "examples" / "learn_on_wrapped_games.py"
SMALL: dict[str, Any] = {"num_opponents": 5, "horizon": 7, "reward": "true_draw_density"}
ENVS, SEED = 3, 11


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def games() -> MatchmakingVecEnv:
    made = MatchmakingVecEnv(ENVS, **SMALL)
    made.seed(SEED)
    return made


def test_who_plays_as_the_twin_does_gains_nothing_on_it(script: dict[str, Any]) -> None:
    env, policy = script["LessTwin"](games(), games()), DrawChance()
    shown, ends = env.reset(), 0
    for _ in range(3 * SMALL["horizon"]):
        shown, rewards, ended, _ = env.step(policy.predict(shown)[0])
        assert not rewards.any()
        ends += int(ended.sum())
    assert ends == 3 * ENVS


def test_others_gain_the_difference(script: dict[str, Any]) -> None:
    env, alone, twin = script["LessTwin"](games(), games()), games(), games()
    env.reset()
    alone.reset()
    shown = twin.reset()
    actions = np.array([4, 0, 2])
    for _ in range(2 * SMALL["horizon"]):
        _, gained, _, _ = env.step(actions)
        shown, less, _, _ = twin.step(DrawChance().predict(shown)[0])
        np.testing.assert_array_equal(gained, alone.step(actions)[1] - less)


@pytest.mark.parametrize("each", [1, 3, 7, 10])
def test_a_choice_is_played_until_the_episode_ends(script: dict[str, Any], each: int) -> None:
    env, alone = script["SeveralGames"](games(), each), games()
    np.testing.assert_array_equal(env.reset(), alone.reset())
    actions = np.array([1, 3, 0])
    for choice in range(1, 2 * -(-SMALL["horizon"] // each) + 1):
        shown, mean, ended, _ = env.step(actions)
        expected, played = np.zeros(ENVS), 0
        for _ in range(each):
            after, rewards, over, _ = alone.step(actions)
            expected, played = expected + rewards, played + 1
            if over.all():
                break
        np.testing.assert_array_equal(shown, after)
        np.testing.assert_allclose(mean, expected / each, rtol=1e-6)
        assert ended.all() == (choice * each % SMALL["horizon"] == 0 or played < each)


def test_what_it_trains_can_be_loaded(script: dict[str, Any], tmp_path: Path) -> None:
    few = {"n_envs": ENVS, "n_timesteps": 42, "n_steps": 7, "batch_size": 21, "n_epochs": 1}
    config = configured("ppo", seed=1, hyperparameters=few, env_kwargs=SMALL)
    script["train"](config, True, 3, tmp_path / "new" / "policy.safetensors")
    policy = load(str(tmp_path / "new" / "policy.safetensors"))
    assert policy.predict(games().reset())[0].shape == (ENVS,)
