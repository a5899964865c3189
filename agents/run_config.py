"""The configuration of a training run, as plain data, and the folder of the run; no torch.

Files of hyperparameters have the names of rl-baselines3-zoo: under the name of the environment a
mapping with ``n_timesteps``, ``n_envs``, ``policy``, ``policy_kwargs`` and the arguments of the
algorithm; ``env_kwargs`` says which environment they are meant for. A rate such as ``lin_1e-3``
falls linearly from 1e-3 to 0 over the training.
"""

from __future__ import annotations

import inspect
import platform
import warnings
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, StrictBool, create_model
from pydantic.dataclasses import dataclass as checked_dataclass

from matchenv.agents.config_file import (
    CLOSED,
    MOST,
    Count,
    Large,
    NonNegative,
    Number,
    Positive,
    Share,
    Whole,
    built,
    parsed,
    read_yaml,
    yaml_text,
)
from matchenv.agents.environments import PROBLEMS, settings_of, settings_without_code
from matchenv.agents.learned_names import CONFIG, POLICY_FILE
from matchenv.envs import ENVIRONMENTS, simulator_of
from matchenv.envs.one_player.settings import as_texts
from matchenv.evaluation import seeds
from matchenv.evaluation.registry import ONE_PLAYER
from matchenv.runtime.checks import as_choice
from matchenv.runtime.files import checksum, json_bytes, read_json, write_bytes
from matchenv.runtime.provenance import versions

PACKAGES = ("gymnasium", "sb3-contrib", "scipy", "stable-baselines3", "torch")

CHECKSUM = "# sha256 of the lines above: "

# The library's own policy, and the shared network.
PLAIN, SHARED = "MlpPolicy", "SharedPolicy"


@dataclass(frozen=True)
class Algorithm:
    """One algorithm of stable-baselines3 or sb3-contrib.

    Attributes:
        name: as on the command line, the names of rl-baselines3-zoo.
        where: ``module:class`` of the algorithm.
        shared: class of ``SharedPolicy`` in ``matchenv.agents.sb3_policies``.
    """

    name: str
    where: str
    shared: str = SHARED

    def load_class(self) -> Any:
        """Return the class of the algorithm; imports torch."""
        return resolve_name(self.where)

    @property
    def policies(self) -> dict[str, Any]:
        """Return the classes of the policy networks by name; imports torch."""
        shared = resolve_name(f"matchenv.agents.sb3_policies:{self.shared}")
        return {PLAIN: self.load_class().policy_aliases[PLAIN], SHARED: shared}

    def policy_class(self, policy: str) -> Any:
        """Return the class of the policy network of this name; imports torch."""
        return self.policies[as_choice("policy", policy, self.policies)]

    def arguments(self) -> set[str]:
        """Return the names of the hyperparameters that the constructor takes."""
        kind = self.load_class()
        names = {*inspect.signature(kind.__init__).parameters, *getattr(kind, "others", ())}
        return names - NOT_HYPERPARAMETERS


# Arguments of the constructors that the training sets itself.
NOT_HYPERPARAMETERS = {
    "self", "policy", "env", "verbose", "seed", "device", "tensorboard_log", "policy_kwargs",
    "replay_buffer_class", "replay_buffer_kwargs", "rollout_buffer_class",
    "rollout_buffer_kwargs", "_init_setup_model", "others",
}  # fmt: skip

ALGORITHMS: dict[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm("a2c", "stable_baselines3:A2C"),
        Algorithm("dqn", "stable_baselines3:DQN", "SharedDQNPolicy"),
        Algorithm("imitation", "matchenv.agents.imitation:Imitation"),
        Algorithm("ppo", "stable_baselines3:PPO"),
        Algorithm("trpo", "sb3_contrib:TRPO"),
    )
}


def algorithm_by_name(name: Any) -> Algorithm:
    """Return the algorithm of this name.

    Raises:
        ValueError: for an unknown name; the message lists the known ones.
    """
    return ALGORITHMS[as_choice("algo", name, ALGORITHMS)]


# The largest seed that NumPy's old generators, which the algorithms draw from, accept.
LARGEST_SEED = 2**32 - 1

# More would fill the memory.
MOST_EVALUATION_EPISODES = 1_000_000
WIDEST_LAYER, MOST_LAYERS = 16_384, 32

LINEAR = "lin_"

# The entry of a file that is about the environment.
ENV_KWARGS = "env_kwargs"

# Entries of a file besides the arguments of the algorithm.
ABOUT_THE_RUN = ("n_timesteps", "n_envs", "policy", "policy_kwargs")


def linear_start(rate: Any) -> float | None:
    """Return the first value of a rate such as ``"lin_1e-3"``, None for a constant rate."""
    return float(rate.removeprefix(LINEAR)) if isinstance(rate, str) else None


def _rate(value: Any) -> Any:
    """Return a rate: a number >= 0, or lin_NUMBER."""
    number: Any = value
    if isinstance(value, str) and value.startswith(LINEAR):
        with suppress(ValueError):
            number = linear_start(value)
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < MOST:
        raise ValueError(f"a rate must be a number >= 0 or lin_NUMBER, got {value!r}")
    return value


Rate = Annotated[Any, BeforeValidator(_rate)]
Switch = StrictBool
Width = Annotated[Whole, Field(ge=1, le=WIDEST_LAYER)]
Layers = Annotated[list[Width], Field(max_length=MOST_LAYERS)]
AtLeastMinusOne = Annotated[Whole, Field(ge=-1, le=MOST)]


class PolicyKwargs(BaseModel):
    """Arguments of a policy network, as plain data: names of stable-baselines3 and sb3-contrib.

    ``net_arch`` has the widths of the hidden layers, or those of the scores (``pi``) and of the
    value (``vf``). ``features_extractor_class`` is of ``MlpPolicy``: the bare observation, or the
    numbers that the shared network reads.
    """

    model_config = CLOSED

    net_arch: Layers | dict[Literal["pi", "vf"], Layers] | None = None
    activation_fn: Literal["tanh", "relu", "elu", "leaky_relu", "silu"] | None = None
    features_extractor_class: Literal["Flatten", "Reader"] | None = None
    optimizer_kwargs: dict[str, Number] | None = None
    ortho_init: Switch | None = None
    share_features_extractor: Switch | None = None


# The libraries would stop at a bad value in the middle of the training. A name that is not here may
# have any value.
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
    **dict.fromkeys(("normalize_advantage", "use_rms_prop", "optimize_memory_usage"), Switch),
    **dict.fromkeys(("learning_rate", "clip_range"), Rate),
    "clip_range_vf": Rate | None,
    "use_sde": Literal[False],  # an opponent is a discrete choice
    "teacher": str,
}  # fmt: skip


def checked_hyperparameters(algorithm: Algorithm, values: dict[str, Any]) -> dict[str, Any]:
    """Return the same hyperparameters, if the algorithm takes them all.

    Args:
        algorithm: which algorithm they are for.
        values: name and value of each; ``n_timesteps``, ``n_envs`` and ``policy`` among them.

    Raises:
        ValueError: for an unknown name (the known ones are listed), a missing one or a bad value.
    """
    own = sorted(algorithm.arguments())
    model = create_model(
        algorithm.name,
        __config__=CLOSED,
        n_timesteps=(Count, ...),
        n_envs=(Annotated[Count, Field(le=seeds.ENVIRONMENTS)], ...),
        policy=(Literal[tuple(algorithm.policies)], ...),
        policy_kwargs=(PolicyKwargs, PolicyKwargs()),
        **{name: (HYPERPARAMETERS.get(name, Any), None) for name in own},  # type: ignore[call-overload]
    )
    made = built(model, values, f"hyperparameters of {algorithm.name}").model_dump(
        exclude_unset=True
    )
    return {name: made[name] for name in values}


def present_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that a result depends on."""
    return {"python": platform.python_version(), **versions(*PACKAGES)}


@checked_dataclass(frozen=True, kw_only=True, config=CLOSED)
class RunConfig:
    """One training run; build it with ``configured`` or ``from_text``.

    Attributes:
        algorithm: name of the algorithm.
        seed: of weights, exploration and games, 0 to ``LARGEST_SEED``.
        hyperparameters: as in the YAML file, ``n_timesteps`` and ``n_envs`` among them.
        env_kwargs: keyword arguments of the environment; a prior or a reward that is given as
            an object is kept as ``module:Class:key=value``.
        evaluate_every: timesteps from one evaluation to the next.
        evaluation_episodes: episodes of each evaluation, 2 to ``MOST_EVALUATION_EPISODES``.
        checkpoint_every: timesteps from one checkpoint to the next.
        start_from: learned policy whose weights the training starts from, as
            ``matchenv.agents.load`` takes it; None starts from fresh ones.
        versions: of Python and the packages when the run began.
        environment: name of the environment that it trains in.
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
        algorithm = self.known_algorithm()
        checked = checked_hyperparameters(algorithm, self.hyperparameters)
        object.__setattr__(self, "algorithm", algorithm.name)
        object.__setattr__(self, "hyperparameters", checked)
        object.__setattr__(self, "env_kwargs", as_texts(self.env_kwargs))
        settings = settings_without_code(self.environment, self.env_kwargs)
        simulator, policy = simulator_of(settings), checked["policy"]
        # The shared network never chooses what is not allowed, but DQN also plays at random.
        heed = [name for name, each in ALGORITHMS.items() if each.shared == SHARED]
        sees_masks = algorithm.name in heed and policy == SHARED
        if not sees_masks and simulator.masks(simulator.new_state(1)) is not None:
            raise ValueError(
                f"algo must be one of {', '.join(heed)}, and policy {SHARED}, where "
                f"{settings.text_for(settings)} of {self.environment} does not allow every action "
                f"at all times, got {algorithm.name} with {policy}"
            )

    def replaced(self, **values: Any) -> RunConfig:
        """Return the configuration with other values, which are checked."""
        return built(RunConfig, {**vars(self), **values})

    @property
    def timesteps(self) -> int:
        """Count to train for, over all environments."""
        return int(self.hyperparameters["n_timesteps"])

    @property
    def num_envs(self) -> int:
        """Environments played side by side."""
        return int(self.hyperparameters["n_envs"])

    def comparison(self) -> dict[str, Any]:
        """Return the arguments of the comparison that judges this run.

        Reward and belief are left out: a comparison reports all rewards, and each policy reads its
        own belief.
        """
        others = {name: each for name, each in self.env_kwargs.items()
                  if name not in ("reward", "belief")}  # fmt: skip
        settings = settings_of(self.environment, self.env_kwargs)[0]
        cells = PROBLEMS[self.environment].cells(others, settings)
        return {"env": self.environment, "cells": cells, "env_kwargs": others}

    def known_algorithm(self) -> Algorithm:
        """Return the algorithm of that name."""
        return algorithm_by_name(self.algorithm)

    def to_text(self) -> str:
        """Return the configuration as YAML, with a checksum in its last line."""
        text = yaml_text(asdict(self))
        return f"{text}{CHECKSUM}{checksum(text)}\n"

    @classmethod
    def from_text(cls, text: str) -> RunConfig:
        """Return the configuration that ``to_text`` wrote; imports nothing that it names.

        Raises:
            ValueError: if it is damaged or holds a bad value.
        """
        said, mark, found = text.partition(CHECKSUM)
        if not mark:
            warnings.warn("a configuration has no checksum: damage would not show", stacklevel=3)
        elif found.strip() != checksum(said):
            raise ValueError(
                "its checksum does not fit; if you changed it by hand, remove the line with it"
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
        config_file: YAML file of hyperparameters; None takes the package's own.
        hyperparameters: single hyperparameters; ``policy_kwargs`` are merged with the file's.
        env_kwargs: keyword arguments of the environment, which override the file's; of a list,
            equally many environments have each value.
        environment: name of the environment, whose section of the file is read.
        run: ``timesteps`` and ``num_envs`` (by default the file's), and the fields of
            ``RunConfig``: ``seed`` (0), ``evaluate_every`` (a tenth of all timesteps),
            ``evaluation_episodes`` (64), ``checkpoint_every`` (a twentieth) and ``start_from``.
            None is the default.

    Raises:
        ValueError: for any bad value; it says which and what is allowed.
    """
    as_choice("environment", environment, ENVIRONMENTS)
    algorithm = algorithm_by_name(algo)
    file = read_yaml(f"{algorithm.name}.yml", config_file, environment)
    meant_for = file.pop(ENV_KWARGS, {})
    if not isinstance(meant_for, dict):
        raise ValueError(f"{ENV_KWARGS} must be a mapping, got {meant_for!r}")
    texts = as_texts({**meant_for, **(env_kwargs or {})})
    settings_of(environment, texts)
    values = {**file, **(hyperparameters or {})}
    plain, given = file.get("policy_kwargs"), values.get("policy_kwargs")
    if isinstance(plain, dict) and isinstance(given, dict):
        values["policy_kwargs"] = plain | given
    run = {name: value for name, value in run.items() if value is not None}
    for name, hyperparameter in (("timesteps", "n_timesteps"), ("num_envs", "n_envs")):
        if name in run:
            values[hyperparameter] = run.pop(name)
    total = checked_hyperparameters(algorithm, values)["n_timesteps"]
    return built(
        RunConfig,
        {
            "algorithm": algorithm.name,
            "seed": 0,
            "hyperparameters": values,
            "env_kwargs": texts,
            "evaluate_every": max(1, total // 10),
            "evaluation_episodes": 64,
            "checkpoint_every": max(1, total // 20),
            "versions": present_versions(),
            "environment": environment,
            **run,
        },
    )


class RunFolder:
    """The folder of one training run.

    Attributes:
        path: the folder.
        config_file: the configuration.
        policy_file: the policy at the last checkpoint, or at the end.
        best_policy_file: the policy with the best evaluation.
        evaluations_file: all evaluations on held-out seeds.
        checkpoints: folder of the checkpoints.
        tensorboard: folder of TensorBoard's logs.
        comparison: folder of the final comparison.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config_file = path / CONFIG
        self.policy_file = path / POLICY_FILE
        self.best_policy_file = path / "best_policy.safetensors"
        self.evaluations_file = path / "evaluations.json"
        self.checkpoints = path / "checkpoints"
        self.tensorboard = path / "tensorboard"
        self.comparison = path / "comparison"

    def check_new(self, config: RunConfig) -> None:
        """Check that the folder holds no run, or the one of this configuration.

        Raises:
            ValueError: if it holds another one, or runs of several seeds.
        """
        if not self.config_file.exists():
            if any(self.path.glob(f"seed*/{CONFIG}")):
                raise ValueError(f"out must be another folder: {self.path} holds several seeds")
            return
        if self.read_config().replaced(versions=config.versions) != config:
            raise ValueError(
                f"out must be a new folder or one of the same training, and the run in {self.path} "
                f"was configured otherwise: go on with it by --resume {self.path}"
            )

    @classmethod
    def create(cls, path: Path, config: RunConfig) -> RunFolder:
        """Create the folder of a run, with its configuration in it, or open that of the same run.

        Raises:
            ValueError: if there is another run in it.
            OSError: if it cannot be written.
        """
        folder = cls(path)
        folder.check_new(config)
        path.mkdir(parents=True, exist_ok=True)
        if not folder.config_file.exists():
            write_bytes(folder.config_file, config.to_text().encode())
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Open the folder of a run that has begun.

        Raises:
            ValueError: if there is no run.
        """
        folder = cls(path)
        if not folder.config_file.is_file():
            raise ValueError(f"{path} holds no run: it has no {CONFIG}")
        folder.checkpoints.mkdir(exist_ok=True)
        return folder

    def read_config(self) -> RunConfig:
        """Return the configuration.

        Raises:
            ValueError: if it is damaged.
        """
        try:
            return RunConfig.from_text(self.config_file.read_text(encoding="utf-8"))
        except (OSError, TypeError, ValueError) as error:
            raise ValueError(f"the run {self.path} has a damaged {CONFIG}: {error}") from None

    def extend(self, timesteps: int) -> None:
        """Give the run another total of timesteps.

        Raises:
            ValueError: for a number < 1.
        """
        config = self.read_config()
        values = {**config.hyperparameters, "n_timesteps": timesteps}
        write_bytes(self.config_file, config.replaced(hyperparameters=values).to_text().encode())

    def write_evaluations(self, seed: int, evaluations: list[dict[str, Any]]) -> None:
        """Write the evaluations, with the environment seed of their first episode."""
        content = {"first_environment_seed": seed, "evaluations": evaluations}
        write_bytes(self.evaluations_file, json_bytes(content, checked=True))

    def read_evaluations(self) -> list[dict[str, Any]]:
        """Return the evaluations made so far.

        Raises:
            ValueError: if the file is damaged.
        """
        file = self.evaluations_file
        return list(read_json(file)["evaluations"]) if file.exists() else []
