"""The folder of a training run: its files and their names."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from matchenv.agents.learned_names import CONFIG, POLICY_FILE
from matchenv.agents.run_config import RunConfig
from matchenv.runtime.checks import as_integer
from matchenv.runtime.files import write_text


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
            ValueError: if it holds another one.
        """
        if not self.config_file.exists():
            return
        if replace(self.read_config(), versions=config.versions) != config:
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
            write_text(folder.config_file, config.to_text())
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
        total = as_integer("timesteps", timesteps, 1)
        longer = replace(config, hyperparameters={**config.hyperparameters, "n_timesteps": total})
        write_text(self.config_file, longer.to_text())

    def write_evaluations(self, seed: int, evaluations: list[dict[str, Any]]) -> None:
        """Write the evaluations, with the environment seed of their first episode."""
        content = {"first_environment_seed": seed, "evaluations": evaluations}
        write_text(self.evaluations_file, json.dumps(content, indent=2) + "\n")
