"""What a training records, sent to Weights & Biases or MLflow where one of them is installed.

Nothing is sent unless it is asked for. Both are configured by their own means (environment
variables, their own login); ours are the names of the project and of the run.
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
from stable_baselines3.common.logger import KVWriter

from matchenv.agents.run_config import RunConfig
from matchenv.runtime.checks import as_choice

PROJECT = "matchenv"


class Recorder(KVWriter):
    """One more place for what stable-baselines3 records: a function of numbers and a step.

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
        """Record what is a number."""
        del key_excluded
        numbers = {
            name: float(value)
            for name, value in key_values.items()
            if isinstance(value, int | float | np.number)
        }
        self._record(numbers, step)

    def close(self) -> None:
        """Nothing is open."""


def check_tracker(track: str | None) -> None:
    """See that a tracker is known and installed.

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
    """Where a training is recorded besides its own folder, for the time of a block.

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
    """Nested mappings as one, with dots in the names, as MLflow takes parameters."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{before}{name}.")
        else:
            found[before + name] = value
    return found


TRACKERS = {"wandb": _wandb, "mlflow": _mlflow}
