"""What callers give to a pool, checked before anything changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from matchenv.runtime.checks import LARGEST_SKILL, as_number, as_positive_number, printable

LONGEST_NAME = 200


class UnknownPlayerError(ValueError):
    """A name that no player of the pool has."""


class PlayerExistsError(ValueError):
    """A name that a player of the pool has already."""


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


class NewPlayer(NamedTuple):
    """A player to be added.

    Attributes:
        name: of the player.
        mu: mean of the belief about the player's skill; None for the pool's.
        sigma: its standard deviation, > 0; None for the pool's.
        region: players meet only within a region; those without one among themselves.
    """

    name: str
    mu: float | None = None
    sigma: float | None = None
    region: str | None = None


def as_text(argument: str, value: Any) -> str:
    """A name: a text of 1 to 200 characters, none of which a terminal obeys or hides.

    Raises:
        ValueError: for anything else.
    """
    if (
        not isinstance(value, str)
        or not value.strip()
        or len(value) > LONGEST_NAME
        or printable(value) != value
    ):
        raise ValueError(
            f"{argument} must be a text of 1 to {LONGEST_NAME} characters without control "
            f"characters, got {value if not isinstance(value, str) else value[:LONGEST_NAME]!r}"
        )
    return value


def as_texts(argument: str, value: Any, least: int = 0) -> list[str]:
    """Names, none twice.

    Raises:
        ValueError: for anything else than a list of names, too few, or one that comes twice.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ValueError(f"{argument} must be a list of names, got {value!r}")
    names = [as_text(argument, each) for each in value]
    if len(names) < least:
        raise ValueError(f"{argument} must have at least {least} names, got {len(names)}")
    if len(set(names)) < len(names):
        twice = next(each for each in names if names.count(each) > 1)
        raise ValueError(f"{argument} must not hold anybody twice, got {twice!r} twice")
    return names


def as_games(value: Any) -> list[Game]:
    """One game or many as a list of games; what is in them is not read yet.

    Raises:
        ValueError: for anything else than a ``Game`` or an iterable of such tuples.
    """
    if isinstance(value, Game):
        return [value]
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ValueError(f"games must be a Game or a list of them, got {value!r}")
    games = []
    for each in value:
        if not isinstance(each, tuple) or len(each) not in (2, 3):
            raise ValueError(f"games must hold Game(teams, ranks, weights), got {each!r}")
        games.append(Game(*each))
    if not games:
        raise ValueError("games must not be empty")
    return games


def as_sides(teams: Any) -> list[list[str]]:
    """The sides of one game: lists of names, nobody twice.

    Raises:
        ValueError: for anything else; how many sides there must be is left to ``rate``.
    """
    if isinstance(teams, str | bytes) or not isinstance(teams, Iterable):
        raise ValueError(f"teams must be lists of names, got {teams!r}")
    sides = [as_texts(f"teams[{i}]", side, 1) for i, side in enumerate(teams)]
    as_texts("teams", [name for side in sides for name in side])
    return sides


def as_newcomers(players: Any, mu: float, sigma: float) -> list[NewPlayer]:
    """Players to be added, with the pool's belief where none is given.

    Args:
        players: ``NewPlayer``s, tuples like them, or names.
        mu: the pool's mean.
        sigma: the pool's standard deviation.

    Raises:
        ValueError: for a bad name, number or region, or a name that comes twice.
    """
    if isinstance(players, str | bytes) or not isinstance(players, Iterable):
        raise ValueError(f"players must be a list of NewPlayer, got {players!r}")
    found: dict[str, NewPlayer] = {}
    for each in players:
        given = each if isinstance(each, tuple) else (each,)
        if not 1 <= len(given) <= 4:
            raise ValueError(f"players must hold NewPlayer(name, mu, sigma, region), got {each!r}")
        player = NewPlayer(*given)
        name = as_text("name", player.name)
        if name in found:
            raise ValueError(f"players must not hold anybody twice, got {name!r} twice")
        found[name] = NewPlayer(
            name,
            mu if player.mu is None else _quickly(as_number, "mu", player.mu),
            sigma if player.sigma is None else _quickly(as_positive_number, "sigma", player.sigma),
            None if player.region is None else as_text("region", player.region),
        )
    return list(found.values())


def _quickly(check: Callable[[str, Any], float], argument: str, value: Any) -> float:
    """A checked number; what most numbers are passes without arrays."""
    if type(value) is float and 1.0 / LARGEST_SKILL <= value <= LARGEST_SKILL:
        return value
    return check(argument, value)
