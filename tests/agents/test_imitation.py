"""Imitation of a teacher, and PPO from its weights."""

import shutil

import numpy as np
import pytest

from matchenv import MatchmakingVectorEnv, agents
from matchenv.baselines import Gittins

CELL = {"num_opponents": 6, "horizon": 30, "belief": "full"}


def agreement(policy, teacher, games=30):
    env = MatchmakingVectorEnv(64, **CELL)
    observation, _ = env.reset(seed=5)
    same = []
    for _ in range(games):
        chosen = policy.predict(observation)[0]
        same.append((chosen == teacher.predict(observation)[0]).mean())
        observation = env.step(chosen)[0]
    return float(np.mean(same))


def test_imitation_learns_the_teachers_choices_and_records_its_provenance(tmp_path, small_config):
    config = small_config(
        "imitation",
        timesteps=6_000,
        num_envs=16,
        hyperparameters={
            "teacher": "gittins", "n_steps": 30, "batch_size": 160, "learning_rate": "lin_1e-2",
            "policy_kwargs": {"net_arch": {"pi": [16], "vf": [16]}},
        },
        env_kwargs={**CELL, "prior": ["informative", "equal"]},
        evaluate_every=100_000,
    )  # fmt: skip
    folder = agents.start_training(tmp_path / "run", config, quiet=True)
    policy, teacher = agents.load(folder.path), Gittins(horizon=30)
    assert agreement(policy, teacher) > 0.85
    (training,) = policy.training
    assert (training["algorithm"], training["teacher"]) == ("imitation", "gittins")
    # PPO goes on from its weights, and the file says both.
    after = small_config(
        "ppo",
        timesteps=128,
        hyperparameters={
            "n_steps": 16, "batch_size": 64, "learning_rate": 1e-5,
            "policy_kwargs": config.hyperparameters["policy_kwargs"],
        },
        env_kwargs=CELL,
        start_from=str(folder.path),
    )  # fmt: skip
    kwargs = {**after.hyperparameters["policy_kwargs"], "activation_fn": "relu"}
    other = after.replaced(hyperparameters={**after.hyperparameters, "policy_kwargs": kwargs})
    with pytest.raises(ValueError, match=r"start_from must have the network .* activations differ"):
        agents.start_training(tmp_path / "other", other, quiet=True)
    agents.start_training(tmp_path / "fine", after, quiet=True)
    fine = agents.load(tmp_path / "fine")
    assert [each["algorithm"] for each in fine.training] == ["imitation", "ppo"]
    assert agreement(fine, policy) > 0.95
    shutil.rmtree(folder.path)  # what a training started from is not needed to go on
    agents.continue_training(tmp_path / "fine", timesteps=256, quiet=True)
    assert [each["games"] for each in agents.load(tmp_path / "fine").training] == [6240, 256]
