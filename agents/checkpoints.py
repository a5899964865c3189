"""Checkpoints: the state from which a training continues bit for bit.

A file is a digest in its first line, followed by tensors and plain data as ``torch.save`` packs
them. torch's restricted reader (``weights_only``) runs no code from a file.
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

# The attributes of stable-baselines3's algorithms that change during learning. The others follow
# from the hyperparameters.
COUNTERS = (
    "num_timesteps", "_episode_num", "_n_updates", "_current_progress_remaining", "_last_obs",
    "_last_original_obs", "_last_episode_starts", "_n_calls", "exploration_rate",
)  # fmt: skip

# Arrays of a replay buffer, of which the rows in use are kept.
ROWS = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")


def save_checkpoint(
    folder: Path, model: BaseAlgorithm, config: RunConfig, evaluations: list[dict[str, Any]]
) -> None:
    """Write a checkpoint atomically, then remove all but the newest two.

    Args:
        folder: the folder of the checkpoints.
        model: the training, between two rollouts.
        config: the configuration of the run.
        evaluations: all evaluations of the run.
    """
    packed = io.BytesIO()
    torch.save(_mapped({**_state(model), "evaluations": evaluations}, _as_tensor), packed)
    content = packed.getvalue()
    write_bytes(
        folder / f"step-{model.num_timesteps:012d}.pt", _digest(config, content) + b"\n" + content
    )
    for old in sorted(folder.glob("step-*"))[:-2]:
        old.unlink()


def steps_of(folder: Path) -> int:
    """Return the number of timesteps of the newest checkpoint, 0 if there is none."""
    names = [path.stem.removeprefix("step-") for path in folder.glob("step-*.pt")]
    return max((int(name) for name in names if name.isdigit()), default=0)


def read_checkpoint(path: Path, config: RunConfig) -> dict[str, Any]:
    """Return the state in a checkpoint, arrays as tensors on the CPU.

    Raises:
        ValueError: for a damaged file or one of another run.
    """
    digest, _, content = path.read_bytes().partition(b"\n")
    if digest != _digest(config, content):
        raise ValueError("its digest does not fit the file and the run")
    return dict(torch.load(io.BytesIO(content), map_location="cpu", weights_only=True))


def restore_newest(folder: Path, model: BaseAlgorithm, config: RunConfig) -> list[dict[str, Any]]:
    """Restore the newest intact checkpoint, including the state of the global random generators.

    Args:
        folder: the folder of the checkpoints.
        model: a new training; it stays so if there is no checkpoint.
        config: the configuration of the run.

    Returns:
        All earlier evaluations.

    Raises:
        ValueError: if there are checkpoints, but all are damaged.
    """
    paths = sorted(folder.glob("step-*"), reverse=True)
    for path in paths:
        try:
            state = read_checkpoint(path, config)
            _restore(model, state)
        # An intact file of another version can raise anything while it is restored.
        except Exception as error:
            warnings.warn(f"skipping the damaged checkpoint {path}: {error}", stacklevel=2)
        else:
            return list(state["evaluations"])
    if paths:
        raise ValueError(f"the checkpoints in {folder} are all damaged")
    return []


def _digest(config: RunConfig, content: bytes) -> bytes:
    """Return a digest of a checkpoint and its run; ``n_timesteps`` may change."""
    others = {name: v for name, v in config.hyperparameters.items() if name != "n_timesteps"}
    run = config.algorithm, config.seed, sorted(others.items()), sorted(config.env_kwargs.items())
    return hashlib.sha256(repr(run).encode() + content).hexdigest().encode()


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Apply a function to every leaf of nested plain data."""
    if isinstance(value, dict):
        return {_mapped(key, change): _mapped(entry, change) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        kind = list if isinstance(value, list) else tuple  # no named tuple
        return kind(_mapped(entry, change) for entry in value)
    # Pickle writes a repeated text as a reference if it is the same object; interned texts give
    # the same bytes whether they were read from a file or not.
    return sys.intern(value) if isinstance(value, str) else change(value)


def _as_tensor(value: Any) -> Any:
    """Convert arrays to tensors and NumPy scalars to Python's, which ``weights_only`` accepts."""
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(value).reshape(value.shape))
    return value.item() if isinstance(value, np.generic) else value


def _state(model: Any) -> dict[str, Any]:
    state = {
        "counters": {name: getattr(model, name) for name in COUNTERS if hasattr(model, name)},
        "parameters": model.get_parameters(),
        # Without the seconds, which differ from run to run.
        "episodes": [{**episode, "t": 0.0} for episode in model.ep_info_buffer],
        "env": model.get_env().get_state(),
        "actions": model.action_space.np_random.bit_generator.state,
        "python": random.getstate(),
        # stable-baselines3 draws from NumPy's global generator.
        "numpy": np.random.get_state(),  # noqa: NPY002
        "torch": torch.get_rng_state(),
    }
    if model.device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(model.device)
    buffer = getattr(model, "replay_buffer", None)
    if buffer is not None:
        written = buffer.buffer_size if buffer.full else buffer.pos
        rows = {name: getattr(buffer, name)[:written] for name in ROWS if hasattr(buffer, name)}
        state["replay_buffer"] = {"full": buffer.full, "pos": buffer.pos, "rows": rows}
    return state


def _restore(model: Any, tensors: dict[str, Any]) -> None:
    state = _mapped(tensors, lambda value: value.numpy() if torch.is_tensor(value) else value)
    model.get_env().set_state(state["env"])
    model.set_parameters(tensors["parameters"], exact_match=True, device=model.device)
    vars(model).update(state["counters"])
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
    if "cuda" in tensors and model.device.type == "cuda":
        torch.cuda.set_rng_state(tensors["cuda"], model.device)
