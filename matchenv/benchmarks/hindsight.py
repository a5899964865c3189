"""What foresight of arrivals could add: ``python -m matchenv.benchmarks.hindsight``.

The planner ``matching`` plays runs of ``MatchmakingQueue-v0``, and the visits of parties to the
queue are recorded. The times, beliefs and patience of all visits stay as in these runs. Then
disjoint lobbies of the same visits are chosen with all of them known. The linear relaxation of
this set packing is an upper bound of what the compared lobbies of these visits could earn, and
integer programs find lobbies that attain most of it. See docs/stock_agents.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array

from matchenv.baselines.queue import MaximumWeightMatching
from matchenv.baselines.queue.lobbies import (
    LONGEST_WINDOW,
    Line,
    list_lobbies,
    neighbours,
    new_window,
)
from matchenv.envs.core.episodes import Episodes
from matchenv.envs.queue.dynamics import geometric
from matchenv.envs.queue.games import joint_index
from matchenv.envs.queue.lobby import (
    Parties,
    best_split,
    packing_table,
    quality_of_sides,
    sum_sides,
)
from matchenv.envs.queue.params import PATIENCE
from matchenv.envs.queue.settings import QueueSettings
from matchenv.envs.queue.state import NOBODY
from matchenv.evaluation.estimates import estimate
from matchenv.evaluation.protocols import LOADS
from matchenv.evaluation.rollout import Decisions
from matchenv.evaluation.tables import Column, text_table
from matchenv.evaluation.visits import recording_simulator
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.checks import as_integer, refusal
from matchenv.runtime.random import uniform

# Sets of parties that are compared with each newest visit, at most.
MOST_SETS = 200_000

# The bound is computed up to this share.
TOLERANCE = 1e-4

# Lobbies with the same newest visit that are added to the linear program at once.
ADDED = 8

# An integer program chooses among the best lobbies of so many newest visits at a time, with so many
# lobbies for each, up to this share of the sum, and in so many nodes of its search.
WINDOW = 100
NEAR = 20
GAP = 0.003
MOST_NODES = 1

# Rows of the table; all are totals minus those of ``matching``.
FOUND = "hindsight, lobbies found"
BOUND = "hindsight, upper bound"
TRUE_BOUND = "told true skills, upper bound"


class Visits(NamedTuple):
    """V visits of parties to the queue in the order of joining it.

    Attributes:
        party: number of the party, shape (V,).
        joined: tick of joining the queue, shape (V,).
        last: last tick in which a game can begin, shape (V,): that of the patience, or of the run.
        size: number of members, shape (V,).
        mean: sum of the means of the beliefs about the members, shape (V,).
        variance: sum of the variances of these beliefs, shape (V,).
        skill: sum of the members' true skills, shape (V,).
        cost: of the visit without a game, shape (V,), for waiting up to ``last`` and for giving up.
    """

    party: Integers
    joined: Integers
    last: Integers
    size: Integers
    mean: Floats
    variance: Floats
    skill: Floats
    cost: Floats


class Earned(NamedTuple):
    """Sum over the games of quality times players, minus the costs of all visits.

    Attributes:
        believed: with match qualities under the beliefs.
        true: with match qualities under the true skills.
    """

    believed: float
    true: float


class Lobbies(NamedTuple):
    """L lobbies of visits that overlap in time, in the order of their newest visits.

    Attributes:
        visits: indices of the visits, the newest first, shape (L, S); ``NOBODY`` beyond the last.
        values: what the game earns minus what the visits earn without a game, shape (L,).
    """

    visits: Integers
    values: Floats


def record_run(settings: QueueSettings, seed: int) -> tuple[Visits, Earned]:
    """Play a run with ``matching``, and return its visits and what it earned."""
    policy = MaximumWeightMatching()
    simulator = recording_simulator(settings)
    episodes = Episodes.of_seeds(simulator, [seed])
    for _ in Decisions(policy).steps(episodes):
        pass
    ended = simulator.taken_visits(episodes.state)
    waiting = simulator.waiting_parties(episodes.state, 0, truth=True)
    key = episodes.state.clock["key"][0]

    # A visit of a party has a row for each member, one after the other.
    numbers = np.stack((ended["party"], ended["games_played"]), axis=1).astype(np.int64)
    is_first = np.ones(len(numbers), dtype=np.bool_)
    is_first[1:] = (numbers[1:] != numbers[:-1]).any(axis=1)
    first = np.flatnonzero(is_first)
    patience = []
    for party, played in numbers[first].tolist():
        u = uniform(key, PATIENCE, joint_index(party, played))
        patience.append(geometric(u, settings.patience))
    # Parties who wait at the horizon have not lost their patience within the run.
    patience += [math.inf] * waiting.party.size

    # The tick in which a party gives up counts as waited.
    began = ended["tick"] - ended["waited"] + (1.0 - ended["served"])
    joined = np.concatenate((began[first], settings.horizon - waiting.waited))
    leaves = joined + np.array(patience) - 1.0
    last = np.minimum(leaves, settings.horizon - 1.0)
    size = np.concatenate((ended["party_size"][first], waiting.size))
    cost = settings.waiting_cost * (last + 1.0 - joined)
    cost[leaves < settings.horizon] += settings.abandonment_cost
    order = np.argsort(joined, kind="stable")
    visits = Visits(
        party=np.concatenate((numbers[first, 0], waiting.party))[order],
        joined=joined[order].astype(np.int64),
        last=last[order].astype(np.int64),
        size=size[order].astype(np.int64),
        mean=np.concatenate((sums_from(ended["mu"], first), waiting.mu))[order],
        variance=np.concatenate((sums_from(ended["sigma"] ** 2, first), waiting.sigma**2))[order],
        skill=np.concatenate((sums_from(ended["true_skill"], first), waiting.true_skill))[order],
        cost=(size * cost)[order],
    )
    waited = ended["waited"].sum() + (waiting.waited * waiting.size).sum()
    given_up = (1.0 - ended["served"]).sum()
    costs = settings.waiting_cost * waited + settings.abandonment_cost * given_up
    earned = Earned(
        believed=float(ended["match_quality"].sum() - costs),
        true=float(ended["true_match_quality"].sum() - costs),
    )
    return visits, earned


def sums_from(values: Floats, first: Integers) -> Floats:
    """Return the sum of the values from each index in ``first`` to the next."""
    if first.size == 0:
        return np.zeros(0)
    sums: Floats = np.add.reduceat(values, first)
    return sums


def possible_lobbies(settings: QueueSettings, visits: Visits, reach: int) -> Lobbies:
    """Return the lobbies of visits that overlap in time and have a positive value.

    A game begins when its newest party joins: later, its members would only wait longer. A party is
    in a lobby once, although two of its visits can overlap if the first is prolonged.

    Args:
        settings: of the environment.
        visits: of a run.
        reach: number of parties that are compared, the newest and those who joined last before it.
    """
    seats = settings.num_seats
    table = packing_table(settings.side_size, settings.num_sides)
    window = new_window(settings, sets_with_newest(reach, seats))
    no_gaps, no_variances = neighbours(np.zeros(0), np.zeros(0), settings.constants)
    found = []
    values = []
    for newest in range(visits.party.size):
        tick = visits.joined[newest]
        others = np.flatnonzero(visits.last[:newest] >= tick)
        others = others[visits.party[others] != visits.party[newest]]
        parties = np.append(newest, others[::-1][: reach - 1])
        count = parties.size
        size = visits.size[parties]
        waited = tick - visits.joined[parties]
        line = Line(
            mean=visits.mean[parties],
            variance=visits.variance[parties],
            size=size,
            price=settings.waiting_cost * waited * size - visits.cost[parties],
            multiplier=0.0,
            first_member=np.zeros(0, dtype=np.int64),
            sigma=np.zeros(0),
            gaps=no_gaps,
            variances=no_variances,
        )
        window.parties[:count] = np.arange(count)
        window.left[count] = 0
        window.left[:count] = np.cumsum(size[::-1])[::-1]
        # Too few players seem to be left for a lobby without the newest party, so there is none.
        window.left[1:count] = np.minimum(window.left[1:count], seats - size[0])
        number = list_lobbies(table, line, settings.constants, window, count)
        found.append(visits_of(window.masks[:number], parties, seats))
        values.append(seats * window.values[:number])
    if not found:
        return Lobbies(np.zeros((0, seats), dtype=np.int64), np.zeros(0))
    lobbies = Lobbies(np.concatenate(found), np.concatenate(values))
    names = np.where(lobbies.visits == NOBODY, NOBODY, visits.party[lobbies.visits])
    names.sort(axis=1)
    is_twice = ((names[:, 1:] == names[:, :-1]) & (names[:, 1:] != NOBODY)).any(axis=1)
    return Lobbies(lobbies.visits[~is_twice], lobbies.values[~is_twice])


def sets_with_newest(reach: int, seats: int) -> int:
    """Return the number of sets of at most S of ``reach`` parties that contain the newest one."""
    return sum(math.comb(reach - 1, others) for others in range(1, seats))


def visits_of(masks: Integers, parties: Integers, seats: int) -> Integers:
    """Return the visits of lobbies, shape (L, S), from their bits; see ``Lobbies``."""
    visits = np.full((masks.size, seats), NOBODY, dtype=np.int64)
    column = np.zeros(masks.size, dtype=np.int64)
    for bit, party in enumerate(parties.tolist()):
        holds = np.flatnonzero((masks >> bit) & 1)
        visits[holds, column[holds]] = party
        column[holds] += 1
    return visits


def incidence(members: Integers, num_visits: int) -> csr_array:
    """Return which visits are in which lobbies, shape (V, L), from ``Lobbies.visits``."""
    lobby, seat = np.nonzero(members != NOBODY)
    shape = (num_visits, len(members))
    return csr_array((np.ones(lobby.size), (members[lobby, seat], lobby)), shape=shape)


def best_of_newest(lobbies: Lobbies, gains: Floats, most: int) -> Integers:
    """Return the lobbies of the highest gains, ``most`` for each newest visit, in their order."""
    newest = lobbies.visits[:, 0]
    order = np.lexsort((-gains, newest))
    begins = np.searchsorted(newest[order], newest[order])
    best: Integers = np.sort(order[np.arange(order.size) - begins < most])
    return best


def bound_of(lobbies: Lobbies, num_visits: int) -> tuple[float, Floats]:
    """Return an upper bound of the sum of disjoint lobbies' values.

    A visit is the newest of one lobby at most. So for any prices >= 0 of the visits, the sum is at
    most that of all prices and of the highest gain of each newest visit, a value minus prices, if
    it is positive. The prices are those of the linear relaxation, to which lobbies of positive gain
    are added until these gains hardly count.

    Args:
        lobbies: all possible ones.
        num_visits: V.

    Returns:
        The bound, and the gain of each lobby, shape (L,).

    Source: column generation, see Desaulniers, Desrosiers, Solomon (2005).
    """
    if lobbies.values.size == 0:
        return 0.0, lobbies.values
    prices = np.zeros(num_visits + 1)  # the last one is that of NOBODY
    columns = best_of_newest(lobbies, lobbies.values, ADDED)
    while True:
        result = linprog(
            -lobbies.values[columns],
            A_ub=incidence(lobbies.visits[columns], num_visits),
            b_ub=np.ones(num_visits),
            method="highs",
        )
        prices[:num_visits] = np.maximum(0.0, -result.ineqlin.marginals)
        gains = lobbies.values - prices[lobbies.visits].sum(axis=1)
        highest = np.zeros(num_visits)
        np.maximum.at(highest, lobbies.visits[:, 0], gains)
        bound = float(prices.sum() + highest.sum())
        added = best_of_newest(lobbies, gains, ADDED)
        added = np.setdiff1d(added[gains[added] > 0.0], columns)
        if highest.sum() <= TOLERANCE * bound or added.size == 0:
            return bound, gains
        columns = np.concatenate((columns, added))


def packed(lobbies: Lobbies, gains: Floats, num_visits: int) -> Integers:
    """Return disjoint lobbies with a high sum of values.

    Newest visits are taken in the order of time, half of a window at a time: the lobbies of a
    window are chosen anew by an integer program, with all earlier ones fixed.

    Args:
        lobbies: all possible ones.
        gains: of the lobbies, from ``bound_of``; only the best ones are considered.
        num_visits: V.
    """
    near = best_of_newest(lobbies, gains, NEAR)
    members = lobbies.visits[near]
    newest = members[:, 0]
    is_chosen = np.zeros(near.size, dtype=np.bool_)
    for start in range(0, num_visits, WINDOW // 2):
        is_in_window = (newest >= start) & (newest < start + WINDOW)
        is_taken = np.zeros(num_visits + 1, dtype=np.bool_)
        is_taken[members[is_chosen & ~is_in_window]] = True
        is_taken[NOBODY] = False
        free = np.flatnonzero(is_in_window & ~is_taken[members].any(axis=1))
        if free.size == 0:
            continue
        values = lobbies.values[near[free]]
        result = milp(
            -values,
            constraints=LinearConstraint(incidence(members[free], num_visits), ub=1.0),
            integrality=np.ones(free.size),
            bounds=Bounds(0.0, 1.0),
            options={"mip_rel_gap": GAP, "node_limit": MOST_NODES},
        )
        if result.x is None:
            continue
        chosen = free[result.x > 0.5]
        before = lobbies.values[near[is_chosen & is_in_window]].sum()
        if lobbies.values[near[chosen]].sum() > before:
            is_chosen[is_in_window] = False
            is_chosen[chosen] = True
    disjoint: Integers = near[is_chosen]
    return disjoint


def earned_by(
    settings: QueueSettings, visits: Visits, lobbies: Lobbies, chosen: Integers
) -> Earned:
    """Return what disjoint lobbies earn; see ``Earned``.

    Args:
        settings: of the environment.
        visits: of a run.
        lobbies: all possible ones.
        chosen: indices of the disjoint ones.
    """
    believed = float(lobbies.values[chosen].sum() - visits.cost.sum())
    table = packing_table(settings.side_size, settings.num_sides)
    sides = np.zeros(settings.num_seats, dtype=np.int64)
    difference = 0.0
    for k in chosen.tolist():
        members = lobbies.visits[k]
        members = members[members != NOBODY]
        size = visits.size[members]
        parties = Parties(visits.mean[members], visits.variance[members], size, size.size)
        best_split(table, parties, settings.beta, sides)
        sum_sides(table, parties, sides)
        difference -= quality_of_sides(table, settings.beta)
        skills = parties._replace(mean=visits.skill[members], variance=np.zeros(size.size))
        sum_sides(table, skills, sides)
        difference += quality_of_sides(table, settings.beta)
    return Earned(believed, believed + settings.num_seats * difference)


def compared(
    settings: QueueSettings, seed: int, reach: int, *, only_bounds: bool = False
) -> dict[str, float]:
    """Return what ``matching`` earned in a run, and how much hindsight adds; see ``run_hindsight``.

    Without a search for lobbies, what they add is NaN.
    """
    visits, earned = record_run(settings, seed)
    count = visits.party.size
    cost = float(visits.cost.sum())
    lobbies = possible_lobbies(settings, visits, reach)
    bound, gains = bound_of(lobbies, count)
    found = Earned(math.nan, math.nan)
    if not only_bounds:
        found = earned_by(settings, visits, lobbies, packed(lobbies, gains, count))
    told = visits._replace(mean=visits.skill, variance=np.zeros(count))
    true_bound, _ = bound_of(possible_lobbies(settings, told, reach), count)
    return {
        "present": float(most_present(visits)),
        "matching": earned.believed,
        "found": found.believed - earned.believed,
        "bound": bound - cost - earned.believed,
        "true_matching": earned.true,
        "true_found": found.true - earned.true,
        "true_bound": true_bound - cost - earned.true,
    }


def most_present(visits: Visits) -> int:
    """Return the largest number of visits that overlap at the beginning of one of them."""
    most = 0
    for tick in np.unique(visits.joined):
        is_present = (visits.joined <= tick) & (visits.last >= tick)
        most = max(most, int(is_present.sum()))
    return most


def run_hindsight(
    settings: QueueSettings, runs: int, seed: int, reach: int, *, only_bounds: bool = False
) -> str:
    """Compare hindsight with ``matching`` in several runs, and return the table.

    Args:
        settings: of the environment.
        runs: number of runs, at least 2.
        seed: of the first run; each further one has the next.
        reach: number of parties that are compared for a lobby, from 2 to 62.
        only_bounds: whether to leave out the search for lobbies, which takes longest.

    Raises:
        ValueError: for bad numbers, or a reach that is too large for so many seats.
    """
    as_integer("runs", runs, 2)
    as_integer("reach", reach, 2, LONGEST_WINDOW)
    sets = sets_with_newest(reach, settings.num_seats)
    if sets > MOST_SETS:
        rule = f"reach must be smaller for {settings.num_seats} seats ({MOST_SETS:,} sets at most)"
        raise refusal(rule, reach)
    rows = []
    for run in range(runs):
        rows.append(compared(settings, seed + run, reach, only_bounds=only_bounds))
    of = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    mean = {name: f"{estimate(values):.1f}" for name, values in of.items()}
    table = [
        {"title": "matching", "believed": mean["matching"], "true": mean["true_matching"]},
        {"title": BOUND, "believed": mean["bound"], "true": ""},
        {"title": TRUE_BOUND, "believed": "", "true": mean["true_bound"]},
    ]
    if not only_bounds:
        table.append({"title": FOUND, "believed": mean["found"], "true": mean["true_found"]})
    columns = [
        Column("total of a run", "{title}"),
        Column("believed quality", "{believed}"),
        Column("true quality", "{true}"),
    ]
    present = int(of["present"].max())
    title = (
        f"{runs} runs from seed {seed}; hindsight minus matching; up to {present} parties are "
        f"present at once, of whom up to {reach} are compared"
    )
    return "\n".join([title, *text_table(columns, table)])


def main(words: Sequence[str] | None = None) -> None:
    """Compare hindsight with ``matching``; ``words`` are those of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--load", choices=LOADS, default="thin", help="arrivals in a tick")
    parser.add_argument("--runs", type=int, default=10, help="number of runs")
    parser.add_argument("--seed", type=int, default=20261130, help="seed of the first run")
    parser.add_argument("--horizon", type=int, default=500, help="ticks of a run")
    parser.add_argument("--side-size", type=int, default=2, help="players of a side")
    parser.add_argument(
        "--party-sizes", type=float, nargs="+", default=[0.7, 0.3], help="shares of party sizes"
    )
    parser.add_argument("--reach", type=int, default=30, help="parties compared for a lobby")
    parser.add_argument("--only-bounds", action="store_true", help="do not search for lobbies")
    arguments = parser.parse_args(words)
    try:
        settings = QueueSettings(
            arrival_rate=LOADS[arguments.load],
            horizon=arguments.horizon,
            side_size=arguments.side_size,
            party_sizes=arguments.party_sizes,
        )
        text = run_hindsight(
            settings,
            arguments.runs,
            arguments.seed,
            arguments.reach,
            only_bounds=arguments.only_bounds,
        )
    except ValueError as error:
        parser.error(str(error))
    print(text)


if __name__ == "__main__":
    main()
