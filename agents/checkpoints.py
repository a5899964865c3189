"""The checkpoint of a training: the zip file of stable-baselines3.

It is written by the library's ``save`` and read by its ``set_parameters``, which restores weights
and optimiser without unpickling anything. A replay buffer, the episodes in progress and the states
of random generators are not in it.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

from stable_baselines3.common.base_class import BaseAlgorithm

from matchenv.agents.policy_file import reason_of
from matchenv.runtime.files import parsed_json, write_bytes

# Counters of the algorithms that are plain numbers in the file.
COUNTERS = ("num_timesteps", "_n_updates", "_episode_num")


def save_checkpoint(file: Path, model: BaseAlgorithm) -> None:
    """Write a checkpoint atomically in place of the last one."""
    packed = io.BytesIO()
    model.save(packed)
    write_bytes(file, packed.getvalue())


def timesteps_of(file: Path) -> int:
    """Return the number of timesteps of a checkpoint, 0 if there is none.

    Raises:
        ValueError: if it is damaged.
    """
    if not file.is_file():
        return 0
    return int(_data_of(file)["num_timesteps"])


def restore_checkpoint(file: Path, model: BaseAlgorithm) -> None:
    """Restore weights, optimiser and counters of a training.

    Args:
        file: the checkpoint.
        model: a new training with the same hyperparameters.

    Raises:
        ValueError: if the file is damaged, or of another network.
    """
    data = _data_of(file)
    try:
        model.set_parameters(str(file), exact_match=True, device=model.device)
    # A damaged archive can raise almost anything.
    except Exception as error:
        raise _damage(file, error) from error
    for name in COUNTERS:
        if name in data:
            setattr(model, name, data[name])


def _data_of(file: Path) -> dict[str, Any]:
    """Return what the file holds as JSON."""
    try:
        with zipfile.ZipFile(file) as packed:
            return dict(parsed_json(packed.read("data"), "its data"))
    except Exception as error:
        raise _damage(file, error) from error


def _damage(file: Path, error: Exception) -> ValueError:
    return ValueError(
        f"the checkpoint {file} cannot be read: {reason_of(error)}; remove it to train from the "
        "start"
    )
