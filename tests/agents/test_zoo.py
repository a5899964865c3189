"""The packaged hyperparameters in rl-baselines3-zoo."""

from importlib import import_module

import pytest
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.utils import LinearSchedule

import matchenv  # noqa: F401  (registers the environment)
from matchenv.agents.network import Reader
from matchenv.agents.run_config import algorithm_class
from matchenv.agents.training import SCHEDULED
from matchenv.agents.zoo import ZOO


@pytest.mark.parametrize(("algo", "env"), [(algo, env) for algo in ZOO for env in ZOO[algo]])
def test_the_zoo_trains_with_the_packaged_hyperparameters(algo, env):
    # What its ExperimentManager does with --conf-file matchenv.agents.zoo.ALGO
    values = dict(import_module(f"matchenv.agents.zoo.{algo}").hyperparams[env])
    assert int(values.pop("n_timesteps")) >= 100_000
    assert isinstance(values.pop("n_envs"), int)
    for name in SCHEDULED:
        if isinstance(values.get(name), str):
            _, start = values[name].split("_")
            values[name] = LinearSchedule(float(start), 0.0, 1.0)
    if "." in values["policy"]:
        module, _, name = values["policy"].rpartition(".")
        values["policy"] = getattr(import_module(module), name)
    env = make_vec_env(env, n_envs=2, env_kwargs={"horizon": 10})
    small = {"n_steps": 8, "batch_size": 16, "buffer_size": 100}
    values.update({name: value for name, value in small.items() if name in values})
    model = algorithm_class(algo)(env=env, device="cpu", **values)
    model.learn(32)
    assert any(isinstance(each, Reader) for each in model.policy.modules())
