"""Match-making under uncertain skill: belief mathematics and Gymnasium environments.

Importing this package registers all environments with Gymnasium. Modules, and names that need
compiled code, are imported when they are first used: ``matchenv.ratings`` works.
"""

from __future__ import annotations

# ruff: noqa: E402
import os
import sys

_CALLED = os.path.basename(sys.argv[0]) if sys.argv else ""
# The name is "-m" while Python looks for the module.
if _CALLED in ("matchenv", "matchenv.exe") or (_CALLED == "-m" and "matchenv" in sys.orig_argv):
    from matchenv.runtime.signals import end_at_signals

    end_at_signals()  # before slow imports

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

import matchenv.environments  # noqa: F401, registers them

if TYPE_CHECKING:
    from matchenv.agents import load as load
    from matchenv.belief.knowledge import KnowledgeState as KnowledgeState
    from matchenv.belief.knowledge import share_of_games_left as share_of_games_left
    from matchenv.benchmarks.compare import compare as compare
    from matchenv.envs.core.registration import Environment as Environment
    from matchenv.envs.core.registration import register_environment as register_environment
    from matchenv.envs.one_player.env import MatchmakingEnv as MatchmakingEnv
    from matchenv.envs.one_player.env import MatchmakingVectorEnv as MatchmakingVectorEnv
    from matchenv.envs.one_player.priors import EqualPrior as EqualPrior
    from matchenv.envs.one_player.priors import InformativePrior as InformativePrior
    from matchenv.envs.one_player.priors import NormalPrior as NormalPrior
    from matchenv.envs.one_player.priors import Prior as Prior
    from matchenv.envs.one_player.settings import Reward as Reward
    from matchenv.envs.one_player.settings import Settings as Settings
    from matchenv.envs.queue.env import MatchmakingQueueEnv as MatchmakingQueueEnv
    from matchenv.envs.queue.env import MatchmakingQueueVectorEnv as MatchmakingQueueVectorEnv
    from matchenv.evaluation.rollout import rollout as rollout

try:
    __version__ = version("matchenv")
except PackageNotFoundError:  # a source tree that is not installed
    __version__ = "0.0.0"

_NAMES = {
    "agents": ("load",),
    "benchmarks.compare": ("compare",),
    "belief.knowledge": ("KnowledgeState", "share_of_games_left"),
    "envs.core.registration": ("Environment", "register_environment"),
    "envs.one_player.env": ("MatchmakingEnv", "MatchmakingVectorEnv"),
    "envs.one_player.priors": ("EqualPrior", "InformativePrior", "NormalPrior", "Prior"),
    "envs.one_player.settings": ("Reward", "Settings"),
    "evaluation.rollout": ("rollout",),
    "envs.queue.env": ("MatchmakingQueueEnv", "MatchmakingQueueVectorEnv"),
}
__all__ = ["__version__", *(name for names in _NAMES.values() for name in names)]
_MODULES = {"agents", "baselines", "benchmarks", *(info.name for info in iter_modules(__path__))}
_MODULES.discard("__main__")


def __getattr__(name: str) -> Any:
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
