"""Learned policies and their files; reading a file runs no code that it names.

Our own files are safetensors, weights with a description and a checksum. Zip files of
stable-baselines3 are read without their pickled objects: the weights by torch's restricted reader,
the rest, with the options of the environment, from JSON.
"""

from __future__ import annotations

import ast
import io
import json
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, field, replace
from itertools import product
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from pydantic.dataclasses import dataclass as checked_dataclass
from safetensors import safe_open
from safetensors.numpy import save
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.utils import ConstantSchedule, get_device

from matchenv.agents.config_file import CLOSED, Whole, built
from matchenv.agents.environments import (
    DEFAULT_ENVIRONMENT,
    settings_without_code,
    values_of,
)
from matchenv.agents.learned_names import SHIPPED, learned_file
from matchenv.agents.network import Reader, reader_of, spaces_of
from matchenv.agents.run_config import PLAIN, SHARED, policy_classes
from matchenv.agents.sb3_policies import ACTIVATIONS, resolved_policy_kwargs
from matchenv.baselines.policy import PredictMixin
from matchenv.belief import BELIEFS, DEFAULT_BELIEF
from matchenv.envs import environment_named
from matchenv.envs.core.settings import Options
from matchenv.evaluation.rollout import one_thread
from matchenv.runtime.checks import as_action_masks, as_array, errors_named
from matchenv.runtime.files import checksum, parsed_json, write_bytes
from matchenv.runtime.object_spec import CodeRefused, code_is_allowed, is_object_spec

# Entries of the header of a policy file.
HEADER = "matchenv_policy"
CHECKSUM = "sha256"

FORMAT = 2

# Arguments in a zip file that change what a network computes.
NETWORK_KWARGS = ("net_arch", "activation_fn", "features_extractor_class")

# Packages whose policy classes choose as their networks say.
KNOWN_PACKAGES = ("stable_baselines3", "sb3_contrib", "matchenv")

# Rows up to which torch runs on one thread: more gain little, and waste time on busy cores.
ONE_THREAD_ROWS = 64

# Sizes of a policy that are kept.
MOST_SIZES = 64


class LearnedPolicy(PredictMixin):
    """A trained policy network.

    A shared network plays any number of actions, any horizon and any beta. It ignores draws and
    drift that were absent from its training. Other networks need the observation size and the
    number of actions of their training.

    Args:
        name: the name or path that it was loaded by.
        network: the network of stable-baselines3.
        belief: the belief that it reads.
        settings: settings of the environment that it plays.
        training: algorithm, seed, games and environment of each of its trainings; empty if
            unknown.

    The arguments are attributes too.

    Attributes:
        num_opponents: number of actions.
        observation_shape: shape of one observation.
        is_shared: whether all actions share the weights.
    """

    def __init__(
        self,
        name: str,
        network: BasePolicy,
        belief: str,
        settings: Options,
        training: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.name = name
        self.network = network
        self.belief = belief
        self.settings = settings
        self.training = list(training)
        self.num_opponents = int(network.action_space.n)  # type: ignore[attr-defined]
        self.observation_shape: tuple[int, ...] = tuple(network.observation_space.shape or ())
        self.is_shared = bool(getattr(network, "shares_weights", False))
        self._sizes: dict[int, LearnedPolicy] = {}
        # A plain network does not see which of its numbers are a mask.
        self._mask_reader: Reader | None = None
        reader = reader_of(settings)
        if reader and not self.is_shared:
            observation_space = spaces_of(settings)[0]
            self._mask_reader = reader["features_extractor_class"](observation_space)
        network.set_training_mode(False)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return the policy itself, which has no memory of its games."""
        return self

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}, {type(self.network).__name__}, "
            f"num_opponents={self.num_opponents}, belief={self.belief!r})"
        )

    def for_settings(self, settings: Options) -> Self:
        """Return the policy for an environment, with any prior, rank and reward.

        Args:
            settings: settings of the environment; their belief is replaced by the policy's.

        Raises:
            ValueError: if the policy cannot play with these settings; the message says why.
        """
        env_id = self.settings.env_id
        if settings.env_id != env_id:
            raise ValueError(f"the policy {self.name} only plays {env_id}")
        if hasattr(settings, "belief_type"):
            reads = f"the policy {self.name} reads the {self.belief} belief"
            with errors_named(f"{reads} and cannot play"):
                settings = replace(settings, belief=self.belief)  # type: ignore[call-arg]
        if settings == self.settings:
            return self
        network: Any = self.network
        observations, actions = spaces_of(settings)
        size = int(np.prod(observations.shape))
        expected = self.observation_shape[0]
        if not self.is_shared and (size != expected or actions.n != self.num_opponents):
            raise ValueError(
                f"the policy {self.name} reads {expected} numbers for {self.num_opponents} actions "
                f"and cannot play {env_id} with {settings.text_for(settings)}, which has {size} "
                f"numbers for {actions.n} actions"
            )
        arguments = network._get_constructor_parameters()
        reader = arguments["features_extractor_class"]
        if self.is_shared and reader is not reader.for_settings(settings):
            own = self.settings.text_for(self.settings)
            raise ValueError(
                f"the policy {self.name} plays {env_id} with {own} and cannot play "
                f"{settings.text_for(settings)}: a network plays games of two seats or of more"
            )
        arguments["observation_space"] = observations
        arguments["action_space"] = actions
        with torch.random.fork_rng(devices=[]):
            adapted = type(network)(**arguments).to(network.device)
        adapted.load_state_dict(network.state_dict())
        return type(self)(self.name, adapted, self.belief, settings, self.training)

    def for_opponents(self, count: int) -> LearnedPolicy:
        """Return the policy for another number of opponents, kept since building it takes time.

        Raises:
            ValueError: see ``for_settings``.
        """
        if count not in self._sizes:
            settings: Any = self.settings
            resized = self.for_settings(replace(settings, num_opponents=count, rank=None))
            if len(self._sizes) == MOST_SIZES:
                del self._sizes[next(iter(self._sizes))]
            self._sizes[count] = resized
        return self._sizes[count]

    def _predict(
        self, observation: Any, action_masks: ArrayLike | None, deterministic: bool
    ) -> NDArray[np.int64]:
        array = as_array("observation", observation)
        (size,) = self.observation_shape
        if array.ndim not in (1, 2) or array.shape[-1] != size:
            raise ValueError(
                f"observation must have shape ({size},) or (n, {size}), got {array.shape}: the "
                f"policy {self.name} reads the {self.belief} belief and chooses among "
                f"{self.num_opponents} actions; for_settings adapts it to other sizes"
            )
        if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
            raise ValueError("observation must hold finite numbers only")
        masks = None
        if action_masks is not None:
            masks = as_action_masks(action_masks, (*array.shape[:-1], self.num_opponents))
            masks = masks.reshape(-1, self.num_opponents)
        rows = np.array(array, dtype=np.float32, ndmin=2)
        threads: AbstractContextManager[None] = nullcontext()
        if len(rows) <= ONE_THREAD_ROWS:
            threads = one_thread()
        with threads, torch.no_grad():
            actions = self._chosen(rows, masks, deterministic)
        return np.asarray(actions.cpu().numpy().reshape(array.shape[:-1]))

    def _chosen(
        self, rows: NDArray[np.float32], masks: NDArray[np.bool_] | None, deterministic: bool
    ) -> torch.Tensor:
        """Return actions, shape (n,), for observations of shape (n, K) and masks (n, A)."""
        network: Any = self.network
        observations = torch.from_numpy(rows).to(network.device)
        has_probabilities = hasattr(network, "get_distribution")
        if has_probabilities:
            scores = network.get_distribution(observations).distribution.logits
        else:
            scores = network.q_net(observations)
        if masks is not None:
            allowed = torch.from_numpy(masks).to(scores.device)
            scores = scores.masked_fill(~allowed, -torch.inf)
        elif self._mask_reader is not None:
            allowed = self._mask_reader.read(observations)[1] > 0.0
            scores = scores.masked_fill(~allowed, -torch.inf)
        if deterministic or not has_probabilities:
            return scores.argmax(dim=1)
        return torch.multinomial(torch.softmax(scores, dim=1), 1)[:, 0]


@checked_dataclass(frozen=True, config=CLOSED)
class PolicyDescription:
    """Structure and provenance of a policy network, as plain data.

    Attributes:
        algorithm: name of the algorithm that trained it last.
        policy: name of the policy network, for example ``"SharedPolicy"``.
        policy_kwargs: its arguments, as in a YAML file.
        env_kwargs: options of the environment of its training.
        training: a mapping for each training, the first one first, with ``algorithm``, ``seed``,
            ``games`` and ``env_kwargs``, and for an imitation ``teacher``.
        format: version of the file format.
        environment: name of the environment.
    """

    algorithm: str
    policy: str
    policy_kwargs: dict[str, Any]
    env_kwargs: dict[str, Any]
    training: list[dict[str, Any]] = field(default_factory=list)
    format: Whole = FORMAT
    environment: str = DEFAULT_ENVIRONMENT

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise ValueError(
                f"its format must be {FORMAT}, got {self.format!r}, which is that of another "
                "version of matchenv"
            )

    def settings(self) -> Any:
        """Return the checked settings of the environment; of their classes only the belief.

        Raises:
            CodeRefused: for a belief that this process does not know, without permission.
        """
        belief = self.env_kwargs.get("belief")
        for name in values_of(belief):
            if is_object_spec(name) and name not in BELIEFS and not code_is_allowed():
                raise CodeRefused(
                    f"the policy would run the code of its belief {belief}: look at it, then give "
                    "--allow-code, or in Python call matchenv.belief.belief_named with this text"
                )
        return settings_without_code(self.environment, self.env_kwargs, kept=("belief",))

    def network(self, weights: Mapping[str, torch.Tensor] | None = None) -> BasePolicy:
        """Return the network with these weights, or with random ones.

        Raises:
            ValueError: for an unknown name, a bad value, or weights of another network.
        """
        settings = self.settings()
        classes = policy_classes(self.algorithm)
        if self.policy not in classes:
            raise ValueError(f"policy must be one of {', '.join(classes)}, got {self.policy!r}")
        kwargs = resolved_policy_kwargs(self.policy, self.policy_kwargs, settings)
        observations, actions = spaces_of(settings)
        # Initial weights that are replaced must not advance the caller's random numbers.
        with torch.random.fork_rng(devices=[], enabled=weights is not None):
            network: BasePolicy = classes[self.policy](
                observations, actions, ConstantSchedule(0.0), **kwargs
            )
        if weights is not None:
            try:
                network.load_state_dict(weights)
            except RuntimeError as error:
                raise ValueError(reason_of(error)) from None
            if not all(tensor.isfinite().all() for tensor in network.state_dict().values()):
                raise ValueError("its weights are not all finite")
        return network


def reason_of(error: Exception) -> str:
    """Return the first reason why torch refused weights; the first of several lines gives none."""
    lines = str(error).splitlines()
    if not lines:
        return type(error).__name__
    reason = lines[0]
    if len(lines) > 1:
        reason = lines[1]
    return " ".join(reason.split())


def save_policy(path: Path, network: BasePolicy, description: PolicyDescription) -> None:
    """Write a policy file atomically; equal policies give equal bytes.

    Args:
        path: the file, whose name should end in ``.safetensors``.
        network: the policy network.
        description: its description.
    """
    weights = {}
    for name, tensor in network.state_dict().items():
        weights[name] = tensor.detach().cpu().contiguous().numpy().copy()
    # The checksum is that of the description as it will be read.
    plain = json.loads(json.dumps(asdict(description), allow_nan=False))
    header = {**plain, CHECKSUM: checksum([HEADER, plain], weights)}
    # One entry, as the library writes several in varying order.
    write_bytes(path, save(weights, metadata={HEADER: json.dumps(header, sort_keys=True)}))


def read_policy(path: Path) -> tuple[BasePolicy, PolicyDescription]:
    """Read a file that ``save_policy`` wrote, and return the network and its description.

    Raises:
        ValueError: if there is no such file, it is damaged or is not a policy.
    """
    try:
        with safe_open(path, framework="numpy") as content:
            metadata = content.metadata() or {}
            weights = {name: content.get_tensor(name) for name in content.keys()}  # noqa: SIM118
        if HEADER not in metadata:
            raise ValueError(f"its header has no {HEADER}, so it is no policy of this package")
        header = parsed_json(metadata[HEADER], "its header")
        if header.pop(CHECKSUM, None) != checksum([HEADER, header], weights):
            raise ValueError("its checksum does not fit")
        description = built(PolicyDescription, header, "its description")
        tensors = {name: torch.from_numpy(array) for name, array in weights.items()}
        return description.network(tensors), description
    except CodeRefused:
        raise
    # A damaged file can raise almost anything.
    except Exception as error:
        raise ValueError(f"the policy file {path} is damaged: {error}") from error


def load(
    name_or_path: str | Path, *, settings: Options | None = None, device: str = "cpu"
) -> LearnedPolicy:
    """Load a learned policy; no code that its file names is run.

    Args:
        name_or_path: name of a packaged policy (``"ppo-gittins"``), folder of a run, its name in
            ``runs/``, RLlib checkpoint with our network, ``.safetensors`` file, or zip file of a
            model of stable-baselines3 or sb3-contrib.
        settings: settings of the environment to play, as for ``LearnedPolicy.for_settings``, for
            example ``env.unwrapped.settings`` or ``Settings.checked(beta=0.4)``; None for those of
            its training.
        device: device of torch.

    Raises:
        ValueError: if there is no such policy, it is damaged, or it cannot play with these
            settings.
    """
    name = str(name_or_path)
    path = learned_file(name)
    if path is None:
        raise ValueError(
            f"a learned policy must be {', '.join(map(repr, SHIPPED))}, the folder of a run, its "
            "name in runs/, a checkpoint of RLlib, a .safetensors file or a zip file of "
            f"stable-baselines3; there is no {name!r}"
        )
    torch_device = as_device(device)
    read = read_policy
    if path.suffix == ".zip":
        read = read_zip
    network, description = read(path)
    own_settings = description.settings()
    belief = getattr(own_settings, "belief", DEFAULT_BELIEF)
    policy = LearnedPolicy(
        name, network.to(torch_device), belief, own_settings, description.training
    )
    if settings is None:
        return policy
    return policy.for_settings(settings)


def read_zip(path: Path) -> tuple[BasePolicy, PolicyDescription]:
    """Read the policy of a zip file of stable-baselines3 without unpickling anything.

    The network is the first kind that accepts all weights; the options of the environment are
    those of the observation space.

    Raises:
        ValueError: if the file is damaged, or the environment or the network is not one of
            this package.
    """
    try:
        with zipfile.ZipFile(path) as packed:
            data = parsed_json(packed.read("data"), "its data")
            content = packed.read("policy.pth")
        weights = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        env_id, env_kwargs = _environment_of(data["observation_space"])
        policy_kwargs = _plain_kwargs(data["policy_kwargs"], env_id)
    # torch's own message for other objects advises to unpickle them.
    except UnpicklingError:
        why = "it holds other objects than weights"
        raise ValueError(f"the file {path} is no model that can be read: {why}") from None
    # A damaged archive can raise almost anything.
    except Exception as error:
        raise ValueError(f"the file {path} is no model that can be read: {error}") from None
    _warn_of_normalisation(path, data)
    defined_in = _module_of(data.get("policy_class"))
    # Another class could choose otherwise with the same weights.
    reason = f"its policy class is defined in {defined_in}"
    candidates: list[PolicyDescription] = []
    if defined_in.partition(".")[0] in KNOWN_PACKAGES:
        reason = ""
        # The other algorithms have the same networks as PPO.
        for algorithm, policy in product(("ppo", "dqn"), (PLAIN, SHARED)):
            candidates.append(
                PolicyDescription(algorithm, policy, policy_kwargs, env_kwargs, environment=env_id)
            )
    for description in candidates:
        try:
            return description.network(weights), description
        except CodeRefused:
            raise
        except (ValueError, AttributeError, TypeError, RuntimeError) as error:
            # That of the nearest kind is the shortest.
            if not reason or len(str(error)) < len(reason):
                reason = str(error)
    raise ValueError(
        f"the file {path} holds a network that this package cannot build: {reason}; load the model "
        "with its library in a module:function of your own, which is a policy"
    )


def _environment_of(space: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return name and options of the environment of an ``ObservationBox`` in a zip file."""
    if "env_id" not in space:
        raise ValueError(
            "it was not trained on the observations of an environment of matchenv, or a "
            "wrapper changed them"
        )
    env_kwargs = {}
    for name, value in space["options"].items():
        env_kwargs[name] = value
        if isinstance(value, list):  # one value, not one for each of several environments
            env_kwargs[name] = [value]
    return space["env_id"], env_kwargs


def _module_of(policy_class: Any) -> str:
    """Return the module that defines the policy class in a zip file."""
    if isinstance(policy_class, dict):
        return str(policy_class.get("__module__"))
    return str(policy_class)


def _warn_of_normalisation(path: Path, data: dict[str, Any]) -> None:
    """Warn if a model was trained with VecNormalize."""
    # Off-policy algorithms always have this entry, the others only with VecNormalize.
    if data.get("_last_original_obs") is not None and "replay_buffer_class" not in data:
        warnings.warn(
            f"the model {path} was trained with VecNormalize, whose statistics are not in a zip "
            "file: unless norm_obs was False, wrap it in a module:function of your own",
            stacklevel=4,
        )


def _plain_kwargs(zipped: Mapping[str, Any], env_id: str) -> dict[str, Any]:
    """Return a zip file's policy arguments as in a YAML file.

    Args:
        zipped: the arguments; stable-baselines3 writes the text of a class beside its pickle.
        env_id: name of the environment.
    """
    class_names = {activation.__name__: name for name, activation in ACTIVATIONS.items()}
    reader = environment_named(env_id).part("reader")
    if reader is not None:
        class_names[reader.__name__] = "Reader"
    kwargs: dict[str, Any] = {}
    for name in NETWORK_KWARGS:
        if name not in zipped:
            continue
        value = str(zipped[name])
        if value.startswith("<class"):
            class_name = value.rpartition(".")[2].rstrip("'>")
            kwargs[name] = class_names.get(class_name, class_name)
        else:
            kwargs[name] = ast.literal_eval(value)
    return kwargs


def as_device(name: str) -> torch.device:
    """Return a device of torch; ``"cuda"`` without a GPU is the CPU.

    Args:
        name: for example ``"cpu"`` or ``"cuda:1"``; ``"auto"`` is a GPU where torch has one, else
            the CPU.

    Raises:
        ValueError: if torch has no device of that name.
    """
    try:
        return get_device(name)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"device must be auto, cpu, cuda or cuda:N, got {name!r}") from error
