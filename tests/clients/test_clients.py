"""Environments in other libraries.

``make test-clients`` installs most of them, and runs the complete examples in
docs/other_libraries.md. Here each library steps each environment with changing masks, which it
ignores. The tests of stable-baselines3 and sb3-contrib need no installation.
"""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env

import matchenv  # noqa: F401  (registers the environments)
from matchenv.baselines import KnowledgeGradient

# Settings with forbidden actions.
MASKED: dict[str, dict[str, Any]] = {
    "Matchmaking-v0": {"num_opponents": 6, "horizon": 30, "availability": 0.5, "mean_stay": 5.0},
    "MatchmakingQueue-v0": {"capacity": 6, "horizon": 20},
}
every_environment = pytest.mark.parametrize("env_id", MASKED)


@every_environment
@pytest.mark.clients
def test_skrl_steps(env_id: str) -> None:
    wrappers = pytest.importorskip("skrl.envs.wrappers.torch")
    made = gym.make_vec(env_id, 3, autoreset_mode="SameStep", **MASKED[env_id])
    envs = wrappers.wrap_env(made)
    envs.reset()
    torch = pytest.importorskip("torch")
    for step in range(60):
        actions = torch.full((3, 1), step % 6)
        observations, rewards, *_ = envs.step(actions)
    assert observations.shape[0] == rewards.shape[0] == 3
    envs.close()


@every_environment
@pytest.mark.clients
def test_torchrl_plays_random_rollouts(env_id: str) -> None:
    gym_wrapper = pytest.importorskip("torchrl.envs.libs.gym").GymWrapper
    from torchrl.envs.libs.gym import default_info_dict_reader

    envs = gym.make_vec(env_id, 3, autoreset_mode="SameStep", **MASKED[env_id])
    played = gym_wrapper(envs).rollout(80, break_when_any_done=False)
    assert played["next", "done"].any()
    alone = gym_wrapper(gym.make(env_id, **MASKED[env_id]))
    alone.set_info_dict_reader(default_info_dict_reader(["action_mask"]))
    assert alone.rollout(10)["next", "reward"].isfinite().all()


@every_environment
@pytest.mark.clients
def test_tianshou_steps(env_id: str) -> None:
    env = pytest.importorskip("tianshou.env")
    envs = env.DummyVectorEnv([lambda: gym.make(env_id, **MASKED[env_id])] * 2)
    envs.reset(seed=1)
    for _ in range(60):
        _, rewards, terminated, truncated, _ = envs.step(np.array([1, 5]))
        if np.any(terminated | truncated):
            envs.reset(np.flatnonzero(terminated | truncated))
    assert rewards.shape == (2,)
    envs.close()


@pytest.mark.parametrize("masked", [False, True])
@every_environment
@pytest.mark.clients
def test_minari_round_trip(
    env_id: str, masked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    options = MASKED[env_id] if masked else {"horizon": 20}
    collector = minari.DataCollector(gym.make(env_id, **options), record_infos=True)
    kg, steps = KnowledgeGradient(discount=0.99), 0
    for episode in range(2):
        observation, _ = collector.reset(seed=episode)
        over = False
        while not over:
            plain = env_id == "Matchmaking-v0" and not masked
            action = kg.predict(observation)[0] if plain else collector.action_space.sample()
            observation, _, terminated, truncated, _ = collector.step(action)
            over, steps = terminated or truncated, steps + 1
    name = f"matchenv/{env_id.lower()}"
    collector.create_dataset(name, eval_env=env_id)
    read = minari.load_dataset(name)
    assert (read.total_episodes, read.total_steps) == (2, steps)
    first = next(read.iterate_episodes())
    assert first.infos
    assert all(len(values) == len(first.actions) + 1 for values in first.infos.values())


@every_environment
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.filterwarnings("error")
def test_the_checker_of_stable_baselines3_passes(env_id: str, masked: bool) -> None:
    check_env(gym.make(env_id, **(MASKED[env_id] if masked else {})), warn=True)


@every_environment
@pytest.mark.parametrize("masked", [False, True])
def test_algorithms_learn_with_and_without_masks(env_id: str, masked: bool) -> None:
    env = gym.make(env_id, **MASKED[env_id])
    made = MaskablePPO if masked else PPO
    small = {"n_steps": 64, "n_epochs": 1, "policy_kwargs": {"net_arch": [8]}}
    model = made("MlpPolicy", env, seed=1, device="cpu", **small)
    model.learn(192)
    observation, info = env.reset(seed=0)
    masks = {"action_masks": info["action_mask"]} if masked else {}
    action, _ = model.predict(observation, **masks)
    *_, info = env.step(action)
    assert not (masked and info["invalid_action"])
