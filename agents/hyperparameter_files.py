"""Hyperparameters from YAML files and command lines, as plain data; without torch.

The files have the names of rl-baselines3-zoo: under the name of the environment a mapping
with ``n_timesteps``, ``n_envs``, ``policy``, ``policy_kwargs`` and the arguments of the
algorithm; ``env_kwargs`` says which environment they are meant for. A rate such as ``lin_1e-3``
falls linearly from 1e-3 to 0 over the training.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matchenv.agents.algorithms import Algorithm
from matchenv.agents.config_file import package_names, read_yaml, whole
from matchenv.agents.hyperparameter_checks import MAY_BE_NONE, check_value
from matchenv.agents.tasks import ONE_PLAYER
from matchenv.runtime.checks import as_integer, as_non_negative_number

SCHEDULED = ("learning_rate", "clip_range", "clip_range_vf", "delta_std")
LINEAR = "lin_"

# Counts are often written 1e6, which YAML reads as text or a float. No rate is this large.
LARGE = 100.0

# The entry of a file that is about the environment.
ENV_KWARGS = "env_kwargs"

# What a file says besides the arguments of the algorithm.
ABOUT_THE_RUN = ("n_timesteps", "n_envs", "policy", "policy_kwargs")


def read_hyperparameters(
    algorithm: Algorithm, path: Path | None = None, environment: str = ONE_PLAYER
) -> dict[str, Any]:
    """The hyperparameters of a file, or those that come with the package.

    Args:
        algorithm: which algorithm they are for.
        path: a YAML file of the user's own, or the name of one of the package's, such as
            ``ppo_flat``; None reads the package's file of the algorithm.
        environment: whose section is read.

    Raises:
        ValueError: if the file is missing, no YAML or has no section for this environment.
    """
    name = f"{algorithm.name}.yml"
    if path is not None and str(path) in package_names() and not path.exists():
        name, path = f"{path}.yml", None
    content = read_yaml(name, path)
    section = content.get(environment) if isinstance(content, dict) else None
    if not isinstance(section, dict):
        raise ValueError(
            f"config must have a mapping under {environment!r}, {path or name} has none"
        )
    return section


def checked_hyperparameters(algorithm: Algorithm, values: dict[str, Any]) -> dict[str, Any]:
    """The same hyperparameters, if the algorithm takes them all.

    Args:
        algorithm: which algorithm they are for.
        values: name and value of each; ``n_timesteps``, ``n_envs`` and ``policy`` among them.

    Raises:
        ValueError: for an unknown name (the known ones are listed), a missing one or a bad
            number.
    """
    known = algorithm.arguments() | set(ABOUT_THE_RUN)
    for name in values:
        if name not in known:
            listed = ", ".join(sorted(known))
            raise ValueError(
                f"hyperparameters of {algorithm.name} must be among {listed}; got {name!r}"
            )
    values = {
        name: whole(value) if isinstance(value, float) and value >= LARGE else value
        for name, value in values.items()
    }
    for name in ("n_timesteps", "n_envs", "policy"):
        if name not in values:
            raise ValueError(f"hyperparameters must name {name}, got only {sorted(values)}")
    as_integer("n_timesteps", values["n_timesteps"], 1)
    as_integer("n_envs", values["n_envs"], 1)
    if values["policy"] not in algorithm.policies:
        listed = ", ".join(repr(name) for name in algorithm.policies)
        raise ValueError(
            f"policy must be one of {listed} for {algorithm.name}, got {values['policy']!r}"
        )
    if not isinstance(values.get("policy_kwargs", {}), dict):
        raise ValueError(f"policy_kwargs must be a mapping, got {values['policy_kwargs']!r}")
    for name, value in values.items():
        if name not in SCHEDULED:
            check_value(name, value)
        elif value is not None or name not in MAY_BE_NONE:
            _check_rate(algorithm, name, value)
    return values


def linear_start(rate: Any) -> float | None:
    """The first value of a rate such as ``"lin_1e-3"``, None for a constant rate.

    Raises:
        ValueError: for a text that is no rate.
    """
    if not isinstance(rate, str):
        return None
    try:
        if rate.startswith(LINEAR):
            return float(rate.removeprefix(LINEAR))
    except ValueError:
        pass
    raise ValueError(f"a rate must be a number or lin_NUMBER, got {rate!r}")


def _check_rate(algorithm: Algorithm, name: str, value: Any) -> None:
    start = linear_start(value)
    if start is not None and not algorithm.schedules:
        raise ValueError(f"{name} must be constant for {algorithm.name}, got {value!r}")
    as_non_negative_number(name, value if start is None else start)
