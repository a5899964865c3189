"""What is kept of a run of the queue: sums by group of players, waits, errors of beliefs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from matchenv.envs.queue.population import CENTRE, DEVIATION, SPREAD, Population
from matchenv.envs.queue.settings import QueueSettings

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Groups of players whose visits are summed: everyone, those who logged on as newcomers and as
# regulars, and the tenths of the population by true skill, the weakest first.
DECILES = 10
GROUPS = ("all", "newcomers", "regulars", *(f"decile_{k}" for k in range(1, DECILES + 1)))

# What is summed over the visits to the queue that have ended.
SUMS = ("visits", "served", "waited", "match_quality", "true_match_quality")

# Games after which newcomers' beliefs are looked at.
ERROR_GAMES = (5, 10, 20)

# Waits of so many ticks and more are counted as one.
LONGEST_WAIT = 1000


@dataclass
class Tally:
    """Sums over the visits of B runs.

    Attributes:
        settings: of the runs.
        count: B.
        sums: shape (B, groups, ``SUMS``).
        waits: shape (groups, LONGEST_WAIT + 1), visits of all runs by ticks waited.
        errors: shape (B, ``ERROR_GAMES``, 2): newcomers' visits after so many games, and the sum
            of the squared errors of their beliefs' means.
    """

    settings: QueueSettings
    count: int
    sums: Floats = field(init=False)
    waits: Floats = field(init=False)
    errors: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.sums = np.zeros((self.count, len(GROUPS), len(SUMS)))
        self.waits = np.zeros((len(GROUPS), LONGEST_WAIT + 1))
        self.errors = np.zeros((self.count, len(ERROR_GAMES), 2))

    @cached_property
    def _limits(self) -> Floats:
        return skill_quantiles(self.settings.population, np.arange(1, DECILES) / DECILES)

    def add(self, visits: dict[str, Floats]) -> None:
        """Add visits that have ended, as ``Queues.taken_visits`` gives them."""
        run = visits["environment"].astype(np.int64)
        newcomer = visits["newcomer"] > 0.0
        decile = np.searchsorted(self._limits, visits["true_skill"])
        waited = np.minimum(visits["waited"], LONGEST_WAIT).astype(np.int64)
        values = (np.ones(run.size), *(visits[name] for name in SUMS[1:]))
        for group in (np.zeros_like(run), np.where(newcomer, 1, 2), 3 + decile):
            place = run * len(GROUPS) + group
            for column, value in enumerate(values):
                found = np.bincount(place, value, self.count * len(GROUPS))
                self.sums[:, :, column] += found.reshape(self.count, len(GROUPS))
            np.add.at(self.waits, (group, waited), 1.0)
        squared = (visits["mu"] - visits["true_skill"]) ** 2
        for k, games in enumerate(ERROR_GAMES):
            chosen = newcomer & (visits["games_played"] == games)
            for column, value in enumerate((np.ones(run.size), squared)):
                self.errors[:, k, column] += np.bincount(run[chosen], value[chosen], self.count)


def skill_quantiles(population: Population, shares: Floats) -> Floats:
    """Quantiles of the true skills of those who log on, by bisection.

    Args:
        population: who logs on: a mixture of normals, one for each row.
        shares: in (0, 1), any shape.
    """
    rows = population.rows
    deviation = np.hypot(rows[:, SPREAD], rows[:, DEVIATION])
    reach = 40.0 * float(deviation.max())
    low = np.full(shares.shape, float(rows[:, CENTRE].min()) - reach)
    high = np.full(shares.shape, float(rows[:, CENTRE].max()) + reach)
    for _ in range(100):
        middle = 0.5 * (low + high)
        standard = (middle[..., np.newaxis] - rows[:, CENTRE]) / deviation
        below = ndtr(standard).mean(axis=-1) < shares
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low


def wait_percentile(waits: Floats, share: float) -> float:
    """The least number of ticks that such a share of the visits did not exceed; NaN for none.

    Args:
        waits: visits by ticks waited, shape (LONGEST_WAIT + 1,).
        share: in (0, 1].
    """
    total = float(waits.sum())
    if total == 0.0:
        return float("nan")
    return float(np.searchsorted(np.cumsum(waits), share * total))
