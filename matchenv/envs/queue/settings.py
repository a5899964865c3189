"""Settings of ``MatchmakingQueue-v0``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, TypedDict

import numpy as np

from matchenv.envs.core.settings import LONGEST_HORIZON, MOST_OPPONENTS, GameOptions, option
from matchenv.envs.queue.population import NormalPopulation, Population, population_of
from matchenv.runtime.checks import (
    LARGEST_SKILL,
    as_choice,
    as_integer,
    as_non_negative_number,
    as_number,
    as_share,
    refusal,
)

# Upper limit of the arrival rate, for memory.
BUSIEST = 100_000.0

RELATIVE = "relative"
BY_BELIEF = "match_quality"
BY_TRUTH = "true_match_quality"
QUEUE_REWARDS = (RELATIVE, BY_BELIEF, BY_TRUTH)

# ``matchenv.envs.queue.usual_quality`` of the default settings.
USUAL_QUALITY = 0.6958984999457919

# Numbers of the queue as a whole, at the end of every observation.
QUEUE_NUMBERS = 3


def _as_patience(name: str, value: Any) -> float:
    """Return a mean number of ticks >= 1; infinity, also for None, if no player gives up."""
    if value is None or (isinstance(value, str) and value == "inf"):
        return math.inf
    if isinstance(value, float | np.floating) and value == math.inf:
        return math.inf
    try:
        return as_number(name, value, low=1.0)
    except ValueError:
        rule = f"{name} must be inf or a number from 1 to {LARGEST_SKILL:g}"
        raise refusal(rule, value) from None


def _as_population(_: str, value: Any) -> Population:
    """Return the population for the value of an option."""
    return population_of(value)


@dataclass(frozen=True)
class QueueSettings(GameOptions):
    """The settings of ``MatchmakingQueue-v0``.

    A new option is declared here, with default, check and description, and in ``QueueOptions``.

    Raises:
        ValueError: for a bad value; it names the argument and the allowed values.
    """

    env_id: ClassVar[str] = "MatchmakingQueue-v0"
    sizes: ClassVar[tuple[str, ...]] = ("capacity", "arrival_rate", "horizon")

    arrival_rate: float = option(
        1.0,
        as_number,
        "mean number of players who log on in a tick, from 0 to 100,000",
        low=0.0,
        high=BUSIEST,
    )
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
        NormalPopulation(), _as_population, "who logs on; see Population. `'normal'` is the default"
    )
    reward: str = option(
        RELATIVE,
        as_choice,
        'also `"match_quality"` or `"true_match_quality"`; see Rewards',
        known=QUEUE_REWARDS,
    )
    usual_quality: float = option(
        USUAL_QUALITY,
        as_share,
        'match quality that `reward="relative"` subtracts, in [0, 1]; see Rewards',
    )

    def plain_options(self) -> dict[str, Any]:
        """Return the plain options, and mean and deviation of a population that is not normal."""
        plain = super().plain_options()
        if not math.isfinite(self.patience):
            plain["patience"] = "inf"
        if self.population != NormalPopulation():
            plain["population"] = [[self.population.mean], [self.population.deviation]]
        return plain

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
        if self.stay == 1.0:
            return most
        return min(most, 1.0 / (1.0 - self.stay))


class QueueOptions(TypedDict, total=False):
    """The options of ``QueueSettings`` as keyword arguments, for type checkers and editors."""

    arrival_rate: float
    newcomers: float
    patience: float
    game_length: int
    stay: float
    capacity: int
    waiting_cost: float
    abandonment_cost: float
    horizon: int
    population: Any
    reward: str
    usual_quality: float
    beta: float
    draw_margin: float
    tau: float
    invalid_action: str
