"""Packing and splitting of lobbies against brute force and ``team_match_quality``."""

from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from numpy.typing import NDArray

from matchenv.envs.queue.lobby import (
    MOST_ENUMERATED,
    LobbyTable,
    Parties,
    best_split,
    empty_sides,
    enumerate_splits,
    packing_table,
    packs,
    quality_of_sides,
    sum_sides,
)
from matchenv.trueskill import match_quality, team_match_quality

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
BETA = 1.3


def counts_of(sizes: tuple[int, ...], side_size: int) -> Integers:
    """Return the number of parties of each size from 1 on."""
    return np.bincount(sizes, minlength=side_size + 1)[1:].astype(np.int64)


@cache
def fit(sizes: tuple[int, ...], free: tuple[int, ...]) -> bool:
    """Return whether parties fit into sides with so many free seats, by trying every side."""
    if not sizes:
        return True
    for side, seats in enumerate(free):
        if seats >= sizes[0]:
            rest = (*free[:side], seats - sizes[0], *free[side + 1 :])
            if fit(sizes[1:], tuple(sorted(rest))):
                return True
    return False


@pytest.mark.parametrize(
    ("side_size", "num_sides"), [(1, 2), (1, 8), (2, 2), (3, 2), (5, 2), (3, 3), (4, 3), (6, 2)]
)
def test_every_multiset_of_sizes_packs_or_not(side_size: int, num_sides: int) -> None:
    table = packing_table(side_size, num_sides)
    seats = side_size * num_sides
    for num_parties in range(seats + 2):
        for sizes in combinations_with_replacement(range(side_size, 0, -1), num_parties):
            expected = sum(sizes) <= seats and fit(sizes, (side_size,) * num_sides)
            assert packs(table, counts_of(sizes, side_size)) == expected, sizes


@pytest.mark.parametrize(("side_size", "num_sides"), [(8, 8), (16, 2), (10, 5), (9, 7)])
def test_large_lobbies_pack_or_not(side_size: int, num_sides: int) -> None:
    table = packing_table(side_size, num_sides)
    rng = np.random.default_rng(side_size)
    answers = set()
    for _ in range(400):
        sizes: list[int] = []
        limit = int(rng.integers(2, side_size + 1))
        while True:
            size = int(rng.integers(limit // 2 + 1, limit + 1))
            if sum(sizes) + size > side_size * num_sides:
                break
            sizes.append(size)
        party_sizes = tuple(sorted(sizes, reverse=True))
        expected = fit(party_sizes, (side_size,) * num_sides)
        answers.add(expected)
        assert packs(table, counts_of(party_sizes, side_size)) == expected, party_sizes
    assert answers == {True, False}


def random_lobby(
    rng: np.random.Generator, side_size: int, num_sides: int, largest: int
) -> tuple[Integers, Floats, Floats]:
    """Return sizes, means and variances of parties that fill the sides, in any order."""
    sizes: list[int] = []
    for _ in range(num_sides):
        free = side_size
        while free > 0:
            sizes.append(int(rng.integers(1, min(free, largest) + 1)))
            free -= sizes[-1]
    shuffled = rng.permutation(np.array(sizes, dtype=np.int64))
    spread = np.sqrt(shuffled)
    mean = spread * rng.normal(0.0, 2.0, shuffled.size)
    variance = shuffled * rng.uniform(0.2, 6.0, shuffled.size)
    return shuffled, mean, variance


def quality_of_split(
    mean: Floats, variance: Floats, sizes: Integers, sides: Integers, num_sides: int
) -> float:
    """Return the match quality of teams with equal sums of means and of variances."""
    teams = []
    for side in range(num_sides):
        members = []
        for party in np.flatnonzero(sides == side):
            size = int(sizes[party])
            member = (float(mean[party] / size), float(np.sqrt(variance[party] / size)))
            members += [member] * size
        teams.append(members)
    return team_match_quality(teams, BETA)


def all_splits(sizes: Integers, side_size: int, num_sides: int) -> list[Integers]:
    """Return every split into full sides with the first party on side 0, in order."""
    splits = []
    for others in product(range(num_sides), repeat=sizes.size - 1):
        sides = np.array([0, *others])
        if (np.bincount(sides, sizes, num_sides) == side_size).all():
            splits.append(sides)
    return splits


def split_of(table: LobbyTable, mean: Floats, variance: Floats, sizes: Integers) -> Integers:
    sides = np.full(sizes.size, -1, dtype=np.int64)
    best_split(table, Parties(mean, variance, sizes, sizes.size), BETA, sides)
    return sides


@pytest.mark.parametrize(
    ("side_size", "num_sides", "largest"),
    [
        (1, 2, 1),
        (1, 5, 1),
        (2, 2, 2),
        (3, 2, 2),
        (4, 2, 3),
        (5, 2, 5),
        (2, 3, 1),
        (3, 3, 2),
        (2, 4, 1),
    ],
)
def test_the_split_has_the_highest_quality(side_size: int, num_sides: int, largest: int) -> None:
    table = packing_table(side_size, num_sides)
    rng = np.random.default_rng(10 * side_size + num_sides)
    for _ in range(4):
        sizes, mean, variance = random_lobby(rng, side_size, num_sides, largest)
        if num_sides**sizes.size > 70_000:
            continue
        qualities = []
        for sides in all_splits(sizes, side_size, num_sides):
            qualities.append(quality_of_split(mean, variance, sizes, sides, num_sides))
        sides = split_of(table, mean, variance, sizes)
        quality = quality_of_split(mean, variance, sizes, sides, num_sides)
        assert quality == pytest.approx(max(qualities), rel=1e-9)
        sum_sides(table, Parties(mean, variance, sizes, sizes.size), sides)
        assert quality_of_sides(table, BETA) == pytest.approx(quality, rel=1e-9)


def test_of_equal_splits_the_first_is_chosen() -> None:
    """Four equal players: 0 and 1 against 2 and 3."""
    table = packing_table(2, 2)
    ones = np.ones(4)
    sides = split_of(table, ones, ones, np.ones(4, dtype=np.int64))
    assert sides.tolist() == [0, 0, 1, 1]


def test_one_player_a_side_has_the_match_quality_of_two_players() -> None:
    table = packing_table(1, 2)
    rng = np.random.default_rng(3)
    for _ in range(20):
        mu = rng.normal(0.0, 3.0, 2)
        sigma = rng.uniform(0.1, 3.0, 2)
        sides = split_of(table, mu, sigma * sigma, np.ones(2, dtype=np.int64))
        assert sides.tolist() == [0, 1]
        sum_sides(table, Parties(mu, sigma * sigma, np.ones(2, dtype=np.int64), 2), sides)
        expected = match_quality(mu[0], sigma[0], mu[1], sigma[1], BETA)
        assert quality_of_sides(table, BETA) == expected


def exact_split(table: LobbyTable, parties: Parties, sides: Integers) -> None:
    """Write the best of all splits, however many there are."""
    table.listed[: parties.number] = np.arange(parties.number)
    table.chosen[: table.num_sides] = np.arange(table.num_sides)
    empty_sides(table, table.num_sides)
    enumerate_splits(table, parties, parties.number, table.num_sides, BETA, sides)


@pytest.mark.parametrize(
    ("side_size", "num_sides", "largest"), [(7, 2, 1), (8, 2, 2), (10, 2, 4), (5, 3, 1), (7, 3, 3)]
)
def test_exchanges_come_close_to_the_best_split(
    side_size: int, num_sides: int, largest: int
) -> None:
    table = packing_table(side_size, num_sides)
    rng = np.random.default_rng(side_size)
    compared = 0
    while compared < 10:
        sizes, mean, variance = random_lobby(rng, side_size, num_sides, largest)
        if not MOST_ENUMERATED < sizes.size <= 15:
            continue
        compared += 1
        sides = split_of(table, mean, variance, sizes)
        seats = np.bincount(sides, sizes, num_sides)
        assert (seats == side_size).all()
        exact = np.zeros(sizes.size, dtype=np.int64)
        exact_split(table, Parties(mean, variance, sizes, sizes.size), exact)
        quality = quality_of_split(mean, variance, sizes, sides, num_sides)
        best = quality_of_split(mean, variance, sizes, exact, num_sides)
        assert 0.99 * best <= quality <= (1.0 + 1e-9) * best
