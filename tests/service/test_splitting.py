"""The fairest teams against all splits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from matchenv.service import NewPlayer, Pool
from matchenv.trueskill import team_match_quality

BETA = 25 / 6


def splits(names: list[str], sizes: list[int]) -> Iterator[list[list[str]]]:
    """All splits into sides of these sizes."""
    if not sizes:
        yield []
        return
    for side in itertools.combinations(names, sizes[0]):
        rest = [name for name in names if name not in side]
        for others in splits(rest, sizes[1:]):
            yield [list(side), *others]


def filled(count: int, seed: int) -> Pool:
    rng = np.random.default_rng(seed)
    pool = Pool()
    pool.add_many(
        NewPlayer(f"p{i}", float(rng.normal(25, 8)), float(rng.uniform(1, 8))) for i in range(count)
    )
    return pool


@pytest.mark.parametrize(
    ("count", "sides", "party"),
    [(8, 2, 0), (7, 2, 0), (7, 2, 3), (8, 3, 0), (8, 4, 2), (6, 6, 0), (9, 3, 3), (8, 2, 4)],
)
def test_few_players_are_split_exactly(count: int, sides: int, party: int) -> None:
    for seed in range(3):
        pool = filled(count, seed)
        names = [f"p{i}" for i in range(count)]
        together = [names[:party]] if party else []
        found = pool.split(names, sides, together)
        sizes = [count // sides + (i < count % sides) for i in range(sides)]
        best = max(
            team_match_quality([[pool[name] for name in side] for side in split], BETA)
            for split in splits(names, sizes)
            if all(any(set(each) <= set(side) for side in split) for each in together)
        )
        assert found.match_quality == pytest.approx(best, rel=1e-12)
        assert sorted(name for team in found.teams for name in team) == sorted(names)
        assert sorted(map(len, found.teams)) == sorted(sizes)


def test_many_players_are_split_nearly_as_well() -> None:
    for seed in range(3):
        pool = filled(16, seed)
        names = [f"p{i}" for i in range(16)]
        found = pool.split(names, 2)
        mu = np.array([pool[name].mu for name in names])
        # With two sides of equal size the quality falls with the gap alone.
        gaps = [
            abs(2 * mu[list(side)].sum() - mu.sum())
            for side in itertools.combinations(range(16), 8)
        ]
        variance = sum(pool[name].sigma ** 2 + BETA**2 for name in names)
        loss = np.exp(-0.5 * min(gaps) ** 2 / variance) / np.exp(
            -0.5
            * (sum(pool[n].mu for n in found.teams[0]) - sum(pool[n].mu for n in found.teams[1]))
            ** 2
            / variance
        )
        assert loss == pytest.approx(1.0, abs=1e-3)


def test_parties_stay_together_among_many() -> None:
    pool = filled(30, 1)
    names = [f"p{i}" for i in range(30)]
    parties = [names[0:4], names[4:7], names[7:9], names[9:14]]
    teams = pool.split(names, 3, parties).teams
    assert [len(team) for team in teams] == [10, 10, 10]
    for party in parties:
        assert any(set(party) <= set(team) for team in teams)


def test_hopeless_teams_still_have_the_nearest_means() -> None:
    pool = Pool()
    pool.add_many(
        [NewPlayer("a", 1e6, 1.0), NewPlayer("b", 0.0, 1.0), NewPlayer("c", 5.0, 1.0),
         NewPlayer("d", -1e6, 1.0)]
    )  # fmt: skip
    assert sorted(map(sorted, pool.split(list("abcd")).teams)) == [
        ["a", "d"],
        ["b", "c"],
    ]
