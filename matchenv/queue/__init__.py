"""``MatchmakingQueue-v0``: everyone who waits, games under way, and who plays whom."""

from matchenv.queue.population import NormalPopulation, Population, RatedPopulation
from matchenv.queue.settings import QueueSettings
from matchenv.queue.waiting import NOBODY, WaitingPlayers

__all__ = [
    "NOBODY",
    "NormalPopulation",
    "Population",
    "QueueSettings",
    "RatedPopulation",
    "WaitingPlayers",
]
