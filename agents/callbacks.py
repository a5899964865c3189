"""Progress bar, evaluations, checkpoints and trackers of a training.

Evaluations and checkpoints are made between two rollouts. They use no random number of the
training, so they do not change what it learns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter
from tqdm import tqdm

from matchenv.agents.checkpoints import save_checkpoint
from matchenv.agents.environments import Floats, evaluate, rival_totals
from matchenv.agents.learned_policy import LearnedPolicy
from matchenv.agents.policy_file import PolicyDescription, save_policy
from matchenv.agents.run_config import RunConfig
from matchenv.agents.run_folder import RunFolder
from matchenv.evaluation.seeds import evaluation_seed
from matchenv.runtime.checks import as_choice
from matchenv.runtime.signals import SafePoint

# The project of the trackers.
PROJECT = "matchenv"


class Progress(BaseCallback):
    """Progress bar over the timesteps, with the last evaluation beside it.

    Args:
        total: timesteps of the whole training.
        evaluations: the list that ``Evaluation`` fills.
        quiet: no bar.
    """

    def __init__(self, total: int, evaluations: list[dict[str, Any]], quiet: bool) -> None:
        super().__init__()
        self._total, self._evaluations, self._quiet = total, evaluations, quiet
        self._bar: tqdm[Any] | None = None

    def _on_training_start(self) -> None:
        self._bar = tqdm(
            total=self._total, initial=self.num_timesteps, unit="step", disable=self._quiet
        )

    def _on_step(self) -> bool:
        if self._bar is not None:
            self._bar.update(self.model.num_timesteps - self._bar.n)
        return True

    def _on_rollout_start(self) -> None:
        if self._bar is not None and self._evaluations:
            self._bar.set_postfix_str(
                f"evaluation {self._evaluations[-1]['mean_return']:.2f}", refresh=False
            )

    def _on_training_end(self) -> None:
        if self._bar is not None:
            self._bar.close()


class Evaluation(BaseCallback):
    """Play held-out games at intervals; keep the results and the best policy.

    A baseline, KG or the queue's matching, plays the same games once. Each evaluation is written
    to TensorBoard at once, so that the last one and those of short trainings are there too.

    Args:
        folder: of the run.
        config: of the run.
        description: of the policy, for its file.
        evaluations: those made before; new ones are added.
    """

    def __init__(
        self,
        folder: RunFolder,
        config: RunConfig,
        description: PolicyDescription,
        evaluations: list[dict[str, Any]],
    ) -> None:
        super().__init__()
        self._folder, self._config, self._description = folder, config, description
        self._rival: list[Floats] | None = None
        self.evaluations = evaluations

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        every = self._config.evaluate_every
        last = self.evaluations[-1]["timesteps"] if self.evaluations else None
        now = self.model.num_timesteps
        if last is None or now // every > last // every:
            self._evaluate()

    def _on_training_end(self) -> None:
        if not self.evaluations or self.evaluations[-1]["timesteps"] != self.model.num_timesteps:
            self._evaluate()

    def _evaluate(self) -> None:
        config, seed = self._config, evaluation_seed(self._config.seed)
        games = (config.environment, config.env_kwargs, config.evaluation_episodes, seed)
        if self._rival is None:
            self._rival = rival_totals(*games)
        settings = self._description.settings()
        belief = getattr(settings, "belief", "factorised")
        network: Any = self.model.policy
        trained = network.training
        result = evaluate(
            LearnedPolicy("in training", network, belief, settings), *games, self._rival
        )
        network.set_training_mode(trained)
        best = max((each["mean_return"] for each in self.evaluations), default=None)
        if best is None or result["mean_return"] > best:
            save_policy(self._folder.best_policy_file, self.model.policy, self._description)
        self.evaluations.append({"timesteps": self.model.num_timesteps, **result})
        self._folder.write_evaluations(seed, self.evaluations)
        # Written here: the library writes recorded values at the next of its own intervals, and
        # after the last evaluation there is none.
        tags = {f"evaluation/{name}": value for name, value in result.items()}
        for each in self.logger.output_formats:
            each.write(tags, dict.fromkeys(tags, ()), self.model.num_timesteps)


class Checkpoints(BaseCallback):
    """Save the training and its policy at intervals and at the end.

    Args:
        folder: of the run.
        config: of the run.
        description: of the policy, for its file.
        evaluations: the list that ``Evaluation`` fills.
        safe_point: told that the training can be stopped, once a checkpoint is written.
    """

    def __init__(
        self,
        folder: RunFolder,
        config: RunConfig,
        description: PolicyDescription,
        evaluations: list[dict[str, Any]],
        safe_point: SafePoint,
    ) -> None:
        super().__init__()
        self._folder, self._config, self._safe_point = folder, config, safe_point
        self._description, self._evaluations = description, evaluations
        self._last = 0

    def _on_training_start(self) -> None:
        self._last = self.model.num_timesteps

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        if self._safe_point.asked:
            self._save()
            self._safe_point.stop()
        every = self._config.checkpoint_every
        if self.model.num_timesteps // every > self._last // every:
            self._save()

    def _on_training_end(self) -> None:
        self._save()

    def _save(self) -> None:
        self._last = self.model.num_timesteps
        save_checkpoint(self._folder.checkpoints, self.model, self._config, self._evaluations)
        save_policy(self._folder.policy_file, self.model.policy, self._description)


class Recorder(KVWriter):
    """Output of stable-baselines3's logger: call a function with numbers and a step.

    Args:
        record: called with the numbers by name, and with the games played so far.
    """

    def __init__(self, record: Callable[[dict[str, float], int], Any]) -> None:
        self._record = record

    def write(
        self,
        key_values: dict[str, Any],
        key_excluded: dict[str, tuple[str, ...]],
        step: int = 0,
    ) -> None:
        """Record the entries that are numbers."""
        del key_excluded
        numbers = {
            name: float(value)
            for name, value in key_values.items()
            if isinstance(value, int | float | np.number)
        }
        self._record(numbers, step)

    def close(self) -> None:
        """Do nothing: nothing is open."""


def check_tracker(track: str | None) -> None:
    """Check that a tracker is known and installed.

    Args:
        track: ``"wandb"``, ``"mlflow"``, or None for none.

    Raises:
        ValueError: for another name.
        ImportError: if its package is missing; it says how to install it.
    """
    if track is None:
        return
    as_choice("track", track, TRACKERS)
    if find_spec(track) is None:
        raise ImportError(f"track={track!r} needs the package {track}: pip install {track}")


@contextmanager
def tracked(track: str | None, path: Path, config: RunConfig) -> Iterator[list[KVWriter]]:
    """Send the records of a training to a tracker for the time of a block.

    Args:
        track: as ``check_tracker``.
        path: folder of the run, whose name the run gets.
        config: of the run.

    Raises:
        ValueError: as ``check_tracker``.
        ImportError: as there.
    """
    check_tracker(track)
    if track is None:
        yield []
        return
    with TRACKERS[track](path.name, asdict(config)) as record:
        yield [Recorder(record)]


@contextmanager
def _wandb(name: str, config: dict[str, Any]) -> Iterator[Callable[[dict[str, float], int], Any]]:
    run = import_module("wandb").init(project=PROJECT, name=name, config=config)
    try:
        yield lambda numbers, step: run.log(numbers, step=step)
    finally:
        run.finish()


@contextmanager
def _mlflow(name: str, config: dict[str, Any]) -> Iterator[Callable[[dict[str, float], int], Any]]:
    mlflow = import_module("mlflow")
    mlflow.set_experiment(PROJECT)
    with mlflow.start_run(run_name=name):
        mlflow.log_params(_flat(config))
        yield lambda numbers, step: mlflow.log_metrics(numbers, step=step)


def _flat(values: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Return nested mappings as one, with dots in the names, as MLflow takes parameters."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{before}{name}.")
        else:
            found[before + name] = value
    return found


TRACKERS = {"wandb": _wandb, "mlflow": _mlflow}
