"""A learned policy as one file: weights as safetensors, all else as JSON in its header.

Reading such a file runs no code, unlike stable-baselines3's zip files, which hold pickled
objects. Weights and description are in one file, so that they always belong together.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from stable_baselines3.common.policies import BasePolicy

from matchenv.agents.algorithms import algorithm_by_name
from matchenv.agents.config_file import built, check_types
from matchenv.agents.policy_network import new_policy
from matchenv.atomic_files import write_bytes
from matchenv.settings import Settings

SUFFIX = ".safetensors"
HEADER = "matchenv_policy"
FORMAT = 1


@dataclass(frozen=True)
class PolicyDescription:
    """All that is needed to build a policy's network, as plain data.

    Attributes:
        algorithm: name of the algorithm that trained it.
        policy: name of the policy network, such as ``"MlpPolicy"``.
        policy_kwargs: its keyword arguments, as in a YAML file.
        env_kwargs: keyword arguments of the environment that it was trained in.
        format: version of this description.
    """

    algorithm: str
    policy: str
    policy_kwargs: dict[str, Any]
    env_kwargs: dict[str, Any]
    format: int = FORMAT

    def __post_init__(self) -> None:
        check_types(self)
        if self.format != FORMAT:
            raise ValueError(f"its format must be {FORMAT}, got {self.format!r}")

    def settings(self) -> Settings:
        """The checked settings of the environment that it was trained in."""
        arguments = {key: each for key, each in self.env_kwargs.items() if key != "render_mode"}
        return Settings.checked(**arguments)


def save_policy(path: Path, network: BasePolicy, description: PolicyDescription) -> None:
    """Write a policy; an older file of the same name is replaced in one step.

    Args:
        path: the file, whose name should end in ``.safetensors``.
        network: the policy network.
        description: how it was built.
    """
    weights = {
        name: tensor.detach().cpu().contiguous().clone()
        for name, tensor in network.state_dict().items()
    }
    header = {HEADER: json.dumps(asdict(description), sort_keys=True)}
    write_bytes(path, save(weights, metadata=header))


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
        raise ValueError(f"a policy must be a file, {path} is none")
    try:
        with safe_open(path, framework="pt", device="cpu") as content:
            header = (content.metadata() or {}).get(HEADER)
            weights = {name: content.get_tensor(name) for name in content.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise ValueError(f"the policy file {path} is damaged: {error}") from None
    if header is None:
        raise ValueError(f"{path} is no policy of this package: its header says nothing of one")
    try:
        description = built(PolicyDescription, json.loads(header), "its description")
        network = new_policy(
            algorithm_by_name(description.algorithm),
            description.policy,
            description.policy_kwargs,
            description.settings(),
        )
        if not all(bool(torch.isfinite(tensor).all()) for tensor in weights.values()):
            raise ValueError("its weights are not all finite")
        network.load_state_dict(weights)
    except (ValueError, TypeError, RuntimeError) as error:
        raise ValueError(f"the policy file {path} is damaged: {error}") from error
    network.set_training_mode(False)
    return network, description
