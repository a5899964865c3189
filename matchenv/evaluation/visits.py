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

QUALITIES = SUMS[-2:]

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
    return QueueSimulator(replace(settings, reward=QUALITIES[0]), keep_visits=True)


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
    simulator, runs = episodes.simulator, len(episodes)
    assert isinstance(simulator, QueueSimulator)
    limits = skill_quantiles(simulator.settings.population, np.arange(1, DECILES) / DECILES)
    visited = np.zeros((runs, len(GROUPS), len(SUMS)))
    waits = np.zeros((len(GROUPS), LONGEST_WAIT + 1))
    errors = np.zeros((runs, len(ERROR_GAMES), 2))

    def add_visits() -> None:
        visits = simulator.taken_visits(episodes.state)
        run = visits["environment"].astype(np.int64)
        newcomer = visits["newcomer"] > 0.0
        decile = np.searchsorted(limits, visits["true_skill"])
        waited = np.minimum(visits["waited"], LONGEST_WAIT).astype(np.int64)
        values = (np.ones(run.size), *(visits[name] for name in SUMS[1:]))
        for group in (np.zeros_like(run), np.where(newcomer, 1, 2), 3 + decile):
            place = run * len(GROUPS) + group
            for column, value in enumerate(values):
                added = np.bincount(place, value, runs * len(GROUPS))
                visited[:, :, column] += added.reshape(runs, len(GROUPS))
            np.add.at(waits, (group, waited), 1.0)
        squared = (visits["mu"] - visits["true_skill"]) ** 2
        for k, games in enumerate(ERROR_GAMES):
            chosen = newcomer & (visits["games_played"] == games)
            for column, value in enumerate((np.ones(run.size), squared)):
                errors[:, k, column] += np.bincount(run[chosen], value[chosen], runs)

    def watched() -> Iterator[Any]:
        for n, step in enumerate(steps, 1):
            yield step
            if n % STEPS_AT_ONCE == 0:
                add_visits()

    columns = sums(episodes, watched())
    add_visits()
    everyone = visited[:, 0]
    believed, true = (everyone[:, SUMS.index(name)] for name in QUALITIES)
    costs = columns.pop(REWARD) - believed
    return {
        REWARD: costs + believed,
        "true_reward": costs + true,
        **{name: mean_of(name, everyone) for name in MEANS},
        **{f"error_{games}": share(errors[:, k, 1], errors[:, k, 0])
           for k, games in enumerate(ERROR_GAMES)},
        **columns,
        "sums": visited,
        f"{TOTAL}waits": waits,
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
    # The next numbers, because a tiny reach would be lost in rounding.
    low = np.nextafter(rows[:, CENTRE].min() - reach, -math.inf)
    high = np.nextafter(rows[:, CENTRE].max() + reach, math.inf)

    def excess(skill: float, share: float) -> float:
        return float(ndtr((skill - rows[:, CENTRE]) / deviation).mean()) - share

    return np.array([brentq(excess, low, high, (each,), xtol=1e-14) for each in shares.tolist()])
