"""Checkpoints: all that a training needs to go on exactly where it stopped.

They hold arrays and plain data with a checksum, and no pickled objects: reading one runs nothing
that it says.
"""

from __future__ import annotations

import hashlib
import random
import warnings
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib.common.recurrent.type_aliases import RNNStates
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from matchenv.agents.run_config import RunConfig
from matchenv.agents.tensor_files import read_tensor_file, write_tensor_file
from matchenv.agents.vec_env import MatchmakingVecEnv
from matchenv.runtime.files import Arrays

KIND, SUFFIX = "matchenv_checkpoint", ".safetensors"
KEPT = 2

# The numbers and arrays that change while stable-baselines3's algorithms learn. All else of an
# algorithm follows from its hyperparameters; a test looks for what this list misses.
COUNTERS = (
    "num_timesteps", "_total_timesteps", "_episode_num", "_n_updates",
    "_current_progress_remaining", "_last_obs", "_last_original_obs", "_last_episode_starts",
    "_n_calls", "exploration_rate",
)  # fmt: skip
MEMORY = "_last_lstm_states"

# Rows of a replay buffer; only those that were written are kept.
ROWS = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")

# What stands in the JSON for what JSON does not know; every other mapping is written as pairs.
ARRAY, TENSOR, TUPLE, MAPPING = "array", "tensor", "tuple", "mapping"

# What a sound file of another version may raise on the way into an algorithm.
MISFIT = (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RuntimeError)


def save_checkpoint(
    folder: Path, model: BaseAlgorithm, config: RunConfig, evaluations: list[dict[str, Any]]
) -> None:
    """Write a checkpoint in one step, then remove all but the newest.

    Args:
        folder: of the checkpoints.
        model: the training, between two rollouts.
        config: of the run.
        evaluations: those made so far.
    """
    place = folder / f"step-{model.num_timesteps:012d}{SUFFIX}"
    if not (place.exists() and _is_sound(place)):
        arrays: Arrays = {}
        state = flattened({**_state(model), "evaluations": evaluations}, arrays)
        write_tensor_file(place, KIND, {"run": _run_key(config), "state": state}, arrays)
    # A process that was killed here has left one more.
    for old in newest_first(folder)[KEPT:]:
        old.unlink()


def restore_newest(
    folder: Path, model: BaseAlgorithm, config: RunConfig
) -> list[dict[str, Any]] | None:
    """Set a training to the newest good checkpoint, and the global random generators too.

    Args:
        folder: of the checkpoints.
        model: as the configuration makes it; it is changed.
        config: of the run.

    Returns:
        The evaluations made before; None, and an unchanged model, if there is no checkpoint.

    Raises:
        ValueError: if there are checkpoints, but none that can be read.
    """
    places = newest_first(folder)
    for place in places:
        try:
            content = read_tensor_file(place, KIND)
            if not content.checked or content.header["run"] != _run_key(config):
                raise ValueError("it is of another run")
            state = restored(content.header["state"], content.arrays)
            _restore(model, state)
        except MISFIT as error:
            warnings.warn(f"the checkpoint {place} is damaged and left out: {error}", stacklevel=2)
        else:
            evaluations: list[dict[str, Any]] = state["evaluations"]
            return evaluations
    if places:
        raise ValueError(f"the checkpoints in {folder} are all damaged")
    return None


def newest_first(folder: Path) -> list[Path]:
    """Return the files of all checkpoints, sound or not, the newest first."""
    return sorted(folder.glob("step-*"), reverse=True)


def _is_sound(place: Path) -> bool:
    try:
        return read_tensor_file(place, KIND).checked
    except ValueError:
        return False


def _run_key(config: RunConfig) -> str:
    """Return a digest of a run's configuration without its length, which may be changed."""
    others = {name: v for name, v in config.hyperparameters.items() if name != "n_timesteps"}
    said = (
        config.algorithm,
        config.seed,
        sorted(others.items()),
        sorted(config.env_kwargs.items()),
    )
    return hashlib.sha256(repr(said).encode()).hexdigest()


def _state(model: BaseAlgorithm) -> dict[str, Any]:
    env = model.get_env()
    assert isinstance(env, MatchmakingVecEnv)
    state = {
        "counters": {name: getattr(model, name) for name in COUNTERS if hasattr(model, name)},
        "parameters": model.get_parameters(),
        # Without the seconds, which no two runs share.
        "episodes": [{**each, "t": 0.0} for each in model.ep_info_buffer or ()],
        "env": env.get_state(),
        "actions": model.action_space.np_random.bit_generator.state,
        "memory": getattr(model, MEMORY, None),
        "generators": {
            "python": random.getstate(),
            # stable-baselines3 draws from NumPy's global generator.
            "numpy": np.random.get_state(),  # noqa: NPY002
            "torch": torch.get_rng_state(),
        },
    }
    if isinstance(model, OffPolicyAlgorithm):
        buffer = model.replay_buffer
        assert isinstance(buffer, ReplayBuffer)
        # To save memory, the next row may hold the next observation.
        whole = buffer.full or buffer.optimize_memory_usage
        written = buffer.buffer_size if whole else buffer.pos
        rows = {name: getattr(buffer, name)[:written] for name in ROWS if hasattr(buffer, name)}
        state["replay_buffer"] = {"full": buffer.full, "pos": buffer.pos, "rows": rows}
    return state


def _restore(model: BaseAlgorithm, state: dict[str, Any]) -> None:
    env = model.get_env()
    assert isinstance(env, MatchmakingVecEnv)
    env.set_state(state["env"])
    model.set_parameters(state["parameters"], exact_match=True, device=model.device)
    for name in COUNTERS:
        if hasattr(model, name):
            setattr(model, name, state["counters"][name])
    model.ep_info_buffer = deque(state["episodes"], model._stats_window_size)
    model.ep_success_buffer = deque(maxlen=model._stats_window_size)
    model.action_space.np_random.bit_generator.state = state["actions"]
    if hasattr(model, MEMORY) and state["memory"] is not None:
        memory = [tuple(each.to(model.device) for each in pair) for pair in state["memory"]]
        setattr(model, MEMORY, RNNStates(*memory))
    if isinstance(model, OffPolicyAlgorithm):
        _restore_buffer(model.replay_buffer, state["replay_buffer"])
    random.setstate(state["generators"]["python"])
    np.random.set_state(state["generators"]["numpy"])  # noqa: NPY002
    torch.set_rng_state(state["generators"]["torch"])


def _restore_buffer(buffer: ReplayBuffer | None, state: dict[str, Any]) -> None:
    assert buffer is not None
    buffer.full, buffer.pos = state["full"], state["pos"]
    for name, rows in state["rows"].items():
        getattr(buffer, name)[: len(rows)] = rows


def flattened(value: Any, arrays: Arrays, place: str = "") -> Any:
    """Return a value as plain JSON, with its arrays put aside.

    Args:
        value: numbers, texts, None, arrays, tensors, and lists, tuples and mappings of these.
        arrays: takes the arrays; the names are the places in the value.
        place: where the value stands.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, torch.Tensor):
        arrays[place] = value.detach().cpu().numpy()
        return {TENSOR: place}
    if isinstance(value, np.ndarray):
        arrays[place] = value
        return {ARRAY: place}
    if isinstance(value, Mapping):
        return {
            MAPPING: [
                [flattened(key, arrays), flattened(each, arrays, f"{place}/{key}")]
                for key, each in value.items()
            ]
        }
    if isinstance(value, list | tuple):
        parts = [flattened(each, arrays, f"{place}/{i}") for i, each in enumerate(value)]
        return {TUPLE: parts} if isinstance(value, tuple) else parts
    raise TypeError(f"{place} must be plain data or arrays, got {type(value).__name__}")


def restored(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Return the value that ``flattened`` took apart; a named tuple comes back as a tuple.

    Raises:
        ValueError: for what ``flattened`` does not write.
        KeyError: for an array that is missing.
    """
    if isinstance(value, list):
        return [restored(each, arrays) for each in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ValueError(f"a mapping must be written as pairs, got {sorted(value)}")
    ((kind, content),) = value.items()
    if kind == ARRAY:
        return arrays[content].copy()
    if kind == TENSOR:
        return torch.from_numpy(arrays[content].copy())
    if kind == TUPLE:
        return tuple(restored(each, arrays) for each in content)
    if kind == MAPPING:
        return {restored(key, arrays): restored(each, arrays) for key, each in content}
    raise ValueError(f"a kind must be array, tensor, tuple or mapping, got {kind!r}")
