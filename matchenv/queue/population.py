"""Who logs on: true skills, and what is believed about newcomers and regulars.

The model, for a population of K rows of a centre m, a spread d and a deviation s each. Whoever
logs on is of a row chosen at random, each as likely as another, and with standard normal z1, z2:

- the service would know the player as N(m + d z1, s^2) after many games: a regular's belief;
- the true skill is m + d z1 + s z2, so that a regular's belief is calibrated;
- of a newcomer nothing is known but the population: the belief has its mean and its standard
  deviation, and the true skill is drawn like everybody's.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchenv.queue.ratings_file import read_ratings
from matchenv.ratings.leaderboard import Leaderboard
from matchenv.runtime.checks import (
    as_float_array,
    as_number,
    as_positive_array,
    as_positive_number,
)

Floats = NDArray[np.float64]

# Entries of a row.
CENTRE, SPREAD, DEVIATION = range(3)

# The total variance of skills in the 2011 study, N(0, 4) and then a variance of 2.5 on average.
DEFAULT_DEVIATION = math.sqrt(6.5)

# What a regular's belief is narrower than the population.
REGULAR_SHARE = 1.0 / 3.0


class Population(ABC):
    """The players who may log on."""

    @property
    @abstractmethod
    def rows(self) -> Floats:
        """Shape (K, 3): CENTRE, SPREAD and DEVIATION of each row."""

    @property
    def mean(self) -> float:
        """Mean of the true skills: that of a newcomer's belief."""
        return float(self.rows[:, CENTRE].mean())

    @property
    def deviation(self) -> float:
        """Standard deviation of the true skills: that of a newcomer's belief."""
        rows = self.rows
        within = (rows[:, SPREAD] ** 2 + rows[:, DEVIATION] ** 2).mean()
        return math.sqrt(float(rows[:, CENTRE].var() + within))


@dataclass(frozen=True)
class NormalPopulation(Population):
    """True skills from one normal; a regular's belief has one deviation.

    Args:
        mean: of the true skills, in skill points.
        deviation: their standard deviation, > 0.
        regular_deviation: standard deviation of the belief about a regular, > 0 and below
            ``deviation``; None for a third of it.

    Raises:
        ValueError: for numbers that are not so.
    """

    mean: float = 0.0
    deviation: float = DEFAULT_DEVIATION
    regular_deviation: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", as_number("mean", self.mean))
        object.__setattr__(self, "deviation", as_positive_number("deviation", self.deviation))
        regular = self.regular_deviation
        if regular is None:
            regular = REGULAR_SHARE * self.deviation
        regular = as_positive_number("regular_deviation", regular)
        if regular >= self.deviation:
            raise ValueError(
                f"regular_deviation must be below the deviation {self.deviation!r}, got {regular!r}"
            )
        object.__setattr__(self, "regular_deviation", regular)

    @property
    def rows(self) -> Floats:
        """One row."""
        regular = float(self.regular_deviation or 0.0)
        spread = math.sqrt(self.deviation**2 - regular**2)
        return np.array([[self.mean, spread, regular]])


@dataclass(frozen=True, eq=False)
class RatedPopulation(Population):
    """Players as somebody has rated them: one of them at random logs on, each time.

    Args:
        mu: means of the ratings, shape (K,), in skill points.
        sigma: their standard deviations, shape (K,), > 0.
        source: where they are from, for ``repr``.

    Raises:
        ValueError: for arrays that are empty or of different shapes, NaN, or sigma <= 0.
    """

    mu: Floats
    sigma: Floats
    source: str = field(default="arrays")

    def __post_init__(self) -> None:
        mu = as_float_array("population mu", self.mu)
        sigma = as_positive_array("population sigma", self.sigma)
        if mu.ndim != 1 or mu.shape != sigma.shape or mu.size == 0:
            raise ValueError(
                "population mu and sigma must be rows of equal length with at least one player, "
                f"got shapes {mu.shape} and {sigma.shape}"
            )
        object.__setattr__(self, "mu", mu.copy())
        object.__setattr__(self, "sigma", sigma.copy())

    @property
    def rows(self) -> Floats:
        """A row for each player, without spread."""
        return np.column_stack((self.mu, np.zeros_like(self.mu), self.sigma))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RatedPopulation)
            and np.array_equal(self.mu, other.mu)
            and np.array_equal(self.sigma, other.sigma)
        )

    def __hash__(self) -> int:
        return hash((self.mu.tobytes(), self.sigma.tobytes()))

    def __repr__(self) -> str:
        return f"<RatedPopulation of {self.mu.size} players from {self.source}>"

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> RatedPopulation:
        """Read ratings: a CSV file with columns mu and sigma, or what a Leaderboard saves.

        Raises:
            ValueError: for a file that is neither, missing columns, NaN or sigma <= 0; it names
                the lines.
        """
        mu, sigma = read_ratings(path)
        return cls(mu, sigma, repr(os.fspath(path)))

    @classmethod
    def from_leaderboard(cls, board: Leaderboard) -> RatedPopulation:
        """The ratings of all players of a board.

        Raises:
            ValueError: for a board without players.
        """
        if len(board) == 0:
            raise ValueError("population must be a leaderboard with players, got an empty one")
        ratings: ArrayLike = [board[name] for name in board]
        mu, sigma = np.asarray(ratings, dtype=np.float64).T
        return cls(mu, sigma, "a leaderboard")


def population_of(given: Any) -> Population:
    """The population that an option stands for.

    Args:
        given: ``"normal"`` for ``NormalPopulation()``, a ``Population``, a ``Leaderboard``, a pair
            of arrays ``(mu, sigma)``, or the path of a file with ratings.

    Raises:
        ValueError: for anything else, and for bad ratings.
    """
    if isinstance(given, Population):
        return given
    if isinstance(given, str) and given == "normal":
        return NormalPopulation()
    if isinstance(given, Leaderboard):
        return RatedPopulation.from_leaderboard(given)
    if isinstance(given, str | os.PathLike):
        return RatedPopulation.from_file(given)
    if isinstance(given, tuple | list | np.ndarray) and len(given) == 2:
        return RatedPopulation(given[0], given[1])
    raise ValueError(
        "population must be 'normal', the path of a file with ratings, a matchenv Leaderboard, a "
        f"pair of arrays (mu, sigma) or a Population, got {given!r}"
    )
