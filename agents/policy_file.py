"""Learned policies as files, which are data: reading one runs no code that it names.

A policy of ours is one safetensors file, weights beside a description, with a checksum. Of a zip
file of stable-baselines3 the weights are read by torch's restricted reader and the rest from the
JSON in it; the pickled objects in it are left alone.
"""

from __future__ import annotations

import ast
import io
import json
import zipfile
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic.dataclasses import dataclass as checked_dataclass
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.utils import get_device

from matchenv.agents.algorithms import ALGORITHMS, algorithm_by_name
from matchenv.agents.config_file import CLOSED, Whole, built
from matchenv.agents.environments import settings_without_code
from matchenv.agents.learned_names import SHIPPED, learned_file
from matchenv.agents.learned_policy import LearnedPolicy
from matchenv.agents.network import READERS, guessed_settings
from matchenv.agents.sb3_policies import ACTIVATIONS, new_policy
from matchenv.belief import DEFAULT_BELIEF
from matchenv.envs.core.settings import Options
from matchenv.evaluation.registry import ONE_PLAYER
from matchenv.runtime.files import checksum, parsed_json, write_bytes

HEADER, CHECKSUM = "matchenv_policy", "sha256"
FORMAT = 2

# Bytes of an unpacked zip file that is read.
LARGEST_ZIP = 1 << 30

# Arguments of a network in a zip file that do not change what it computes.
OF_THE_TRAINING = ("optimizer_class", "optimizer_kwargs", "use_sde")


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

    Equal policies give equal bytes.

    Args:
        path: the file, whose name should end in ``.safetensors``.
        network: the policy network.
        description: how it was built.
    """
    weights = {name: each.detach().cpu().contiguous().numpy().copy()
               for name, each in network.state_dict().items()}  # fmt: skip
    # As it will be read: keys are texts then.
    plain = json.loads(json.dumps(asdict(description), allow_nan=False))
    said = {**plain, CHECKSUM: checksum([HEADER, plain], weights)}
    # A single entry: the library writes several in any order.
    write_bytes(path, save(weights, metadata={HEADER: json.dumps(said, sort_keys=True)}))


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
        with safe_open(path, framework="numpy") as content:
            said = (content.metadata() or {}).get(HEADER)
            weights = {name: content.get_tensor(name) for name in content.keys()}  # noqa: SIM118
        if said is None:
            raise ValueError(f"its header has no {HEADER}, so it is no policy of this package")
        header = parsed_json(said, "its header")
        found = header.pop(CHECKSUM, None)
        if found != checksum([HEADER, header], weights):
            raise ValueError("its checksum does not fit")
        description = built(PolicyDescription, header, "its description")
        if not all(np.isfinite(array).all() for array in weights.values()):
            raise ValueError("its weights are not all finite")
        tensors = {name: torch.from_numpy(array) for name, array in weights.items()}
        network = _filled(
            description.algorithm,
            description.policy,
            description.policy_kwargs,
            description.settings(),
            tensors,
        )
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError, RuntimeError) as error:
        raise ValueError(f"the policy file {path} is damaged: {error}") from error
    return network, description


def _filled(
    algorithm: str,
    policy: str,
    policy_kwargs: dict[str, Any],
    settings: Options,
    weights: dict[str, torch.Tensor],
) -> BasePolicy:
    """Return a network with the weights of a file, in evaluation mode."""
    size = sum(each.numel() for each in weights.values())
    # Weights are drawn before they are replaced; that must not change anybody's numbers.
    with torch.random.fork_rng(devices=[]):
        network = new_policy(algorithm_by_name(algorithm), policy, policy_kwargs, settings, size)
    network.load_state_dict(weights)
    network.set_training_mode(False)
    return network


def load(
    name_or_path: str | Path, *, settings: Options | None = None, device: str = "cpu"
) -> LearnedPolicy:
    """Load a learned policy; a file is data, and nothing that it names is run.

    Args:
        name_or_path: the name of a policy that comes with the package (``"ppo-gittins"``),
            the folder of a run, its name in ``runs/``, a checkpoint of RLlib with our network, a
            ``.safetensors`` file, or a zip file that a model of stable-baselines3 or sb3-contrib
            was saved in.
        settings: of the environment that the policy is to play, such as
            ``env.unwrapped.settings`` or ``Settings.checked(beta=0.4)``; as
            ``LearnedPolicy.for_settings``. None: those that it was trained with.
        device: where torch computes.

    Raises:
        ValueError: if there is nothing of that name, it is damaged, or the policy cannot play
            with these settings.
    """
    name = str(name_or_path)
    path = learned_file(name)
    if path is None:
        raise ValueError(
            f"a learned policy must be {', '.join(map(repr, SHIPPED))}, the folder of a run, its "
            "name in runs/, a checkpoint of RLlib, a .safetensors file or a zip file of "
            f"stable-baselines3; there is no {name!r}"
        )
    where = as_device(device)
    training: list[dict[str, Any]] = []
    if path.suffix == ".zip":
        network, known = read_zip(path)
    else:
        network, description = read_policy(path)
        known, training = description.settings(), description.training
    belief = getattr(known, "belief", DEFAULT_BELIEF)
    policy = LearnedPolicy(name, network.to(where), belief, known, training)
    return policy if settings is None else policy.for_settings(settings)


def read_zip(path: Path) -> tuple[BasePolicy, Options]:
    """Read the policy of a zip file of stable-baselines3 without unpickling anything.

    The file names its kind of network; of those the one is meant that takes all weights.

    Args:
        path: the file.

    Returns:
        The network, in evaluation mode, and settings of an environment with its observations.

    Raises:
        ValueError: if it is damaged, of another environment, or of a network that
            stable-baselines3 and this package do not have.
    """
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(each.file_size for each in packed.infolist())
            if size > LARGEST_ZIP:
                raise ValueError(f"it unpacks to {size:,} bytes, at most {LARGEST_ZIP:,} are read")
            data = parsed_json(packed.read("data"), "its data")
            content = io.BytesIO(packed.read("policy.pth"))
        weights = torch.load(content, map_location="cpu", weights_only=True)
        kwargs, reader = _plain_kwargs(data)
        box = data["observation_space"]
        described = (box["_shape"], box["low"], box["high"])
        settings: Any = guessed_settings(
            int(data["action_space"]["n"]),
            lambda space: (list(space.shape), str(space.low), str(space.high)) == described,
        )
        game = {name: reader[name] for name in ("beta", "horizon") if name in reader}
        settings = replace(settings, **game)
        module = data["policy_class"]["__module__"]
    # A damaged archive raises almost anything.
    except Exception as error:
        raise ValueError(f"the file {path} is no model that can be read: {error}") from None
    why: Exception | str = f"{module} is not known"
    for algorithm in ALGORITHMS.values():
        for name, kind in algorithm.policies.items():
            if kind.__module__ != module:
                continue
            try:
                return _filled(algorithm.name, name, kwargs, settings, weights), settings
            except (RuntimeError, ValueError, AttributeError, TypeError) as error:
                why = error
    raise ValueError(
        f"the file {path} holds a network that this package cannot build: {why}; load the model "
        "with its library in a function of yours: module:function is a policy"
    )


def _plain_kwargs(data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of a zip file's network, as in a YAML file, and of its reader."""
    found, reader = {}, {}
    for name, value in data["policy_kwargs"].items():
        if name.startswith(":") or name in OF_THE_TRAINING:
            continue
        # What JSON does not know is a pickled object, with a text beside it.
        text = str(value)
        if text.startswith("<class"):
            kind = text.rpartition(".")[2].rstrip("'>")
            known = {each.__name__: key for key, each in ACTIVATIONS.items()}
            ours = any(kind == each.__name__ for each in READERS.values())
            found[name] = "Reader" if ours else known.get(kind, kind)
        elif name == "features_extractor_kwargs":
            reader = ast.literal_eval(text)
        else:
            found[name] = ast.literal_eval(text)
    return found, reader


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
