"""Match-making under uncertain skill: belief mathematics and Gymnasium environments.

Importing this package registers ``Matchmaking-v0`` with Gymnasium.
"""

from importlib.metadata import PackageNotFoundError, version

import gymnasium

from matchenv.env import MatchmakingEnv
from matchenv.knowledge import KnowledgeState, share_of_games_left
from matchenv.vector_env import MatchmakingVectorEnv

try:
    __version__ = version("matchenv")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0.0.0"

__all__ = [
    "KnowledgeState",
    "MatchmakingEnv",
    "MatchmakingVectorEnv",
    "__version__",
    "share_of_games_left",
]

gymnasium.register(
    id="Matchmaking-v0",
    entry_point="matchenv.env:MatchmakingEnv",
    vector_entry_point="matchenv.vector_env:MatchmakingVectorEnv",
)
