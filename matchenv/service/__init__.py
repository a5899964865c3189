"""A pool of named players for a game service: ratings, proposals, matches and teams.

``Pool`` is the library; ``matchenv.service.http`` serves it over HTTP (``matchenv serve``).
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
