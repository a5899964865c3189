"""A learned policy as one file: weights as safetensors, all else as JSON in its header.

Reading such a file runs no code, unlike stable-baselines3's zip files, which hold pickled
objects. Weights and description are in one file with one checksum, so that they always belong
together.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic.dataclasses import dataclass as checked_dataclass
from stable_baselines3.common.policies import BasePolicy

from matchenv.agents.algorithms import algorithm_by_name
from matchenv.agents.config_file import CLOSED, Whole, built
from matchenv.agents.policy_network import check_size, new_policy
from matchenv.agents.tasks import ONE_PLAYER, task_of
from matchenv.agents.tensor_files import ForeignFileError, read_tensor_file, write_tensor_file

SUFFIX = ".safetensors"
HEADER = "matchenv_policy"
FORMAT = 1


@checked_dataclass(frozen=True, config=CLOSED)
class PolicyDescription:
    """All that is needed to build a policy's network, as plain data.

    Attributes:
        algorithm: name of the algorithm that trained it.
        policy: name of the policy network, such as ``"MlpPolicy"``.
        policy_kwargs: its keyword arguments, as in a YAML file.
        env_kwargs: keyword arguments of the environment that it was trained in.
        format: version of this description.
        environment: name of the environment.
    """

    algorithm: str
    policy: str
    policy_kwargs: dict[str, Any]
    env_kwargs: dict[str, Any]
    format: Whole = FORMAT
    environment: str = ONE_PLAYER

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise ValueError(f"its format must be {FORMAT}, got {self.format!r}")

    def settings(self) -> Any:
        """The checked settings of the environment that it was trained in.

        Priors and rewards of somebody's own are left out: a policy plays without them, and a
        file must not say what is imported.
        """
        return task_of(self.environment).settings_of_file(self.env_kwargs)


def save_policy(path: Path, network: BasePolicy, description: PolicyDescription) -> None:
    """Write a policy; an older file of the same name is replaced in one step.

    Args:
        path: the file, whose name should end in ``.safetensors``.
        network: the policy network.
        description: how it was built.
    """
    weights = {name: tensor.detach().cpu().numpy() for name, tensor in network.state_dict().items()}
    write_tensor_file(path, HEADER, asdict(description), weights)


def read_policy(path: Path) -> tuple[BasePolicy, PolicyDescription]:
    """Read a policy that ``save_policy`` wrote; runs nothing that the file says.

    Args:
        path: the file.

    Returns:
        The network, in evaluation mode, and its description.

    Raises:
        ValueError: if there is no such file, it is damaged or is no policy.
    """
    if not path.is_file():
        raise ValueError(f"a policy must be a file, {path} is not one")
    try:
        content = read_tensor_file(path, HEADER)
        description = built(PolicyDescription, content.header, "its description")
        if not all(np.isfinite(array).all() for array in content.arrays.values()):
            raise ValueError("its weights are not all finite")
        settings = description.settings()
        algorithm = algorithm_by_name(description.algorithm)
        # Before a network is built, which would take as much memory as the description says.
        check_size(description.policy, description.policy_kwargs, settings, content.elements)
        network = new_policy(algorithm, description.policy, description.policy_kwargs, settings)
        network.load_state_dict(
            {name: torch.from_numpy(array) for name, array in content.arrays.items()}
        )
    except ForeignFileError:
        raise ValueError(
            f"{path} is no policy of this package: its header describes none"
        ) from None
    except (ValueError, TypeError, RuntimeError) as error:
        raise ValueError(f"the policy file {path} is damaged: {error}") from error
    if not content.checked:
        warnings.warn(
            f"{path} is of an earlier version: it has no checksum, so damage would not be seen",
            stacklevel=2,
        )
    network.set_training_mode(False)
    return network, description
