"""Train a policy in a run folder, or continue a run.

Evaluations and checkpoints take place between two rollouts. They draw no random number of the
training, so they do not change what it learns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from operator import call
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter, configure
from stable_baselines3.common.utils import LinearSchedule, set_random_seed
from tqdm import tqdm

from matchenv.agents.checkpoints import restore_newest, save_checkpoint, steps_of
from matchenv.agents.environments import (
    PROBLEMS,
    HeldOutGames,
    settings_of,
    without_files,
)
from matchenv.agents.learned_names import RUNS
from matchenv.agents.policy_file import (
    LearnedPolicy,
    PolicyDescription,
    as_device,
    load,
    reason_of,
    save_policy,
)
from matchenv.agents.run_config import (
    ABOUT_THE_RUN,
    RunConfig,
    RunFolder,
    algorithm_class,
    changed_versions,
    linear_start,
    policy_classes,
    present_versions,
)
from matchenv.agents.sb3_policies import resolved_policy_kwargs
from matchenv.agents.vec_env import MatchmakingVecEnv
from matchenv.belief import DEFAULT_BELIEF
from matchenv.evaluation.seeds import evaluation_seed, training_seed
from matchenv.runtime.checks import as_integer, refusal
from matchenv.runtime.files import folder_lock
from matchenv.runtime.object_spec import only_own_code
from matchenv.runtime.parallel import results_of

# Entries of a policy file about each training.
PROVENANCE = ("algorithm", "seed", "games", "env_kwargs", "teacher")
SCHEDULED = ("learning_rate", "clip_range", "clip_range_vf")


def start_training(
    path: Path | None,
    config: RunConfig,
    *,
    device: str = "cpu",
    threads: int = 1,
    quiet: bool = False,
    writers: Sequence[KVWriter] = (),
) -> RunFolder:
    """Train a policy in a run folder; a run with the same configuration is continued.

    Args:
        path: the folder; None for one in ``runs/`` named after algorithm and seed.
        config: the configuration.
        device: device of torch; the CPU is fastest for networks this small.
        threads: CPU threads of torch; the last digits of the weights depend on it.
        quiet: show no progress bar.
        writers: further outputs for what stable-baselines3 logs and the evaluations, for example
            ``matchenv.agents.training.Recorder(wandb.log)``.

    Returns:
        The folder, with the trained policy.

    Raises:
        ValueError: for a folder that holds another run or is in use, or bad hyperparameters.
    """
    torch.set_num_threads(as_integer("threads", threads, 1, 1024))  # torch crashes with many more
    path = path or RUNS / f"{config.algorithm}-seed{config.seed}"
    # Building the model finds a bad configuration before a folder is made.
    has_weights = any(RunFolder(path).checkpoints.glob("step-*"))
    model = new_model(config.replaced(start_from=None) if has_weights else config, device)
    with folder_lock(path):
        folder = RunFolder.create(path, config)
        config = folder.read_config()
        differing = changed_versions(config, present_versions(config))
        if differing:
            warnings.warn(
                f"the run {path} was started with other versions of Python, packages or files of "
                f"options ({', '.join(sorted(differing))}); the results may differ from those of "
                "an uninterrupted run",
                stacklevel=2,
            )
        # The library's default output to the terminal would break the progress bar.
        logger = configure(str(folder.tensorboard), ["tensorboard"])
        logger.output_formats += writers
        model.set_logger(logger)
        evaluations = restore_newest(folder.checkpoints, model, config)
        # A training ends after a whole rollout, which can exceed the total.
        begun, total = model.num_timesteps, max(config.timesteps, model.num_timesteps)
        if begun < total:
            _warn_of_whole_rollouts(model, config)
        with tqdm(total=total, initial=begun, unit="game", disable=quiet) as bar:
            callback = Keeper(folder, config, evaluations, bar)
            try:
                model.learn(total - begun, callback=callback, reset_num_timesteps=False)
            except ValueError as error:
                # torch's distributions are the first to check the network's output.
                if "invalid values" not in str(error):
                    raise
                raise FloatingPointError(
                    "the training diverged to numbers that are not finite; try a smaller "
                    "learning_rate or another unit of skill"
                ) from error
            finally:
                model.logger.close()
    return folder


def continue_training(
    path: Path, *, timesteps: int | None = None, allow_code: bool = False, **options: Any
) -> RunFolder:
    """Continue a run from its newest checkpoint, or from its start if there is none.

    The result is that of an uninterrupted run. Checkpoints contain no code.

    Args:
        path: the run's folder.
        timesteps: new total for the run; None keeps the configured one.
        allow_code: import any class that ``config.yml`` names: as prior or reward if it is not
            installed, or as teacher.
        options: ``device``, ``threads``, ``quiet`` and ``writers``, as for ``start_training``;
            equal results need an equal number of threads.

    Returns:
        The folder, with the trained policy.

    Raises:
        ValueError: for a folder that is missing, damaged, in use or holds no run, for fewer
            timesteps than were played, and for classes that may not be imported.
    """
    with only_own_code(allow_code=allow_code):
        with folder_lock(path):
            folder = RunFolder.open(path)
            config = folder.read_config()
            if timesteps is not None:
                values = {**config.hyperparameters, "n_timesteps": timesteps}
                longer = config.replaced(hyperparameters=values)
                played = min(steps_of(folder.checkpoints), config.timesteps)
                if longer.timesteps < played:
                    rule = f"at least {played:,}, since the run has played as many"
                    raise refusal(f"timesteps must be {rule}", timesteps)
                config = longer
                folder.write_config(config)
        return start_training(path, config, **options)


def new_model(config: RunConfig, device: str) -> BaseAlgorithm:
    """Return the algorithm of a new training.

    Args:
        config: the configuration.
        device: device of torch.

    Raises:
        ValueError: for hyperparameters that do not fit together, or initial weights that do not
            fit the network.
    """
    where = as_device(device)
    settings = settings_of(config.environment, config.env_kwargs)[0]
    values = config.hyperparameters
    arguments = {name: value for name, value in values.items() if name not in ABOUT_THE_RUN}
    for name in SCHEDULED:
        start = linear_start(arguments.get(name))
        if start is not None:
            arguments[name] = LinearSchedule(start, 0.0, 1.0)
    plain_kwargs = values.get("policy_kwargs", {})
    env = MatchmakingVecEnv(config.num_envs, environment=config.environment, **config.env_kwargs)
    # The algorithm's own seeding would give the environments small seeds.
    set_random_seed(config.seed)
    try:
        model = algorithm_class(config.algorithm)(
            policy_classes(config.algorithm)[values["policy"]],
            env,
            policy_kwargs=resolved_policy_kwargs(values["policy"], plain_kwargs, settings),
            device=where,
            **arguments,
        )
    # The constructors can raise anything for values that do not fit together.
    except Exception as error:
        raise ValueError(
            f"hyperparameters must fit {config.algorithm}: {error}; got {values!r}"
        ) from error
    if config.start_from is not None:
        source: Any = load(config.start_from).network
        policy: Any = model.policy
        try:
            if source.activation_fn is not policy.activation_fn:
                raise RuntimeError("the activations differ")
            policy.load_state_dict(source.state_dict())
        except RuntimeError as error:
            raise ValueError(
                f"start_from must have the network of this training, a {type(policy).__name__} "
                f"with its policy_kwargs; {config.start_from!r} has a {type(source).__name__}: "
                f"{reason_of(error)}"
            ) from None
    model.action_space.seed(config.seed)
    env.seed(training_seed(config.seed))
    return model


def train_seeds(
    path: Path,
    config: RunConfig,
    seeds: Sequence[int],
    *,
    workers: int | None = 1,
    quiet: bool = False,
    **options: Any,
) -> list[RunFolder]:
    """Train one configuration with several seeds.

    Finished runs are kept, and interrupted ones continue from their newest checkpoint.

    Args:
        path: a folder; the run of seed 3 is in its subfolder ``seed3``.
        config: the configuration of all runs except for the seed.
        seeds: distinct seeds, one for each run.
        workers: processes; None for one on each core. The results do not depend on it.
        quiet: show no progress bar.
        options: ``device`` and ``threads``, as for ``start_training``.

    Returns:
        The folders, in the order of the seeds.

    Raises:
        ValueError: before any training, for no seed or a repeated one, or a folder that holds a
            run of another configuration.
    """
    if not seeds or len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds must be different numbers, at least one, got {list(seeds)}")
    if RunFolder(path).config_file.exists():
        raise ValueError(f"out must be another folder: {path} holds a single run")
    jobs, folders = [], [RunFolder(path / f"seed{seed}") for seed in seeds]
    for folder, seed in zip(folders, seeds, strict=True):
        seeded = config.replaced(seed=seed)
        folder.check_new(seeded)
        jobs.append(partial(start_training, folder.path, seeded, quiet=True, **options))
    with (
        folder_lock(path),
        closing(results_of(call, jobs, workers)) as results,
        tqdm(total=len(jobs), unit="seed", disable=quiet) as bar,
    ):
        for _ in results:
            bar.update()
    return folders


def _warn_of_whole_rollouts(model: Any, config: RunConfig) -> None:
    """Warn if whole rollouts much exceed the timesteps, or if there is only one."""
    # DQN has another ``n_steps``.
    games = config.num_envs * (model.n_steps if hasattr(model, "rollout_buffer") else 1)
    played = -(-config.timesteps // games) * games
    falls = isinstance(model.learning_rate, LinearSchedule)
    if played > 1.1 * config.timesteps or (falls and played == games > 1):
        effect = "a falling learning rate is 0 after the last rollout"
        if played == games:
            effect = "it learns only once, before a falling learning rate falls"
        warnings.warn(
            f"{config.algorithm} learns after every {games:,} games, and so plays {played:,} for "
            f"timesteps={config.timesteps:,}; {effect}",
            stacklevel=3,
        )


class Keeper(BaseCallback):
    """Evaluate and save a training at intervals, and show its progress.

    Args:
        folder: the folder of the run.
        config: the configuration of the run.
        evaluations: earlier evaluations, to which new ones are appended.
        bar: progress bar over the timesteps of the whole training.
    """

    def __init__(
        self,
        folder: RunFolder,
        config: RunConfig,
        evaluations: list[dict[str, Any]],
        bar: tqdm[Any],
    ) -> None:
        super().__init__()
        self.folder, self.config, self.evaluations, self._bar = folder, config, evaluations, bar
        self._before: list[Any] = []
        if folder.policy_file.is_file():
            self._before = load(folder.policy_file).training[:-1]
        elif config.start_from is not None:
            self._before = load(config.start_from).training
        self._games = HeldOutGames(
            config.environment,
            config.env_kwargs,
            config.evaluation_episodes,
            evaluation_seed(config.seed),
        )
        self._saved = int(bar.n)

    def _on_step(self) -> bool:
        self._bar.update(self.model.num_timesteps - self._bar.n)
        return True

    def _on_rollout_start(self) -> None:
        now = self.model.num_timesteps
        last = self.evaluations[-1]["timesteps"] if self.evaluations else -1
        if now // self.config.evaluate_every > last // self.config.evaluate_every:
            self._evaluate()
        if now // self.config.checkpoint_every > self._saved // self.config.checkpoint_every:
            self._save()

    def _on_training_end(self) -> None:
        if not self.evaluations or self.evaluations[-1]["timesteps"] != self.model.num_timesteps:
            self._evaluate()
        self._save()

    def _save(self) -> None:
        self._saved = self.model.num_timesteps
        save_checkpoint(self.folder.checkpoints, self.model, self.config, self.evaluations)
        self._save_policy(self.folder.policy_file)

    def _save_policy(self, file: Path) -> None:
        config, values = self.config, self.config.hyperparameters
        facts = {**vars(config), **values, "games": self.model.num_timesteps}
        description = PolicyDescription(
            algorithm=config.algorithm,
            policy=values["policy"],
            policy_kwargs=values.get("policy_kwargs", {}),
            env_kwargs=without_files(config.environment, config.env_kwargs),
            training=[*map(dict, self._before),
                      {name: facts[name] for name in PROVENANCE if name in facts}],
            environment=config.environment,
        )  # fmt: skip
        save_policy(file, self.model.policy, description)

    def _evaluate(self) -> None:
        settings = settings_of(self.config.environment, self.config.env_kwargs)[0]
        network = self.model.policy
        belief, training = getattr(settings, "belief", DEFAULT_BELIEF), network.training
        result = self._games.evaluate(LearnedPolicy("in training", network, belief, settings))
        network.set_training_mode(training)
        best = max((each["mean_return"] for each in self.evaluations), default=-np.inf)
        if result["mean_return"] > best:
            self._save_policy(self.folder.best_policy_file)
        self.evaluations.append({"timesteps": self.model.num_timesteps, **result})
        self.folder.write_evaluations(self._games.seed, self.evaluations)
        goal = PROBLEMS[self.config.environment].goal
        self._bar.set_postfix_str(f"{goal} {result[goal]:+.2f}")
        # Written at once: the logger would wait for the end of its own interval.
        tags = {f"evaluation/{name}": value for name, value in result.items()}
        for output in self.logger.output_formats:
            output.write(tags, dict.fromkeys(tags, ()), self.model.num_timesteps)


class Recorder(KVWriter):
    """Output of stable-baselines3's logger that calls a function.

    Args:
        record: called with the numbers by name and with the timestep, for example ``wandb.log`` or
            ``mlflow.log_metrics``.
    """

    def __init__(self, record: Callable[[dict[str, float], int], Any]) -> None:
        self._record = record

    def write(self, key_values: dict[str, Any], key_excluded: Any, step: int = 0) -> None:
        """Record the numbers among the entries."""
        numbers = {name: float(value) for name, value in key_values.items()
                   if isinstance(value, int | float | np.number)}  # fmt: skip
        self._record(numbers, step)

    def close(self) -> None:
        """Do nothing."""
