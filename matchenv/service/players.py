"""The settings of a pool, and the types that it takes and returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from matchenv.envs.core.settings import option
from matchenv.runtime.checks import (
    as_integer,
    as_non_negative_number,
    as_positive_number,
    as_probability,
    printable,
    refusal,
)
from matchenv.trueskill import Rating

LONGEST_NAME = 200


@dataclass(frozen=True)
class PoolSettings:
    """Prior beliefs of a pool, and how beliefs change with games and time.

    Defaults follow Herbrich, Minka, Graepel (2006), section 4.2, with a draw probability of 10 %.

    Raises:
        ValueError: if a value is not allowed.
    """

    mu: float = option(25.0, as_non_negative_number, "prior mean of a new player's skill, >= 0")
    sigma: float = option(25.0 / 3.0, as_positive_number, "prior standard deviation, > 0")
    beta: float = option(
        25.0 / 6.0, as_positive_number, "standard deviation of one performance around skill, > 0"
    )
    tau: float = option(
        25.0 / 300.0,
        as_non_negative_number,
        "standard deviation of a skill's drift before each game, >= 0",
    )
    draw_probability: float = option(
        0.1, as_probability, "probability of a draw between equal sides, in [0, 1); 0 refuses draws"
    )
    drift_per_day: float = option(
        0.0,
        as_non_negative_number,
        "standard deviation of a skill's drift per day without a game, >= 0; d days add "
        "d drift_per_day^2 to the variance",
    )
    recent: int = option(
        0,
        as_integer,
        "number of a player's last opponents to exclude, 0 to 1,000",
        low=0,
        high=1000,
    )
    games_left: int = option(
        500, as_integer, "remaining games, for rules that depend on them, >= 1", low=1
    )

    def __post_init__(self) -> None:
        for setting in fields(self):
            check = setting.metadata["check"]
            value = check(setting.name, getattr(self, setting.name))
            object.__setattr__(self, setting.name, value)


class UnknownPlayerError(ValueError):
    """Raised for a name that is not in the pool."""


class PlayerExistsError(ValueError):
    """Raised when a new player's name is already in the pool."""


class GameExistsError(ValueError):
    """Raised when another game with the same id is already in the pool."""


class NewPlayer(NamedTuple):
    """A player to add.

    Attributes:
        name: 1 to 200 characters without control characters.
        mu: prior mean of the skill; None for the pool's.
        sigma: prior standard deviation, > 0; None for the pool's.
        region: players meet only within a region; None is a region too.
    """

    name: str
    mu: float | None = None
    sigma: float | None = None
    region: str | None = None


class Game(NamedTuple):
    """A finished game.

    Attributes:
        teams: the sides, each a list of names.
        ranks: one number per side; lower is better, equal ranks are a draw.
        weights: factor of each member's performance by side, for example the share of the game that
            the member played; None for all 1.
        id: name of the game, so that a repeated call does not rate it twice: 1 to 200 characters
            without control characters; None for a game that is rated by every call.
    """

    teams: Sequence[Sequence[str]]
    ranks: Sequence[float]
    weights: Sequence[Sequence[float]] | None = None
    id: str | None = None


class RatedGame(NamedTuple):
    """A game after it was rated.

    Attributes:
        number: 1 for the first game of the pool, and so on.
        ratings: beliefs about its players after the game, by name.
    """

    number: int
    ratings: dict[str, Rating]


class Player(NamedTuple):
    """A player in the pool.

    Attributes:
        name: unique name.
        region: region of the player; None for players without one.
        mu: mean of the belief about the skill.
        sigma: standard deviation of the belief at time ``seen``.
        seen: time of the last game, in seconds; before the first game, the time of being added with
            a belief, or None for a new player with the pool's prior, which does not drift.
        games_played: number of games.
        recent: names of the last opponents, most recent first.
        blocked: names of players who must not meet this one.
    """

    name: str
    region: str | None
    mu: float
    sigma: float
    seen: float | None
    games_played: int = 0
    recent: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()


class RankedPlayer(NamedTuple):
    """A row of the standings.

    Attributes:
        name: name of the player.
        mu: mean of the belief about the skill.
        sigma: current standard deviation of the belief.
        exposed: conservative skill mu - k sigma, with k = mu_0 / sigma_0 of a new player.
        games_played: number of games.
    """

    name: str
    mu: float
    sigma: float
    exposed: float
    games_played: int


class Meeting(NamedTuple):
    """A proposed game of two players.

    Attributes:
        player: the player who asked, or the first of a pair.
        opponent: the other player.
        match_quality: match quality of the game, in (0, 1].
    """

    player: str
    opponent: str
    match_quality: float


class Split(NamedTuple):
    """Players split into teams.

    Attributes:
        teams: names of each team's members.
        match_quality: match quality of their game, in (0, 1].
    """

    teams: list[list[str]]
    match_quality: float


def as_name(argument: str, value: Any) -> str:
    """Check a name: 1 to 200 printable characters.

    Raises:
        ValueError: if it is anything else.
    """
    is_name = isinstance(value, str) and len(value) <= LONGEST_NAME and value.strip() != ""
    if not is_name or printable(value) != value:
        raise ValueError(
            f"{argument} must be a string of 1 to {LONGEST_NAME} characters without control "
            f"characters, got {str(value)[:LONGEST_NAME]!r}"
        )
    return str(value)


def as_names(argument: str, value: Any, least: int = 0) -> list[str]:
    """Check a list of at least ``least`` distinct names.

    Raises:
        ValueError: if it is anything else.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise refusal(f"{argument} must be a list of names", value)
    names = [as_name(argument, name) for name in value]
    if len(names) < least:
        raise ValueError(f"{argument} must contain at least {least} names, got {len(names)}")
    check_distinct(argument, names)
    return names


def check_distinct(argument: str, names: Sequence[str]) -> None:
    """Refuse names of which one occurs twice.

    Raises:
        ValueError: names the first of them.
    """
    if len(set(names)) < len(names):
        ((name, _),) = Counter(names).most_common(1)
        raise ValueError(f"{argument} must contain distinct names, got {name!r} twice")
