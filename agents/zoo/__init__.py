"""The hyperparameters of this package for rl-baselines3-zoo; each module is for one algorithm.

``python -m rl_zoo3.train --algo ppo --env Matchmaking-v0 --gym-packages matchenv --conf-file
matchenv.agents.zoo.ppo`` reads ``hyperparams`` of the module ``ppo``.
"""

from __future__ import annotations

from typing import Any

from matchenv.agents.algorithms import algorithm_by_name
from matchenv.agents.hyperparameter_files import (
    ENV_KWARGS,
    checked_hyperparameters,
    read_hyperparameters,
)
from matchenv.agents.policy_network import checked_policy_kwargs
from matchenv.agents.tasks import ONE_PLAYER


def zoo_hyperparameters(algo: str) -> dict[str, dict[str, Any]]:
    """What the package's YAML file says, in the form that rl-baselines3-zoo imports.

    Counts are integers and ``policy_kwargs`` holds classes. Rates such as ``lin_2e-3`` mean the
    same there.

    Args:
        algo: name of the algorithm.

    Returns:
        The hyperparameters under the name of the environment.
    """
    algorithm = algorithm_by_name(algo)
    section = read_hyperparameters(algorithm)
    # The zoo takes these on its command line alone; our networks read any belief.
    section.pop(ENV_KWARGS, None)
    values = checked_hyperparameters(algorithm, section)
    if values["policy"] not in algorithm.load_class().policy_aliases:
        # The zoo knows the library's own names alone, and imports others from where they are.
        values["policy"] = ".".join(algorithm.policies[values["policy"]])
    values["policy_kwargs"] = checked_policy_kwargs(algorithm, values.get("policy_kwargs", {}))
    if algorithm.name == "ars":
        # The zoo evaluates its candidates in processes that know nothing of --gym-packages.
        values["n_envs"] = 1
    return {ONE_PLAYER: values}
