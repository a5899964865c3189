"""Summary of runs of the queue: sums over visits, by group of players."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from matchenv.envs.core.episodes import Episodes
from matchenv.envs.queue.population import CENTRE, DEVIATION, SPREAD, Population
from matchenv.envs.queue.settings import LARGEST_SIDE, QueueSettings
from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.evaluation.episode_table import EpisodeTable
from matchenv.evaluation.rollout import REWARD, TOTAL, Steps, sums
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.files import Arrays

# Groups of players: everyone, those who logged on as newcomers and as regulars, and the deciles of
# the population by true skill, weakest first. With sides of n players, the members of parties of 1
# to n players follow.
DECILES = 10
GROUPS = ("all", "newcomers", "regulars", *(f"decile_{k}" for k in range(1, DECILES + 1)))
PARTIES = tuple(f"party_{size}" for size in range(1, LARGEST_SIDE + 1))
INDEX = {group: k for k, group in enumerate((*GROUPS, *PARTIES))}

# Sums over the visits that have ended, of ``VISIT`` fields: of the games, the qualities, and
# numbers of the sides.
OF_SIDES = ("favourite", "true_favourite", "spread", "true_spread")
SUMS = ("visits", "served", "waited", "match_quality", "true_match_quality", *OF_SIDES)

# Means over the visits, and over the games, of each group; those of ``OF_SIDES`` are over games.
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
        ``sums``, shape (B, groups, ``SUMS``); ``unended``, shape (B, groups), the number of players
        who wait at the end; and ``total/waits``, shape (groups, LONGEST_WAIT + 1): the number of
        visits by ticks waited.
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
    unended = visits.waiting(episodes.state)
    everyone = visits.sums[:, 0]
    believed = everyone[:, SUMS.index("match_quality")]
    true = everyone[:, SUMS.index("true_match_quality")]
    costs = columns.pop(REWARD) - believed
    arrays: Arrays = {REWARD: costs + believed, "true_reward": costs + true}
    for name in MEANS:
        arrays[name] = mean_of(name, everyone)
    for k, games in enumerate(ERROR_GAMES):
        arrays[f"error_{games}"] = share(visits.errors[:, k, 1], visits.errors[:, k, 0])
    arrays |= columns
    return {**arrays, "sums": visits.sums, "unended": unended, f"{TOTAL}waits": visits.waits}


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
        self.groups = len(GROUPS) + simulator.settings.side_size
        self.sums = np.zeros((runs, self.groups, len(SUMS)))
        self.waits = np.zeros((self.groups, LONGEST_WAIT + 1))
        self.errors = np.zeros((runs, len(ERROR_GAMES), 2))
        population = simulator.settings.population
        self._decile_limits = skill_quantiles(population, np.arange(1, DECILES) / DECILES)

    def add(self, state: Any) -> None:
        """Add the visits that ended since the last call, and delete their records."""
        visits = self.simulator.taken_visits(state)
        run = visits["environment"].astype(np.int64)
        values = [np.ones(run.size)]
        for name in SUMS[1:]:
            values.append(visits[name])
        waited = np.minimum(visits["waited"], LONGEST_WAIT).astype(np.int64)
        for group in self._groups_of(visits):
            for column, value in enumerate(values):
                self.sums[:, :, column] += self._sums_by_group(run, group, value)
            np.add.at(self.waits, (group, waited), 1.0)
        is_newcomer = visits["newcomer"] > 0.0
        squared_error = (visits["mu"] - visits["true_skill"]) ** 2
        for k, games in enumerate(ERROR_GAMES):
            chosen = is_newcomer & (visits["games_played"] == games)
            self.errors[:, k, 0] += np.bincount(run[chosen], minlength=self.runs)
            self.errors[:, k, 1] += np.bincount(run[chosen], squared_error[chosen], self.runs)

    def waiting(self, state: Any) -> Floats:
        """Return the number of players who wait, shape (B, groups)."""
        visits = self.simulator.unended_visits(state)
        run = visits["environment"].astype(np.int64)
        waiting = np.zeros(self.sums.shape[:2])
        for group in self._groups_of(visits):
            waiting += self._sums_by_group(run, group, np.ones(run.size))
        return waiting

    def _groups_of(self, visits: dict[str, Floats]) -> list[Integers]:
        """Return the indices of the groups of each visit, shape (V,) each."""
        decile = np.searchsorted(self._decile_limits, visits["true_skill"])
        party = visits["party_size"].astype(np.int64)
        return [
            np.zeros_like(party),
            np.where(visits["newcomer"] > 0.0, 1, 2),
            INDEX["decile_1"] + decile,
            INDEX["party_1"] + party - 1,
        ]

    def _sums_by_group(self, run: Integers, group: Integers, values: Floats) -> Floats:
        """Return sums of a value of each visit, shape (B, groups)."""
        sums = np.bincount(run * self.groups + group, values, self.runs * self.groups)
        return sums.astype(np.float64).reshape(self.runs, self.groups)


def mean_of(measure: str, sums: Floats) -> Floats:
    """Return one of the ``MEANS`` or ``OF_SIDES``, shape (...).

    Args:
        measure: its name.
        sums: shape (..., ``SUMS``).
    """
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


def group_values(rows: EpisodeTable, measure: str, cell: int, policy: str, *groups: str) -> Floats:
    """Return a mean over the players of some groups in each run, shape (E,).

    Args:
        rows: the runs.
        measure: one of the ``MEANS`` or ``OF_SIDES``, or ``"unended"``: the players who wait at
            the end, as a share of all visits that began.
        cell: index of the cell.
        policy: label of the policy.
        groups: disjoint groups.
    """
    indices = [INDEX[group] for group in groups]
    sums = rows.values("sums", cell, policy)[0][:, indices].sum(axis=1)
    if measure == "unended":
        unended = rows.values("unended", cell, policy)[0][:, indices].sum(axis=1)
        return share(unended, unended + sums[:, SUMS.index("visits")])
    return mean_of(measure, sums)


def wait_quantile(
    rows: EpisodeTable, cell: int, policy: str, groups: Sequence[str], probability: float
) -> float:
    """Return a quantile of the wait of some groups in all runs, in ticks; NaN without visits."""
    indices = [INDEX[group] for group in groups]
    waits = rows.totals["waits"][cell, rows.policies.index(policy), 0, indices].sum(axis=0)
    visits = np.cumsum(waits)
    if visits[-1] == 0.0:
        return math.nan
    return float(np.searchsorted(visits, probability * visits[-1]))


def long_wait(rows: EpisodeTable, cell: int, policy: str, group: str = GROUPS[0]) -> float:
    """Return the 95th percentile of the wait in all runs, in ticks; NaN without visits."""
    return wait_quantile(rows, cell, policy, [group], 0.95)


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
