"""Settings of ``MatchmakingQueue-v0``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypedDict

import numpy as np

from matchenv.envs.core.settings import (
    LARGEST_OBSERVED,
    LONGEST_HORIZON,
    MOST_OPPONENTS,
    GameOptions,
    option,
)
from matchenv.envs.queue.population import NormalPopulation, Population, population_of
from matchenv.runtime.checks import (
    LARGEST_SKILL,
    as_choice,
    as_flag,
    as_float_array,
    as_integer,
    as_non_negative_array,
    as_non_negative_number,
    as_number,
    as_share,
    refusal,
)
from matchenv.runtime.files import checksum

# Upper limit of the arrival rate, for memory.
BUSIEST = 100_000.0

# Limits of the sides of a game.
MOST_SIDES = 8
LARGEST_SIDE = 16
MOST_SEATS = 64

# Ticks of the longest day of arrival rates.
LONGEST_DAY = 1_000_000

# Largest difference between 1 and the sum of the shares of party sizes.
ROUNDING = 1e-9

RELATIVE = "relative"
BY_BELIEF = "match_quality"
BY_TRUTH = "true_match_quality"
QUEUE_REWARDS = (RELATIVE, BY_BELIEF, BY_TRUTH)

# ``matchenv.envs.queue.usual_quality`` of the default settings.
USUAL_QUALITY = 0.6958984999457919

# Numbers of the queue as a whole, at the end of every observation; with lobbies there is one more.
QUEUE_NUMBERS = 3

# Numbers of each action in an observation, and with lobbies.
ACTION_NUMBERS = 4
LOBBY_ACTION_NUMBERS = 6


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


def as_rates(name: str, value: Any) -> float | tuple[float, ...]:
    """Return an arrival rate, or those of the ticks of a day.

    Raises:
        ValueError: for other values; the message begins with the name.
    """
    rates = as_float_array(name, value)
    if rates.ndim == 0:
        return as_number(name, value, low=0.0, high=BUSIEST)
    if rates.ndim != 1 or not 1 <= rates.size <= LONGEST_DAY:
        raise ValueError(
            f"{name} must be one number, or 1 to {LONGEST_DAY:,} rates of the ticks of a day, "
            f"got shape {rates.shape}"
        )
    day = []
    for rate in rates.tolist():
        day.append(as_number(name, rate, low=0.0, high=BUSIEST))
    return tuple(day)


def day_name(rates: Sequence[float]) -> str:
    """Return a short name of a day: its mean rate, and the beginning of a checksum of all rates."""
    mean = sum(rates) / len(rates)
    return f"day_{mean:g}_{checksum(list(rates))[:6]}"


def _as_shares(name: str, value: Any) -> tuple[float, ...]:
    """Return the shares of the party sizes 1, 2, ... up to the largest."""
    shares = as_non_negative_array(name, value)
    if shares.ndim != 1 or abs(shares.sum() - 1.0) > ROUNDING:
        raise refusal(f"{name} must be shares of the sizes 1, 2, ... with sum 1", value)
    largest = int(np.flatnonzero(shares)[-1]) + 1
    return tuple(shares[:largest].tolist())


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

    num_sides: int = option(2, as_integer, "sides of a game, from 2 to 8", low=2, high=MOST_SIDES)
    side_size: int = option(
        1,
        as_integer,
        "players of a side, from 1 to 16; a game has at most 64",
        low=1,
        high=LARGEST_SIDE,
    )
    party_sizes: Sequence[float] = option(
        (1.0,), _as_shares, "shares of parties of 1, 2, ... players among those who log on"
    )
    party_bonus: float = option(
        0.0,
        as_number,
        "skill points that each member of a party of `side_size` players gains; see Parties",
        low=-LARGEST_OBSERVED,
        high=LARGEST_OBSERVED,
    )
    belief_knows_party: bool = option(
        False, as_flag, "whether forecasts and updates count the `party_bonus`"
    )
    arrival_rate: float | Sequence[float] = option(
        1.0,
        as_rates,
        "mean number of parties who log on in a tick, from 0 to 100,000; also a sequence of the "
        "rates in the ticks of a day that repeats",
    )
    newcomers: float = option(0.2, as_share, "share of these players who are newcomers, in [0, 1]")
    patience: float = option(
        20.0, _as_patience, "mean number of ticks until a waiting party gives up, >= 1"
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

    def __post_init__(self) -> None:
        super().__post_init__()
        seats = f"{self.num_sides} sides of {self.side_size} players"
        if self.num_seats > MOST_SEATS:
            raise ValueError(
                f"num_sides times side_size must be at most {MOST_SEATS} seats, got {seats}"
            )
        largest = len(self.party_sizes)
        if largest > self.side_size:
            raise ValueError(
                f"party_sizes must be shares of sizes up to side_size={self.side_size}, "
                f"got parties of {largest} players"
            )
        if not self._can_fill_a_side():
            raise ValueError(
                "party_sizes must hold sizes that fill a side together, "
                f"got {self.party_sizes} for side_size={self.side_size}"
            )

    def _can_fill_a_side(self) -> bool:
        """Return whether some parties together have the size of a side."""
        reached = {0}
        for seats in range(1, self.side_size + 1):
            for size, share in enumerate(self.party_sizes, 1):
                if share > 0.0 and seats - size in reached:
                    reached.add(seats)
        return self.side_size in reached

    @property
    def num_seats(self) -> int:
        """Number of players in a game."""
        return self.num_sides * self.side_size

    @property
    def has_lobbies(self) -> bool:
        """Whether a game has more than two seats, so that a lobby can be open for several steps."""
        return self.num_seats > 2

    @property
    def rates(self) -> tuple[float, ...]:
        """Arrival rates of the ticks of a day, which has one tick if the rate is constant."""
        if isinstance(self.arrival_rate, float):
            return (self.arrival_rate,)
        return tuple(self.arrival_rate)

    @property
    def rate_name(self) -> str:
        """Name of the arrival rate in measures: ``rate_1``, or a ``day_name``."""
        if isinstance(self.arrival_rate, float):
            return f"rate_{self.arrival_rate:g}"
        return day_name(self.rates)

    @property
    def side_beta(self) -> float:
        """Standard deviation of the performance of a side around the sum of its skills."""
        return self.beta * math.sqrt(self.side_size)

    def party_offset(self, size: int) -> float:
        """Return what the ``party_bonus`` adds to the skill of a member of a party."""
        if size == 1:
            return 0.0
        return self.party_bonus * (size - 1) / (self.side_size - 1)

    @property
    def num_candidates(self) -> int:
        """Maximum number of candidates."""
        return self.capacity - 1

    @property
    def action_numbers(self) -> int:
        """Numbers of each action in an observation."""
        if self.has_lobbies:
            return LOBBY_ACTION_NUMBERS
        return ACTION_NUMBERS

    @property
    def queue_numbers(self) -> int:
        """Numbers of the queue as a whole, at the end of an observation."""
        if self.has_lobbies:
            return QUEUE_NUMBERS + 1
        return QUEUE_NUMBERS

    @property
    def observation_size(self) -> int:
        """Size of an observation."""
        return self.action_numbers * self.capacity + self.queue_numbers

    @property
    def games_of_player(self) -> float:
        """Mean number of games of a player who never gives up, within an episode."""
        most = max(1.0, self.horizon / self.game_length)
        if self.stay == 1.0:
            return most
        return min(most, 1.0 / (1.0 - self.stay))


class QueueOptions(TypedDict, total=False):
    """The options of ``QueueSettings`` as keyword arguments, for type checkers and editors."""

    num_sides: int
    side_size: int
    party_sizes: Sequence[float]
    party_bonus: float
    belief_knows_party: bool
    arrival_rate: float | Sequence[float]
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
