"""What defines the queue: who comes, how long games last, what waiting costs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypedDict

from matchenv.belief import GameConstants
from matchenv.options import Options, shows_options_of
from matchenv.options import checked_by as _by
from matchenv.queue.population import NormalPopulation, Population, population_of
from matchenv.runtime.checks import (
    as_choice,
    as_integer,
    as_non_negative_number,
    as_number,
    as_positive_number,
    as_share,
)
from matchenv.settings import PAPER_BETA

QUEUE_REWARDS = ("match_quality", "true_match_quality")

# Numbers of the queue as a whole, at the end of every observation.
QUEUE_NUMBERS = 3


def _as_population(name: str, value: Any) -> Population:
    del name
    return population_of(value)


def _as_patience(name: str, value: Any) -> float:
    """A mean number of ticks of at least 1; infinity or None: nobody gives up."""
    if value is None or (isinstance(value, float) and value == math.inf):
        return math.inf
    number = as_number(name, value)
    if number < 1.0:
        raise ValueError(f"{name} must be at least 1 tick, or math.inf for no end, got {value!r}")
    return number


@dataclass(frozen=True)
class QueueSettings(Options):
    """The settings of ``MatchmakingQueue-v0``; made with bad ones it raises ``ValueError``.

    A new option is four edits: its line below with default and check, its line in this
    docstring, its line in ``QueueEnvironmentOptions``, and its row in ``MatchmakingQueueEnv``'s
    table.

    Attributes:
        arrival_rate: players who log on in a tick, on average: a Poisson process; >= 0.
        newcomers: share of those who log on who are new to the service, in [0, 1].
        patience: ticks until a waiting player gives up, on average: a geometric number, drawn
            anew each time that the player joins the queue; >= 1, ``math.inf`` for nobody does.
        game_length: ticks that a game lasts, >= 1.
        stay: probability that a player queues again after a game, in [0, 1].
        capacity: actions: to wait, and ``capacity - 1`` candidates; >= 2.
        waiting_cost: for each tick of each waiting player, >= 0.
        abandonment_cost: for each player who gives up, >= 0.
        horizon: ticks until the episode is truncated, >= 1.
        population: who logs on: ``"normal"``, the path of a file with ratings, a ``Leaderboard``, a
            pair of arrays ``(mu, sigma)``, or a ``Population``; kept as the last.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw; 0: no draws.
        tau: standard deviation of a skill's drift before each of the player's games.
        reward: ``"match_quality"``, by the belief, or ``"true_match_quality"``.

    Raises:
        ValueError: for a value that is not allowed; it names the argument and what is.
    """

    sizes: ClassVar[tuple[str, ...]] = ("arrival_rate", "capacity", "horizon")

    arrival_rate: float = field(default=1.0, metadata=_by(as_non_negative_number))
    newcomers: float = field(default=0.2, metadata=_by(as_share))
    patience: float = field(default=20.0, metadata=_by(_as_patience))
    game_length: int = field(default=10, metadata=_by(as_integer, low=1))
    stay: float = field(default=0.8, metadata=_by(as_share))
    capacity: int = field(default=16, metadata=_by(as_integer, low=2))
    waiting_cost: float = field(default=0.02, metadata=_by(as_non_negative_number))
    abandonment_cost: float = field(default=1.0, metadata=_by(as_non_negative_number))
    horizon: int = field(default=500, metadata=_by(as_integer, low=1))
    population: Any = field(default=NormalPopulation(), metadata=_by(_as_population))
    beta: float = field(default=PAPER_BETA, metadata=_by(as_positive_number))
    draw_margin: float = field(default=0.0, metadata=_by(as_non_negative_number))
    tau: float = field(default=0.0, metadata=_by(as_non_negative_number))
    reward: str = field(default="match_quality", metadata=_by(as_choice, known=QUEUE_REWARDS))

    @property
    def num_candidates(self) -> int:
        """Candidates that can be shown at a time."""
        return self.capacity - 1

    @property
    def constants(self) -> GameConstants:
        """beta, draw_margin and tau: what a belief must know of a game."""
        return GameConstants(self.beta, self.draw_margin, self.tau)

    @property
    def observation_size(self) -> int:
        """Numbers in an observation: four for each place, and those of the queue."""
        return 4 * self.capacity + QUEUE_NUMBERS


class QueueEnvironmentOptions(TypedDict, total=False):
    """The options of the queue, for editors; ``QueueSettings`` says what they are."""

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
    beta: float
    draw_margin: float
    tau: float
    reward: str


shows_queue_options = shows_options_of(QueueSettings)
