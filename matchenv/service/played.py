"""What games say about the players of a pool."""

from __future__ import annotations

from collections.abc import Sequence

from matchenv.service.given import Game, UnknownPlayerError, as_sides
from matchenv.service.players import Player, Players, sigma_after
from matchenv.service.settings import PoolSettings
from matchenv.trueskill import rate


def after_games(
    players: Players, games: Sequence[Game], settings: PoolSettings, now: float
) -> list[Player]:
    """Those who played, as they are after the games; nothing is changed.

    The time since a player's last game counts before the first of the games.

    Args:
        players: of the pool.
        games: in their order.
        settings: of the pool.
        now: time of the games, in seconds.

    Raises:
        UnknownPlayerError: for a name that the pool does not have.
        ValueError: for bad games; the message says which one of several.
    """
    found: dict[str, Player] = {}
    for i, game in enumerate(games):
        try:
            _take_in(found, players, game, settings, now)
        except ValueError as error:
            if len(games) == 1:
                raise
            raise type(error)(f"games[{i}]: {error}") from None
    return list(found.values())


def _take_in(
    found: dict[str, Player], players: Players, game: Game, settings: PoolSettings, now: float
) -> None:
    sides = as_sides(game.teams)
    for name in (name for side in sides for name in side):
        if name not in found:
            slot = players.slots.get(name)
            if slot is None:
                raise UnknownPlayerError(f"teams must hold players of the pool, got {name!r}")
            player = players.get(slot)
            sigma = sigma_after(player.sigma, player.seen, now, settings.drift_per_day)
            found[name] = player._replace(sigma=float(sigma), seen=max(now, player.seen))
    rated = rate(
        [[(found[name].mu, found[name].sigma) for name in side] for side in sides],
        game.ranks,
        beta=settings.beta,
        tau=settings.tau,
        draw_probability=settings.draw_probability,
        weights=game.weights,
    )
    for side, ratings in zip(sides, rated, strict=True):
        others = [name for other in sides if other is not side for name in other]
        for name, rating in zip(side, ratings, strict=True):
            before = found[name]
            found[name] = before._replace(
                mu=float(rating.mu),
                sigma=float(rating.sigma),
                games_played=before.games_played + 1,
                recent=_remembered(others, before.recent, settings.recent),
            )


def _remembered(others: list[str], before: tuple[str, ...], most: int) -> tuple[str, ...]:
    """The last opponents, those of the last game first, nobody twice."""
    if not most:
        return ()
    return (*others, *(name for name in before if name not in others))[:most]
