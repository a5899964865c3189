"""Training of a policy in a run folder: a new run, or one that goes on.

Evaluations and checkpoints are made between two rollouts. They use no random number of the
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

from matchenv.agents.checkpoints import restore_newest, save_checkpoint
from matchenv.agents.environments import PROBLEMS, HeldOutGames, settings_of
from matchenv.agents.learned_names import RUNS
from matchenv.agents.policy_file import (
    LearnedPolicy,
    PolicyDescription,
    as_device,
    load,
    save_policy,
)
from matchenv.agents.run_config import (
    ABOUT_THE_RUN,
    RunConfig,
    RunFolder,
    linear_start,
    present_versions,
)
from matchenv.agents.sb3_policies import resolved_policy_kwargs
from matchenv.agents.vec_env import MatchmakingVecEnv
from matchenv.belief import DEFAULT_BELIEF
from matchenv.evaluation.seeds import evaluation_seed, training_seed
from matchenv.runtime.checks import as_integer
from matchenv.runtime.files import folder_lock
from matchenv.runtime.object_spec import only_installed_code
from matchenv.runtime.parallel import results_of

SAID_OF_A_TRAINING = ("algorithm", "seed", "games", "env_kwargs", "teacher")
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
    """Train a policy in a run folder; one that holds the same run goes on.

    Args:
        path: the folder; None for one in ``runs/`` that is named after algorithm and seed.
        config: what to train, how and for how long.
        device: where torch computes; for networks this small the processor is fastest.
        threads: of torch on the processor; the weights depend on it in their last digits.
        quiet: no progress bar.
        writers: more places for what stable-baselines3 records, evaluations among it, such as
            ``matchenv.agents.training.Recorder(wandb.log)``.

    Returns:
        The folder, with the trained policy in it.

    Raises:
        ValueError: for a folder that holds another run or that another process works in, or bad
            hyperparameters.
    """
    torch.set_num_threads(as_integer("threads", threads, 1, 1024))  # of many more torch crashes
    path = path or RUNS / f"{config.algorithm}-seed{config.seed}"
    # A bad configuration is found here, before a folder is made. A checkpoint has weights.
    goes_on = any(RunFolder(path).checkpoints.glob("step-*"))
    model = new_model(config.replaced(start_from=None) if goes_on else config, device)
    with folder_lock(path):
        folder = RunFolder.create(path, config)
        config = folder.read_config()
        if config.versions != present_versions():
            warnings.warn(
                f"the run {path} was started with other versions of Python or its packages; the "
                "results may differ from those of a run in one go",
                stacklevel=2,
            )
        # By default the library writes to the terminal, which would break the progress bar.
        logger = configure(str(folder.tensorboard), ["tensorboard"])
        logger.output_formats += writers
        model.set_logger(logger)
        evaluations = restore_newest(folder.checkpoints, model, config)
        # It ends after a whole rollout, which may be later.
        begun, total = model.num_timesteps, max(config.timesteps, model.num_timesteps)
        if begun < total:
            _warn_of_whole_rollouts(model, config)
        with tqdm(total=total, initial=begun, unit="game", disable=quiet) as bar:
            keeper = Keeper(folder, config, evaluations, bar)
            try:
                model.learn(total - begun, callback=keeper, reset_num_timesteps=False)
            except ValueError as error:
                # Raised by torch's distributions, the first to look at what a network gives.
                if "invalid values" not in str(error):
                    raise
                raise FloatingPointError(
                    "the training came to numbers that are not finite; a smaller learning_rate or "
                    "another unit of skill may help"
                ) from error
        model.logger.close()
    return folder


def continue_training(
    path: Path,
    *,
    timesteps: int | None = None,
    device: str = "cpu",
    threads: int = 1,
    quiet: bool = False,
    allow_code: bool = False,
) -> RunFolder:
    """Go on with a run from its newest checkpoint, or from its start if there is none.

    The result is the same as without the interruption. Checkpoints hold no code.

    Args:
        path: the run's folder.
        timesteps: another total for the run; None keeps what it was started with.
        device: where torch computes.
        threads: of torch on the processor; the same as before for the same result.
        quiet: no progress bar.
        allow_code: import classes that are not installed, which ``config.yml`` may name as prior
            or reward.

    Returns:
        The folder, with the trained policy in it.

    Raises:
        ValueError: for a folder that is missing, holds no run or a damaged one, that another
            process works in, or that names classes that may not be imported.
    """
    with only_installed_code(allow_code=allow_code):
        with folder_lock(path):
            folder = RunFolder.open(path)
            if timesteps is not None:
                folder.extend(timesteps)
            config = folder.read_config()
        return start_training(path, config, device=device, threads=threads, quiet=quiet)


def new_model(config: RunConfig, device: str) -> BaseAlgorithm:
    """Return a training that has not begun.

    Args:
        config: what to train, and how.
        device: where torch computes.

    Raises:
        ValueError: for hyperparameters that do not fit together, or weights that do not fit.
    """
    where = as_device(device)
    settings = settings_of(config.environment, config.env_kwargs)[0]
    values = config.hyperparameters
    algorithm = config.known_algorithm()
    arguments = {name: value for name, value in values.items() if name not in ABOUT_THE_RUN}
    for name in SCHEDULED:
        start = linear_start(arguments.get(name))
        if start is not None:
            arguments[name] = LinearSchedule(start, 0.0, 1.0)
    plain_kwargs = values.get("policy_kwargs", {})
    env = MatchmakingVecEnv(config.num_envs, environment=config.environment, **config.env_kwargs)
    # Seeds are set here. The algorithm would seed the environments with small numbers, and seed
    # everything again when a checkpoint is loaded.
    set_random_seed(config.seed)
    try:
        model = algorithm.load_class()(
            algorithm.policy_class(values["policy"]),
            env,
            policy_kwargs=resolved_policy_kwargs(values["policy"], plain_kwargs, settings),
            device=where,
            **arguments,
        )
    # A library's constructor may raise anything about values that do not fit together.
    except Exception as error:
        raise ValueError(
            f"hyperparameters must fit {algorithm.name}, got {values!r}: {error}"
        ) from error
    model.policy.learns_entropy = getattr(model, "ent_coef", None) != 0.0
    if config.start_from is not None:
        source = load(config.start_from).network
        try:
            model.policy.load_state_dict(source.state_dict())
        except RuntimeError:
            raise ValueError(
                f"start_from must hold weights for the {type(model.policy).__name__} of this "
                f"training, and the {type(source).__name__} of {config.start_from!r} does not fit"
            ) from None
    model.action_space.seed(config.seed)
    env.seed(training_seed(config.seed))
    return model


def train_seeds(
    path: Path,
    config: RunConfig,
    seeds: Sequence[int],
    *,
    device: str = "cpu",
    threads: int = 1,
    workers: int | None = None,
    quiet: bool = False,
) -> list[RunFolder]:
    """Train one configuration with several seeds.

    What is there already goes on: runs that have ended are left alone, those that were stopped
    continue from their newest checkpoint.

    Args:
        path: a folder; the run of seed 3 is in ``seed3`` below it.
        config: of all runs, but for the seed.
        seeds: one run for each, different ones.
        device: as ``start_training``.
        threads: of torch in each process.
        workers: processes; None for one on each core. The runs do not depend on it.
        quiet: no progress bar.

    Returns:
        The folders, in the order of the seeds.

    Raises:
        ValueError: for no seed or one that is given twice, or a folder that holds a run of
            another configuration; before anything is trained.
    """
    if not seeds or len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds must be different numbers, at least one, got {list(seeds)}")
    if RunFolder(path).config_file.exists():
        raise ValueError(f"out must be another folder: {path} holds a single run")
    jobs, folders = [], [RunFolder(path / f"seed{seed}") for seed in seeds]
    for folder, seed in zip(folders, seeds, strict=True):
        wanted = config.replaced(seed=seed)
        folder.check_new(wanted)
        jobs.append(partial(start_training, folder.path, wanted, device=device, threads=threads,
                            quiet=True))  # fmt: skip
    with (
        folder_lock(path),
        closing(results_of(call, jobs, workers)) as results,
        tqdm(total=len(jobs), unit="seed", disable=quiet) as bar,
    ):
        for _ in results:
            bar.update()
    return folders


def _warn_of_whole_rollouts(model: Any, config: RunConfig) -> None:
    """Warn where whole rollouts are much more than what was asked for, or a single one."""
    games = config.num_envs * getattr(model, "n_steps", 1)
    played = -(-config.timesteps // games) * games
    falls = isinstance(model.learning_rate, LinearSchedule)
    if played > 1.1 * config.timesteps or (falls and played == games > 1):
        warnings.warn(
            f"{config.algorithm} learns after every {games:,} games, and so plays {played:,} for "
            f"timesteps={config.timesteps:,}; after the last a learning rate that falls is 0",
            stacklevel=3,
        )


class Keeper(BaseCallback):
    """Evaluate a training at intervals, save it, and show how far it is.

    An evaluation plays held-out games; the rivals of the ``Problem`` play them too, once. It is
    written to TensorBoard at once: the library would wait for the next of its own intervals.

    Args:
        folder: of the run.
        config: of the run.
        evaluations: those made before; new ones are added.
        bar: progress over the timesteps of the whole training.
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
        if config.start_from is not None:
            # What the training started from may be gone by now.
            saved = folder.policy_file.is_file()
            source = load(folder.policy_file if saved else config.start_from).training
            self._before = source[:-1] if saved else source
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
        known = {**vars(config), **values, "games": self.model.num_timesteps}
        this = {name: known[name] for name in SAID_OF_A_TRAINING if name in known}
        description = PolicyDescription(
            algorithm=config.algorithm,
            policy=values["policy"],
            policy_kwargs=values.get("policy_kwargs", {}),
            env_kwargs=config.env_kwargs,
            training=[*map(dict, self._before), this],
            environment=config.environment,
        )
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
        tags = {f"evaluation/{name}": value for name, value in result.items()}
        for each in self.logger.output_formats:
            each.write(tags, dict.fromkeys(tags, ()), self.model.num_timesteps)


class Recorder(KVWriter):
    """Output of stable-baselines3's logger: call a function with numbers and a step.

    Args:
        record: called with the numbers by name, and with the games played so far, as
            ``wandb.log`` and ``mlflow.log_metrics`` are.
    """

    def __init__(self, record: Callable[[dict[str, float], int], Any]) -> None:
        self._record = record

    def write(self, key_values: dict[str, Any], key_excluded: Any, step: int = 0) -> None:
        """Record the entries that are numbers."""
        numbers = {name: float(value) for name, value in key_values.items()
                   if isinstance(value, int | float | np.number)}  # fmt: skip
        self._record(numbers, step)

    def close(self) -> None:
        """Do nothing: nothing is open."""
