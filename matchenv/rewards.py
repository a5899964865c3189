"""Rewards: what a game is worth to the one who chose it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.games_played import GamesPlayed
from matchenv.play import DRAW_DENSITY, MATCH_QUALITY, REPORT_ROWS, TRUE_DRAW_DENSITY
from matchenv.runtime.object_spec import is_object_spec, object_from_spec, spec_of

Floats = NDArray[np.float64]


class Reward(ABC):
    """A number for each game just played, from what is known of it.

    A reward of a user's own has one method, ``of``; it should not change between calls, so
    that the scalar and the vector environment give the same.
    """

    @abstractmethod
    def of(self, games: GamesPlayed) -> Floats:
        """The rewards.

        Args:
            games: what one round of games gave, one game in each of B episodes: q under the
                belief and under the truth, the outcome, and more.

        Returns:
            Shape (B,), finite. Where an episode waits for a reset it does not count.
        """

    def checked(self, games: GamesPlayed, waiting: NDArray[np.bool_]) -> Floats:
        """``of`` as a new array, 0 where an episode waits.

        Raises:
            ValueError: for rewards of another shape, or that are not finite.
        """
        given = np.asarray(self.of(games), dtype=np.float64)
        if given.shape != waiting.shape:
            raise ValueError(
                f"{self!r}.of must give shape {waiting.shape}, one number for each game, "
                f"got {given.shape}"
            )
        rewards: Floats = np.where(waiting, 0.0, given)
        if not np.isfinite(rewards).all():
            raise ValueError(f"{self!r}.of must give finite numbers, got {rewards!r}")
        return rewards


@dataclass(frozen=True)
class ReportedReward(Reward):
    """A number that every game reports anyway.

    Args:
        row: of ``matchenv.play.REPORT_ROWS``.
    """

    row: int

    def of(self, games: GamesPlayed) -> Floats:
        """The row of the report, 0 where an episode waits."""
        row: Floats = games.report[self.row]
        return row

    def checked(self, games: GamesPlayed, waiting: NDArray[np.bool_]) -> Floats:
        """The row needs no check."""
        del waiting
        row: Floats = games.report[self.row].copy()
        return row


# What the names stand for: eq. (5), (6) and (14) of Ryzhov, Tariq, Powell (2011).
REWARDS: dict[str, Reward] = {
    REPORT_ROWS[row]: ReportedReward(row)
    for row in (DRAW_DENSITY, MATCH_QUALITY, TRUE_DRAW_DENSITY)
}

DEFAULT_REWARD = REPORT_ROWS[DRAW_DENSITY]


def reward_of(given: Any) -> Reward:
    """The reward that a text stands for, or the reward itself.

    Args:
        given: one of ``REWARDS``, ``module:Class:key=value`` for a subclass of ``Reward``, or a
            ``Reward``.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(given, Reward):
        return given
    if is_object_spec(given):
        made: Reward = object_from_spec("reward", given, {}, REWARDS, Reward)
        return made
    if not isinstance(given, str) or given not in REWARDS:
        names = ", ".join(repr(name) for name in REWARDS)
        raise ValueError(
            f"reward must be one of {names} or a matchenv.Reward, also as module:Class:key=value, "
            f"got {given!r}"
        )
    return REWARDS[given]


def reward_text(given: str | Reward) -> str:
    """A reward as text, from which ``reward_of`` makes it again.

    Raises:
        ValueError: for an object that cannot be said in ``module:Class:key=value``.
    """
    if isinstance(given, str):
        return given
    named = (name for name, each in REWARDS.items() if each is given)
    return next(named, None) or spec_of("reward", given)
