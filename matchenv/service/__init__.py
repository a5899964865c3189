"""A pool of named players for a game service: ratings, proposals, matches and teams.

``Pool`` is the library; ``matchenv.service.http`` serves it over HTTP (``matchenv serve``).
"""

from matchenv.service.players import Game as Game
from matchenv.service.players import GameExistsError as GameExistsError
from matchenv.service.players import Meeting as Meeting
from matchenv.service.players import NewPlayer as NewPlayer
from matchenv.service.players import Player as Player
from matchenv.service.players import PlayerExistsError as PlayerExistsError
from matchenv.service.players import PoolSettings as PoolSettings
from matchenv.service.players import RankedPlayer as RankedPlayer
from matchenv.service.players import RatedGame as RatedGame
from matchenv.service.players import Split as Split
from matchenv.service.players import UnknownPlayerError as UnknownPlayerError
from matchenv.service.pool import Pool as Pool
