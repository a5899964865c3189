"""Learned policies: training with stable-baselines3, saving and loading.

torch is imported when something here first needs it, not before.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matchenv.agents.learned_policy import LearnedPolicy
    from matchenv.agents.loading import load
    from matchenv.agents.run_config import RunConfig, configured
    from matchenv.agents.run_folder import RunFolder
    from matchenv.agents.training import continue_training, start_training
    from matchenv.agents.vec_env import MatchmakingVecEnv

__all__ = [
    "LearnedPolicy",
    "MatchmakingVecEnv",
    "RunConfig",
    "RunFolder",
    "configured",
    "continue_training",
    "load",
    "start_training",
]

_WHERE = {
    "LearnedPolicy": "matchenv.agents.learned_policy",
    "MatchmakingVecEnv": "matchenv.agents.vec_env",
    "RunConfig": "matchenv.agents.run_config",
    "RunFolder": "matchenv.agents.run_folder",
    "configured": "matchenv.agents.run_config",
    "continue_training": "matchenv.agents.training",
    "load": "matchenv.agents.loading",
    "start_training": "matchenv.agents.training",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)
