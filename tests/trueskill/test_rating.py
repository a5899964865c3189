"""``rate`` and the TrueSkill object: the trueskill package, symmetries, extremes, errors."""

import math
import warnings
from itertools import starmap
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusals

from matchenv.logs import MatchLog
from matchenv.ratings.elo import Elo
from matchenv.trueskill import (
    ConvergenceWarning,
    Rating,
    TrueSkill,
    expose,
    rate,
    team_match_quality,
)
from matchenv.trueskill.teams import dense_rank

BETA = 25.0 / 6.0
PRIOR = (25.0, 25.0 / 3.0)
beliefs = st.tuples(st.floats(-50.0, 50.0), st.floats(0.05, 20.0))


@given(st.lists(beliefs, min_size=2, max_size=6, unique=True), st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_the_order_of_sides_does_not_matter(skills, random) -> None:
    order = list(range(len(skills)))
    random.shuffle(order)
    straight = rate([[s] for s in skills], range(len(skills)), beta=BETA, draw_probability=0.1)
    shuffled = rate([[skills[k]] for k in order], order, beta=BETA, draw_probability=0.1)
    for ratings, k in zip(shuffled, order, strict=True):
        assert ratings == straight[k]


def test_teams_of_any_type_are_accepted_and_unchanged() -> None:
    expected = rate([[PRIOR], [PRIOR, (30.0, 1.0)]], [0, 1], beta=BETA)
    arrays = [np.array([PRIOR]), np.array([PRIOR, (30.0, 1.0)])]
    before = [side.copy() for side in arrays]
    assert rate(arrays, np.array([0, 1]), beta=np.float64(BETA)) == expected
    assert rate((iter(side) for side in arrays), [0, 1], beta=BETA) == expected
    team_match_quality(arrays, BETA)
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))
    assert rate(((Rating(*PRIOR),), (PRIOR, (30, 1))), (1.5, 2.5), beta=BETA) == expected
    assert type(expected[0][0].mu) is float


def test_extreme_games_are_finite_and_nearly_all_converge() -> None:
    rng = np.random.default_rng(5)
    unconverged = 0
    for _ in range(1500):
        sides = int(rng.choice([2, 3, 4, 8, 30, 100]))
        spread = 10.0 ** rng.uniform(-1, 4)
        scale = 10.0 ** rng.uniform(-3, 3)
        teams = []
        for members in rng.choice([1, 1, 2, 5, 50], sides):
            mu = rng.normal(0.0, spread, members)
            sigma = scale * 10.0 ** rng.uniform(-1, 1, members)
            teams.append(np.column_stack((mu, sigma)))
        ranks = rng.integers(0, sides, sides).tolist()
        chance = float(rng.choice([1e-9, 0.1, 0.999]))
        beta = 10.0 ** rng.uniform(-3, 2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rated = rate(teams, ranks, beta=beta, draw_probability=chance)
        before = np.concatenate(teams)
        after = np.concatenate(rated)
        assert np.isfinite(after).all()
        assert (after[:, 1] > 0.0).all()
        assert (after[:, 1] <= before[:, 1] * (1.0 + 1e-12)).all()
        unconverged += len(caught)
    assert unconverged <= 1


def test_a_huge_sigma_keeps_the_digits_of_the_rest_of_the_side() -> None:
    newcomer, known = (0.0, 1e9), (0.0, 1e-3)
    (side, (other,)) = rate([[newcomer, known], [(0.0, 1.0)]], [0, 1], beta=1.0)
    assert side[0].sigma == pytest.approx(1e9 * math.sqrt(1.0 - 2.0 / math.pi), rel=1e-6)
    assert side[1].sigma == pytest.approx(1e-3, rel=1e-6)
    assert other.sigma == pytest.approx(1.0, rel=1e-6)


def test_no_convergence_is_a_warning() -> None:
    teams = [[PRIOR]] * 8
    with pytest.warns(ConvergenceWarning, match="within 100 iterations"):
        rate(teams, range(8), beta=BETA, tolerance=1e-150)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rate(teams, range(8), beta=BETA)
        rate([[PRIOR]] * 2, range(2), beta=BETA, tolerance=1e-150)


def test_the_tolerance_bounds_the_error() -> None:
    teams = [[(25.0 + 3.0 * k % 7, 8.0)] for k in range(8)]
    exact = np.array(rate(teams, range(8), beta=BETA, tolerance=1e-13)).ravel()
    for tolerance in (1e-2, 1e-4, 1e-6, 1e-8):
        near = np.array(rate(teams, range(8), beta=BETA, tolerance=tolerance)).ravel()
        assert np.abs(near - exact).max() < 10.0 * tolerance


test_bad_arguments_raise = refusals(
    ([[PRIOR], [PRIOR]], [0, 0], {}, "ranks must not be equal"),
    ([[PRIOR]] * 3, [0, 1, 1], {"draw_margin": 0.0}, "ranks must not be equal"),
    ([[PRIOR], [PRIOR]], [0, 1], {"draw_probability": 1.0}, "draw_probability"),
    ([[PRIOR], [PRIOR]], [0, 1], {"draw_probability": 0.1, "draw_margin": 1.0}, "left out"),
    ([[PRIOR], [PRIOR]], [0, 1], {"draw_margin": math.nan}, "draw_margin"),
    ([[PRIOR], [PRIOR]], [0, 1], {"tau": -1.0}, "tau"),
    ([[PRIOR], [PRIOR]], [0, 1], {"beta": 0.0}, "beta"),
    ([[PRIOR], [PRIOR]], [0, 1], {"beta": [1.0]}, "beta"),
    ([[PRIOR], [PRIOR]], [0, 1], {"tolerance": 0.0}, "tolerance"),
    ([[PRIOR]], [0], {}, "at least two sides"),
    (5, [0, 1], {}, "teams must have one entry for each side, in order, got 5"),
    ([{PRIOR}, [PRIOR]], [0, 1], {}, "teams must have one entry for each side, in order"),
    ({(PRIOR,): 1, (PRIOR, PRIOR): 2}, [0, 1], {}, "teams must have one .* in order"),
    ([[PRIOR], [PRIOR]], [0, 1], {"weights": 5}, "weights must have one entry"),
    ([[PRIOR], []], [0, 1], {}, r"teams\[1\] must have at least one member"),
    ([PRIOR, PRIOR], [0, 1], {}, r"teams\[0\] must be a list of \(mu, sigma\) pairs"),
    ([[PRIOR], [(25.0,)]], [0, 1], {}, r"teams\[1\] must be a list"),
    ([[PRIOR], [(math.nan, 1.0)]], [0, 1], {}, r"mu of teams\[1\].*nan at index 0"),
    ([[PRIOR], [PRIOR, (1.0, 0.0)]], [0, 1], {}, r"sigma of teams\[1\].*0.0 at index 1"),
    ([[PRIOR], [("25", 1.0)]], [0, 1], {}, r"mu of teams\[1\]"),
    ([[PRIOR], [PRIOR]], [0, 1], {"weights": [[1.0]]}, "weights must have one number"),
    ([[PRIOR], [PRIOR]], [0, 1], {"weights": [[1.0], [1.1e9]]}, r"weights\[1\]"),
    ([[PRIOR], [PRIOR]], [0, 1], {"weights": [[1.0], [1e-7]]}, r"weights\[1\]"),
    ([[PRIOR], [PRIOR]], [0, 1], {"weights": [[0.0], [1.0]]}, r"weights\[0\]"),
    ([[PRIOR] * 2, [PRIOR]], [0, 1], {"weights": [[1.0, 0.0], [1e-7]]}, r"weights\[1\]"),
    call=lambda teams, ranks, keywords: rate(teams, ranks, **{"beta": BETA, **keywords}),
)


def test_the_order_of_members_with_tiny_weights_does_not_matter() -> None:
    """Between such sides, a win by the draw margin is almost impossible."""
    rng = np.random.default_rng(12345)
    for _ in range(200):
        sides = int(rng.integers(2, 5))
        sizes = rng.integers(1, 4, sides)
        teams = []
        weights = []
        for members in sizes:
            mu = rng.normal(25, 8, members)
            sigma = 10.0 ** rng.uniform(-1.0, 1.2, members)
            teams.append(np.column_stack((mu, sigma)).tolist())
            weights.append(rng.uniform(0.1, 1.5, members).tolist())
        for side in rng.permutation(sides)[:2]:
            weights[side] = (10.0 ** rng.uniform(-6.0, -5.0, sizes[side])).tolist()
        ranks = rng.integers(0, sides, sides).tolist()
        game = {"beta": BETA, "tau": 0.1, "draw_probability": float(rng.choice([0.01, 0.1, 0.5]))}
        rated = rate(teams, ranks, weights=weights, **game)
        reversed_teams = [side[::-1] for side in teams]
        reversed_weights = [row[::-1] for row in weights]
        again = rate(reversed_teams, ranks, weights=reversed_weights, **game)
        for ratings, reversed_ratings in zip(rated, again, strict=True):
            assert np.allclose(ratings, reversed_ratings[::-1], rtol=1e-8, atol=1e-8)


# Nanoseconds since 1970, beyond the precision of float64.
T = 1_700_000_000_123_456_789
EXACT_RANKS = [
    [T, T + 1, T + 2],
    np.array([T, T + 1, T + 2]),
    np.array([2**64 - 3, 2**64 - 2, 2**64 - 1], dtype=np.uint64),
    [np.int64(T), np.uint64(T + 1), T + 2],
    [float(2**53), 2**53 + 1, float(2**53 + 2)],
    range(T, T + 3),
]


@pytest.mark.parametrize("ranks", EXACT_RANKS, ids=repr)
def test_ranks_beyond_floats_are_no_draws(ranks: Any) -> None:
    # Without a margin, a draw would raise.
    assert rate([[PRIOR]] * 3, ranks, beta=4.0) == rate([[PRIOR]] * 3, [0, 1, 2], beta=4.0)
    log = MatchLog.from_games([[["a"], ["b"], ["c"]]], [ranks])
    assert log.rank.tolist() == [2, 1, 0]  # as scores, of which the highest wins


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8))
def test_dense_rank_compares_integers_exactly(values: list[int]) -> None:
    distinct = sorted(set(values))
    expected = [distinct.index(value) for value in values]
    assert dense_rank("x", values).tolist() == expected
    assert dense_rank("x", np.array(values)).tolist() == expected


@pytest.mark.parametrize(
    "bad",
    [
        [0, math.nan],
        [0, math.inf],
        [0, np.float32("nan")],
        [0, "1"],
        [0, None],
        [0, 1j],
        [0, [1]],
        np.array([0.0, math.nan]),
        np.array([[0, 1]]),
        np.array(["0", "1"]),
        3,
        [0, 1, 2],
        {0, 1},
        {0: 1, 1: 0},
    ],
    ids=repr,
)
def test_bad_ranks_raise(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"ranks(\[1\])? must"):
        rate([[PRIOR]] * 2, bad, beta=4.0)
    with pytest.raises(ValueError, match=r"ranks(\[1\])? must"):
        Elo().rate([[(1200.0, 0.0)]] * 2, bad)


NORMAL = NormalDist()


# The package's own normal is exact to seven digits; SciPy's is as exact as this one, and slow.
BACKEND = (lambda x: 0.5 * math.erfc(-x / math.sqrt(2.0)), NORMAL.pdf, NORMAL.inv_cdf)


def random_weights(rng: np.random.Generator, sizes: list[int]) -> list[list[float]]:
    """Return weights of members, of whom some play the whole game and some none of it."""
    weights = []
    for members in sizes:
        row = rng.uniform(0.3, 3.0, members)
        if rng.random() < 0.5:
            row[0] = 1.0
        row[1:] *= rng.random(members - 1) < 0.8
        weights.append(row.tolist())
    return weights


def weights_by_name(
    names: list[list[str]], weights: list[list[float]]
) -> tuple[list[dict[str, float]], dict[tuple[int, str], float]]:
    """Return a dict for each side and one for the game, without weights of 1."""
    by_side: list[dict[str, float]] = []
    by_game = {}
    for side, (members, row) in enumerate(zip(names, weights, strict=True)):
        by_side.append({})
        for name, weight in zip(members, row, strict=True):
            if weight != 1.0:
                by_side[side][name] = weight
                by_game[side, name] = weight
    return by_side, by_game


@pytest.mark.parametrize(
    ("seed", "games"), [(0, 40), pytest.param(1, 4000, marks=pytest.mark.slow)]
)
def test_random_games_of_every_form_agree_with_the_package(seed: int, games: int) -> None:
    """Sides are about even, since the package fails or is inaccurate for large gaps."""
    package = pytest.importorskip("trueskill")
    rng = np.random.default_rng(seed)
    for _ in range(games):
        sides = int(rng.integers(2, 9))
        sizes = [1] * sides
        if rng.random() < 0.6:
            sizes = rng.integers(1, 5, sides).tolist()
        ranks = rng.permutation(sides).tolist()
        if rng.random() < 0.4:
            ranks = rng.integers(0, sides, sides).tolist()
        teams = []
        named_teams = []
        names = []
        for side, members in enumerate(sizes):
            mu = rng.normal(25.0, 6.0, members) / members
            sigma = rng.uniform(1.0, 9.0, members)
            teams.append(list(zip(mu.tolist(), sigma.tolist(), strict=True)))
            names.append([f"{side}-{k}" for k in range(members)])
            named_teams.append(dict(zip(names[side], teams[side], strict=True)))
        weights = None
        forms: list[Any] = [(teams, None), (named_teams, None)]
        if rng.random() < 0.4:
            weights = random_weights(rng, sizes)
            by_side, by_game = weights_by_name(names, weights)
            forms = [(teams, weights), (named_teams, by_side), (named_teams, by_game)]
        chance = float(rng.choice([0.02, 0.1, 0.3, 0.6]))
        ours = TrueSkill(draw_probability=chance)
        theirs = package.TrueSkill(draw_probability=chance, backend=BACKEND)
        groups = [tuple(starmap(package.Rating, side)) for side in teams]
        expected = []
        for side in theirs.rate(groups, ranks, weights, min_delta=1e-12):
            expected.extend((rating.mu, rating.sigma) for rating in side)
        quality = theirs.quality(groups, weights)
        for groups_in_form, weights_in_form in forms:
            rated = ours.rate(groups_in_form, ranks, weights_in_form)
            assert list(map(type, rated)) == list(map(type, groups_in_form))
            assert_same_ratings(rated, expected)
            our_quality = ours.quality(groups_in_form, weights_in_form)
            assert our_quality == pytest.approx(quality, rel=1e-7)
        assert ours.rate(teams, None, weights) == ours.rate(teams, range(sides), weights)


def assert_same_ratings(rated: list[Any], expected: list[tuple[float, float]]) -> None:
    ratings = []
    for side in rated:
        if isinstance(side, dict):
            ratings.extend(side.values())
        else:
            ratings.extend(side)
    np.testing.assert_allclose(ratings, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_two_players_and_constants_agree_with_the_package() -> None:
    package = pytest.importorskip("trueskill")
    theirs = package.TrueSkill(backend=BACKEND)
    ours = TrueSkill()
    new = ours.create_rating()
    other = ours.create_rating(30.0, 2.0)
    assert new == (theirs.mu, theirs.sigma)
    pair = (package.Rating(*new), package.Rating(*other))
    for drawn in (False, True):
        expected = theirs.rate_1vs1(*pair, drawn)
        for mine, their in zip(ours.rate_1vs1(new, other, drawn), expected, strict=True):
            assert mine == pytest.approx((their.mu, their.sigma), abs=1e-6)
    quality = theirs.quality_1vs1(*pair)
    assert ours.quality_1vs1(new, other) == pytest.approx(quality, rel=1e-12)
    assert ours.expose(other) == pytest.approx(theirs.expose(pair[1]), rel=1e-12)
    assert TrueSkill(k=2.0).expose(other) == 26.0
    assert TrueSkill(mu=-5.0, sigma=2.0).expose((1.0, 2.0)) == 6.0
    assert expose([30.0, 20.0], 2.0).tolist() == [24.0, 14.0]
    with pytest.raises(ValueError, match="sigma"):
        expose(25.0, -1.0)


test_bad_arguments_of_the_object_raise = refusals(
    (lambda t: t.rate([{"a": (25.0, 8.0)}, 3]), "groups"),
    (lambda t: t.rate([[(25.0, 8.0)]] * 2, weights={(0, "a"): 1.0}), "weights"),
    (lambda t: t.rate([{"a": (25.0, 8.0)}] * 2, weights=[{"b": 1.0}, {}]), "weights"),
    (lambda t: t.rate([[(25.0, 8.0)]] * 2, weights=[[1.0]]), "weights"),
    (lambda t: t.create_rating(math.nan), "mu"),
    (lambda t: t.rate_1vs1((25.0, 8.0), (25.0, 8.0), drawn="no"), "drawn must be True or False"),
    (lambda t: t.expose(25), r"rating must be a \(mu, sigma\) pair, got 25"),
    (lambda t: t.expose((1, 2, 3)), r"rating must be a \(mu, sigma\) pair"),
    (lambda t: t.expose((25.0, -1.0)), "sigma must be positive"),
    (lambda t: expose([1, 2], [1, 2, 3]), r"broadcast, got mu \(2,\), sigma \(3,\)"),
    (lambda t: TrueSkill(draw_probability=1.0), "draw_probability"),
    (lambda t: TrueSkill(sigma=0.0), "sigma"),
    (lambda t: TrueSkill(k=-1.0), "k must"),
    call=lambda change: change(TrueSkill()),
)
