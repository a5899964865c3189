"""A pool of named players for a game service: ratings, proposals, matches and teams.

``Pool`` is the library; ``matchenv.service.http`` puts it behind HTTP (``matchenv serve``).
It stands above the core, the baselines and the agents, whose policies are its rules.
"""

from matchenv.service.players import (
    Game,
    Meeting,
    NewPlayer,
    Player,
    PlayerExistsError,
    PoolSettings,
    RankedPlayer,
    Split,
    UnknownPlayerError,
)
from matchenv.service.pool import Pool

__all__ = [
    "Game",
    "Meeting",
    "NewPlayer",
    "Player",
    "PlayerExistsError",
    "Pool",
    "PoolSettings",
    "RankedPlayer",
    "Split",
    "UnknownPlayerError",
]
