"""Learned policies, and their files, which are data: reading one runs no code that it names.

A policy of ours is one safetensors file, weights beside a description, with a checksum. Of a zip
file of stable-baselines3 the weights are read by torch's restricted reader and the rest from the
JSON in it; the pickled objects in it are left alone.
"""

from __future__ import annotations

import ast
import io
import json
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field, replace
from itertools import pairwise
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
from matchenv.agents.environments import settings_without_code
from matchenv.agents.learned_names import SHIPPED, learned_file
from matchenv.agents.network import READERS, guessed_settings, reader_of, spaces_of
from matchenv.agents.run_config import ALGORITHMS, SHARED, algorithm_by_name
from matchenv.agents.sb3_policies import ACTIVATIONS, resolved_policy_kwargs
from matchenv.baselines.policy import PredictMixin
from matchenv.belief import DEFAULT_BELIEF
from matchenv.envs import env_id_of
from matchenv.envs.core.settings import Options
from matchenv.evaluation.registry import ONE_PLAYER
from matchenv.runtime.checks import as_action_masks
from matchenv.runtime.files import checksum, parsed_json, write_bytes

HEADER, CHECKSUM = "matchenv_policy", "sha256"
FORMAT = 2

# Bytes of an unpacked zip file that is read.
LARGEST_ZIP = 1 << 30

# Arguments in a zip file that change what a network computes.
OF_THE_NETWORK = {"net_arch", "activation_fn", "features_extractor_class"}


class LearnedPolicy(PredictMixin):
    """A trained policy network.

    A shared network plays any number of opponents (candidates, items), horizon and unit of skill:
    its weights are the same for every action. It does not know of draws or of a drift that the
    training did not have: there it plays by the belief as everywhere. Any other network plays where
    observations and actions are as many as in its training.

    Args:
        name: the name or path that it was loaded by.
        network: the network of stable-baselines3.
        belief: the belief whose observation it reads.
        settings: of the environment that it was trained in.
        training: algorithm, seed, games and environment of each training that it went through;
            empty if that is not known.

    The arguments are attributes too.

    Attributes:
        num_opponents: number of actions, of the environment that it plays in.
        observation_shape: shape of one observation.
    """

    def __init__(
        self,
        name: str,
        network: BasePolicy,
        belief: str,
        settings: Options,
        training: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.name, self.network, self.belief = name, network, belief
        self.settings, self.training = settings, list(training)
        self.num_opponents = int(network.action_space.n)  # type: ignore[attr-defined]
        self.observation_shape: tuple[int, ...] = tuple(network.observation_space.shape or ())
        network.set_training_mode(False)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}, {type(self.network).__name__}, "
            f"num_opponents={self.num_opponents}, belief={self.belief!r})"
        )

    @property
    def is_shared(self) -> bool:
        """True where the weights are the same for every action."""
        return bool(getattr(self.network, "shares_weights", False))

    def for_settings(self, settings: Options) -> Self:
        """Return the policy for an environment; its prior, rank and reward may be any.

        The belief of the settings is ignored: the policy always reads the one of its attribute
        ``belief``.

        Args:
            settings: of the environment.

        Raises:
            ValueError: if the policy cannot play with these settings; it says why.
        """
        env_id = env_id_of(self.settings)
        if env_id_of(settings) != env_id:
            raise ValueError(f"the policy {self.name} only plays {env_id}")
        if hasattr(settings, "belief"):
            try:
                settings = replace(settings, belief=self.belief)  # type: ignore[call-arg]
            except ValueError as error:
                raise ValueError(
                    f"the policy {self.name} reads the {self.belief} belief and cannot play: "
                    f"{error}"
                ) from None
        if self.is_shared:
            if settings == self.settings:
                return self
            network: Any = self.network
            kwargs = {**network._get_constructor_parameters(), **reader_of(settings)}
            kwargs["observation_space"], kwargs["action_space"] = spaces_of(settings)
            with torch.random.fork_rng(devices=[]):
                resized = type(network)(**kwargs).to(network.device)
            resized.load_state_dict(network.state_dict())
            return type(self)(self.name, resized, self.belief, settings, self.training)
        observations, actions = spaces_of(settings)
        size, read = int(np.prod(observations.shape)), self.observation_shape[0]
        if size != read or actions.n != self.num_opponents:
            raise ValueError(
                f"the policy {self.name} reads {read} numbers for {self.num_opponents} actions and "
                f"cannot play {env_id} with {settings.text_for(settings)}, which has {size} "
                f"numbers for {actions.n} actions"
            )
        return self

    def _predict(
        self, observation: Any, action_masks: ArrayLike | None, deterministic: bool
    ) -> NDArray[np.int64]:
        array = np.asarray(observation)
        (size,) = self.observation_shape
        if array.ndim not in (1, 2) or array.shape[-1] != size:
            raise ValueError(
                f"observation must have shape ({size},) or (n, {size}), got {array.shape}: the "
                f"policy {self.name} chooses among {self.num_opponents} actions; for_settings "
                "makes one for another environment"
            )
        if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
            raise ValueError("observation must hold finite numbers only")
        network: Any = self.network
        rows = torch.from_numpy(np.array(array, dtype=np.float32, ndmin=2)).to(network.device)
        with torch.no_grad():
            gives_probabilities = hasattr(network, "get_distribution")
            if gives_probabilities:
                scores = network.get_distribution(rows).distribution.logits
            else:
                scores = network.q_net(rows)
            if action_masks is not None:
                masks = as_action_masks(action_masks, (*array.shape[:-1], self.num_opponents))
                allowed = torch.from_numpy(masks.reshape(-1, self.num_opponents)).to(scores.device)
                scores = scores.masked_fill(~allowed, -torch.inf)
            # Values are no probabilities to draw from.
            if deterministic or not gives_probabilities:
                actions = scores.argmax(dim=1)
            else:
                actions = torch.multinomial(torch.softmax(scores, dim=1), 1)[:, 0]
        return np.asarray(actions.cpu().numpy().reshape(array.shape[:-1]))


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

    def network(self, weights: Mapping[str, torch.Tensor] | None = None) -> BasePolicy:
        """Return the network, with weights that are drawn or given.

        Raises:
            ValueError: for an unknown name, a bad value, or weights of another network.
        """
        settings = self.settings()
        kind = algorithm_by_name(self.algorithm).policy_class(self.policy)
        kwargs = resolved_policy_kwargs(self.policy, self.policy_kwargs, settings)
        observations, actions = spaces_of(settings)
        if weights is not None:
            # A lower bound, before a network of any size takes memory.
            ends = 1 if self.policy == SHARED else int(actions.n)
            layers = kwargs.get("net_arch", [1])
            heads = layers if isinstance(layers, dict) else {"pi": layers}
            chains = [[ends, *each, ends if part == "pi" else 1] for part, each in heads.items()]
            needed = max(sum(a * b for a, b in pairwise(chain)) for chain in chains)
            # Views of one storage count once: few numbers can stand for any number.
            stores = (each.untyped_storage() for each in weights.values())
            held = sum({each.data_ptr(): each.nbytes() // 4 for each in stores}.values())
            if needed > held:
                raise ValueError(
                    f"its description needs {needed:,} weights at least, and it holds {held:,}"
                )
        # Weights are drawn before they are replaced; that must not change anybody's numbers.
        with torch.random.fork_rng(devices=[], enabled=weights is not None):
            made: BasePolicy = kind(observations, actions, ConstantSchedule(0.0), **kwargs)
        if weights is not None:
            try:
                made.load_state_dict(weights)
            except RuntimeError as error:
                raise ValueError(str(error).partition("\n")[0]) from None
            if not all(each.isfinite().all() for each in made.state_dict().values()):
                raise ValueError("its weights are not all finite")
        return made


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
        The network and its description.

    Raises:
        ValueError: if there is no such file, it is damaged or is no policy.
    """
    try:
        with safe_open(path, framework="numpy") as content:
            said = (content.metadata() or {}).get(HEADER)
            weights = {name: content.get_tensor(name) for name in content.keys()}  # noqa: SIM118
        if said is None:
            raise ValueError(f"its header has no {HEADER}, so it is no policy of this package")
        header = parsed_json(said, "its header")
        if header.pop(CHECKSUM, None) != checksum([HEADER, header], weights):
            raise ValueError("its checksum does not fit")
        description = built(PolicyDescription, header, "its description")
        tensors = {name: torch.from_numpy(array) for name, array in weights.items()}
        return description.network(tensors), description
    # A damaged file raises almost anything.
    except Exception as error:
        raise ValueError(f"the policy file {path} is damaged: {error}") from error


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
    network, description = (read_zip if path.suffix == ".zip" else read_policy)(path)
    known = description.settings()
    belief = getattr(known, "belief", DEFAULT_BELIEF)
    policy = LearnedPolicy(name, network.to(where), belief, known, description.training)
    return policy if settings is None else policy.for_settings(settings)


def read_zip(path: Path) -> tuple[BasePolicy, PolicyDescription]:
    """Read the policy of a zip file of stable-baselines3 without unpickling anything.

    Of the kinds of networks the one is meant that takes all weights.

    Args:
        path: the file.

    Returns:
        The network, and a description with an environment that has its observations.

    Raises:
        ValueError: if it is damaged, of another environment, or of a network that
            stable-baselines3 and this package do not have.
    """
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(each.file_size for each in packed.infolist())
            if size > LARGEST_ZIP:
                raise ValueError(f"it unpacks to {size:,} bytes, at most {LARGEST_ZIP:,} are read")
            # No more than the size that was just checked, whatever else unpacks.
            text, content = (packed.open(name).read(packed.getinfo(name).file_size)
                             for name in ("data", "policy.pth"))  # fmt: skip
            data = parsed_json(text, "its data")
        # torch compresses nothing; what is compressed may unpack to any size.
        if any(each.compress_type for each in zipfile.ZipFile(io.BytesIO(content)).infolist()):
            raise ValueError("its weights are compressed")
        weights = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        kwargs, reader = _plain_kwargs(data)
        box = data["observation_space"]
        described = (box["_shape"], box["low"], box["high"])
        settings: Any = guessed_settings(
            int(data["action_space"]["n"]),
            lambda space: (list(space.shape), str(space.low), str(space.high)) == described,
        )
        game = {name: reader[name] for name in ("beta", "horizon") if name in reader}
    # A damaged archive raises almost anything. torch advises to read other objects unprotected.
    except Exception as error:
        why = "it holds other objects than weights" if isinstance(error, UnpicklingError) else error
        raise ValueError(f"the file {path} is no model that can be read: {why}") from None
    # Off-policy algorithms always keep it, the others for VecNormalize alone.
    if data.get("_last_original_obs") is not None and "replay_buffer_class" not in data:
        warnings.warn(
            f"the model {path} learned in VecNormalize, whose averages no zip file holds: it plays "
            "as it learned only if that had norm_obs=False, or in a module:function of yours",
            stacklevel=3,
        )
    env_kwargs, why = {**settings.changed(), **game}, ""
    for algorithm in ALGORITHMS.values():
        for policy in algorithm.policies:
            try:
                description = PolicyDescription(
                    algorithm.name, policy, kwargs, env_kwargs, environment=env_id_of(settings)
                )
                return description.network(weights), description
            except (ValueError, AttributeError, TypeError, RuntimeError) as error:
                why = str(error)
    raise ValueError(
        f"the file {path} holds a network that this package cannot build: {why}; load the model "
        "with its library in a function of yours: module:function is a policy"
    )


def _plain_kwargs(data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of a zip file's network, as in a YAML file, and of its reader."""
    # What JSON does not know is a pickled object, with a text beside it.
    texts = {name: str(value) for name, value in data["policy_kwargs"].items()}
    found, reader = {}, ast.literal_eval(texts.get("features_extractor_kwargs", "{}"))
    for name in (each for each in texts if each in OF_THE_NETWORK):
        kind = texts[name].rpartition(".")[2].rstrip("'>")
        if not texts[name].startswith("<class"):
            found[name] = ast.literal_eval(texts[name])
        elif any(kind == each.__name__ for each in READERS.values()):
            found[name] = "Reader"
        else:
            known = {each.__name__: key for key, each in ACTIVATIONS.items()}
            found[name] = known.get(kind, kind)
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
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"device must be auto, cpu, cuda or cuda:N, got {name!r}") from error
