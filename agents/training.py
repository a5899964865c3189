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

from matchenv.agents.checkpoints import restore_checkpoint, save_checkpoint, timesteps_of
from matchenv.agents.environments import (
    HeldOutGames,
    portable_options,
    settings_of,
    training_of,
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

# Hyperparameters that can fall over a training.
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
        ValueError: for a folder that holds another run or is in use, bad hyperparameters, or a
            training that is too short to learn.
    """
    torch.set_num_threads(as_integer("threads", threads, 1, 1024))  # torch crashes with many more
    if path is None:
        path = RUNS / f"{config.algorithm}-seed{config.seed}"
    # Building the model finds a bad configuration before a folder is made.
    if RunFolder(path).checkpoint_file.exists():
        model = new_model(config.replaced(start_from=None), device)
    else:
        model = new_model(config, device)
        check_learns(model, config)
    with folder_lock(path):
        folder = RunFolder.create(path, config)
        config = folder.read_config()
        _warn_of_versions(folder, config)
        evaluations = _resume(folder, model, config)
        _learn(folder, model, config, evaluations, quiet=quiet, writers=writers)
    return folder


def _warn_of_versions(folder: RunFolder, config: RunConfig) -> None:
    """Warn if the run was started with other versions."""
    present = present_versions()
    changed = []
    for name in sorted({*config.versions, *present}):
        if config.versions.get(name) != present.get(name):
            changed.append(f"{name} {config.versions.get(name)}")
    if changed:
        warnings.warn(
            f"the run {folder.path} was started with other versions: {', '.join(changed)}",
            stacklevel=3,
        )


def _resume(folder: RunFolder, model: Any, config: RunConfig) -> list[dict[str, Any]]:
    """Restore the checkpoint of a run if it has one; return the evaluations up to there.

    The episodes and random numbers after it differ from those of an uninterrupted training.
    """
    if not folder.checkpoint_file.exists():
        return []
    restore_checkpoint(folder.checkpoint_file, model)
    played = model.num_timesteps
    seed = int(np.random.SeedSequence([config.seed, played]).generate_state(1)[0])
    set_random_seed(seed)
    model.action_space.seed(seed)
    model.get_env().seed(training_seed(seed))
    if hasattr(model, "replay_buffer"):
        # The buffer is empty, and is filled again before learning goes on.
        model.learning_starts += played
    return [
        evaluation for evaluation in folder.read_evaluations() if evaluation["timesteps"] <= played
    ]


def _learn(
    folder: RunFolder,
    model: BaseAlgorithm,
    config: RunConfig,
    evaluations: list[dict[str, Any]],
    *,
    quiet: bool,
    writers: Sequence[KVWriter],
) -> None:
    """Train a model until the configured number of timesteps."""
    # The library's default output to the terminal would break the progress bar.
    logger = configure(str(folder.tensorboard), ["tensorboard"])
    logger.output_formats += writers
    model.set_logger(logger)
    begun = model.num_timesteps
    # A training ends after a whole rollout, which can exceed the total.
    total = max(config.timesteps, begun)
    if begun < total:
        _warn_of_whole_rollouts(model, config)
    with tqdm(total=total, initial=begun, unit="game", disable=quiet) as bar:
        callback = Keeper(folder, config, evaluations, bar)
        try:
            model.learn(total - begun, callback=callback, reset_num_timesteps=False)
        except Exception as error:
            model.logger.close()
            # torch's distributions are the first to check the network's output.
            if not isinstance(error, ValueError) or "invalid values" not in str(error):
                raise
            raise FloatingPointError(
                "the training diverged to numbers that are not finite; try a smaller "
                "learning_rate or another unit of skill"
            ) from error
        # Not after KeyboardInterrupt: one in the queue of TensorBoard's writer leaves the lock of
        # the queue taken, and closing would wait for it for ever. Everything logged is written.
        model.logger.close()


def continue_training(
    path: Path, *, timesteps: int | None = None, allow_code: bool = False, **options: Any
) -> RunFolder:
    """Continue a run from its last checkpoint, or from its start if there is none.

    Weights, optimiser and learning rate go on where they were. Episodes begin anew, so the result
    differs from that of an uninterrupted run. Nothing in a checkpoint is unpickled.

    Args:
        path: the run's folder.
        timesteps: new total for the run; None keeps the configured one.
        allow_code: import any class that ``config.yml`` names: as prior or reward if it is not
            installed, or as teacher.
        options: ``device``, ``threads``, ``quiet`` and ``writers``, as for ``start_training``.

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
                config = _lengthened(folder, config, timesteps)
                folder.write_config(config)
        return start_training(path, config, **options)


def _lengthened(folder: RunFolder, config: RunConfig, timesteps: int) -> RunConfig:
    """Return the configuration of a run for another number of timesteps."""
    longer = config.replaced(hyperparameters={**config.hyperparameters, "n_timesteps": timesteps})
    played = timesteps_of(folder.checkpoint_file)
    least = min(played, config.timesteps)
    if longer.timesteps < least:
        rule = f"at least {least:,}, since the run has played as many"
        raise refusal(f"timesteps must be {rule}", timesteps)
    for name in SCHEDULED:
        start = linear_start(config.hyperparameters.get(name))
        if start is not None and played > 0 and longer.timesteps > config.timesteps:
            before = start * max(0.0, 1.0 - played / config.timesteps)
            after = start * max(0.0, 1.0 - played / longer.timesteps)
            warnings.warn(
                f"{name} rises from {before:.3g} to {after:.3g} after {played:,} games, since it "
                f"falls to 0 over all timesteps, now {longer.timesteps:,}",
                stacklevel=3,
            )
    return longer


def new_model(config: RunConfig, device: str) -> BaseAlgorithm:
    """Return the algorithm of a new training.

    Args:
        config: the configuration.
        device: device of torch.

    Raises:
        ValueError: for hyperparameters that do not fit together, or initial weights that do not
            fit the network.
    """
    torch_device = as_device(device)
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
            device=torch_device,
            **arguments,
        )
    # The constructors can raise anything for values that do not fit together.
    except Exception as error:
        raise ValueError(
            f"hyperparameters must fit {config.algorithm}: {error}; got {values!r}"
        ) from error
    if config.start_from is not None:
        _copy_weights(config.start_from, model.policy)
    model.action_space.seed(config.seed)
    env.seed(training_seed(config.seed))
    return model


def _copy_weights(start_from: str, policy: Any) -> None:
    """Give a policy the weights of a learned policy with the same network.

    Raises:
        ValueError: if the networks differ.
    """
    source: Any = load(start_from).network
    reason = ""
    if source.activation_fn is not policy.activation_fn:
        reason = "the activations differ"
    else:
        try:
            policy.load_state_dict(source.state_dict())
        except RuntimeError as error:
            reason = reason_of(error)
    if reason:
        raise ValueError(
            f"start_from must have the network of this training, a {type(policy).__name__} "
            f"with its policy_kwargs; {start_from!r} has a {type(source).__name__}: {reason}"
        )


def games_of_rollout(model: Any) -> int:
    """Return the number of games, over all environments, after which an algorithm learns."""
    # DQN has an ``n_steps`` of another meaning.
    if hasattr(model, "rollout_buffer"):
        return int(model.n_envs * model.n_steps)
    return int(model.n_envs * model.train_freq.frequency)


def check_learns(model: Any, config: RunConfig) -> None:
    """Check that a training is long enough to change its weights.

    Raises:
        ValueError: if it ends before the algorithm first learns, or when its learning rate has
            fallen to 0.
    """
    if getattr(model, "gradient_steps", 1) == 0:
        raise refusal("gradient_steps must not be 0, with which nothing is learned", 0)
    games = games_of_rollout(model)
    learning_starts = getattr(model, "learning_starts", 0)
    first = (learning_starts // games + 1) * games
    least = first - games + 1
    reason = f"{config.algorithm} first learns after {first:,} games"
    if learning_starts > 0:
        reason += f" (learning_starts={learning_starts:,})"
    if isinstance(model.learning_rate, LinearSchedule):
        least = first + 1
        reason += ", and its learning rate falls to 0 at the end"
    if config.timesteps < least:
        raise refusal(f"timesteps must be at least {least:,}, since {reason}", config.timesteps)


def _warn_of_whole_rollouts(model: Any, config: RunConfig) -> None:
    """Warn if whole rollouts much exceed the timesteps."""
    games = games_of_rollout(model)
    played = -(-config.timesteps // games) * games
    if played > 1.1 * config.timesteps:
        warnings.warn(
            f"{config.algorithm} learns after every {games:,} games, and so plays {played:,} for "
            f"timesteps={config.timesteps:,}",
            stacklevel=4,
        )


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

    Finished runs are kept, and interrupted ones continue from their last checkpoint.

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
    jobs = []
    folders = []
    for seed in seeds:
        folder = RunFolder(path / f"seed{seed}")
        folders.append(folder)
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
        self.folder = folder
        self.config = config
        self.evaluations = evaluations
        self._bar = bar
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
        last = -1
        if self.evaluations:
            last = self.evaluations[-1]["timesteps"]
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
        save_checkpoint(self.folder.checkpoint_file, self.model)
        self._save_policy(self.folder.policy_file)

    def _save_policy(self, file: Path) -> None:
        config = self.config
        values = config.hyperparameters
        facts = {**vars(config), **values, "games": self.model.num_timesteps}
        this_training = {name: facts[name] for name in PROVENANCE if name in facts}
        description = PolicyDescription(
            algorithm=config.algorithm,
            policy=values["policy"],
            policy_kwargs=values.get("policy_kwargs", {}),
            env_kwargs=portable_options(config.environment, config.env_kwargs),
            training=[*map(dict, self._before), this_training],
            environment=config.environment,
        )
        save_policy(file, self.model.policy, description)

    def _evaluate(self) -> None:
        network = self.model.policy
        was_training = network.training
        settings = settings_of(self.config.environment, self.config.env_kwargs)[0]
        belief = getattr(settings, "belief", DEFAULT_BELIEF)
        result = self._games.evaluate(LearnedPolicy("in training", network, belief, settings))
        network.set_training_mode(was_training)
        best = max((earlier["mean_return"] for earlier in self.evaluations), default=-np.inf)
        if result["mean_return"] > best:
            self._save_policy(self.folder.best_policy_file)
        self.evaluations.append({"timesteps": self.model.num_timesteps, **result})
        self.folder.write_evaluations(self._games.seed, self.evaluations)
        goal = training_of(self.config.environment).goal
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
        numbers = {
            name: float(value)
            for name, value in key_values.items()
            if isinstance(value, int | float | np.number)
        }
        self._record(numbers, step)

    def close(self) -> None:
        """Do nothing."""
