"""Rewards: the value of a game, computed from its measures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.belief import MEASURES, GamesPlayed
from matchenv.runtime.object_spec import object_named, spec_of

Floats = NDArray[np.float64]


class Reward(ABC):
    """A number for each game just played, from its measures.

    A reward of a user's own has one method, ``of``; it should not change between calls, so
    that the scalar and the vector environment give the same.
    """

    @abstractmethod
    def of(self, games: GamesPlayed) -> Floats:
        """Return the rewards.

        Args:
            games: one game in each of B episodes: q under the belief and under the truth, the
                outcome, and more.

        Returns:
            Shape (B,), finite. Ignored where an episode does not run.
        """

    def checked(self, games: GamesPlayed, running: NDArray[np.bool_]) -> Floats:
        """Return ``of`` as a new array, 0 where an episode does not run.

        Raises:
            ValueError: for rewards of another shape, or that are not finite.
        """
        given = np.asarray(self.of(games), dtype=np.float64)
        if given.shape != running.shape:
            raise ValueError(
                f"{self!r}.of must give shape {running.shape}, one number for each game, "
                f"got {given.shape}"
            )
        rewards: Floats = np.where(running, given, 0.0)
        if not np.isfinite(rewards).all():
            raise ValueError(f"{self!r}.of must give finite numbers, got {rewards!r}")
        return rewards


@dataclass(frozen=True)
class MeasureReward(Reward):
    """One of the measures of every game.

    Args:
        name: of ``matchenv.belief.MEASURES``.
    """

    name: str

    def of(self, games: GamesPlayed) -> Floats:
        """Return the measure."""
        values: Floats = games.measures[MEASURES.index(self.name)]
        return values

    def checked(self, games: GamesPlayed, running: NDArray[np.bool_]) -> Floats:
        """Return a copy of the measure, which needs no check."""
        del running
        return self.of(games).copy()


# What the names stand for: eq. (5), (6) and (14) of Ryzhov, Tariq, Powell (2011).
REWARDS: dict[str, Reward] = {name: MeasureReward(name) for name in MEASURES[:3]}

DEFAULT_REWARD = MEASURES[0]


def reward_of(given: Any) -> Reward:
    """Return the reward that a text names, or the reward itself.

    Args:
        given: one of ``REWARDS``, ``module:Class:key=value`` for a subclass of ``Reward``, or a
            ``Reward``.

    Raises:
        ValueError: for anything else.
    """
    reward: Reward = object_named("reward", given, REWARDS, Reward)
    return reward


def reward_text(given: str | Reward) -> str:
    """Return a reward as text, from which ``reward_of`` makes it again.

    Raises:
        ValueError: for an object that cannot be said in ``module:Class:key=value``.
    """
    named = (name for name, each in REWARDS.items() if each is given)
    return next(named, None) or spec_of("reward", given)
