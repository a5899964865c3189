"""Learned policies from files."""

from __future__ import annotations

import warnings
from pathlib import Path

from matchenv.agents.algorithms import algorithm_by_name
from matchenv.agents.device import as_device
from matchenv.agents.features import belief_of_space
from matchenv.agents.learned_policy import LearnedPolicy
from matchenv.agents.policies import SHIPPED, SHIPPED_FOR_QUEUE, learned_path
from matchenv.agents.policy_file import SUFFIX, read_policy
from matchenv.agents.run_folder import CONFIG, RunFolder
from matchenv.agents.tasks import task_of
from matchenv.settings import Settings


def load(
    name_or_path: str | Path,
    *,
    settings: Settings | None = None,
    algorithm: str | None = None,
    device: str = "cpu",
) -> LearnedPolicy:
    """A learned policy.

    Run folders and ``.safetensors`` files are read without running anything they say. A zip
    file of stable-baselines3 holds pickled objects and can run any code when it is read.

    Args:
        name_or_path: the name of a policy that comes with the package (``"equivariant"``),
            the folder of a run, its name in ``runs/``, a ``.safetensors`` file, or a zip file
            of stable-baselines3.
        settings: of the environment that the policy is to play, such as
            ``env.unwrapped.settings`` or ``Settings.checked(beta=0.4)``; as
            ``LearnedPolicy.for_settings``. None: those that it was trained with; for
            ``"equivariant"`` that is beta = sqrt(2.5) and no draws.
        algorithm: for a zip file only, the algorithm that wrote it.
        device: where torch computes.

    Raises:
        ValueError: if there is nothing of that name, it is damaged, or the policy cannot play
            with these settings.
    """
    name = str(name_or_path)
    path = learned_path(name)
    if path is None:
        shipped = ", ".join(map(repr, (*SHIPPED, *SHIPPED_FOR_QUEUE)))
        raise ValueError(
            f"a learned policy must be {shipped}, the folder of a run, its name in runs/, a "
            f"{SUFFIX} file or a zip file of stable-baselines3; there is no {name!r}"
        )
    policy = _read(name, path, algorithm, str(as_device(device)))
    return policy if settings is None else policy.for_settings(settings)


def _read(name: str, path: Path, algorithm: str | None, device: str) -> LearnedPolicy:
    if path.is_dir():
        path = _policy_of_run(path)
    if path.suffix == ".zip":
        return _load_zip(name, path, algorithm, device)
    network, description = read_policy(path)
    task, settings = task_of(description.environment), description.settings()
    return task.learned(name, network.to(device), settings)


def _policy_of_run(path: Path) -> Path:
    folder = RunFolder(path)
    if folder.policy_file.is_file():
        return folder.policy_file
    if folder.config_file.is_file():
        raise ValueError(
            f"the run {path} has saved no policy yet; go on with it: matchenv train --resume {path}"
        )
    raise ValueError(f"{path} holds no run: it has neither {CONFIG} nor {folder.policy_file.name}")


def _load_zip(name: str, path: Path, algorithm: str | None, device: str) -> LearnedPolicy:
    chosen = algorithm_by_name(algorithm)
    warnings.warn(
        f"{path} is a zip file of stable-baselines3: it holds pickled objects, and reading it "
        "runs whatever code they name. Read such files from people you trust only; run folders "
        f"and {SUFFIX} files are safe.",
        stacklevel=4,
    )
    try:
        model = chosen.load_class().load(path, device=device)
    except Exception as error:
        raise ValueError(f"the file {path} is no model of {chosen.name}: {error}") from error
    try:
        belief = belief_of_space(model.observation_space, int(model.action_space.n))  # type: ignore[attr-defined]
    except ValueError as error:
        raise ValueError(f"the file {path} is no model for Matchmaking-v0: {error}") from None
    return LearnedPolicy(name, model.policy, belief.name)
