"""The hyperparameters of this package for rl-baselines3-zoo; each module is for one algorithm.

``python -m rl_zoo3.train --algo ppo --env Matchmaking-v0 --gym-packages matchenv --conf-file
matchenv.agents.zoo.ppo`` reads ``hyperparams`` of the module ``ppo``.
"""

from __future__ import annotations

from typing import Any

from matchenv.agents.algorithms import algorithm_by_name
from matchenv.agents.environments import ONE_PLAYER
from matchenv.agents.run_config import ENV_KWARGS, checked_hyperparameters, read_hyperparameters
from matchenv.agents.sb3_policies import resolved_policy_kwargs
from matchenv.envs.one_player.settings import Settings


def zoo_hyperparameters(algo: str) -> dict[str, dict[str, Any]]:
    """Return the package's YAML file in the form that rl-baselines3-zoo imports.

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
    kwargs = resolved_policy_kwargs(values["policy"], values.get("policy_kwargs", {}), Settings())
    # The reader infers the belief from the size of the observation.
    kwargs.pop("features_extractor_kwargs", None)
    values["policy_kwargs"] = kwargs
    if values["policy"] not in algorithm.load_class().policy_aliases:
        # The zoo knows the library's own names alone, and imports others from where they are.
        values["policy"] = ".".join(algorithm.policies[values["policy"]])
    return {ONE_PLAYER: values}
