"""The hyperparameters of this package for rl-baselines3-zoo, in a module for each algorithm.

``python -m rl_zoo3.train --algo ppo --env Matchmaking-v0 --gym-packages matchenv --conf-file
matchenv.agents.zoo.ppo`` reads ``hyperparams`` of the module ``ppo``, which this module creates.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from matchenv.agents.config_file import hyperparameter_files, read_hyperparameters
from matchenv.agents.run_config import (
    ENV_KWARGS,
    checked_hyperparameters,
    policy_classes,
)
from matchenv.agents.sb3_policies import resolved_policy_kwargs
from matchenv.envs import ENVIRONMENTS, environment_named

# Algorithms that rl-baselines3-zoo supports.
ZOO_ALGORITHMS = ("a2c", "dqn", "ppo", "trpo")


def zoo_hyperparameters(algo: str, environment: str) -> dict[str, Any]:
    """Return a section of a packaged YAML file in the form that rl-baselines3-zoo imports.

    Args:
        algo: name of the algorithm, one of ``ZOO_ALGORITHMS``.
        environment: its name in Gymnasium.
    """
    section = read_hyperparameters(environment, algo)
    # The zoo accepts options of the environment only on its command line.
    section.pop(ENV_KWARGS, None)
    values = checked_hyperparameters(algo, section)
    settings = environment_named(environment).part("settings")()
    plain_kwargs = values.get("policy_kwargs", {})
    values["policy_kwargs"] = resolved_policy_kwargs(values["policy"], plain_kwargs, settings)
    # The zoo imports a policy that the library does not name by its full path.
    policy = policy_classes(algo)[values["policy"]]
    values["policy"] = f"{policy.__module__}.{policy.__name__}"
    return values


def _zoo_module(algo: str) -> ModuleType:
    """Return a module with the hyperparameters of an algorithm for all environments."""
    hyperparams = {}
    for environment in ENVIRONMENTS:
        if algo in hyperparameter_files(environment):
            hyperparams[environment] = zoo_hyperparameters(algo, environment)
    module = ModuleType(f"{__name__}.{algo}")
    vars(module)["hyperparams"] = hyperparams
    return module


for _algo in ZOO_ALGORITHMS:
    sys.modules[f"{__name__}.{_algo}"] = _zoo_module(_algo)
