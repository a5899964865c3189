"""The packaged hyperparameters in rl-baselines3-zoo."""

from importlib import import_module

import pytest
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.utils import LinearSchedule

from matchenv.agents.network import Reader
from matchenv.agents.run_config import algorithm_class
from matchenv.agents.training import SCHEDULED
from matchenv.agents.zoo import ZOO_ALGORITHMS


def packaged():
    """Return each algorithm with each environment that it has hyperparameters for."""
    pairs = []
    for algo in ZOO_ALGORITHMS:
        for env_id in import_module(f"matchenv.agents.zoo.{algo}").hyperparams:
            pairs.append((algo, env_id))
    return pairs


def test_every_algorithm_has_hyperparameters():
    assert {algo for algo, _ in packaged()} == set(ZOO_ALGORITHMS)


@pytest.mark.parametrize(("algo", "env_id"), packaged())
def test_the_zoo_trains_with_the_packaged_hyperparameters(algo, env_id):
    # What its ExperimentManager does with --conf-file matchenv.agents.zoo.ALGO
    values = dict(import_module(f"matchenv.agents.zoo.{algo}").hyperparams[env_id])
    assert int(values.pop("n_timesteps")) >= 100_000
    assert isinstance(values.pop("n_envs"), int)
    for name in SCHEDULED:
        if isinstance(values.get(name), str):
            _, start = values[name].split("_")
            values[name] = LinearSchedule(float(start), 0.0, 1.0)
    if "." in values["policy"]:
        module, _, name = values["policy"].rpartition(".")
        values["policy"] = getattr(import_module(module), name)
    env = make_vec_env(env_id, n_envs=2, env_kwargs={"horizon": 10})
    for name, small in (("n_steps", 8), ("batch_size", 16), ("buffer_size", 100)):
        if name in values:
            values[name] = small
    model = algorithm_class(algo)(env=env, device="cpu", **values)
    model.learn(32)
    assert any(isinstance(module, Reader) for module in model.policy.modules())
