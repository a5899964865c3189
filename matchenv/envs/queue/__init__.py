"""``MatchmakingQueue-v0``: waiting players, games under way, and who plays whom."""

from matchenv.envs.queue.settings import (
    NormalPopulation,
    Population,
    QueueSettings,
    RatedPopulation,
)
from matchenv.envs.queue.view import NOBODY, QueueView, WaitingPlayers

__all__ = [
    "NOBODY",
    "NormalPopulation",
    "Population",
    "QueueSettings",
    "QueueView",
    "RatedPopulation",
    "WaitingPlayers",
]
