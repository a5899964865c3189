"""The folder of a training run: its files and their names."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from matchenv.agents.learned_names import CONFIG, POLICY_FILE, RUNS
from matchenv.agents.run_config import RunConfig
from matchenv.runtime.checks import as_integer
from matchenv.runtime.files import folder_lock, remove_unfinished, write_text


@contextmanager
def locked_run(path: Path | None, config: RunConfig) -> Iterator[Path]:
    """Lock the folder of a new run for the time of a block.

    Args:
        path: the folder; None for one in ``runs/`` that nobody else has, named after algorithm
            and seed.
        config: of the run.

    Raises:
        ValueError: if another process works in the folder.
    """
    with ExitStack() as held:
        if path is not None:
            held.enter_context(folder_lock(path))
        numbers = count(1)
        while path is None:
            number = next(numbers)
            name = f"{config.algorithm}-seed{config.seed}" + (f"-{number}" if number > 1 else "")
            # Whoever makes the folder has it; the others see that it is there.
            with suppress(FileExistsError):
                held.enter_context(folder_lock(RUNS / name, new=True))
                path = RUNS / name
        yield path


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

    @classmethod
    def create(cls, path: Path, config: RunConfig) -> RunFolder:
        """Create the folder of a new run, with its configuration in it.

        Raises:
            ValueError: if there is a run in it already, or it cannot be made.
            OSError: if the disk is full.
        """
        folder = cls(path)
        if folder.config_file.exists():
            raise ValueError(
                f"out must be a new folder, {path} holds a run: go on with it by --resume {path}"
            )
        try:
            folder.checkpoints.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            if error.errno == errno.ENOSPC:  # not what was asked for is wrong
                raise
            raise ValueError(
                f"out must be a folder that can be made, got {path}: {error}"
            ) from None
        write_text(folder.config_file, config.to_text())
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Open the folder of a run that has begun.

        Raises:
            ValueError: if there is no run.
        """
        folder = cls(path)
        if not path.is_dir():
            raise ValueError(f"run must be a folder that exists, got {str(path)!r}")
        if not folder.config_file.is_file():
            raise ValueError(f"{path} holds no run: it has no {CONFIG}")
        folder.checkpoints.mkdir(exist_ok=True)
        remove_unfinished(path)
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
        total = as_integer("timesteps", timesteps, 1)
        longer = replace(config, hyperparameters={**config.hyperparameters, "n_timesteps": total})
        write_text(self.config_file, longer.to_text())

    def write_evaluations(self, seed: int, evaluations: list[dict[str, Any]]) -> None:
        """Write the evaluations, with the environment seed of their first episode."""
        content = {"first_environment_seed": seed, "evaluations": evaluations}
        write_text(self.evaluations_file, json.dumps(content, indent=2) + "\n")
