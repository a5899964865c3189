"""The configuration of a training run, as plain data; without torch."""

from __future__ import annotations

import platform
import warnings
from dataclasses import asdict, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from matchenv.agents.algorithms import Algorithm, algorithm_by_name
from matchenv.agents.config_file import CLOSED, Count, Whole, built, parsed, yaml_text
from matchenv.agents.hyperparameter_files import (
    ENV_KWARGS,
    checked_hyperparameters,
    read_hyperparameters,
)
from matchenv.agents.policy_sources import files_of
from matchenv.agents.tasks import ONE_PLAYER, Task, task_of
from matchenv.evaluation.seeds import ENVIRONMENTS
from matchenv.priors import PRIORS
from matchenv.runtime.checks import as_integer
from matchenv.runtime.files import checksum
from matchenv.runtime.provenance import digest_of
from matchenv.settings import RANKS, Settings

PACKAGES = ("matchenv", "gymnasium", "numba", "numpy", "sb3-contrib", "scipy",
            "stable-baselines3", "torch")  # fmt: skip

CHECKSUM = "# sha256 of the lines above: "

# Evaluations and checkpoints in a training, unless the user says how often.
EVALUATIONS = 10
CHECKPOINTS = 20

# The largest seed that NumPy's old generators, which the algorithms draw from, take.
LARGEST_SEED = 2**32 - 1

# More would fill the memory.
MOST_EVALUATION_EPISODES = 1_000_000


def present_versions() -> dict[str, str]:
    """Versions of Python and of the packages that a result depends on."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions


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
        start_from_content: a digest of those weights, which must stay the same for the run; None
            in runs that did not write it down.
        versions: of Python and the packages when the run began.
        environment: name of the environment that it trains in.
    """

    algorithm: str
    seed: Annotated[Whole, Field(ge=0, le=LARGEST_SEED)]
    hyperparameters: dict[str, Any]
    env_kwargs: dict[str, Any]
    evaluate_every: Count
    evaluation_episodes: Whole
    checkpoint_every: Count
    start_from: str | None = None
    start_from_content: str | None = None
    versions: dict[str, str] = field(repr=False)
    environment: str = ONE_PLAYER

    def __post_init__(self) -> None:
        algorithm = algorithm_by_name(self.algorithm)
        checked = checked_hyperparameters(algorithm, self.hyperparameters)
        object.__setattr__(self, "algorithm", algorithm.name)
        object.__setattr__(self, "hyperparameters", checked)
        as_integer("n_envs", self.hyperparameters["n_envs"], 1, ENVIRONMENTS)
        as_integer("evaluation_episodes", self.evaluation_episodes, 2, MOST_EVALUATION_EPISODES)
        if self.start_from is not None and algorithm.name == "ars":
            raise ValueError(f"start_from must be left out for ars, got {self.start_from!r}")
        task = task_of(self.environment)
        object.__setattr__(self, "env_kwargs", task.as_texts(self.env_kwargs))
        task.check(algorithm, self.hyperparameters["policy"], self.env_kwargs)
        task.settings(self.env_kwargs)

    @property
    def timesteps(self) -> int:
        """Games to train for, over all environments."""
        return int(self.hyperparameters["n_timesteps"])

    @property
    def num_envs(self) -> int:
        """Environments played side by side."""
        return int(self.hyperparameters["n_envs"])

    @property
    def task(self) -> Task:
        """What a training must know of its environment."""
        return task_of(self.environment)

    def comparison(self) -> dict[str, Any]:
        """Arguments of the comparison that judges this run: ranks, priors and the environment.

        A run that trained on every rank is judged at the top, in the middle and at the bottom;
        where the prior means do not tell these places apart, on every rank too.
        Reward and belief are left out: a comparison reports all rewards, and each policy reads
        its own belief.
        """
        others = dict(self.env_kwargs)
        for name in ("reward", "belief"):
            others.pop(name, None)
        rank = others.pop("rank", None)
        settings = Settings.checked(**self.env_kwargs)
        has_places = settings.rank_by == "true_skill" or settings.prior_type.means_differ
        return {
            "ranks": list(RANKS) if rank is None and has_places else [rank],
            "priors": [others.pop("prior", PRIORS[0])],
            "env_kwargs": others,
        }

    def known_algorithm(self) -> Algorithm:
        """The algorithm of that name."""
        return algorithm_by_name(self.algorithm)

    def to_text(self) -> str:
        """The configuration as YAML, with a checksum in its last line."""
        text = yaml_text(asdict(self))
        return f"{text}{CHECKSUM}{checksum(text)}\n"

    @classmethod
    def from_text(cls, text: str) -> RunConfig:
        """The configuration that ``to_text`` wrote.

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
    algo: str,
    *,
    timesteps: int | None = None,
    num_envs: int | None = None,
    seed: int = 0,
    config_file: Path | None = None,
    hyperparameters: dict[str, Any] | None = None,
    env_kwargs: dict[str, Any] | None = None,
    evaluate_every: int | None = None,
    evaluation_episodes: int = 64,
    checkpoint_every: int | None = None,
    start_from: str | None = None,
    environment: str = ONE_PLAYER,
) -> RunConfig:
    """A run's configuration from a file and arguments; arguments go before the file.

    Args:
        algo: name of the algorithm.
        timesteps: games to train for; None as in the file.
        num_envs: environments side by side; None as in the file.
        seed: of weights, exploration and games.
        config_file: YAML file of hyperparameters; None takes the package's own.
        hyperparameters: single hyperparameters; ``policy_kwargs`` are merged with the file's.
        env_kwargs: keyword arguments of the environment; they go before the file's.
        evaluate_every: timesteps from one evaluation to the next; None: a tenth of all.
        evaluation_episodes: episodes of each.
        checkpoint_every: timesteps between checkpoints; None: a twentieth of all.
        start_from: learned policy whose weights to start from, as ``matchenv.agents.load`` takes
            it.
        environment: name of the environment, whose section of the file is read.

    Raises:
        ValueError: for any bad value; it says which and what is allowed.
    """
    algorithm = algorithm_by_name(algo)
    task_of(environment).check_algorithm(algorithm)
    values = read_hyperparameters(algorithm, config_file, environment)
    meant_for = values.pop(ENV_KWARGS, {})
    if not isinstance(meant_for, dict):
        raise ValueError(f"{ENV_KWARGS} must be a mapping, got {meant_for!r}")
    given = dict(hyperparameters or {})
    if isinstance(given.get("policy_kwargs"), dict):
        given["policy_kwargs"] = {**(values.get("policy_kwargs") or {}), **given["policy_kwargs"]}
    values.update(given)
    if timesteps is not None:
        values["n_timesteps"] = timesteps
    if num_envs is not None:
        values["n_envs"] = num_envs
    total = checked_hyperparameters(algorithm, values)["n_timesteps"]
    return built(
        RunConfig,
        {
            "algorithm": algorithm.name,
            "seed": seed,
            "hyperparameters": values,
            "env_kwargs": {**meant_for, **(env_kwargs or {})},
            "evaluate_every": (
                max(1, total // EVALUATIONS) if evaluate_every is None else evaluate_every
            ),
            "evaluation_episodes": evaluation_episodes,
            "checkpoint_every": (
                max(1, total // CHECKPOINTS) if checkpoint_every is None else checkpoint_every
            ),
            "start_from": start_from,
            "start_from_content": None if start_from is None else digest_of(files_of(start_from)),
            "versions": present_versions(),
            "environment": environment,
        },
    )
