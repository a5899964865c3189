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
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, StrictBool, create_model
from pydantic.dataclasses import dataclass as checked_dataclass

from matchenv.agents.config_file import CLOSED, Whole, built, parsed, read_yaml, yaml_text
from matchenv.agents.environments import (
    PROBLEMS,
    named_files,
    settings_of,
    settings_without_code,
)
from matchenv.agents.learned_names import CONFIG, EVALUATIONS, POLICY_FILE, learned_file
from matchenv.envs import simulator_of
from matchenv.envs.one_player.settings import as_texts
from matchenv.evaluation import seeds
from matchenv.evaluation.protocols import protocol_of
from matchenv.evaluation.registry import ONE_PLAYER, files_of, policy_named
from matchenv.runtime.checks import as_choice, errors_named, refusal
from matchenv.runtime.files import checksum, json_bytes, read_json, write_bytes
from matchenv.runtime.object_spec import is_object_spec
from matchenv.runtime.provenance import digest_of, module_digest, versions

PACKAGES = ("gymnasium", "sb3-contrib", "scipy", "stable-baselines3", "torch")

CHECKSUM = "# sha256 of the lines above: "

# Policy networks: the library's own, and the shared one.
PLAIN, SHARED = "MlpPolicy", "SharedPolicy"

# Classes of the algorithms, under the names of rl-baselines3-zoo.
ALGORITHMS = {
    "a2c": "stable_baselines3:A2C",
    "dqn": "stable_baselines3:DQN",
    "imitation": "matchenv.agents.imitation:Imitation",
    "ppo": "stable_baselines3:PPO",
    "trpo": "sb3_contrib:TRPO",
}

# DQN explores with random actions, which may be forbidden.
MASKED_ALGORITHMS = [name for name in ALGORITHMS if name != "dqn"]

# Arguments of the constructors that a training sets itself.
NOT_HYPERPARAMETERS = {
    "self", "policy", "env", "verbose", "seed", "device", "tensorboard_log", "policy_kwargs",
    "replay_buffer_class", "replay_buffer_kwargs", "rollout_buffer_class",
    "rollout_buffer_kwargs", "_init_setup_model", "others",
}  # fmt: skip

# The largest seed of NumPy's legacy generator, which stable-baselines3 draws from.
LARGEST_SEED = 2**32 - 1

# Larger values would exhaust memory.
MOST, MOST_EVALUATION_EPISODES = 100_000_000, 1_000_000
WIDEST_LAYER, MOST_LAYERS = 16_384, 32

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
    shared = "SharedDQNPolicy" if algo == "dqn" else SHARED
    return {
        PLAIN: algorithm_class(algo).policy_aliases[PLAIN],
        SHARED: resolve_name(f"matchenv.agents.sb3_policies:{shared}"),
    }


def hyperparameter_names(algo: str) -> set[str]:
    """Return the names of an algorithm's hyperparameters; imports torch."""
    kind = algorithm_class(algo)
    names = {*inspect.signature(kind.__init__).parameters, *getattr(kind, "others", ())}
    return names - NOT_HYPERPARAMETERS


def linear_start(rate: Any) -> float | None:
    """Return the first value of a rate such as ``"lin_1e-3"``; None for a constant rate."""
    return float(rate.removeprefix(LINEAR)) if isinstance(rate, str) else None


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
    **dict.fromkeys(
        ("n_steps", "n_epochs", "buffer_size", "target_update_interval", "train_freq",
         "stats_window_size", "cg_max_steps", "line_search_max_iter", "n_critic_updates",
         "sub_sampling_factor"),
        Large,
    ),
    "batch_size": Large | None,
    "learning_starts": Annotated[Whole, Field(ge=0, le=MOST)],
    "gradient_steps": AtLeastMinusOne,
    "sde_sample_freq": AtLeastMinusOne,
    **dict.fromkeys(
        ("gamma", "gae_lambda", "tau", "exploration_fraction", "exploration_initial_eps",
         "exploration_final_eps", "line_search_shrinking_factor"),
        Share,
    ),
    **dict.fromkeys(("ent_coef", "vf_coef", "cg_damping"), NonNegative),
    "rms_prop_eps": Positive,
    **dict.fromkeys(("max_grad_norm", "target_kl"), Positive | None),
    **dict.fromkeys(("normalize_advantage", "use_rms_prop"), StrictBool),
    **dict.fromkeys(("learning_rate", "clip_range"), Rate),
    "clip_range_vf": Rate | None,
    "use_sde": Literal[False],  # only for continuous actions
    "teacher": str,
}  # fmt: skip


def checked_hyperparameters(algo: str, values: dict[str, Any]) -> dict[str, Any]:
    """Check hyperparameters, and return them with counts as integers.

    Args:
        algo: name of the algorithm.
        values: the hyperparameters, with ``n_timesteps``, ``n_envs`` and ``policy``.

    Raises:
        ValueError: for an unknown name (the known ones are listed), a missing one or a bad value.
    """
    model = create_model(
        algo,
        __config__=CLOSED,
        n_timesteps=(Count, ...),
        n_envs=(Annotated[Count, Field(le=seeds.ENVIRONMENTS)], ...),
        policy=(Literal[tuple(policy_classes(algo))], ...),
        policy_kwargs=(PolicyKwargs, PolicyKwargs()),
        **{name: (HYPERPARAMETERS.get(name, Any), None)
           for name in sorted(hyperparameter_names(algo))},  # type: ignore[call-overload]
    )  # fmt: skip
    made = built(model, values, f"hyperparameters of {algo}").model_dump(exclude_unset=True)
    return {name: made[name] for name in values}


def present_versions(config: RunConfig) -> dict[str, str]:
    """Return the versions of Python, packages and files of options that a result depends on."""
    env_kwargs, teacher = config.env_kwargs, config.hyperparameters.get("teacher")
    files = {str(file): digest_of([file]) for file in named_files(env_kwargs)}
    values = (each if isinstance(each, list) else [each] for each in env_kwargs.values())
    code = {text: module_digest(text) for text in chain(*values) if is_object_spec(text)}
    if teacher is not None:
        policy_named(teacher, settings_of(config.environment, env_kwargs)[0])  # imports its module
        places, digest = files_of(teacher, config.environment)
        code |= {teacher: digest} if places or not digest else {}
    if config.start_from is not None:
        with suppress(ValueError):  # of a folder without a policy
            if (file := learned_file(config.start_from)) is not None:
                files[config.start_from] = digest_of([file])
    return {"python": platform.python_version(), **versions(*PACKAGES), **files, **code}


def changed_versions(config: RunConfig, present: dict[str, str]) -> set[str]:
    """Return the names of versions, files and code that changed since a run began.

    Initial weights that no longer exist count as unchanged, since checkpoints replace them.
    """
    differing = {name for name, _ in config.versions.items() ^ present.items()}
    return differing - ({config.start_from} - present.keys())


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
        versions: of Python and the packages at the start of the run, and digests of the files
            and code that options name.
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
    environment: str = ONE_PLAYER

    def __post_init__(self) -> None:
        checked = checked_hyperparameters(self.algorithm, self.hyperparameters)
        object.__setattr__(self, "hyperparameters", checked)
        object.__setattr__(self, "env_kwargs", as_texts(self.env_kwargs))
        settings = settings_without_code(self.environment, self.env_kwargs)
        simulator, policy = simulator_of(settings), checked["policy"]
        reads_masks = self.algorithm in MASKED_ALGORITHMS and policy == SHARED
        if not reads_masks and simulator.masks(simulator.new_state(1)) is not None:
            raise ValueError(
                f"algo must be one of {', '.join(MASKED_ALGORITHMS)}, and policy {SHARED}, where "
                f"{settings.text_for(settings)} of {self.environment} masks actions, got "
                f"{self.algorithm} with {policy}"
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
        left = ("hyperparameters", "env_kwargs", "versions")
        plain = {name: value for name, value in vars(self).items() if name not in left}
        # DQN and environments have a tau.
        others = {f"env_kwargs.{name}" if name in self.hyperparameters else name: value
                  for name, value in self.env_kwargs.items()}  # fmt: skip
        return {**plain, **self.hyperparameters, **others}

    def comparison(self) -> dict[str, Any]:
        """Return the arguments of the final comparison.

        Where the environment's protocol fixes them, they have no reward, as a comparison reports
        all, and no belief, as each policy reads its own.
        """
        fixed = protocol_of(self.environment).fixed
        others = {name: value for name, value in self.env_kwargs.items()
                  if name not in ("reward", "belief") or name not in fixed}  # fmt: skip
        settings = settings_of(self.environment, self.env_kwargs)
        cells = PROBLEMS[self.environment].cells(others, settings)
        return {"env": self.environment, "cells": cells, "env_kwargs": others}

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
    environment: str = ONE_PLAYER,
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
    as_choice("environment", environment, PROBLEMS)
    file = read_yaml(f"{as_choice('algo', algo, ALGORITHMS)}.yml", config_file, environment)
    file_env_kwargs = file.pop(ENV_KWARGS, {})
    if not isinstance(file_env_kwargs, dict):
        raise refusal(f"{ENV_KWARGS} must be a mapping", file_env_kwargs)
    texts = as_texts({**file_env_kwargs, **(env_kwargs or {})})
    settings_of(environment, texts)
    values = {**file, **(hyperparameters or {})}
    defaults, given = (each.get("policy_kwargs") for each in (file, values))
    if isinstance(defaults, dict) and isinstance(given, dict):
        values["policy_kwargs"] = defaults | given
    run = {name: value for name, value in run.items() if value is not None}
    for name, hyperparameter in (("timesteps", "n_timesteps"), ("num_envs", "n_envs")):
        if name in run:
            values[hyperparameter] = run.pop(name)
    total = checked_hyperparameters(algo, values)["n_timesteps"]
    config = built(
        RunConfig,
        {
            "algorithm": algo,
            "seed": 0,
            "hyperparameters": values,
            "env_kwargs": texts,
            "evaluate_every": max(1, total // 10),
            "evaluation_episodes": 64,
            "checkpoint_every": max(1, total // 20),
            "versions": {},
            "environment": environment,
            **run,
        },
    )
    return config.replaced(versions=present_versions(config))


class RunFolder:
    """The folder of one training run; its attributes are paths."""

    def __init__(self, path: Path) -> None:
        self.path = path  #: the folder
        self.config_file = path / CONFIG  #: the configuration
        self.policy_file = path / POLICY_FILE  #: policy at the last checkpoint, or at the end
        self.best_policy_file = path / "best_policy.safetensors"  #: policy of the best evaluation
        self.evaluations_file = path / EVALUATIONS  #: all evaluations on held-out seeds
        self.checkpoints = path / "checkpoints"  #: folder of the checkpoints
        self.tensorboard = path / "tensorboard"  #: folder of TensorBoard's logs
        self.comparison = path / "comparison"  #: folder of the final comparison

    def differences(self, config: RunConfig) -> list[str]:
        """Return the names of options, and files and code of options, in which the run differs.

        Raises:
            ValueError: if its configuration is damaged.
        """
        if not self.config_file.exists():
            return []
        before = self.read_config()
        old, new = before.options(), config.options()
        differing = {name for name in {*old, *new} if old.get(name, ...) != new.get(name, ...)}
        changed = changed_versions(before, config.versions) - {"python", *versions(*PACKAGES)}
        return sorted(differing or changed)

    def check_new(self, config: RunConfig) -> None:
        """Check that the folder holds no run, or the run of this configuration.

        Raises:
            ValueError: if it holds another run, or runs of several seeds.
        """
        if not self.config_file.exists() and any(self.path.glob(f"seed*/{CONFIG}")):
            raise ValueError(f"out must be another folder: {self.path} holds several seeds")
        if differing := self.differences(config):
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
        folder.checkpoints.mkdir(parents=True, exist_ok=True)
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
        file = self.evaluations_file
        return list(read_json(file)["evaluations"]) if file.exists() else []
