"""The hyperparameters of this package for rl-baselines3-zoo, in a module for each algorithm.

``python -m rl_zoo3.train --algo ppo --env Matchmaking-v0 --gym-packages matchenv --conf-file
matchenv.agents.zoo.ppo`` reads ``hyperparams`` of the module ``ppo``, which this module creates.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from matchenv.agents.config_file import read_yaml
from matchenv.agents.run_config import ENV_KWARGS, checked_hyperparameters, policy_classes
from matchenv.agents.sb3_policies import resolved_policy_kwargs
from matchenv.envs import environment_named
from matchenv.evaluation.registry import ONE_PLAYER, QUEUE

# Algorithms that rl-baselines3-zoo supports, with their environments.
ZOO = dict.fromkeys(("a2c", "dqn", "trpo"), (ONE_PLAYER,)) | {"ppo": (ONE_PLAYER, QUEUE)}


def zoo_hyperparameters(algo: str, environment: str) -> dict[str, Any]:
    """Return a section of a packaged YAML file in the form that rl-baselines3-zoo imports.

    Args:
        algo: name of the algorithm, one of ``ZOO``.
        environment: its name in Gymnasium.
    """
    section = read_yaml(f"{algo}.yml", None, environment)
    # The zoo accepts options of the environment only on its command line.
    section.pop(ENV_KWARGS, None)
    values = checked_hyperparameters(algo, section)
    settings = environment_named(environment).part("settings")()
    kwargs = resolved_policy_kwargs(values["policy"], values.get("policy_kwargs", {}), settings)
    # The zoo imports a policy that the library does not name by its full path.
    kind = policy_classes(algo)[values["policy"]]
    return {**values, "policy_kwargs": kwargs, "policy": f"{kind.__module__}.{kind.__name__}"}


for _algo, _environments in ZOO.items():
    _module = ModuleType(f"{__name__}.{_algo}")
    vars(_module)["hyperparams"] = {each: zoo_hyperparameters(_algo, each)
                                    for each in _environments}  # fmt: skip
    sys.modules[_module.__name__] = _module
