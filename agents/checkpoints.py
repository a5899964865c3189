"""Checkpoints: all that a training needs to go on exactly where it stopped.

They hold pickled objects, which can run any code when they are read: never resume a run that
comes from someone else. To share a policy, share its ``.safetensors`` file.
"""

from __future__ import annotations

import pickle
import random
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from matchenv.agents.algorithms import Algorithm
from matchenv.agents.vec_env import MatchmakingVecEnv
from matchenv.atomic_files import new_folder, remove_folder

MODEL, STATE, REPLAY_BUFFER = "model.zip", "state.pkl", "replay_buffer.pkl"
KEPT = 2

# What reading a cut-off or otherwise damaged checkpoint raises.
DAMAGE = (OSError, EOFError, KeyError, ValueError, RuntimeError, AttributeError, AssertionError,
          pickle.UnpicklingError, zipfile.BadZipFile)  # fmt: skip


@dataclass
class Restored:
    """A training as a checkpoint left it.

    Attributes:
        model: the algorithm with its networks, optimiser and environments.
        evaluations: those made before.
    """

    model: BaseAlgorithm
    evaluations: list[dict[str, Any]]
    _generators: dict[str, Any]

    def restore_generators(self) -> None:
        """Set the global random generators of Python, NumPy and torch."""
        random.setstate(self._generators["python"])
        np.random.set_state(self._generators["numpy"])  # noqa: NPY002
        torch.set_rng_state(self._generators["torch"])


def save_checkpoint(folder: Path, model: BaseAlgorithm, evaluations: list[dict[str, Any]]) -> None:
    """Write a checkpoint in one step, then remove all but the newest.

    Args:
        folder: of the checkpoints.
        model: the training, between two rollouts.
        evaluations: those made so far.
    """
    place = folder / f"step-{model.num_timesteps:012d}"
    if not place.exists():
        _write_checkpoint(place, model, evaluations)
    # A process that was killed here has left one more.
    for old in _newest_first(folder)[KEPT:]:
        remove_folder(old)


def _write_checkpoint(place: Path, model: BaseAlgorithm, evaluations: list[dict[str, Any]]) -> None:
    state = {
        "env": model.get_env(),
        "evaluations": evaluations,
        "generators": {
            "python": random.getstate(),
            # stable-baselines3 draws from NumPy's global generator.
            "numpy": np.random.get_state(),  # noqa: NPY002
            "torch": torch.get_rng_state(),
        },
        # stable-baselines3's own file leaves these out.
        "lstm_states": getattr(model, "_last_lstm_states", None),
    }
    with new_folder(place) as beside:
        model.save(beside / MODEL)
        (beside / STATE).write_bytes(pickle.dumps(state))
        if isinstance(model, OffPolicyAlgorithm):
            model.save_replay_buffer(beside / REPLAY_BUFFER)


def newest_checkpoint(folder: Path, algorithm: Algorithm, device: str = "cpu") -> Restored | None:
    """The training as the newest good checkpoint left it, None if there is no checkpoint.

    Args:
        folder: of the checkpoints.
        algorithm: whose checkpoints they are.
        device: where torch computes.

    Raises:
        ValueError: if there are checkpoints, but none that can be read.
    """
    places = _newest_first(folder)
    for place in places:
        try:
            return _restored(place, algorithm, device)
        except DAMAGE as error:
            warnings.warn(f"the checkpoint {place} is damaged and left out: {error}", stacklevel=2)
    if places:
        raise ValueError(f"the checkpoints in {folder} are all damaged")
    return None


def _newest_first(folder: Path) -> list[Path]:
    return sorted(folder.glob("step-*"), reverse=True)


def _restored(place: Path, algorithm: Algorithm, device: str) -> Restored:
    state = pickle.loads((place / STATE).read_bytes())
    env = state["env"]
    if not isinstance(env, MatchmakingVecEnv):
        raise ValueError(f"its environment is a {type(env).__name__}")
    # Without a reset: the episodes go on where they were.
    model = algorithm.load_class().load(place / MODEL, env=env, device=device, force_reset=False)
    if isinstance(model, OffPolicyAlgorithm):
        model.load_replay_buffer(place / REPLAY_BUFFER)
    if state["lstm_states"] is not None:
        model._last_lstm_states = state["lstm_states"]  # type: ignore[attr-defined]
    if algorithm.name == "ars":
        # Its constructor makes fresh weights; its file restores those of the policy only.
        model.weights = torch.nn.utils.parameters_to_vector(  # type: ignore[attr-defined]
            model.policy.parameters()
        ).detach()
    return Restored(model, state["evaluations"], state["generators"])
