"""A learned policy as one file: weights as safetensors, all else as JSON in its header.

Reading such a file runs no code, unlike stable-baselines3's zip files, which hold pickled
objects. Weights and description are in one file with one checksum, so that they always belong
together.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic.dataclasses import dataclass as checked_dataclass
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.utils import get_device

from matchenv.agents.algorithms import algorithm_by_name
from matchenv.agents.config_file import CLOSED, Whole, built
from matchenv.agents.environments import ONE_PLAYER, settings_without_code
from matchenv.agents.learned_names import SHIPPED, learned_path
from matchenv.agents.learned_policy import LearnedPolicy
from matchenv.agents.network import belief_of_space
from matchenv.agents.run_folder import CONFIG, RunFolder
from matchenv.agents.sb3_policies import check_size, new_policy
from matchenv.agents.tensor_files import ForeignFileError, read_tensor_file, write_tensor_file
from matchenv.envs.one_player.settings import Settings

SUFFIX = ".safetensors"
HEADER = "matchenv_policy"
FORMAT = 2


@checked_dataclass(frozen=True, config=CLOSED)
class PolicyDescription:
    """All that is needed to build a policy's network, and how it was trained, as plain data.

    Attributes:
        algorithm: name of the algorithm that trained it last.
        policy: name of the policy network, such as ``"SharedPolicy"``.
        policy_kwargs: its keyword arguments, as in a YAML file.
        env_kwargs: keyword arguments of the environment that it was trained in.
        training: of each training that it went through, the first one first: ``algorithm``,
            ``seed``, ``games`` and ``env_kwargs``; with ``teacher`` for an imitation.
        format: version of this description.
        environment: name of the environment.
    """

    algorithm: str
    policy: str
    policy_kwargs: dict[str, Any]
    env_kwargs: dict[str, Any]
    training: list[dict[str, Any]] = field(default_factory=list)
    format: Whole = FORMAT
    environment: str = ONE_PLAYER

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise ValueError(
                f"its format must be {FORMAT}, got {self.format!r}: it is of another version of "
                "matchenv, whose networks are different ones"
            )

    def settings(self) -> Any:
        """Return the checked settings of the environment, without the classes that it names."""
        return settings_without_code(self.environment, self.env_kwargs)


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
    """Read a policy that ``save_policy`` wrote; runs nothing that the file names.

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
        # Weights are drawn before they are replaced; that must not change anybody's numbers.
        with torch.random.fork_rng(devices=[]):
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
        warnings.warn(f"{path} has no checksum, so damage would not be seen", stacklevel=2)
    network.set_training_mode(False)
    return network, description


def load(
    name_or_path: str | Path,
    *,
    settings: Any = None,
    algorithm: str | None = None,
    device: str = "cpu",
) -> LearnedPolicy:
    """Load a learned policy.

    Run folders and ``.safetensors`` files are read without running anything they name. A zip
    file of stable-baselines3 holds pickled objects and can run any code when it is read.

    Args:
        name_or_path: the name of a policy that comes with the package (``"ppo-gittins"``),
            the folder of a run, its name in ``runs/``, a ``.safetensors`` file, or a zip file
            of stable-baselines3.
        settings: of the environment that the policy is to play, such as
            ``env.unwrapped.settings`` or ``Settings.checked(beta=0.4)``; as
            ``LearnedPolicy.for_settings``. None: those that it was trained with.
        algorithm: for a zip file only, the algorithm that wrote it.
        device: where torch computes.

    Raises:
        ValueError: if there is nothing of that name, it is damaged, or the policy cannot play
            with these settings.
    """
    name = str(name_or_path)
    path = learned_path(name)
    if path is None:
        raise ValueError(
            f"a learned policy must be {', '.join(map(repr, SHIPPED))}, the folder of a run, its "
            f"name in runs/, a {SUFFIX} file or a zip file of stable-baselines3; there is no "
            f"{name!r}"
        )
    if path.is_dir():
        path = _policy_of_run(path)
    if path.suffix == ".zip":
        policy = _load_zip(name, path, algorithm, as_device(device))
    else:
        network, description = read_policy(path)
        known = description.settings()
        belief = known.belief if isinstance(known, Settings) else "factorised"
        policy = LearnedPolicy(
            name, network.to(as_device(device)), belief, known, description.training
        )
    return policy if settings is None else policy.for_settings(settings)


def as_device(name: str) -> torch.device:
    """Return the device of a name; ``"cuda"`` without a graphics card is the processor.

    Args:
        name: such as ``"cpu"`` or ``"cuda:1"``; ``"auto"`` is a graphics card where torch has
            one, else the processor.

    Raises:
        ValueError: if torch knows no device of that name.
    """
    try:
        return get_device(name)
    except RuntimeError as error:
        raise ValueError(f"device must be auto, cpu, cuda or cuda:N, got {name!r}") from error


def _policy_of_run(path: Path) -> Path:
    folder = RunFolder(path)
    if folder.policy_file.is_file():
        return folder.policy_file
    if folder.config_file.is_file():
        raise ValueError(
            f"the run {path} has saved no policy yet; go on with it: matchenv train --resume {path}"
        )
    raise ValueError(f"{path} holds no run: it has neither {CONFIG} nor {folder.policy_file.name}")


def _load_zip(name: str, path: Path, algorithm: str | None, device: torch.device) -> LearnedPolicy:
    chosen = algorithm_by_name(algorithm)
    warnings.warn(
        f"{path} is a zip file of stable-baselines3: it holds pickled objects, and reading it "
        "runs whatever code they name. Read such files from people you trust only; run folders "
        f"and {SUFFIX} files are safe.",
        stacklevel=3,
    )
    try:
        model = chosen.load_class().load(path, device=device)
    except Exception as error:
        raise ValueError(f"the file {path} is no model of {chosen.name}: {error}") from error
    try:
        belief = belief_of_space(model.observation_space, int(model.action_space.n))  # type: ignore[attr-defined]
    except ValueError as error:
        raise ValueError(f"the file {path} is no model for Matchmaking-v0: {error}") from None
    return LearnedPolicy(name, model.policy, belief.name)
