"""Settings and populations of ``MatchmakingQueue-v0``.

A population has K rows of a centre m, a spread d and a deviation s. A player who logs on belongs to
a row chosen uniformly at random. With standard normal z1 and z2, the true skill is m + d z1 + s z2
and the belief about a regular is N(m + d z1, s^2), which is calibrated. The belief about a newcomer
has the population's mean and standard deviation.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from matchenv.envs.core.settings import (
    LARGEST_OBSERVED,
    LONGEST_HORIZON,
    MOST_OPPONENTS,
    GameOptions,
    option,
)
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import (
    LARGEST_SKILL,
    as_choice,
    as_float_array,
    as_integer,
    as_non_negative_array,
    as_non_negative_number,
    as_number,
    as_positive_array,
    as_positive_number,
    as_share,
    refusal,
    shown,
)
from matchenv.runtime.object_spec import is_object_spec, object_named

# Upper limit of the arrival rate, for memory.
BUSIEST = 100_000.0

# Columns of a row.
CENTRE, SPREAD, DEVIATION = range(3)


class Population(ABC):
    """Distribution of the players who log on."""

    @property
    @abstractmethod
    def rows(self) -> Floats:
        """Shape (K, 3): CENTRE, SPREAD and DEVIATION of each row."""

    @property
    def mean(self) -> float:
        """Mean of the true skills, and of a newcomer's belief."""
        return float(self.rows[:, CENTRE].mean())

    @property
    def deviation(self) -> float:
        """Standard deviation of the true skills, and of a newcomer's belief."""
        rows = self.rows
        within = (rows[:, SPREAD] ** 2 + rows[:, DEVIATION] ** 2).mean()
        return math.sqrt(float(rows[:, CENTRE].var() + within))


@dataclass(frozen=True)
class NormalPopulation(Population):
    """Normal true skills, and equal deviations of the beliefs about regulars.

    Args:
        mean: mean of the true skills, in skill points.
        deviation: standard deviation of the true skills, > 0.
        regular_deviation: standard deviation of the belief about a regular, > 0 and below
            ``deviation``; None for a third of ``deviation``.

    Raises:
        ValueError: for numbers out of range.
    """

    mean: float = 0.0
    # The total variance of skills in the 2011 study: N(0, 4), and a variance of 2.5 on average.
    deviation: float = math.sqrt(6.5)
    regular_deviation: float | None = None

    def __post_init__(self) -> None:
        mean = as_number("mean", self.mean, -LARGEST_OBSERVED, LARGEST_OBSERVED)
        deviation = as_positive_number("deviation", self.deviation)
        as_number("deviation", deviation, high=LARGEST_OBSERVED)
        regular = self.regular_deviation
        regular = 1.0 / 3.0 * deviation if regular is None else regular
        regular = as_positive_number("regular_deviation", regular)
        if regular >= deviation:
            raise refusal(f"regular_deviation must be below deviation={deviation!r}", regular)
        self.__dict__.update(mean=mean, deviation=deviation, regular_deviation=regular)

    @property
    def rows(self) -> Floats:
        """One row."""
        regular = float(self.regular_deviation or 0.0)
        spread = math.sqrt(self.deviation**2 - regular**2)
        return np.array([[self.mean, spread, regular]])


@dataclass(frozen=True, eq=False)
class RatedPopulation(Population):
    """Players with given ratings, one of which is chosen uniformly for each log-on.

    Args:
        mu: means of the ratings, shape (K,), in skill points.
        sigma: standard deviations of the ratings, shape (K,), > 0.
        source: origin of the ratings, for ``repr``.

    Raises:
        ValueError: for arrays that are empty or of different shapes, NaN, or sigma <= 0.
    """

    mu: Floats
    sigma: Floats
    source: str = "arrays"

    def __post_init__(self) -> None:
        mu = as_float_array("population mu", self.mu)
        sigma = as_positive_array("population sigma", self.sigma)
        if mu.ndim != 1 or mu.shape != sigma.shape or mu.size == 0:
            raise ValueError(
                "population mu and sigma must have equal shapes (K,) with at least one player, "
                f"got shapes {mu.shape} and {sigma.shape}"
            )
        as_number("population mu and sigma", np.abs([mu, sigma]).max(), high=LARGEST_OBSERVED)
        self.__dict__.update(mu=mu.copy(), sigma=sigma.copy())

    @property
    def rows(self) -> Floats:
        """A row for each player, without spread."""
        return np.column_stack((self.mu, np.zeros_like(self.mu), self.sigma))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RatedPopulation) and np.array_equal(self.rows, other.rows)

    def __hash__(self) -> int:
        return hash(self.rows.tobytes())

    def __repr__(self) -> str:
        return f"<RatedPopulation of {self.mu.size} players from {self.source}>"


def population_of(given: Any) -> Population:
    """Return the population for the value of an option.

    Args:
        given: ``"normal"`` for ``NormalPopulation()``; a ``Population``, also as
            ``module:Class:key=value``; a pair of arrays ``(mu, sigma)``; or the path of a CSV
            file, optionally with gzip compression, with columns ``mu`` and ``sigma``, such as the
            ``ratings.csv`` of ``matchenv replay``.

    Raises:
        ValueError: for other types, bad ratings, and a ``Population`` with bad rows or without a
            hash.
    """
    is_spec = is_object_spec(given) and not os.path.exists(given)
    if is_spec or (isinstance(given, str) and given == "normal"):
        given = object_named("population", given, {"normal": NormalPopulation()}, Population)
    if isinstance(given, Population):
        rows = as_float_array("rows of the population", given.rows)
        if rows.ndim != 2 or rows.shape[1] != 3 or not rows.size:
            raise ValueError(f"rows of the population must have shape (K, 3), got {rows.shape}")
        as_non_negative_array("spreads of the population", rows[:, SPREAD])
        as_positive_array("deviations of the population", rows[:, DEVIATION])
        try:
            hash(given)
        except TypeError as error:
            raise ValueError(f"population must have a hash, got {shown(given)}: {error}") from None
        return given
    listed = isinstance(given, tuple | list) or (isinstance(given, np.ndarray) and given.ndim > 0)
    if listed and len(given) == 2:
        return RatedPopulation(given[0], given[1])
    if isinstance(given, str | os.PathLike):
        from matchenv.logs.reading import read_ratings

        table = read_ratings(Path(given), "population")
        source = repr(os.fspath(given))
        return RatedPopulation(np.array(table["mu"]), np.array(table["sigma"]), source)
    kinds = "the path of a file with ratings, a pair of arrays (mu, sigma) or a Population"
    raise refusal(f"population must be 'normal', {kinds}", given)


QUEUE_REWARDS = ("relative", "match_quality", "true_match_quality")

# Numbers of the queue as a whole, at the end of every observation.
QUEUE_NUMBERS = 3


def _as_patience(name: str, value: Any) -> float:
    """Return a mean number of ticks >= 1; infinity, also for None, if no player gives up."""
    kinds = float, str, np.floating
    endless = value is None or (isinstance(value, kinds) and value in (math.inf, "inf"))
    try:
        return math.inf if endless else as_number(name, value, low=1.0)
    except ValueError:
        rule = f"{name} must be inf or a number from 1 to {LARGEST_SKILL:g}"
        raise refusal(rule, value) from None


@dataclass(frozen=True)
class QueueSettings(GameOptions):
    """The settings of ``MatchmakingQueue-v0``.

    Raises:
        ValueError: for a bad value; it names the argument and the allowed values.
    """

    sizes: ClassVar[tuple[str, ...]] = ("capacity", "arrival_rate", "horizon")

    arrival_rate: float = option(
        1.0, as_number, "mean number of players who log on in a tick, from 0 to 100,000",
        low=0.0, high=BUSIEST,
    )  # fmt: skip
    newcomers: float = option(0.2, as_share, "share of these players who are newcomers, in [0, 1]")
    patience: float = option(
        20.0, _as_patience, "mean number of ticks until a waiting player gives up, >= 1"
    )
    game_length: int = option(
        10, as_integer, "ticks that a game lasts, >= 1", low=1, high=LONGEST_HORIZON
    )
    stay: float = option(0.8, as_share, "probability of queueing again after a game, in [0, 1]")
    capacity: int = option(
        16,
        as_integer,
        "number of actions: waiting and `capacity - 1` candidates, >= 2",
        low=2,
        high=MOST_OPPONENTS,
    )
    waiting_cost: float = option(
        0.02, as_non_negative_number, "cost of each tick of each waiting player, >= 0"
    )
    abandonment_cost: float = option(
        1.0, as_non_negative_number, "cost of each player who gives up, >= 0"
    )
    horizon: int = option(
        500, as_integer, "ticks until the episode is truncated, >= 1", low=1, high=LONGEST_HORIZON
    )
    population: Any = option(
        NormalPopulation(),
        lambda _, given: population_of(given),
        "who logs on; see Population. `'normal'` is the default",
    )
    reward: str = option(
        "relative", as_choice, 'also `"match_quality"` or `"true_match_quality"`; see Rewards',
        known=QUEUE_REWARDS,
    )  # fmt: skip

    @property
    def num_candidates(self) -> int:
        """Maximum number of candidates."""
        return self.capacity - 1

    @property
    def observation_size(self) -> int:
        """Size of an observation: four numbers for each action, and those of the queue."""
        return 4 * self.capacity + QUEUE_NUMBERS

    @property
    def games_of_player(self) -> float:
        """Mean number of games of a player who never gives up, within an episode."""
        most = max(1.0, self.horizon / self.game_length)
        return most if self.stay == 1.0 else min(most, 1.0 / (1.0 - self.stay))
