"""Learned policies from files, with the ``predict`` that every policy here has."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.policies import BasePolicy

from agents.algorithms import algorithm_by_name
from agents.policy_file import SUFFIX, read_policy
from agents.run_folder import CONFIG, RUNS, RunFolder
from matchenv.settings import BELIEFS, observation_size


class LearnedPolicy:
    """A trained policy network.

    Attributes:
        name: what it was loaded by.
        belief: the belief whose observation it reads.
        num_opponents: M, of the environment that it was trained in.
        observation_shape: shape of one observation.
        network: the network of stable-baselines3.
    """

    def __init__(self, name: str, network: BasePolicy, belief: str) -> None:
        self.name = name
        self.network = network
        self.belief = belief
        self.num_opponents = int(network.action_space.n)  # type: ignore[attr-defined]
        self.observation_shape: tuple[int, ...] = tuple(network.observation_space.shape or ())

    def predict(
        self,
        observation: Any,
        state: tuple[NDArray[Any], ...] | None = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.int64], tuple[NDArray[Any], ...] | None]:
        """Choose opponents, as stable-baselines3's models do.

        Args:
            observation: shape (K,) or (n, K), with K as ``observation_shape`` says.
            state: what the last call gave, for a policy with a memory.
            episode_start: shape (n,), where a memory must start anew.
            deterministic: take the likeliest opponent, else draw one from torch's generator.

        Returns:
            ``(actions, state)``, actions of shape () or (n,).

        Raises:
            ValueError: for observations of another size, NaN or infinity.
        """
        array = np.asarray(observation)
        if array.ndim not in (1, 2) or array.shape[-1:] != self.observation_shape:
            raise ValueError(
                f"observation must have shape {self.observation_shape} or "
                f"(n, {self.observation_shape[0]}), got {array.shape}: the policy {self.name} was "
                f"trained with num_opponents={self.num_opponents}"
            )
        if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
            raise ValueError("observation must hold finite numbers only")
        actions, memory = self.network.predict(
            array.astype(np.float32, copy=False), state, episode_start, deterministic
        )
        return actions, memory


def load(
    name_or_path: str | Path, *, algorithm: str | None = None, device: str = "cpu"
) -> LearnedPolicy:
    """A learned policy.

    Run folders and ``.safetensors`` files are read without running anything they say. A zip
    file of stable-baselines3 holds pickled objects and can run any code when it is read.

    Args:
        name_or_path: the folder of a run, its name in ``runs/``, a ``.safetensors`` file, or
            a zip file of stable-baselines3.
        algorithm: for a zip file only, the algorithm that wrote it.
        device: where torch computes.

    Raises:
        ValueError: if there is nothing of that name, or it is damaged.
    """
    name, path = str(name_or_path), Path(name_or_path)
    if not path.exists() and (RUNS / path).is_dir():
        path = RUNS / path
    if not path.exists():
        raise ValueError(
            "a learned policy must be the folder of a run, its name in runs/, a "
            f"{SUFFIX} file or a zip file of stable-baselines3; there is no {name!r}"
        )
    if path.is_dir():
        path = _policy_of_run(path)
    if path.suffix == ".zip":
        return _load_zip(name, path, algorithm, device)
    network, description = read_policy(path)
    return LearnedPolicy(name, network.to(device), description.settings().belief)


def _policy_of_run(path: Path) -> Path:
    folder = RunFolder(path)
    if folder.policy_file.is_file():
        return folder.policy_file
    if folder.config_file.is_file():
        raise ValueError(
            f"the run {path} has saved no policy yet; go on with it: "
            f"python train.py --resume {path}"
        )
    raise ValueError(f"{path} holds no run: it has neither {CONFIG} nor {folder.policy_file.name}")


def _load_zip(name: str, path: Path, algorithm: str | None, device: str) -> LearnedPolicy:
    chosen = algorithm_by_name(algorithm)
    warnings.warn(
        f"{path} is a zip file of stable-baselines3: it holds pickled objects, and reading it "
        "runs whatever code they name. Read such files from people you trust only; run folders "
        f"and {SUFFIX} files are safe.",
        stacklevel=3,
    )
    try:
        model = chosen.load_class().load(path, device=device)
    except Exception as error:
        raise ValueError(f"the file {path} is no model of {chosen.name}: {error}") from error
    size = model.observation_space.shape
    opponents = int(model.action_space.n)  # type: ignore[attr-defined]
    for belief in BELIEFS:
        if size == (observation_size(opponents, belief),):
            return LearnedPolicy(name, model.policy, belief)
    raise ValueError(
        f"the file {path} is no model for Matchmaking-v0: it has {opponents} actions and "
        f"observations of shape {size}"
    )
