"""The hyperparameters as rl-baselines3-zoo imports them, and the features that it makes."""

from importlib import import_module

import numpy as np
import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.utils import LinearSchedule
from torch import nn  # noqa: F401  (the zoo's texts name it)

from matchenv import MatchmakingVectorEnv
from matchenv.agents.algorithms import ALGORITHMS, algorithm_by_name
from matchenv.agents.features import RelativeSkills
from matchenv.agents.hyperparameter_files import SCHEDULED
from matchenv.agents.shared.rows import OpponentNumbers
from matchenv.settings import Settings
from matchenv.spaces import observation_space

SMALL = {"num_opponents": 4, "horizon": 10}


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_the_zoo_can_train_with_the_packages_hyperparameters(algo):
    # What its ExperimentManager does with --conf-file matchenv.agents.zoo.ALGO
    values = dict(import_module(f"matchenv.agents.zoo.{algo}").hyperparams["Matchmaking-v0"])
    assert int(values.pop("n_timesteps")) >= 100_000
    assert isinstance(values.pop("n_envs"), int)
    for name in SCHEDULED:
        if isinstance(values.get(name), str):
            _, start = values[name].split("_")
            values[name] = LinearSchedule(float(start), 0.0, 1.0)
    if "." in values["policy"]:
        module, _, name = values["policy"].rpartition(".")
        values["policy"] = getattr(import_module(module), name)
    if isinstance(values["policy_kwargs"], str):
        values["policy_kwargs"] = eval(values["policy_kwargs"])
    env = make_vec_env("Matchmaking-v0", n_envs=2, env_kwargs=SMALL)
    small = {"n_steps": 8, "batch_size": 16, "buffer_size": 100, "n_eval_episodes": 1}
    values.update({name: value for name, value in small.items() if name in values})
    where = algorithm_by_name(algo).where
    model = getattr(import_module(where[0]), where[1])(env=env, device="cpu", **values)
    model.learn(32)
    if algo != "ars":
        features = RelativeSkills | OpponentNumbers
        assert any(isinstance(each, features) for each in model.policy.modules())


def test_the_zoos_own_texts_can_name_the_features():
    kwargs = eval("dict(features_extractor_class=RelativeSkills, activation_fn=nn.ReLU)")
    env = make_vec_env("Matchmaking-v0", n_envs=2, env_kwargs={**SMALL, "belief": "full"})
    PPO("MlpPolicy", env, n_steps=8, batch_size=16, policy_kwargs=kwargs, device="cpu").learn(16)


@pytest.mark.parametrize("belief", ["factorised", "full", "printed"])
@pytest.mark.parametrize("num_opponents", [1, 2, 20, 30, 49])
def test_features_are_told_from_the_space(belief, num_opponents):
    # 30 opponents on the factorised belief and 20 on the full one: 63 numbers each
    settings = Settings.checked(num_opponents=num_opponents, belief=belief)
    space = observation_space(settings)
    found, told = RelativeSkills(space), RelativeSkills(space, belief=belief)
    assert found.num_players == num_opponents + 1
    env = MatchmakingVectorEnv(3, num_opponents=num_opponents, belief=belief)
    batch = torch.from_numpy(env.reset(seed=0)[0])
    torch.testing.assert_close(found(batch), told(batch), rtol=0.0, atol=0.0)
    assert found(batch).shape == (3, found.features_dim)
    # The first feature of each opponent is exp(-t^2 / 2) on [-1, 1].
    state = env.knowledge_state
    sigma = np.sqrt(state.sigma[:, :1] ** 2 + state.sigma[:, 1:] ** 2 + 2.0 * settings.beta**2)
    t = (state.mu[:, :1] - state.mu[:, 1:]) / sigma
    expected = 2.0 * np.exp(-0.5 * t**2) - 1.0
    np.testing.assert_allclose(found(batch)[:, :num_opponents], expected, atol=1e-5)


def test_another_space_is_refused():
    space = observation_space(Settings.checked())
    wider = type(space)(
        np.append(space.low, np.float32(0.0)), np.append(space.high, np.float32(1.0))
    )
    with pytest.raises(ValueError, match=r"must be those of Matchmaking-v0, got shape \(102,\)"):
        RelativeSkills(wider)
    with pytest.raises(ValueError, match="beta must be"):
        RelativeSkills(space, beta=0.0)
