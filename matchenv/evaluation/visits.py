"""Summary of runs of the queue: sums over visits, by group of players."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from matchenv.envs.core.episodes import Episodes
from matchenv.envs.queue.population import CENTRE, DEVIATION, SPREAD, Population
from matchenv.envs.queue.settings import QueueSettings
from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.evaluation.episode_table import EpisodeTable
from matchenv.evaluation.rollout import REWARD, TOTAL, Steps, sums
from matchenv.runtime.arrays import Floats
from matchenv.runtime.files import Arrays

# Groups of players: everyone, those who logged on as newcomers and as regulars, and the deciles of
# the population by true skill, weakest first.
DECILES = 10
GROUPS = ("all", "newcomers", "regulars", *(f"decile_{k}" for k in range(1, DECILES + 1)))

# Sums over the visits that have ended.
SUMS = ("visits", "served", "waited", "match_quality", "true_match_quality")

# Means over the visits, and over the games, of each group.
MEANS = ("match_quality", "true_match_quality", "wait", "left")

# Numbers of games after which the errors of newcomers' beliefs are measured.
ERROR_GAMES = (5, 10, 20)

# Longer waits, in ticks, count as this one.
LONGEST_WAIT = 1000

# Steps after which the visits that have ended are summed, which limits their memory.
STEPS_AT_ONCE = 1000


def recording_simulator(settings: QueueSettings) -> QueueSimulator:
    """Return a simulator that records visits, and whose reward is the believed one."""
    return QueueSimulator(replace(settings, reward="match_quality"), keep_visits=True)


def visit_sums(episodes: Episodes[Any], steps: Steps) -> Arrays:
    """Return the measures of a batch of runs, and sums over their visits.

    Args:
        episodes: B runs of a ``recording_simulator`` that have just begun.
        steps: their steps.

    Returns:
        Columns ``reward`` and ``true_reward`` (believed and true match qualities minus the costs),
        the ``MEANS``, the mean squared errors of newcomers' beliefs after ``ERROR_GAMES``, and the
        numbers of players ``queued`` and ``abandoned``; NaN if undefined. Further arrays are
        ``sums``, shape (B, groups, ``SUMS``), and ``total/waits``, shape (groups,
        LONGEST_WAIT + 1): the number of visits by ticks waited.
    """
    simulator = episodes.simulator
    assert isinstance(simulator, QueueSimulator)
    visits = VisitSums(simulator, len(episodes))

    def watched() -> Iterator[Any]:
        for n, step in enumerate(steps, 1):
            yield step
            if n % STEPS_AT_ONCE == 0:
                visits.add(episodes.state)

    columns = sums(episodes, watched())
    visits.add(episodes.state)
    everyone = visits.sums[:, 0]
    believed = everyone[:, SUMS.index("match_quality")]
    true = everyone[:, SUMS.index("true_match_quality")]
    costs = columns.pop(REWARD) - believed
    arrays: Arrays = {REWARD: costs + believed, "true_reward": costs + true}
    for name in MEANS:
        arrays[name] = mean_of(name, everyone)
    for k, games in enumerate(ERROR_GAMES):
        arrays[f"error_{games}"] = share(visits.errors[:, k, 1], visits.errors[:, k, 0])
    return {**arrays, **columns, "sums": visits.sums, f"{TOTAL}waits": visits.waits}


class VisitSums:
    """Sums over the visits that have ended, by run and group of players.

    Args:
        simulator: of the runs, which records visits.
        runs: B.

    Attributes:
        sums: the ``SUMS``, shape (B, groups, ``SUMS``).
        waits: number of visits by ticks waited, shape (groups, LONGEST_WAIT + 1).
        errors: numbers of newcomers after each of ``ERROR_GAMES``, and sums of the squared errors
            of their means, shape (B, ``ERROR_GAMES``, 2).
    """

    def __init__(self, simulator: QueueSimulator, runs: int) -> None:
        self.simulator = simulator
        self.runs = runs
        self.sums = np.zeros((runs, len(GROUPS), len(SUMS)))
        self.waits = np.zeros((len(GROUPS), LONGEST_WAIT + 1))
        self.errors = np.zeros((runs, len(ERROR_GAMES), 2))
        population = simulator.settings.population
        self._decile_limits = skill_quantiles(population, np.arange(1, DECILES) / DECILES)

    def add(self, state: Any) -> None:
        """Add the visits that ended since the last call, and delete their records."""
        visits = self.simulator.taken_visits(state)
        run = visits["environment"].astype(np.int64)
        is_newcomer = visits["newcomer"] > 0.0
        decile = np.searchsorted(self._decile_limits, visits["true_skill"])
        values = [np.ones(run.size)]
        for name in SUMS[1:]:
            values.append(visits[name])
        waited = np.minimum(visits["waited"], LONGEST_WAIT).astype(np.int64)
        for group in (np.zeros_like(run), np.where(is_newcomer, 1, 2), 3 + decile):
            index = run * len(GROUPS) + group
            for column, value in enumerate(values):
                added = np.bincount(index, value, self.runs * len(GROUPS))
                self.sums[:, :, column] += added.reshape(self.runs, len(GROUPS))
            np.add.at(self.waits, (group, waited), 1.0)
        squared_error = (visits["mu"] - visits["true_skill"]) ** 2
        for k, games in enumerate(ERROR_GAMES):
            chosen = is_newcomer & (visits["games_played"] == games)
            self.errors[:, k, 0] += np.bincount(run[chosen], minlength=self.runs)
            self.errors[:, k, 1] += np.bincount(run[chosen], squared_error[chosen], self.runs)


def mean_of(measure: str, sums: Floats) -> Floats:
    """Return one of the ``MEANS``, shape (...), from sums of shape (..., ``SUMS``)."""
    visits = sums[..., SUMS.index("visits")]
    served = sums[..., SUMS.index("served")]
    waited = sums[..., SUMS.index("waited")]
    if measure == "left":
        return share(visits - served, visits)
    if measure == "wait":
        return share(waited, visits)
    return share(sums[..., SUMS.index(measure)], served)


def share(amount: Floats, whole: Floats) -> Floats:
    """Return amount / whole; NaN where the whole is 0."""
    shares = np.full(amount.shape, np.nan)
    return np.divide(amount, whole, out=shares, where=whole > 0.0)


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
    # The next numbers, because a tiny reach would be lost in rounding.
    low = np.nextafter(rows[:, CENTRE].min() - reach, -math.inf)
    high = np.nextafter(rows[:, CENTRE].max() + reach, math.inf)

    def excess(skill: float, share: float) -> float:
        return float(ndtr((skill - rows[:, CENTRE]) / deviation).mean()) - share

    return np.array([brentq(excess, low, high, (share,), xtol=1e-14) for share in shares.tolist()])
