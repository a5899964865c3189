"""Checkpoints: all that a training needs to go on exactly where it stopped.

A file is a digest in its first line, then tensors and plain data as ``torch.save`` packs them.
torch's restricted reader (``weights_only``) runs nothing that a file names.
"""

from __future__ import annotations

import hashlib
import io
import random
import sys
import warnings
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm

from matchenv.agents.run_config import RunConfig
from matchenv.runtime.files import write_bytes

# The numbers and arrays that change while stable-baselines3's algorithms learn. All else of an
# algorithm follows from its hyperparameters.
COUNTERS = (
    "num_timesteps", "_episode_num", "_n_updates", "_current_progress_remaining", "_last_obs",
    "_last_original_obs", "_last_episode_starts", "_n_calls", "exploration_rate",
)  # fmt: skip

# Rows of a replay buffer; only those that were written are kept.
ROWS = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")


def save_checkpoint(
    folder: Path, model: BaseAlgorithm, config: RunConfig, evaluations: list[dict[str, Any]]
) -> None:
    """Write a checkpoint in one step, then remove all but the newest two.

    Args:
        folder: of the checkpoints.
        model: the training, between two rollouts.
        config: of the run.
        evaluations: those made so far.
    """
    packed = io.BytesIO()
    torch.save(_mapped({**_state(model), "evaluations": evaluations}, _as_tensor), packed)
    content = packed.getvalue()
    write_bytes(
        folder / f"step-{model.num_timesteps:012d}.pt", _digest(config, content) + b"\n" + content
    )
    # A process that was killed here has left one more.
    for old in sorted(folder.glob("step-*"))[:-2]:
        old.unlink()


def read_checkpoint(place: Path, config: RunConfig) -> dict[str, Any]:
    """Return the state in a checkpoint, arrays as tensors.

    Raises:
        ValueError: for a damaged file, or one of another run.
    """
    digest, _, content = place.read_bytes().partition(b"\n")
    if digest != _digest(config, content):
        raise ValueError("its digest does not fit the file and the run")
    return dict(torch.load(io.BytesIO(content), weights_only=True))


def restore_newest(folder: Path, model: BaseAlgorithm, config: RunConfig) -> list[dict[str, Any]]:
    """Set a training to the newest good checkpoint, and the global random generators too.

    Args:
        folder: of the checkpoints.
        model: as the configuration makes it; it stays so if there is no checkpoint.
        config: of the run.

    Returns:
        The evaluations made before.

    Raises:
        ValueError: if there are checkpoints, but none that can be read.
    """
    places = sorted(folder.glob("step-*"), reverse=True)
    for place in places:
        try:
            state = read_checkpoint(place, config)
            _restore(model, state)
        # A sound file of another version may raise anything on the way into an algorithm.
        except Exception as error:
            warnings.warn(f"the checkpoint {place} is damaged and left out: {error}", stacklevel=2)
        else:
            return list(state["evaluations"])
    if places:
        raise ValueError(f"the checkpoints in {folder} are all damaged")
    return []


def _digest(config: RunConfig, content: bytes) -> bytes:
    """Return a digest of a checkpoint and of its run, whose length may be changed."""
    others = {name: v for name, v in config.hyperparameters.items() if name != "n_timesteps"}
    run = config.algorithm, config.seed, sorted(others.items()), sorted(config.env_kwargs.items())
    return hashlib.sha256(repr(run).encode() + content).hexdigest().encode()


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return nested plain data with every leaf changed."""
    if isinstance(value, dict):
        return {_mapped(name, change): _mapped(each, change) for name, each in value.items()}
    if isinstance(value, list | tuple):
        changed = [_mapped(each, change) for each in value]
        return changed if isinstance(value, list) else tuple(changed)
    # Pickling tells equal texts from shared ones, so that read ones would give other bytes.
    return sys.intern(value) if isinstance(value, str) else change(value)


def _as_tensor(value: Any) -> Any:
    """Return arrays as tensors and NumPy's numbers as Python's, which the reader accepts."""
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(value).reshape(value.shape))
    return value.item() if isinstance(value, np.generic) else value


def _state(model: Any) -> dict[str, Any]:
    state = {
        "counters": {name: getattr(model, name) for name in COUNTERS if hasattr(model, name)},
        "parameters": model.get_parameters(),
        # Without the seconds, which no two runs share.
        "episodes": [{**each, "t": 0.0} for each in model.ep_info_buffer],
        "env": model.get_env().get_state(),
        "actions": model.action_space.np_random.bit_generator.state,
        "python": random.getstate(),
        # stable-baselines3 draws from NumPy's global generator.
        "numpy": np.random.get_state(),  # noqa: NPY002
        "torch": torch.get_rng_state(),
    }
    buffer = getattr(model, "replay_buffer", None)
    if buffer is not None:
        # To save memory, the next row may hold the next observation.
        whole = buffer.full or buffer.optimize_memory_usage
        written = buffer.buffer_size if whole else buffer.pos
        rows = {name: getattr(buffer, name)[:written] for name in ROWS if hasattr(buffer, name)}
        state["replay_buffer"] = {"full": buffer.full, "pos": buffer.pos, "rows": rows}
    return state


def _restore(model: Any, tensors: dict[str, Any]) -> None:
    state = _mapped(tensors, lambda each: each.numpy() if torch.is_tensor(each) else each)
    model.get_env().set_state(state["env"])
    model.set_parameters(tensors["parameters"], exact_match=True, device=model.device)
    for name, value in state["counters"].items():
        setattr(model, name, value)
    model.ep_info_buffer = deque(state["episodes"], model._stats_window_size)
    model.ep_success_buffer = deque(maxlen=model._stats_window_size)
    model.action_space.np_random.bit_generator.state = state["actions"]
    if "replay_buffer" in state:
        kept, buffer = state["replay_buffer"], model.replay_buffer
        buffer.full, buffer.pos = kept["full"], kept["pos"]
        for name, rows in kept["rows"].items():
            getattr(buffer, name)[: len(rows)] = rows
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])  # noqa: NPY002
    torch.set_rng_state(tensors["torch"])
