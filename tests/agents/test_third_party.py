"""An environment of a third-party package: registered by one call, and used by all commands."""

import json
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch

import matchenv
from matchenv import agents
from matchenv.agents.run_config import configured
from matchenv.envs.core.registration import ENVIRONMENTS

PACKAGE = Path(__file__).parent / "third_party"


@pytest.fixture(autouse=True)
def _lobby(monkeypatch):
    """Make the package importable, and forget it afterwards."""
    monkeypatch.syspath_prepend(str(PACKAGE))
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    ENVIRONMENTS.pop("Lobby-v0", None)
    gym.registry.pop("Lobby-v0", None)
    for name in list(sys.modules):
        if name.partition(".")[0] == "lobby":
            del sys.modules[name]


def test_it_is_compared(typed):
    ended = typed("compare --env lobby:Lobby-v0 --episodes 40 --workers 1 --out out --quiet")
    assert ended.status == 0, ended.error
    ended = typed("compare --env lobby:Lobby-v0 --policy greedy best --episodes 40 --workers 1")
    assert ended.status == 0, ended.error
    assert "level" in ended.out
    assert "best" in ended.out


def test_it_is_watched(typed):
    ended = typed("watch --env lobby:Lobby-v0 --policy greedy random --out film.png --quiet")
    assert ended.status == 0, ended.error
    assert Path("film.png").read_bytes().startswith(b"\x89PNG")


def test_it_is_trained_and_compared_with_its_baselines(typed):
    words = "train --env lobby:Lobby-v0 --out run --workers 1 --comparison-episodes 20"
    ended = typed(f"{words} --evaluation-episodes 200 --env-kwargs noise=2")
    assert ended.status == 0, ended.error
    assert "greedy" in ended.out
    evaluations = json.loads(Path("run", "evaluations.json").read_text())["evaluations"]
    first = evaluations[0]["level"]
    last = evaluations[-1]["level"]
    assert last > first - 1.0
    assert "less_greedy_low" in evaluations[-1]
    # A network for any number of tables and any noise.
    policy = agents.load("run")
    assert policy.settings.noise == 2.0
    ended = typed(
        "compare --env lobby:Lobby-v0 --policy run greedy --episodes 10 --workers 1 "
        "--env-kwargs num_tables=9"
    )
    assert ended.status == 0, ended.error


def test_it_has_hyperparameters_of_its_own(typed):
    matchenv_names = typed("train --config nope").error
    assert "ppo_flat" in matchenv_names
    error = typed("train --env lobby:Lobby-v0 --config nope").error
    assert "config must be a YAML file or one of brief, ppo, got 'nope'" in error
    error = typed("train --env lobby:Lobby-v0 --algo trpo").error
    assert "no hyperparameters of trpo for Lobby-v0 are packaged; those for other" in error
    assert configured(environment="Lobby-v0", config_file=Path("brief")).timesteps == 480


def test_a_saved_model_names_its_environment(tmp_path):
    import lobby  # noqa: F401
    from stable_baselines3 import PPO

    env = gym.make("Lobby-v0", noise=3.0)
    model = PPO("MlpPolicy", env, device="cpu", seed=0, n_steps=16, batch_size=16)
    model.save(tmp_path / "model.zip")
    policy = agents.load(tmp_path / "model.zip")
    assert policy.settings == env.unwrapped.settings
    observations, _ = gym.make_vec("Lobby-v0", 8).reset(seed=1)
    torch.manual_seed(0)
    expected, _ = model.predict(observations, deterministic=True)
    np.testing.assert_array_equal(policy.predict(observations)[0], expected)


def test_another_environment_cannot_have_its_name():
    import lobby  # noqa: F401

    with pytest.raises(ValueError, match="env_id must be new, got 'Lobby-v0'"):
        matchenv.register_environment(matchenv.Environment("Lobby-v0", "a:A", "a:B", "a:C", "a:D"))
