"""Bodies and answers of the HTTP interface; their fields are those of ``matchenv.service``."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from matchenv.service import players

# Limits of one request, chosen so that it takes about a second.
SPLIT_PLAYERS = 100
PROPOSALS = 25
WAITING = 10_000
RANKS = 10_000
NEW_PLAYERS = 10_000

Item = TypeVar("Item")
# Stop at the first bad item: half a million errors would take a gigabyte.
Items = Annotated[list[Item], Field(fail_fast=True)]


class Body(BaseModel):
    """A body without undeclared fields, and without strings or booleans in place of numbers."""

    model_config = ConfigDict(extra="forbid", strict=True)


class PlayerBody(Body):
    """A player to add; mean, deviation and region are optional."""

    name: str
    mu: float | None = None
    sigma: float | None = None
    region: str | None = None

    def to_player(self) -> players.NewPlayer:
        """Return the player for ``Pool.add_many``."""
        return players.NewPlayer(self.name, self.mu, self.sigma, self.region)


class PlayersBody(Body):
    """Players to add, all or none."""

    players: Annotated[list[PlayerBody], Field(fail_fast=True, max_length=NEW_PLAYERS)]


class GameBody(Body):
    """A finished game; with an ``id``, a repeated request does not rate it twice."""

    teams: Items[Items[str]]
    ranks: Items[int | float]
    weights: Items[Items[float]] | None = None
    id: str | None = None

    def to_game(self) -> players.Game:
        """Return the game for ``Pool.rate``."""
        return players.Game(self.teams, self.ranks, self.weights, self.id)


class GamesBody(Body):
    """Games to rate, in order."""

    games: Items[GameBody]

    def to_games(self) -> list[players.Game]:
        """Return the games for ``Pool.rate``."""
        return [game.to_game() for game in self.games]


class BlockBody(Body):
    """Two players who must not meet, or may meet again."""

    one: str
    other: str


class ProposalsBody(Body):
    """A player who asks for k opponents, of ``among`` if given."""

    player: str
    k: Annotated[int, Field(le=PROPOSALS)] = 1
    among: Items[str] | None = None


class MatchesBody(Body):
    """Waiting players, optionally with the match quality that each requires."""

    waiting: (
        Annotated[list[str], Field(max_length=WAITING)]
        | Annotated[dict[str, float], Field(max_length=WAITING)]
    )


class SplitBody(Body):
    """Players to split into teams, with parties that stay together."""

    players: Annotated[list[str], Field(max_length=SPLIT_PLAYERS)]
    sides: int = 2
    together: Items[Items[str]] = []


class Player(BaseModel):
    """A player in the pool, with the current belief."""

    name: str
    region: str | None
    mu: float
    sigma: float
    seen: float | None
    games_played: int
    recent: list[str]
    blocked: list[str]
    exposed: float


class PlayersAdded(BaseModel):
    """The number of players that were added."""

    added: int


class Rating(BaseModel):
    """A belief about a player."""

    mu: float
    sigma: float


class Ratings(BaseModel):
    """The players of a request after the last of its games that they played, by name."""

    ratings: dict[str, Rating]


class RankedPlayer(BaseModel):
    """A row of the standings."""

    name: str
    mu: float
    sigma: float
    exposed: float
    games_played: int


class Standings(BaseModel):
    """The players by ``exposed``, highest first."""

    standings: list[RankedPlayer]


class Meeting(BaseModel):
    """A proposed game of two players."""

    player: str
    opponent: str
    match_quality: float


class Proposals(BaseModel):
    """Opponents of a player, best first."""

    proposals: list[Meeting]


class Matches(BaseModel):
    """Pairs of waiting players."""

    matches: list[Meeting]


class Split(BaseModel):
    """Players split into teams."""

    teams: list[list[str]]
    match_quality: float


class Health(BaseModel):
    """The state of the service; ``status`` is ``"ok"``, or says what is wrong."""

    status: str
    players: int
    games: int
