"""Learned policies: training with stable-baselines3, saving and loading.

torch is imported when an object here first needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matchenv.agents.policy_file import LearnedPolicy as LearnedPolicy
    from matchenv.agents.policy_file import load as load
    from matchenv.agents.run_config import RunConfig as RunConfig
    from matchenv.agents.run_config import RunFolder as RunFolder
    from matchenv.agents.run_config import configured as configured
    from matchenv.agents.training import continue_training as continue_training
    from matchenv.agents.training import start_training as start_training
    from matchenv.agents.training import train_seeds as train_seeds
    from matchenv.agents.vec_env import MatchmakingVecEnv as MatchmakingVecEnv
    from matchenv.evaluation.registry import expanded as expanded
    from matchenv.evaluation.registry import known_policies as known_policies
    from matchenv.evaluation.registry import policy_named as policy_named

# Names of this module by the module that defines them.
_MODULES = {
    "matchenv.agents.policy_file": ("LearnedPolicy", "load"),
    "matchenv.agents.run_config": ("RunConfig", "RunFolder", "configured"),
    "matchenv.agents.training": ("continue_training", "start_training", "train_seeds"),
    "matchenv.agents.vec_env": ("MatchmakingVecEnv",),
    "matchenv.evaluation.registry": ("expanded", "known_policies", "policy_named"),
}
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


def with_extra(module: str, name: str) -> Any:
    """Return an object of a module that can need packages of the extra ``agents``.

    Raises:
        ImportError: if a package of the extra is missing; the message says how to install it.
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
    for module, names in _MODULES.items():
        if name in names:
            return with_extra(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
