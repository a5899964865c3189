"""Training runs as plain data: their configurations and their evaluations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matchenv.agents.run_config import RunConfig
from matchenv.agents.run_folder import CONFIG, RunFolder

WHAT_TO_DO = "train one with matchenv train --out DIR"


@dataclass(frozen=True)
class Run:
    """One training run with its evaluations.

    Attributes:
        path: its folder.
        config: how it was trained.
        first_seed: environment seed of the first episode of each evaluation.
        evaluations: one for each time that the policy was evaluated, at least one; each has
            ``timesteps``, ``episodes`` and the numbers of ``matchenv.agents.evaluation.evaluate``.
    """

    path: Path
    config: RunConfig
    first_seed: int
    evaluations: tuple[dict[str, Any], ...]

    @property
    def training(self) -> dict[str, Any]:
        """What runs that differ in their seed alone have in common."""
        config = self.config
        return {
            "algorithm": config.algorithm,
            **config.hyperparameters,
            "env_kwargs": config.env_kwargs,
            "start_from": config.start_from,
        }

    @property
    def games(self) -> dict[str, Any]:
        """Which games its evaluations play, but for their seeds."""
        return self.config.comparison()


def runs_in(path: Path) -> list[Path]:
    """The folders of runs that have been evaluated: this folder, or those somewhere below it."""
    if _is_run(path):
        return [path]
    return sorted(file.parent for file in path.rglob(CONFIG) if _is_run(file.parent))


def read_runs(paths: Sequence[Path]) -> list[Run]:
    """Every run in the folders, in their order, each once.

    Args:
        paths: folders of runs, or folders that hold such folders.

    Raises:
        ValueError: for none, a folder that holds no run with evaluations, or a damaged file.
    """
    if not paths:
        raise ValueError(f"runs must be at least one folder of a training; {WHAT_TO_DO}")
    found: dict[Path, Run] = {}
    for path in paths:
        folders = runs_in(path)
        if not folders:
            raise ValueError(f"{path} holds no training run that has been evaluated; {WHAT_TO_DO}")
        for folder in folders:
            found.setdefault(folder.resolve(), _read(RunFolder(folder)))
    return list(found.values())


def _is_run(path: Path) -> bool:
    folder = RunFolder(path)
    return folder.config_file.is_file() and folder.evaluations_file.is_file()


def _read(folder: RunFolder) -> Run:
    config = folder.read_config()
    try:
        content = json.loads(folder.evaluations_file.read_text(encoding="utf-8"))
        seed, evaluations = content["first_environment_seed"], content["evaluations"]
        _ = [(each["timesteps"], each["episodes"], each["true_q_less_kg"]) for each in evaluations]
        if not evaluations:
            raise ValueError("it holds no evaluation")
    except (UnicodeDecodeError, ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{folder.evaluations_file} is damaged: {error}") from None
    return Run(folder.path, config, int(seed), tuple(evaluations))
