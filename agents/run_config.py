"""Configuration and folder of a training run; imports no torch until a network is named.

Hyperparameter files use the names of rl-baselines3-zoo. Under the name of the environment they have
``n_timesteps``, ``n_envs``, ``policy``, ``policy_kwargs``, the arguments of the algorithm, and
``env_kwargs``, the options of the environment. A rate such as ``lin_1e-3`` falls linearly from
1e-3 to 0 over the training.
"""

from __future__ import annotations

import inspect
import platform
import warnings
from contextlib import suppress
from dataclasses import asdict, field
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, StrictBool, create_model
from pydantic.dataclasses import dataclass as checked_dataclass

from matchenv.agents.config_file import (
    CLOSED,
    Whole,
    built,
    read_hyperparameters,
)
from matchenv.agents.environments import (
    DEFAULT_ENVIRONMENT,
    has_masks,
    settings_of,
    settings_without_code,
    training_of,
)
from matchenv.agents.learned_names import CONFIG, EVALUATIONS, POLICY_FILE
from matchenv.envs import environment_named
from matchenv.envs.one_player.settings import as_texts
from matchenv.evaluation import seeds
from matchenv.evaluation.protocols import protocol_of
from matchenv.runtime.checks import as_choice, errors_named, refusal
from matchenv.runtime.files import checksum, json_bytes, read_json, write_bytes
from matchenv.runtime.provenance import versions
from matchenv.runtime.yaml_values import parsed, yaml_text

PACKAGES = ("gymnasium", "sb3-contrib", "scipy", "stable-baselines3", "torch")

CHECKSUM = "# sha256 of the lines above: "

# Policy networks: the library's own, and the shared one.
PLAIN = "MlpPolicy"
SHARED = "SharedPolicy"

# Classes of the algorithms, under the names of rl-baselines3-zoo.
ALGORITHMS = {
    "a2c": "stable_baselines3:A2C",
    "averaged_ppo": "matchenv.agents.averaged_outcomes:AveragedPPO",
    "dqn": "stable_baselines3:DQN",
    "imitation": "matchenv.agents.imitation:Imitation",
    "maskable_ppo": "sb3_contrib:MaskablePPO",
    "ppo": "stable_baselines3:PPO",
    "trpo": "sb3_contrib:TRPO",
}

# Classes of the shared network for algorithms that need another base class.
SHARED_CLASSES = {"dqn": "SharedDQNPolicy", "maskable_ppo": "SharedMaskablePolicy"}

# The algorithm that gives masks to any network.
MASKABLE = "maskable_ppo"

# DQN explores with random actions, which may be forbidden; AveragedPPO looks ahead without masks.
MASKED_ALGORITHMS = [name for name in ALGORITHMS if name not in ("dqn", "averaged_ppo")]

# Arguments of the constructors that a training sets itself.
NOT_HYPERPARAMETERS = {
    "self",
    "policy",
    "env",
    "verbose",
    "seed",
    "device",
    "tensorboard_log",
    "policy_kwargs",
    "replay_buffer_class",
    "replay_buffer_kwargs",
    "rollout_buffer_class",
    "rollout_buffer_kwargs",
    "_init_setup_model",
    "others",
}

# The largest seed of NumPy's legacy generator, which stable-baselines3 draws from.
LARGEST_SEED = 2**32 - 1

# Larger values would exhaust memory.
MOST = 100_000_000
MOST_EVALUATION_EPISODES = 1_000_000
WIDEST_LAYER = 16_384
MOST_LAYERS = 32

LINEAR = "lin_"

# Entry of a hyperparameter file with the options of the environment.
ENV_KWARGS = "env_kwargs"

# Entries of a hyperparameter file that are not arguments of the algorithm.
ABOUT_THE_RUN = ("n_timesteps", "n_envs", "policy", "policy_kwargs")


# Strict types of fields: a text is not a number, and a number is not a truth value.
Count = Annotated[Whole, Field(ge=1)]
Large = Annotated[Count, Field(le=MOST)]
Number = Annotated[float, Field(strict=True)]
Positive = Annotated[Number, Field(gt=0.0)]
NonNegative = Annotated[Number, Field(ge=0.0)]
Share = Annotated[Number, Field(ge=0.0, le=1.0)]


def algorithm_class(algo: Any) -> Any:
    """Return the class of an algorithm; imports torch.

    Raises:
        ValueError: for an unknown name; the message lists the known ones.
    """
    return resolve_name(ALGORITHMS[as_choice("algo", algo, ALGORITHMS)])


def policy_classes(algo: str) -> dict[str, Any]:
    """Return the classes of an algorithm's policy networks, by name; imports torch."""
    shared = SHARED_CLASSES.get(algo, SHARED)
    return {
        PLAIN: algorithm_class(algo).policy_aliases[PLAIN],
        SHARED: resolve_name(f"matchenv.agents.sb3_policies:{shared}"),
    }


def hyperparameter_names(algo: str) -> set[str]:
    """Return the names of an algorithm's hyperparameters; imports torch."""
    algorithm = algorithm_class(algo)
    names = set(inspect.signature(algorithm.__init__).parameters)
    names.update(getattr(algorithm, "others", ()))
    return names - NOT_HYPERPARAMETERS


def linear_start(rate: Any) -> float | None:
    """Return the first value of a rate such as ``"lin_1e-3"``; None for a constant rate."""
    if not isinstance(rate, str):
        return None
    return float(rate.removeprefix(LINEAR))


def _rate(value: Any) -> Any:
    """Check a rate: a number >= 0, or lin_NUMBER."""
    number: Any = value
    if isinstance(value, str) and value.startswith(LINEAR):
        with suppress(ValueError):
            number = linear_start(value)
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < MOST:
        raise ValueError(f"a rate must be a number >= 0 or lin_NUMBER, got {value!r}")
    return value


Rate = Annotated[Any, BeforeValidator(_rate)]
Width = Annotated[Whole, Field(ge=1, le=WIDEST_LAYER)]
Layers = Annotated[list[Width], Field(max_length=MOST_LAYERS)]
AtLeastMinusOne = Annotated[Whole, Field(ge=-1, le=MOST)]


class PolicyKwargs(BaseModel):
    """Arguments of a policy network as plain data, with the names of stable-baselines3.

    ``net_arch`` has the widths of the hidden layers, or those of the scores (``pi``) and the value
    (``vf``). ``features_extractor_class`` is for ``MlpPolicy``: the bare observation, or the
    numbers that the shared network reads.
    """

    model_config = CLOSED

    net_arch: Layers | dict[Literal["pi", "vf"], Layers] | None = None
    activation_fn: Literal["tanh", "relu", "elu", "leaky_relu", "silu"] | None = None
    features_extractor_class: Literal["Flatten", "Reader"] | None = None
    optimizer_kwargs: dict[str, Number] | None = None
    ortho_init: StrictBool | None = None
    share_features_extractor: StrictBool | None = None


# The libraries would fail on a bad value in the middle of the training. Hyperparameters that are
# not listed accept any value.
HYPERPARAMETERS: dict[str, Any] = {
    "n_steps": Large,
    "n_epochs": Large,
    "buffer_size": Large,
    "target_update_interval": Large,
    "train_freq": Large,
    "stats_window_size": Large,
    "cg_max_steps": Large,
    "line_search_max_iter": Large,
    "n_critic_updates": Large,
    "sub_sampling_factor": Large,
    "batch_size": Large | None,
    "learning_starts": Annotated[Whole, Field(ge=0, le=MOST)],
    "gradient_steps": AtLeastMinusOne,
    "sde_sample_freq": AtLeastMinusOne,
    "gamma": Share,
    "gae_lambda": Share,
    "tau": Share,
    "exploration_fraction": Share,
    "exploration_initial_eps": Share,
    "exploration_final_eps": Share,
    "line_search_shrinking_factor": Share,
    "ent_coef": NonNegative,
    "vf_coef": NonNegative,
    "cg_damping": NonNegative,
    "rms_prop_eps": Positive,
    "max_grad_norm": Positive | None,
    "target_kl": Positive | None,
    "normalize_advantage": StrictBool,
    "shaping": StrictBool,
    "use_rms_prop": StrictBool,
    "learning_rate": Rate,
    "clip_range": Rate,
    "clip_range_vf": Rate | None,
    "use_sde": Literal[False],  # only for continuous actions
    "teacher": str,
}


def checked_hyperparameters(algo: str, values: dict[str, Any]) -> dict[str, Any]:
    """Check hyperparameters, and return them with counts as integers.

    Args:
        algo: name of the algorithm.
        values: the hyperparameters, with ``n_timesteps``, ``n_envs`` and ``policy``.

    Raises:
        ValueError: for an unknown name (the known ones are listed), a missing one or a bad value.
    """
    entries: dict[str, Any] = {
        "n_timesteps": (Count, ...),
        "n_envs": (Annotated[Count, Field(le=seeds.ENVIRONMENTS)], ...),
        "policy": (Literal[tuple(policy_classes(algo))], ...),
        "policy_kwargs": (PolicyKwargs, PolicyKwargs()),
    }
    for name in sorted(hyperparameter_names(algo)):
        entries[name] = (HYPERPARAMETERS.get(name, Any), None)
    model = create_model(algo, __config__=CLOSED, **entries)
    checked = built(model, values, f"hyperparameters of {algo}").model_dump(exclude_unset=True)
    return {name: checked[name] for name in values}


def present_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that a result depends on."""
    return {"python": platform.python_version(), **versions(*PACKAGES)}


@checked_dataclass(frozen=True, kw_only=True, config=CLOSED)
class RunConfig:
    """One training run; build it with ``configured`` or ``from_text``.

    Attributes:
        algorithm: name of the algorithm.
        seed: random seed, 0 to ``LARGEST_SEED``.
        hyperparameters: as in a YAML file, with ``n_timesteps`` and ``n_envs``.
        env_kwargs: options of the environment; a prior or reward object becomes
            ``module:Class:key=value``.
        evaluate_every: timesteps between evaluations.
        evaluation_episodes: episodes of each evaluation, 2 to ``MOST_EVALUATION_EPISODES``.
        checkpoint_every: timesteps between checkpoints.
        start_from: learned policy with the initial weights, as for ``matchenv.agents.load``; None
            draws them.
        versions: of Python and the packages at the start of the run.
        environment: its name in Gymnasium.
    """

    algorithm: str
    seed: Annotated[Whole, Field(ge=0, le=LARGEST_SEED)]
    hyperparameters: dict[str, Any]
    env_kwargs: dict[str, Any]
    evaluate_every: Count
    evaluation_episodes: Annotated[Whole, Field(ge=2, le=MOST_EVALUATION_EPISODES)]
    checkpoint_every: Count
    start_from: str | None = None
    versions: dict[str, str] = field(repr=False)
    environment: str = DEFAULT_ENVIRONMENT

    def __post_init__(self) -> None:
        checked = checked_hyperparameters(self.algorithm, self.hyperparameters)
        object.__setattr__(self, "hyperparameters", checked)
        object.__setattr__(self, "env_kwargs", as_texts(self.env_kwargs))
        settings = settings_without_code(self.environment, self.env_kwargs)
        policy = checked["policy"]
        reads_masks = self.algorithm in MASKED_ALGORITHMS and policy == SHARED
        if not reads_masks and self.algorithm != MASKABLE and has_masks(settings):
            raise ValueError(
                f"algo must be one of {', '.join(MASKED_ALGORITHMS)}, with policy {SHARED} unless "
                f"it is {MASKABLE}, where {settings.text_for(settings)} of {self.environment} "
                f"masks actions, got {self.algorithm} with {policy}"
            )

    def replaced(self, **values: Any) -> RunConfig:
        """Return the configuration with other values, which are checked."""
        return built(RunConfig, {**vars(self), **values})

    @property
    def timesteps(self) -> int:
        """Length of the training, over all environments."""
        return int(self.hyperparameters["n_timesteps"])

    @property
    def num_envs(self) -> int:
        """Number of environments in the batch."""
        return int(self.hyperparameters["n_envs"])

    def options(self) -> dict[str, Any]:
        """Return all settings by name except versions, also those within ``env_kwargs``."""
        options = {**vars(self), **self.hyperparameters}
        for nested in ("hyperparameters", "env_kwargs", "versions"):
            del options[nested]
        for name, value in self.env_kwargs.items():
            # DQN and environments have a tau.
            if name in self.hyperparameters:
                options[f"env_kwargs.{name}"] = value
            else:
                options[name] = value
        return options

    def comparison(self) -> dict[str, Any]:
        """Return the arguments of the final comparison.

        Where the environment's protocol fixes them, they have no reward, as a comparison reports
        all, and no belief, as each policy reads its own.
        """
        fixed = protocol_of(self.environment).fixed
        options = dict(self.env_kwargs)
        for name in ("reward", "belief"):
            if name in fixed:
                options.pop(name, None)
        settings = settings_of(self.environment, self.env_kwargs)
        cells = training_of(self.environment).cells(options, settings)
        return {"env": self.environment, "cells": cells, "env_kwargs": options}

    def to_text(self) -> str:
        """Return the configuration as YAML with a checksum in its last line."""
        text = yaml_text(asdict(self))
        return f"{text}{CHECKSUM}{checksum(text)}\n"

    @classmethod
    def from_text(cls, text: str) -> RunConfig:
        """Read what ``to_text`` wrote; imports nothing that it names.

        Raises:
            ValueError: if it is damaged or has a bad value.
        """
        content, mark, digest = text.partition(CHECKSUM)
        if not mark:
            warnings.warn("a configuration without a checksum may be damaged", stacklevel=3)
        elif digest.strip() != checksum(content):
            raise ValueError(
                "its checksum does not match; after a change by hand, remove the line with it"
            )
        return built(cls, parsed(text, "it"), "it")


def configured(
    algo: str = "ppo",
    *,
    config_file: Path | None = None,
    hyperparameters: dict[str, Any] | None = None,
    env_kwargs: dict[str, Any] | None = None,
    environment: str = DEFAULT_ENVIRONMENT,
    **run: Any,
) -> RunConfig:
    """Return a run's configuration from a file and arguments, which override the file.

    Args:
        algo: name of the algorithm.
        config_file: YAML file of hyperparameters, or the name of a packaged one; None for the
            algorithm's own.
        hyperparameters: single hyperparameters; ``policy_kwargs`` are merged with the file's.
        env_kwargs: options of the environment; lists as in ``MatchmakingVecEnv``.
        environment: its name in Gymnasium, a section of the file.
        run: ``timesteps`` and ``num_envs`` (default: the file's), and fields of ``RunConfig``:
            ``seed`` (0), ``evaluate_every`` (a tenth of all timesteps), ``evaluation_episodes``
            (64), ``checkpoint_every`` (a twentieth) and ``start_from``. None is the default.

    Raises:
        ValueError: for any bad value; the message names it and what is allowed.
    """
    environment_named(environment)
    as_choice("algo", algo, ALGORITHMS)
    file = read_hyperparameters(environment, algo, config_file)
    file_env_kwargs = file.pop(ENV_KWARGS, {})
    if not isinstance(file_env_kwargs, dict):
        raise refusal(f"{ENV_KWARGS} must be a mapping", file_env_kwargs)
    texts = as_texts({**file_env_kwargs, **(env_kwargs or {})})
    settings_of(environment, texts)
    values = {**file, **(hyperparameters or {})}
    file_policy_kwargs = file.get("policy_kwargs")
    policy_kwargs = values.get("policy_kwargs")
    if isinstance(file_policy_kwargs, dict) and isinstance(policy_kwargs, dict):
        values["policy_kwargs"] = {**file_policy_kwargs, **policy_kwargs}
    run = {name: value for name, value in run.items() if value is not None}
    if "timesteps" in run:
        values["n_timesteps"] = run.pop("timesteps")
    if "num_envs" in run:
        values["n_envs"] = run.pop("num_envs")
    total = checked_hyperparameters(algo, values)["n_timesteps"]
    content = {
        "algorithm": algo,
        "seed": 0,
        "hyperparameters": values,
        "env_kwargs": texts,
        "evaluate_every": max(1, total // 10),
        "evaluation_episodes": 64,
        "checkpoint_every": max(1, total // 20),
        "versions": present_versions(),
        "environment": environment,
        **run,
    }
    return built(RunConfig, content)


class RunFolder:
    """The folder of one training run; its attributes are paths."""

    def __init__(self, path: Path) -> None:
        self.path = path  #: the folder
        self.config_file = path / CONFIG  #: the configuration
        self.policy_file = path / POLICY_FILE  #: policy at the last checkpoint, or at the end
        self.best_policy_file = path / "best_policy.safetensors"  #: policy of the best evaluation
        self.evaluations_file = path / EVALUATIONS  #: all evaluations on held-out seeds
        self.checkpoint_file = path / "checkpoint.zip"  #: from which a training continues
        self.tensorboard = path / "tensorboard"  #: folder of TensorBoard's logs
        self.comparison = path / "comparison"  #: folder of the final comparison

    def differences(self, config: RunConfig) -> list[str]:
        """Return the names of options in which the run differs; none if there is no run.

        Raises:
            ValueError: if its configuration is damaged.
        """
        if not self.config_file.exists():
            return []
        old = self.read_config().options()
        new = config.options()
        missing = object()
        differing = []
        for name in sorted({*old, *new}):
            if old.get(name, missing) != new.get(name, missing):
                differing.append(name)
        return differing

    def check_new(self, config: RunConfig) -> None:
        """Check that the folder holds no run, or the run of this configuration.

        Raises:
            ValueError: if it holds another run, or runs of several seeds.
        """
        if not self.config_file.exists() and any(self.path.glob(f"seed*/{CONFIG}")):
            raise ValueError(f"out must be another folder: {self.path} holds several seeds")
        differing = self.differences(config)
        if differing:
            raise ValueError(
                f"out must be a new folder or one of the same training, and the run in {self.path} "
                f"differs in {', '.join(differing)}: continue it with --resume {self.path}"
            )

    @classmethod
    def create(cls, path: Path, config: RunConfig) -> RunFolder:
        """Create the folder of a run with its configuration, or open that of the same run.

        Raises:
            ValueError: if it holds another run.
            OSError: if it cannot be written.
        """
        folder = cls(path)
        folder.check_new(config)
        path.mkdir(parents=True, exist_ok=True)
        if not folder.config_file.exists():
            folder.write_config(config)
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Open the folder of an existing run.

        Raises:
            ValueError: if there is no run.
        """
        folder = cls(path)
        if not folder.config_file.is_file():
            raise ValueError(f"{path} holds no run: it has no {CONFIG}")
        return folder

    def write_config(self, config: RunConfig) -> None:
        """Write the configuration."""
        write_bytes(self.config_file, config.to_text().encode())

    def read_config(self) -> RunConfig:
        """Return the configuration.

        Raises:
            ValueError: if it is damaged.
        """
        with errors_named(f"the run {self.path} has a damaged {CONFIG}"):
            return RunConfig.from_text(self.config_file.read_text(encoding="utf-8"))

    def write_evaluations(self, seed: int, evaluations: list[dict[str, Any]]) -> None:
        """Write the evaluations, with the environment seed of their first episode."""
        content = {"first_environment_seed": seed, "evaluations": evaluations}
        write_bytes(self.evaluations_file, json_bytes(content, checked=True))

    def read_evaluations(self) -> list[dict[str, Any]]:
        """Return all evaluations.

        Raises:
            ValueError: if the file is damaged.
        """
        if not self.evaluations_file.exists():
            return []
        return list(read_json(self.evaluations_file)["evaluations"])
