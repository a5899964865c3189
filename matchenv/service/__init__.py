"""A pool of named players for a game service: ratings, proposals, matches and teams.

``Pool`` is the library; ``matchenv.service.http`` puts it behind HTTP (``matchenv serve``).
It stands above the core, the baselines and the agents, whose policies are its rules.
"""

from matchenv.service.players import Game as Game
from matchenv.service.players import Meeting as Meeting
from matchenv.service.players import NewPlayer as NewPlayer
from matchenv.service.players import Player as Player
from matchenv.service.players import PlayerExistsError as PlayerExistsError
from matchenv.service.players import PoolSettings as PoolSettings
from matchenv.service.players import RankedPlayer as RankedPlayer
from matchenv.service.players import Split as Split
from matchenv.service.players import UnknownPlayerError as UnknownPlayerError
from matchenv.service.pool import Pool as Pool
