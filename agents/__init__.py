"""Learned policies: training with stable-baselines3, saving and loading.

torch is imported when something here first needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matchenv.agents.policy_file import LearnedPolicy, load
    from matchenv.agents.run_config import RunConfig, configured
    from matchenv.agents.run_folder import RunFolder
    from matchenv.agents.training import continue_training, start_training, train_seeds
    from matchenv.agents.vec_env import MatchmakingVecEnv
    from matchenv.evaluation.registry import expanded, known_policies, policy_named

__all__ = [
    "LearnedPolicy",
    "MatchmakingVecEnv",
    "RunConfig",
    "RunFolder",
    "configured",
    "continue_training",
    "expanded",
    "known_policies",
    "load",
    "policy_named",
    "start_training",
    "train_seeds",
]

_WHERE = {
    "LearnedPolicy": "matchenv.agents.policy_file",
    "MatchmakingVecEnv": "matchenv.agents.vec_env",
    "RunConfig": "matchenv.agents.run_config",
    "RunFolder": "matchenv.agents.run_folder",
    "configured": "matchenv.agents.run_config",
    "continue_training": "matchenv.agents.training",
    "expanded": "matchenv.evaluation.registry",
    "known_policies": "matchenv.evaluation.registry",
    "load": "matchenv.agents.policy_file",
    "policy_named": "matchenv.evaluation.registry",
    "start_training": "matchenv.agents.training",
    "train_seeds": "matchenv.agents.training",
}


def with_extra(module: str, name: str) -> Any:
    """Return an object of one of our modules that may need packages of the extra ``agents``.

    Raises:
        ImportError: if a package of the extra is missing; it says how to install it.
    """
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "matchenv"):
            raise
        raise ImportError(
            f'{name} needs the package {package}: pip install "matchenv[agents]"', name=package
        ) from error


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return with_extra(_WHERE[name], name)


def __dir__() -> list[str]:
    return __all__
