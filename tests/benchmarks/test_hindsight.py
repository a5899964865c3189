"""Hindsight packing of all visits of a run."""

from itertools import combinations

import numpy as np
import pytest

from matchenv.baselines.queue import MaximumWeightMatching
from matchenv.benchmarks.hindsight import (
    Visits,
    bound_of,
    compared,
    earned_by,
    main,
    packed,
    possible_lobbies,
    record_run,
)
from matchenv.envs.queue import QueueSettings
from matchenv.evaluation.rollout import rollout, sums

PAIRS = QueueSettings(side_size=2, party_sizes=(0.7, 0.3))


def random_visits(rng, count):
    """Return visits of a few parties of one or two players, some of which overlap."""
    joined = np.sort(rng.integers(0, 8, count))
    size = rng.integers(1, 3, count)
    return Visits(
        party=rng.integers(0, count + 3, count),
        joined=joined,
        last=joined + rng.integers(0, 8, count),
        size=size,
        mean=size * rng.normal(25.0, 4.0, count),
        variance=size * rng.uniform(1.0, 30.0, count),
        skill=size * rng.normal(25.0, 4.0, count),
        cost=size * rng.uniform(0.0, 0.3, count),
    )


def quality(gap, variance, settings):
    """Return the match quality of two sides in closed form."""
    noise = settings.num_seats * settings.beta**2
    total = noise + variance
    return np.sqrt(noise / total) * np.exp(-(gap**2) / (2.0 * total))


def splits(visits, members, settings):
    """Yield the gap of means and of skills of every split into full sides."""
    for count in range(1, len(members)):
        for side in combinations(members, count):
            if visits.size[list(side)].sum() == settings.side_size:
                sign = np.where(np.isin(members, side), 1.0, -1.0)
                own = list(members)
                yield abs(sign @ visits.mean[own]), abs(sign @ visits.skill[own])


def every_lobby(visits, settings):
    """Return the value under the beliefs, and under the true skills, of every possible lobby."""
    lobbies = {}
    for count in range(2, settings.num_seats + 1):
        for members in combinations(range(visits.party.size), count):
            own = list(members)
            gaps = sorted(splits(visits, members, settings))
            start = visits.joined[own].max()
            is_possible = visits.size[own].sum() == settings.num_seats and len(gaps) > 0
            if start > visits.last[own].min() or np.unique(visits.party[own]).size < count:
                is_possible = False
            if not is_possible:
                continue
            waited = (visits.size[own] * (start - visits.joined[own])).sum()
            saved = visits.cost[own].sum() - settings.waiting_cost * waited
            gap, true_gap = gaps[0]
            believed = settings.num_seats * quality(gap, visits.variance[own].sum(), settings)
            true = settings.num_seats * quality(true_gap, 0.0, settings)
            lobbies[members] = (believed + saved, true + saved)
    return lobbies


def best_sum(lobbies, count):
    """Return the highest sum of values of disjoint lobbies, by trying all of them."""
    best = np.zeros(1 << count)
    masks = {sum(1 << k for k in members): value for members, (value, _) in lobbies.items()}
    for free in range(1, 1 << count):
        best[free] = best[free & (free - 1)]
        lowest = free & -free
        for mask, value in masks.items():
            if mask & free == mask and mask & lowest:
                best[free] = max(best[free], value + best[free ^ mask])
    return best[-1]


def members_of(row):
    return tuple(sorted(row[row >= 0].tolist()))


@pytest.mark.parametrize("seed", range(5))
def test_small_instances_agree_with_brute_force(seed):
    count = 9
    visits = random_visits(np.random.default_rng(seed), count)
    expected = every_lobby(visits, PAIRS)
    positive = {members: value for members, (value, _) in expected.items() if value > 0.0}
    lobbies = possible_lobbies(PAIRS, visits, count)
    found = dict(zip(map(members_of, lobbies.visits), lobbies.values.tolist(), strict=True))
    assert found == pytest.approx(positive)
    assert (lobbies.visits[:, 0] == lobbies.visits.max(axis=1)).all()

    best = best_sum(expected, count)
    bound, gains = bound_of(lobbies, count)
    assert bound >= best - 1e-9
    chosen = packed(lobbies, gains, count)
    value = lobbies.values[chosen].sum()
    assert 0.99 * best <= value <= best + 1e-9
    seated = [k for row in lobbies.visits[chosen] for k in members_of(row)]
    assert len(seated) == len(set(seated))
    earned = earned_by(PAIRS, visits, lobbies, chosen)
    true = sum(expected[members_of(row)][1] for row in lobbies.visits[chosen])
    assert earned.believed == pytest.approx(value - visits.cost.sum())
    assert earned.true == pytest.approx(true - visits.cost.sum())


def test_fewer_compared_parties_are_those_who_joined_last():
    visits = random_visits(np.random.default_rng(3), 12)
    lobbies = {members_of(row) for row in possible_lobbies(PAIRS, visits, 5).visits}
    every = {members_of(row) for row in possible_lobbies(PAIRS, visits, 12).visits}
    assert 0 < len(lobbies) < len(every)
    for members in every:
        newest = members[-1]
        others = [
            k
            for k in range(newest)
            if visits.last[k] >= visits.joined[newest] and visits.party[k] != visits.party[newest]
        ]
        assert (members in lobbies) == (set(members[:-1]) <= set(others[-4:]))


def test_a_recorded_run_has_earned_its_reward():
    settings = QueueSettings(side_size=2, party_sizes=(0.7, 0.3), horizon=60, patience=4.0)
    visits, earned = record_run(settings, 7)
    for reward, expected in zip(("match_quality", "true_match_quality"), earned, strict=True):
        played = QueueSettings(**{**settings.plain_options(), "reward": reward})
        arrays = rollout(MaximumWeightMatching(), played, [7], summary=sums)
        assert arrays["reward"][0] == pytest.approx(expected)
    count = visits.party.size
    lobbies = possible_lobbies(settings, visits, 60)
    bound, _ = bound_of(lobbies, count)
    assert bound - visits.cost.sum() >= earned.believed


def test_visits_without_games_cost_what_the_run_has_cost():
    settings = QueueSettings(side_size=16, arrival_rate=0.3, horizon=80, patience=9.0)
    visits, earned = record_run(settings, 3)
    assert visits.party.size > 10
    assert (visits.last < 79).any()
    assert -visits.cost.sum() == pytest.approx(earned.believed)


def test_the_command_prints_what_runs_have_in_the_mean(capsys):
    main(["--runs", "2", "--horizon", "25", "--seed", "5", "--load", "middle", "--reach", "12"])
    text = capsys.readouterr().out
    settings = QueueSettings(side_size=2, party_sizes=(0.7, 0.3), horizon=25)
    rows = [compared(settings, seed, 12) for seed in (5, 6)]
    for name in ("matching", "found", "bound", "true_matching", "true_found", "true_bound"):
        assert f"{np.mean([row[name] for row in rows]):.1f} [" in text
    for row in rows:
        assert row["found"] <= row["bound"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--runs", "1"], "runs"),
        (["--reach", "63"], "reach"),
        (["--side-size", "5"], "reach"),
        (["--side-size", "0"], "side_size"),
    ],
)
def test_bad_options_are_refused(capsys, options, named):
    with pytest.raises(SystemExit, match="2"):
        main(options)
    assert f"error: {named} must be" in capsys.readouterr().err
