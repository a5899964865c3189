"""A pool's constants and players: what callers give and get."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from matchenv.envs.core.settings import option
from matchenv.runtime.checks import (
    as_integer,
    as_non_negative_number,
    as_number,
    as_positive_number,
    as_probability,
    printable,
)

LONGEST_NAME = 200


@dataclass(frozen=True)
class PoolSettings:
    """Model of a pool: initial beliefs, and their change by games and time.

    The defaults are those of Herbrich, Minka, Graepel (2006), section 4.2, with one draw in ten
    games between equals.

    Raises:
        ValueError: for a number that is not allowed.
    """

    mu: float = option(25.0, as_number, "mean of the belief about a newcomer, in skill points")
    sigma: float = option(25.0 / 3.0, as_positive_number, "its standard deviation, > 0")
    beta: float = option(
        25.0 / 6.0, as_positive_number, "standard deviation of one performance around skill, > 0"
    )
    tau: float = option(
        25.0 / 300.0, as_non_negative_number,
        "standard deviation of the skill's drift before each game of a player, >= 0",
    )  # fmt: skip
    draw_probability: float = option(
        0.1, as_probability, "of two even sides, in [0, 1); 0 refuses draws"
    )
    drift_per_day: float = option(
        0.0, as_non_negative_number,
        "standard deviation of the skill's drift in one day without a game, >= 0; after d days "
        "the variance has grown by d drift_per_day^2",
    )  # fmt: skip
    recent: int = option(
        0, as_integer, "number of a player's last opponents who are not chosen again, at most "
        "1,000", low=0, high=1000,
    )  # fmt: skip
    games_left: int = option(
        500, as_integer, "number of games to come, for rules that count them, >= 1", low=1
    )

    def __post_init__(self) -> None:
        for each in fields(self):
            value = each.metadata["check"](each.name, getattr(self, each.name))
            object.__setattr__(self, each.name, value)


class UnknownPlayerError(ValueError):
    """A name that no player of the pool has."""


class PlayerExistsError(ValueError):
    """A name that a player of the pool has already."""


class NewPlayer(NamedTuple):
    """A player to be added.

    Attributes:
        name: of the player, 1 to 200 characters, no control characters.
        mu: mean of the belief about the player's skill; None for the pool's.
        sigma: its standard deviation, > 0; None for the pool's.
        region: players meet only within a region; those without one among themselves.
    """

    name: str
    mu: float | None = None
    sigma: float | None = None
    region: str | None = None


class Game(NamedTuple):
    """One game that was played.

    Attributes:
        teams: the sides, each a list of its members' names.
        ranks: one number for each side; lower is better, equal is a draw.
        weights: for each side the share of the game that each member played, in [0, 1]; None
            for all 1.
    """

    teams: Sequence[Sequence[str]]
    ranks: Sequence[float]
    weights: Sequence[Sequence[float]] | None = None


class Player(NamedTuple):
    """All that is kept about a player.

    Attributes:
        name: of the player.
        region: where the player plays; None for those without one.
        mu: mean of the belief about the skill.
        sigma: its standard deviation at the time ``seen``.
        seen: time of the last game, or of the arrival, in seconds.
        games_played: number of games.
        recent: names of the last opponents, the last one first.
        blocked: names of those who must not meet the player.
    """

    name: str
    region: str | None
    mu: float
    sigma: float
    seen: float
    games_played: int = 0
    recent: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()


class RankedPlayer(NamedTuple):
    """One line of the standings.

    Attributes:
        name: the player.
        mu: mean of the belief about the player's skill.
        sigma: its standard deviation.
        exposed: the conservative skill mu - k sigma, by which players are sorted: k is mu / sigma
            of a newcomer.
        games_played: number of games.
    """

    name: str
    mu: float
    sigma: float
    exposed: float
    games_played: int


class Meeting(NamedTuple):
    """Two players who should meet.

    Attributes:
        player: who was asked for, or the first of a pair.
        opponent: the other one.
        match_quality: of their game, in (0, 1].
    """

    player: str
    opponent: str
    match_quality: float


class Split(NamedTuple):
    """Teams.

    Attributes:
        teams: the sides, lists of names.
        match_quality: of their game, in (0, 1].
    """

    teams: list[list[str]]
    match_quality: float


def as_name(argument: str, value: Any) -> str:
    """Check a name: 1 to 200 characters, none of which a terminal obeys or hides.

    Raises:
        ValueError: for anything else.
    """
    is_text = isinstance(value, str) and value.strip() and printable(value) == value
    if not is_text or len(value) > LONGEST_NAME:
        raise ValueError(
            f"{argument} must be a text of 1 to {LONGEST_NAME} characters without control "
            f"characters, got {str(value)[:LONGEST_NAME]!r}"
        )
    return str(value)


def as_names(argument: str, value: Any, least: int = 0) -> list[str]:
    """Check a list of names, none twice.

    Raises:
        ValueError: for anything else, too few names, or one that comes twice.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ValueError(f"{argument} must be a list of names, got {value!r}")
    names = [as_name(argument, each) for each in value]
    if len(names) < least:
        raise ValueError(f"{argument} must have at least {least} names, got {len(names)}")
    if len(set(names)) < len(names):
        ((twice, _),) = Counter(names).most_common(1)
        raise ValueError(f"{argument} must not hold anybody twice, got {twice!r} twice")
    return names
