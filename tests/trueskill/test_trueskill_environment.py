"""The object with the constants against the trueskill package, by brute force and by its forms."""

from __future__ import annotations

import itertools
import math
import warnings
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from matchenv.trueskill import (
    ConvergenceWarning,
    TrueSkill,
    first_place_probability,
    ranking_probability,
    rate,
    team_win_probability,
)

BETA = 25.0 / 6.0
NORMAL = NormalDist()


def random_groups(rng: np.random.Generator) -> tuple[list[Any], list[Any], list[int] | None]:
    """Groups as lists or dicts, weights up to 3, and ranks or none."""
    sides = int(rng.integers(2, 6))
    groups: list[Any] = []
    weights: list[Any] = []
    for side in range(sides):
        size = int(rng.integers(1, 4))
        pairs = [(float(rng.normal(25, 5) / size), float(rng.uniform(1, 9))) for _ in range(size)]
        names = [f"{side}-{k}" for k in range(size)]
        groups.append(dict(zip(names, pairs, strict=True)))
        weights.append({name: float(rng.uniform(0.3, 3.0)) for name in names})
    if rng.random() < 0.5:
        groups = [list(group.values()) for group in groups]
        weights = [tuple(row.values()) for row in weights]
    return groups, weights, None if rng.random() < 0.3 else rng.integers(0, 3, sides).tolist()


def test_random_games_agree_with_the_trueskill_package() -> None:
    package = pytest.importorskip("trueskill")
    backend = (lambda x: 0.5 * math.erfc(-x / math.sqrt(2.0)), NORMAL.pdf, NORMAL.inv_cdf)
    theirs = package.TrueSkill(draw_probability=0.25, backend=backend)
    ours = TrueSkill(draw_probability=0.25)
    rng = np.random.default_rng(3)

    def as_theirs(group: Any) -> Any:
        if isinstance(group, dict):
            return {name: package.Rating(*pair) for name, pair in group.items()}
        return [package.Rating(*pair) for pair in group]

    for _ in range(40):
        groups, weights, ranks = random_groups(rng)
        known = [as_theirs(group) for group in groups]
        if isinstance(groups[0], dict):
            keyed = {(i, key): w for i, row in enumerate(weights) for key, w in row.items()}
            flat = [tuple(row.values()) for row in weights]
        else:
            keyed = {(i, k): w for i, row in enumerate(weights) for k, w in enumerate(row)}
            flat = weights
        expected = theirs.rate(known, ranks, flat, min_delta=1e-12)
        for given in (weights, keyed):
            rated = ours.rate(groups, ranks, given)
            for mine, their in zip(rated, expected, strict=True):
                assert isinstance(mine, dict) == isinstance(their, dict)
                pairs = mine.items() if isinstance(mine, dict) else enumerate(mine)
                for key, (mu, sigma) in pairs:
                    assert (mu, sigma) == pytest.approx((their[key].mu, their[key].sigma), abs=1e-5)
        lists = [tuple(g.values()) if isinstance(g, dict) else tuple(g) for g in known]
        assert ours.quality(groups, weights) == pytest.approx(theirs.quality(lists, flat), rel=1e-7)
    new = ours.create_rating()
    assert new == (theirs.mu, theirs.sigma)
    other = ours.create_rating(30.0, 2.0)
    for drawn in (False, True):
        expected = theirs.rate_1vs1(package.Rating(*new), package.Rating(*other), drawn)
        for mine, their in zip(ours.rate_1vs1(new, other, drawn), expected, strict=True):
            assert mine == pytest.approx((their.mu, their.sigma), abs=1e-6)
    assert ours.quality_1vs1(new, other) == pytest.approx(
        theirs.quality_1vs1(package.Rating(*new), package.Rating(*other)), rel=1e-12
    )
    assert ours.expose(other) == pytest.approx(theirs.expose(package.Rating(*other)), rel=1e-12)
    assert TrueSkill(k=2.0).expose(other) == 26.0


def test_weights_may_leave_members_out_by_name() -> None:
    trueskill = TrueSkill()
    groups = [{"ada": (25.0, 8.0), "bo": (27.0, 3.0)}, {"cy": (30.0, 2.0)}]
    expected = trueskill.rate(groups, weights=[[1.0, 2.0], [1.0]])
    assert trueskill.rate(groups, weights=[{"bo": 2.0}, {}]) == expected
    assert trueskill.rate(groups, weights={(0, "bo"): 2.0}) == expected
    assert trueskill.rate(groups, [0, 1], {(0, "bo"): 2.0}) == expected


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.rate([{"a": (25.0, 8.0)}, 3]), "groups"),
        (lambda t: t.rate([[(25.0, 8.0)]] * 2, weights={(0, "a"): 1.0}), "weights"),
        (lambda t: t.rate([{"a": (25.0, 8.0)}] * 2, weights=[{"b": 1.0}, {}]), "weights"),
        (lambda t: t.rate([[(25.0, 8.0)]] * 2, weights=[[1.0]]), "weights"),
        (lambda t: t.rate([[(25.0, 8.0)]] * 2, weights=[[1.0], [2e9]]), "weights"),
        (lambda t: t.rate([[(25.0, 8.0)]] * 2, [0]), "ranks"),
        (lambda t: t.create_rating(math.nan), "mu"),
        (lambda t: TrueSkill(draw_probability=1.0), "draw_probability"),
        (lambda t: TrueSkill(sigma=0.0), "sigma"),
        (lambda t: TrueSkill(k=-1.0), "k must"),
    ],
)
def test_bad_input_is_named(change: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        change(TrueSkill())


@pytest.mark.parametrize("margin", [0.0, 1.5])
@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_first_places_are_the_integral_of_the_model(margin: float, scale: float) -> None:
    # The second side is much narrower for a small scale.
    teams = [[(25.0, 8.0)], [(27.0 * scale, 2.0 * scale)], [(20.0, 3.0), (4.0, 1.0)], [(31.0, 5.0)]]
    weights = [[1.0], [scale], [1.0, 1.0], [2.0]]
    means = [
        sum(w * m for (m, _), w in zip(*x, strict=True)) for x in zip(teams, weights, strict=True)
    ]
    spreads = [
        math.sqrt(sum(w * w * (s * s + BETA**2) for (_, s), w in zip(*x, strict=True)))
        for x in zip(teams, weights, strict=True)
    ]
    found = first_place_probability(teams, BETA, draw_margin=margin, weights=weights)
    for i, chance in enumerate(found):

        def density(x: float, i: int = i) -> float:
            others = [NORMAL.cdf((x - margin - means[j]) / spreads[j]) for j in range(4) if j != i]
            return NORMAL.pdf((x - means[i]) / spreads[i]) / spreads[i] * math.prod(others)

        ends = means[i] - 12 * spreads[i], means[i] + 12 * spreads[i]
        points = [
            m + margin + k * s
            for m, s in zip(means, spreads, strict=True)
            for k in (-6, -2, 0, 2, 6)
        ]
        points = [p for p in points if ends[0] < p < ends[1]]
        exact, _ = quad(density, *ends, points=points, limit=2000, epsabs=1e-13)
        assert chance == pytest.approx(exact, abs=1e-10)
    assert sum(found) == pytest.approx(1.0, abs=1e-10) if margin == 0.0 else sum(found) < 1.0


def test_first_places_are_sums_of_rankings_and_those_of_two_sides_win_probabilities() -> None:
    teams = [[(25.0, 8.0)], [(30.0, 2.0)], [(22.0, 4.0), (5.0, 1.0)]]
    for i, chance in enumerate(first_place_probability(teams, BETA)):
        ranked = [ranks for ranks in itertools.permutations(range(3)) if ranks[i] == 0]
        total = sum(ranking_probability(teams, ranks, BETA).probability for ranks in ranked)
        assert chance == pytest.approx(total, abs=1e-9)
    trueskill = TrueSkill(draw_probability=0.3)
    pair = teams[0], teams[2]
    first, second = trueskill.first_place_probability(pair)
    keywords = {"beta": BETA, "draw_probability": 0.3}
    assert first == pytest.approx(team_win_probability(*pair, **keywords), abs=1e-11)
    assert first == pytest.approx(trueskill.win_probability(*pair), abs=1e-11)
    assert second == pytest.approx(trueskill.win_probability(*pair[::-1]), abs=1e-11)


def permuted(
    game: tuple[Any, ...], side: int, order: tuple[int, ...], draw_probability: float = 0.1
) -> tuple[Any, bool]:
    """The beliefs in the order in which the members were given, and whether there was a warning."""
    teams, weights, ranks = ([list(row) for row in part] for part in (*game[:2], [game[2]]))
    teams[side] = [teams[side][k] for k in order]
    weights[side] = [weights[side][k] for k in order]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        rated = rate(
            teams, ranks[0], beta=BETA, tau=0.1, draw_probability=draw_probability, weights=weights
        )
    back = sorted(zip(order, rated[side], strict=True))
    rated[side] = [rating for _, rating in back]
    return np.array([pair for team in rated for pair in team]), bool(caught)


def test_weights_next_to_nothing_are_rated_alike_in_any_order_or_warned_about() -> None:
    rng = np.random.default_rng(11)
    warned = 0
    for _ in range(150):
        sides = int(rng.integers(3, 6))
        teams = [
            [(float(rng.normal(25, 8)), float(rng.uniform(1, 9))) for _ in range(3)]
            for _ in range(sides)
        ]
        weights = [[1.0] * 3 for _ in range(sides)]
        small = int(rng.integers(sides))
        # Between two such sides, a win by the draw margin is next to impossible.
        for side in {small, (small + int(rng.integers(2))) % sides}:
            weights[side] = [float(10.0 ** rng.uniform(-15, -6)) for _ in range(3)]
        ranks = rng.permutation(sides).tolist()
        deviations = np.array([sigma for team in teams for _, sigma in team])
        base, warns = permuted((teams, weights, ranks), small, (0, 1, 2))
        for order in ((1, 0, 2), (2, 1, 0)):
            other, also = permuted((teams, weights, ranks), small, order)
            shift = np.abs(base - other).max(axis=1) / deviations
            assert warns or also or shift.max() < 1e-6
        warned += warns
    assert 0 < warned < 150


def test_draws_beside_weights_next_to_nothing_too() -> None:
    """Two sides below 1e-8 and draws: 0.16 and 0.0003 of a deviation were seen without a word."""
    rng = np.random.default_rng(12345)
    warned = 0
    for _ in range(700):
        sides = int(rng.integers(2, 5))
        small = int(rng.integers(sides))
        sizes = rng.integers(1, 4, sides)
        sizes[small] = 3
        teams = [
            [(float(rng.normal(25, 8)), float(10.0 ** rng.uniform(-1, 1.2))) for _ in range(size)]
            for size in sizes
        ]
        weights = [rng.uniform(0.1, 1.5, size).tolist() for size in sizes]
        scale = 10.0 ** rng.uniform(-14, -9)
        weights[small] = (scale * rng.uniform(0, 1, sizes[small])).tolist()
        other = (small + 1) % sides
        weights[other] = (10.0 ** rng.uniform(-14, -8, sizes[other])).tolist()
        game = (teams, weights, rng.integers(0, sides, sides).tolist())
        margin = float(rng.choice([0.01, 0.1, 0.5]))
        deviations = np.array([sigma for team in teams for _, sigma in team])
        base, warns = permuted(game, small, (0, 1, 2), margin)
        for order in ((1, 0, 2), (2, 1, 0)):
            rated, also = permuted(game, small, order, margin)
            shift = np.abs(base - rated).max(axis=1) / deviations
            # Iterations end at a tolerance of 1e-8, from where some have a way of 1e-6 to go.
            assert warns or also or shift.max() < 1e-5
        warned += warns
    assert 0 < warned < 700
