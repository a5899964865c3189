"""Settings of the queue: who arrives, how long games last, what waiting costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from matchenv.envs.core.settings import LONGEST_HORIZON, MOST_OPPONENTS, GameOptions, option
from matchenv.envs.queue.population import NormalPopulation, Population, population_of
from matchenv.runtime.checks import (
    as_choice,
    as_integer,
    as_non_negative_number,
    as_number,
    as_share,
)

QUEUE_REWARDS = ("relative", "match_quality", "true_match_quality")

NORMAL = NormalPopulation()

# Numbers of the queue as a whole, at the end of every observation.
QUEUE_NUMBERS = 3


def _as_population(name: str, value: Any) -> Population:
    del name
    return population_of(value)


def _as_patience(name: str, value: Any) -> float:
    """Return a mean number of ticks of at least 1; infinity, also for None: no one gives up."""
    if value is None or (isinstance(value, float) and value == math.inf):
        return math.inf
    number = as_number(name, value)
    if number < 1.0:
        raise ValueError(f"{name} must be at least 1 tick, or math.inf for no end, got {value!r}")
    return number


@dataclass(frozen=True)
class QueueSettings(GameOptions):
    """The settings of ``MatchmakingQueue-v0``; each option is described at its declaration.

    Raises:
        ValueError: for a value that is not allowed; it names the argument and what is.
    """

    sizes: ClassVar[tuple[str, ...]] = ("arrival_rate", "capacity", "horizon")

    arrival_rate: float = option(
        1.0, as_non_negative_number, "mean number of players who log on in a tick, >= 0"
    )
    newcomers: float = option(0.2, as_share, "share of them who are new to the service, in [0, 1]")
    patience: float = option(
        20.0, _as_patience, "mean number of ticks until a waiting player gives up, >= 1"
    )
    game_length: int = option(
        10, as_integer, "ticks that a game lasts, >= 1", low=1, high=LONGEST_HORIZON
    )
    stay: float = option(0.8, as_share, "probability to queue again after a game, in [0, 1]")
    capacity: int = option(
        16,
        as_integer,
        "actions: to wait, and the nearest `capacity - 1` candidates; >= 2",
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
        NORMAL, _as_population, "who logs on: see Population; `'normal'` is the default"
    )
    reward: str = option(
        "relative", as_choice, 'or `"match_quality"` or `"true_match_quality"`; see Rewards',
        known=QUEUE_REWARDS,
    )  # fmt: skip

    @property
    def num_candidates(self) -> int:
        """Candidates that can be shown at a time."""
        return self.capacity - 1

    @property
    def observation_size(self) -> int:
        """Numbers in an observation: four for each place, and those of the queue."""
        return 4 * self.capacity + QUEUE_NUMBERS

    @property
    def games_of_player(self) -> float:
        """Mean number of games of a player who never gives up, at most those of an episode."""
        most = max(1.0, self.horizon / self.game_length)
        return most if self.stay == 1.0 else min(most, 1.0 / (1.0 - self.stay))
