"""Populations of ``MatchmakingQueue-v0``: the players who log on.

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
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from matchenv.envs.core.settings import LARGEST_OBSERVED
from matchenv.runtime.arrays import Floats
from matchenv.runtime.checks import (
    as_float_array,
    as_non_negative_array,
    as_number,
    as_positive_array,
    as_positive_number,
    refusal,
    shown,
)
from matchenv.runtime.object_spec import is_object_spec, object_named

# Columns of ``Population.rows``.
CENTRE = 0
SPREAD = 1
DEVIATION = 2


class Population(ABC):
    """Distribution of the players who log on."""

    @property
    @abstractmethod
    def rows(self) -> Floats:
        """Shape (K, 3): CENTRE, SPREAD and DEVIATION of each row."""

    @cached_property
    def mean(self) -> float:
        """Mean of the true skills, and of a newcomer's belief."""
        return float(self.rows[:, CENTRE].mean())

    @cached_property
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
        if regular is None:
            regular = 1.0 / 3.0 * deviation
        regular = as_positive_number("regular_deviation", regular)
        if regular >= deviation:
            raise refusal(f"regular_deviation must be below deviation={deviation!r}", regular)
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "deviation", deviation)
        object.__setattr__(self, "regular_deviation", regular)

    @property
    def rows(self) -> Floats:
        """One row."""
        assert self.regular_deviation is not None
        spread = math.sqrt(self.deviation**2 - self.regular_deviation**2)
        return np.array([[self.mean, spread, self.regular_deviation]])


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
        object.__setattr__(self, "mu", mu.copy())
        object.__setattr__(self, "sigma", sigma.copy())

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


def population_of(value: Any) -> Population:
    """Return the population for the value of an option.

    Args:
        value: ``"normal"`` for ``NormalPopulation()``; a ``Population``, also as
            ``module:Class:key=value``; a pair of arrays ``(mu, sigma)``; or the path of a CSV
            file, optionally with gzip compression, with columns ``mu`` and ``sigma``, such as the
            ``ratings.csv`` of ``matchenv replay``.

    Raises:
        ValueError: for other types, bad ratings, and a ``Population`` with bad rows or without a
            hash.
    """
    is_spec = is_object_spec(value) and not os.path.exists(value)
    is_name = isinstance(value, str) and value == "normal"
    if is_spec or is_name:
        value = object_named("population", value, {"normal": NormalPopulation()}, Population)
    if isinstance(value, Population):
        _check_population(value)
        return value
    is_listed = isinstance(value, tuple | list)
    is_array = isinstance(value, np.ndarray) and value.ndim > 0
    if (is_listed or is_array) and len(value) == 2:
        return RatedPopulation(value[0], value[1])
    if isinstance(value, str | os.PathLike):
        return _population_in(value)
    allowed = "the path of a file with ratings, a pair of arrays (mu, sigma) or a Population"
    raise refusal(f"population must be 'normal', {allowed}", value)


def _check_population(population: Population) -> None:
    """Refuse a population with bad rows or without a hash."""
    rows = as_float_array("rows of the population", population.rows)
    if rows.ndim != 2 or rows.shape[1] != 3 or rows.size == 0:
        raise ValueError(f"rows of the population must have shape (K, 3), got {rows.shape}")
    as_non_negative_array("spreads of the population", rows[:, SPREAD])
    as_positive_array("deviations of the population", rows[:, DEVIATION])
    try:
        hash(population)
    except TypeError as error:
        message = f"population must have a hash, got {shown(population)}: {error}"
        raise ValueError(message) from None


def _population_in(path: str | os.PathLike[str]) -> RatedPopulation:
    """Return the population of a file with ratings."""
    from matchenv.logs.reading import read_ratings

    table = read_ratings(Path(path), "population")
    source = repr(os.fspath(path))
    return RatedPopulation(np.array(table["mu"]), np.array(table["sigma"]), source)
