"""Summary of runs of the queue: sums over visits, by group of players."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from matchenv.envs.core.settings import Options
from matchenv.envs.core.simulator import Simulator, Step
from matchenv.envs.queue.settings import CENTRE, DEVIATION, SPREAD, Population, QueueSettings
from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.evaluation.rollout import REWARD, TOTAL, Batch, Sums
from matchenv.runtime.files import Arrays

if TYPE_CHECKING:
    from matchenv.evaluation.episode_table import EpisodeTable

Floats = NDArray[np.float64]

# Groups of players: everyone, those who logged on as newcomers and as regulars, and the deciles of
# the population by true skill, weakest first.
DECILES = 10
GROUPS = ("all", "newcomers", "regulars", *(f"decile_{k}" for k in range(1, DECILES + 1)))

# Sums over the visits that have ended.
SUMS = ("visits", "served", "waited", "match_quality", "true_match_quality")

QUALITIES = SUMS[-2:]

# Means over the visits, and over the games, of each group.
MEANS = ("match_quality", "true_match_quality", "wait", "left")

# Numbers of games after which the errors of newcomers' beliefs are measured.
ERROR_GAMES = (5, 10, 20)

# Longer waits, in ticks, count as this one.
LONGEST_WAIT = 1000


class Visits(Sums):
    """Sums over the visits of B runs of the queue.

    Its columns are ``reward`` and ``true_reward`` (believed and true match qualities minus the
    costs), the ``MEANS``, the mean squared errors of newcomers' beliefs after ``ERROR_GAMES``, and
    the numbers of players ``queued`` and ``abandoned``; NaN if undefined. Further arrays are
    ``sums``, shape (B, groups, ``SUMS``), and ``total/waits``, shape (groups, LONGEST_WAIT + 1):
    the number of visits by ticks waited.
    """

    def simulator(self, settings: Options) -> Simulator[Any]:
        """Return a simulator that records the visits."""
        assert isinstance(settings, QueueSettings)
        return QueueSimulator(replace(settings, reward=QUALITIES[0]), keep_visits=True)

    def begin(self, batch: Batch) -> None:
        """Set the sums to 0, for runs that have just begun."""
        super().begin(batch)
        assert isinstance(batch.simulator, QueueSimulator)
        self._simulator = batch.simulator
        self.sums = np.zeros((len(batch), len(GROUPS), len(SUMS)))
        self.waits = np.zeros((len(GROUPS), LONGEST_WAIT + 1))
        self.errors = np.zeros((len(batch), len(ERROR_GAMES), 2))
        population = self._simulator.settings.population
        self._limits = skill_quantiles(population, np.arange(1, DECILES) / DECILES)

    def add(self, batch: Batch, step: Step[Any], running: NDArray[np.bool_]) -> None:
        """Add a step, and from time to time the visits that have ended."""
        super().add(batch, step, running)
        if self._steps % 1000 == 0:  # limits the memory for visits
            self.add_visits(self._simulator.taken_visits(batch.state))

    def add_visits(self, visits: dict[str, Floats]) -> None:
        """Add the visits that ``QueueSimulator.taken_visits`` returned."""
        run, count = visits["environment"].astype(np.int64), len(self.sums)
        newcomer = visits["newcomer"] > 0.0
        decile = np.searchsorted(self._limits, visits["true_skill"])
        waited = np.minimum(visits["waited"], LONGEST_WAIT).astype(np.int64)
        values = (np.ones(run.size), *(visits[name] for name in SUMS[1:]))
        for group in (np.zeros_like(run), np.where(newcomer, 1, 2), 3 + decile):
            place = run * len(GROUPS) + group
            for column, value in enumerate(values):
                sums = np.bincount(place, value, count * len(GROUPS))
                self.sums[:, :, column] += sums.reshape(count, len(GROUPS))
            np.add.at(self.waits, (group, waited), 1.0)
        squared = (visits["mu"] - visits["true_skill"]) ** 2
        for k, games in enumerate(ERROR_GAMES):
            chosen = newcomer & (visits["games_played"] == games)
            for column, value in enumerate((np.ones(run.size), squared)):
                self.errors[:, k, column] += np.bincount(run[chosen], value[chosen], count)

    def arrays(self, batch: Batch) -> Arrays:
        """Return the columns and the sums."""
        self.add_visits(self._simulator.taken_visits(batch.state))
        columns, everyone = super().arrays(batch), self.sums[:, 0]
        believed, true = (everyone[:, SUMS.index(name)] for name in QUALITIES)
        costs = columns.pop(REWARD) - believed
        return {
            REWARD: costs + believed,
            "true_reward": costs + true,
            **{name: mean_of(name, everyone) for name in MEANS},
            **{f"error_{games}": share(self.errors[:, k, 1], self.errors[:, k, 0])
               for k, games in enumerate(ERROR_GAMES)},
            **columns,
            "sums": self.sums,
            f"{TOTAL}waits": self.waits,
        }  # fmt: skip


def mean_of(measure: str, sums: Floats) -> Floats:
    """Return one of the ``MEANS``, shape (...), from sums of shape (..., ``SUMS``)."""
    visits, served, waited = (sums[..., SUMS.index(name)] for name in SUMS[:3])
    if measure == "left":
        return share(visits - served, visits)
    if measure == "wait":
        return share(waited, visits)
    return share(sums[..., SUMS.index(measure)], served)


def share(part: Floats, whole: Floats) -> Floats:
    """Return part / whole; NaN where the whole is 0."""
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0.0)


def group_values(rows: EpisodeTable, measure: str, cell: int, policy: str, group: str) -> Floats:
    """Return one of the ``MEANS`` of a group in each run, shape (E,)."""
    sums = rows.values("sums", cell, policy)[0]
    return mean_of(measure, sums[:, GROUPS.index(group)])


def long_wait(rows: EpisodeTable, cell: int, policy: str, group: str = GROUPS[0]) -> float:
    """Return the 95th percentile of the wait in all runs, in ticks; NaN without visits."""
    waits = rows.totals["waits"][cell, rows.policies.index(policy), 0, GROUPS.index(group)]
    visits = np.cumsum(waits)
    return float(np.searchsorted(visits, 0.95 * visits[-1])) if visits[-1] > 0.0 else math.nan


def skill_quantiles(population: Population, shares: Floats) -> Floats:
    """Return quantiles of the true skills of players who log on.

    Args:
        population: a mixture of normals, one for each row.
        shares: probabilities in (0, 1), shape (K,).
    """
    rows = population.rows
    deviation = np.hypot(rows[:, SPREAD], rows[:, DEVIATION])
    reach = 40.0 * deviation.max()
    ends = rows[:, CENTRE].min() - reach, rows[:, CENTRE].max() + reach

    def excess(skill: float, share: float) -> float:
        return float(ndtr((skill - rows[:, CENTRE]) / deviation).mean()) - share

    return np.array([brentq(excess, *ends, args=(each,), xtol=1e-14) for each in shares.tolist()])
