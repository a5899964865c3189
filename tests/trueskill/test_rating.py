"""rate: independent references, symmetries, extremes, partial play, refusals and short paths."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from matchenv.logs import MatchLog
from matchenv.trueskill import (
    ConvergenceWarning,
    Rating,
    draw_margin_from_probability,
    rate,
    team_match_quality,
    update,
)
from matchenv.trueskill.teams import dense_rank

BETA, TAU = 25.0 / 6.0, 25.0 / 300.0
PRIOR = (25.0, 25.0 / 3.0)
beliefs = st.tuples(st.floats(-50.0, 50.0), st.floats(0.05, 20.0))


def test_the_published_value_that_is_wrong_after_seven_digits() -> None:
    winner, loser = rate(
        [[(25.0, 25.0 / 3.0)], [(25.0, 25.0 / 3.0)]],
        [0, 1],
        beta=BETA,
        tau=TAU,
        draw_probability=0.1,
    )
    assert winner[0] == pytest.approx((29.39583169299151, 7.17147580700922), rel=1e-14)
    assert loser[0] == pytest.approx((50.0 - 29.39583169299151, 7.17147580700922), rel=1e-14)


@pytest.mark.parametrize(
    ("teams", "ranks", "weights"),
    [
        ([[PRIOR]] * 3, [0, 1, 2], None),
        ([[(18.0, 5.0)], [(25.0, 8.0)], [(30.0, 3.0)]], [0, 1, 1], None),
        ([[(25.0, 1.0)], [(25.0, 8.0)], [(25.0, 1.0)]], [0, 0, 0], None),
        ([[(25.0, 8.0), (29.0, 2.0)], [(22.0, 4.0), (30.0, 6.0)]], [0, 1], None),
        ([[(25.0, 8.0), (29.0, 2.0)], [(22.0, 4.0), (30.0, 6.0)]], [0, 0], [[1, 0.4], [0.7, 1]]),
    ],
)
def test_beliefs_are_near_the_posterior_by_sampling(
    teams: list, ranks: list[int], weights: list | None
) -> None:
    margin, samples, rng = 3.0, 300_000, np.random.default_rng(3)
    belief = np.concatenate(teams)
    skill = belief[:, 0] + belief[:, 1] * rng.standard_normal((samples, len(belief)))
    share = np.concatenate(weights or [[1.0] * len(side) for side in teams])
    performance = (skill + BETA * rng.standard_normal(skill.shape)) * share
    starts = np.cumsum([0, *map(len, teams[:-1])])
    gap = -np.diff(np.add.reduceat(performance, starts, axis=1), axis=1)
    happened = np.where(np.diff(ranks) == 0, np.abs(gap) <= margin, gap > margin).all(axis=1)
    kept = skill[happened]
    rated = np.concatenate(rate(teams, ranks, beta=BETA, draw_margin=margin, weights=weights))
    # Three sides are approximated.
    error = 4.5 / np.sqrt(len(kept)) + (0.01 if len(teams) > 2 else 0.0)
    assert (np.abs(rated[:, 0] - kept.mean(axis=0)) < error * kept.std(axis=0)).all()
    assert_allclose(rated[:, 1], kept.std(axis=0), rtol=error)


@given(
    i=beliefs,
    j=beliefs,
    outcome=st.sampled_from([1, 0, -1]),
    tau=st.sampled_from([0.0, 0.5]),
    sizes=st.sampled_from([None, [[1.0], [1.0]]]),
)
@settings(max_examples=60, deadline=None)
def test_two_players_equal_the_closed_form(i, j, outcome, tau, sizes) -> None:
    margin = draw_margin_from_probability(0.2, BETA)
    expected = update(
        i[0], math.hypot(i[1], tau), j[0], math.hypot(j[1], tau), outcome, BETA, margin
    )
    ranks = {1: [0, 1], 0: [3, 3], -1: [2, -1]}[outcome]
    # With weights of 1 the game goes through the factor graph, without by the short cut.
    (a,), (b,) = rate([[i], [j]], ranks, beta=BETA, tau=tau, draw_probability=0.2, weights=sizes)
    assert (*a, *b) == pytest.approx(expected, rel=1e-11, abs=1e-11)


@given(st.lists(beliefs, min_size=2, max_size=6, unique=True), st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_the_order_in_which_sides_are_named_does_not_matter(skills, random) -> None:
    order = list(range(len(skills)))
    random.shuffle(order)
    straight = rate([[s] for s in skills], range(len(skills)), beta=BETA, draw_probability=0.1)
    shuffled = rate([[skills[k]] for k in order], order, beta=BETA, draw_probability=0.1)
    for place, k in enumerate(order):
        assert shuffled[place] == straight[k]


def test_a_weight_of_one_is_full_play_and_of_zero_is_absence() -> None:
    teams = [[(25.0, 8.0), (30.0, 3.0)], [(28.0, 4.0)], [(20.0, 7.0)]]
    keywords = {"beta": BETA, "draw_margin": 0.7}
    whole = rate(teams, [0, 1, 2], weights=[[1, 1], [1], [1]], **keywords)
    assert whole == rate(teams, [0, 1, 2], **keywords)
    absent = rate(teams, [0, 1, 2], weights=[[1, 0], [1], [1]], tau=TAU, **keywords)
    assert absent[0][1] == pytest.approx((30.0, math.hypot(3.0, TAU)))
    without = rate([teams[0][:1], *teams[1:]], [0, 1, 2], tau=TAU, **keywords)
    assert absent[0][0] == pytest.approx(without[0][0])
    assert absent[1][0] == pytest.approx(without[1][0])
    assert absent[2][0] == pytest.approx(without[2][0])


def test_arrays_tuples_and_ratings_are_teams_too() -> None:
    expected = rate([[PRIOR], [PRIOR, (30.0, 1.0)]], [0, 1], beta=BETA)
    arrays = [np.array([PRIOR]), np.array([PRIOR, (30.0, 1.0)])]
    assert rate(arrays, np.array([0, 1]), beta=np.float64(BETA)) == expected
    assert rate(((Rating(*PRIOR),), (PRIOR, (30, 1))), (1.5, 2.5), beta=BETA) == expected
    assert type(expected[0][0].mu) is float


@pytest.mark.parametrize("draw_probability", [1e-9, 0.999])
def test_three_hundred_sides(draw_probability: float) -> None:
    rng = np.random.default_rng(0)
    teams = [[(float(rng.normal(25.0, 8.0)), 8.0)] for _ in range(300)]
    ranks = rng.integers(0, 200, 300).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rated = rate(teams, ranks, beta=BETA, draw_probability=draw_probability)
    beliefs = np.array(rated)[:, 0]
    assert np.isfinite(beliefs).all()
    assert ((beliefs[:, 1] > 0.0) & (beliefs[:, 1] <= 8.0)).all()
    # The mean performances, read off the means of skill, must obey the ranking themselves:
    # what the ranking allows is a convex set.
    order = np.argsort(ranks, kind="stable")
    before = np.array([teams[k][0][0] for k in order])
    after = np.array([rated[k][0].mu for k in order])
    performance = before + (after - before) * (64.0 + BETA**2) / 64.0
    lead, tied = -np.diff(performance), np.diff(np.sort(ranks)) == 0
    margin = draw_margin_from_probability(draw_probability, BETA)
    assert (lead[~tied] > margin).all()
    assert (np.abs(lead[tied]) < margin + 1e-6).all()


def test_a_huge_sigma_does_not_wipe_out_the_rest_of_the_side() -> None:
    newcomer, known = (0.0, 1e9), (0.0, 1e-3)
    (side, (other,)) = rate([[newcomer, known], [(0.0, 1.0)]], [0, 1], beta=1.0)
    assert side[0].sigma == pytest.approx(1e9 * math.sqrt(1.0 - 2.0 / math.pi), rel=1e-6)
    assert side[1].sigma == pytest.approx(1e-3, rel=1e-6)
    assert other.sigma == pytest.approx(1.0, rel=1e-6)


def test_a_run_that_does_not_converge_says_so() -> None:
    teams = [[PRIOR]] * 8
    with pytest.warns(ConvergenceWarning, match="within 100 iterations"):
        rate(teams, range(8), beta=BETA, tolerance=1e-150)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rate(teams, range(8), beta=BETA)
        rate([[PRIOR]] * 2, range(2), beta=BETA, tolerance=1e-150)


@pytest.mark.parametrize(
    ("teams", "ranks", "keywords", "message"),
    [
        ([[PRIOR], [PRIOR]], [0, 0], {}, "ranks must not be equal"),
        ([[PRIOR], [PRIOR]], [0, 0], {"draw_probability": 0.0}, "ranks must not be equal"),
        ([[PRIOR]] * 3, [0, 1, 1], {"draw_margin": 0.0}, "ranks must not be equal"),
        ([[PRIOR], [PRIOR]], [0, 1], {"draw_probability": 1.0}, "draw_probability"),
        ([[PRIOR], [PRIOR]], [0, 1], {"draw_probability": 0.1, "draw_margin": 1.0}, "left out"),
        ([[PRIOR], [PRIOR]], [0, 1], {"draw_margin": math.nan}, "draw_margin"),
        ([[PRIOR], [PRIOR]], [0, 1], {"tau": -1.0}, "tau"),
        ([[PRIOR], [PRIOR]], [0, 1], {"beta": 0.0}, "beta"),
        ([[PRIOR], [PRIOR]], [0, 1], {"beta": [1.0]}, "beta"),
        ([[PRIOR], [PRIOR]], [0, 1], {"tolerance": 0.0}, "tolerance"),
        ([[PRIOR], [PRIOR]], [0, 1, 2], {}, "ranks"),
        ([[PRIOR]], [0], {}, "at least two sides"),
        (5, [0, 1], {}, "teams must have one entry for each side, got 5"),
        (None, [0, 1], {}, "teams must have one entry for each side, got None"),
        ([[PRIOR], [PRIOR]], [0, 1], {"weights": 5}, "weights must have one entry"),
        ([[PRIOR], []], [0, 1], {}, r"teams\[1\] must have at least one member"),
        ([PRIOR, PRIOR], [0, 1], {}, r"teams\[0\] must be a list of \(mu, sigma\) pairs"),
        ([[PRIOR], [(25.0,)]], [0, 1], {}, r"teams\[1\] must be a list"),
        ([[PRIOR], [(math.nan, 1.0)]], [0, 1], {}, r"mu of teams\[1\]\[0\].*nan"),
        ([[PRIOR], [(1.0, math.inf)]], [0, 1], {}, r"sigma of teams\[1\]\[0\].*inf"),
        ([[PRIOR], [PRIOR, (1.0, 0.0)]], [0, 1], {}, r"sigma of teams\[1\]\[1\].*0.0"),
        ([[PRIOR], [("25", 1.0)]], [0, 1], {}, r"mu of teams\[1\]\[0\]"),
        ([[PRIOR], [PRIOR]], [0, 1], {"weights": [[1.0]]}, "weights must have one number"),
        ([[PRIOR], [PRIOR]], [0, 1], {"weights": [[1.0], [1.1e9]]}, r"weights\[1\]"),
        ([[PRIOR], [PRIOR]], [0, 1], {"weights": [[1.0], [1e-7]]}, r"weights\[1\]"),
        ([[PRIOR], [PRIOR]], [0, 1], {"weights": [[0.0], [1.0]]}, r"weights\[0\]"),
        ([[PRIOR], [PRIOR]], [0, 1], {"weights": [[math.nan], [1.0]]}, r"weights\[0\]"),
    ],
)
def test_bad_input_is_refused(teams, ranks, keywords, message) -> None:
    with pytest.raises(ValueError, match=message):
        rate(teams, ranks, **{"beta": BETA, **keywords})


def test_the_order_of_members_of_the_least_weights_does_not_matter() -> None:
    """Between two such sides, a win by the draw margin is next to impossible."""
    rng = np.random.default_rng(12345)
    for _ in range(200):
        sides = int(rng.integers(2, 5))
        sizes = rng.integers(1, 4, sides)
        teams = [
            [(float(rng.normal(25, 8)), float(10.0 ** rng.uniform(-1.0, 1.2))) for _ in range(n)]
            for n in sizes
        ]
        weights = [rng.uniform(0.1, 1.5, n).tolist() for n in sizes]
        for side in rng.permutation(sides)[:2]:
            weights[side] = (10.0 ** rng.uniform(-6.0, -5.0, sizes[side])).tolist()
        ranks = rng.integers(0, sides, sides).tolist()
        game = {"beta": BETA, "tau": 0.1, "draw_probability": float(rng.choice([0.01, 0.1, 0.5]))}
        found = rate(teams, ranks, weights=weights, **game)
        turned = [row[::-1] for row in teams], [row[::-1] for row in weights]
        again = [row[::-1] for row in rate(turned[0], ranks, weights=turned[1], **game)]
        for one, other in zip(found, again, strict=True):
            assert np.allclose(one, other, rtol=1e-8, atol=1e-8)


def test_what_was_given_is_not_changed_and_may_be_a_generator() -> None:
    sides = [np.array([[25.0, 8.0], [20.0, 3.0]]), np.array([[22.0, 2.0]])]
    before = [side.copy() for side in sides]
    found = rate(sides, [0, 1], beta=4.0)
    team_match_quality(sides, 4.0)
    assert all(np.array_equal(a, b) for a, b in zip(sides, before, strict=True))
    assert rate((side for side in sides), [0, 1], beta=4.0) == found


# Nanoseconds since 1970: float64 cannot tell neighbours apart.
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
    # Without a margin a draw would be refused.
    assert rate([[PRIOR]] * 3, ranks, beta=4.0) == rate([[PRIOR]] * 3, [0, 1, 2], beta=4.0)
    log = MatchLog.from_games([[["a"], ["b"], ["c"]]], [ranks])
    assert log.rank.tolist() == [2, 1, 0]  # as scores, of which the highest wins


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8))
def test_places_are_what_exact_comparison_says(values: list[int]) -> None:
    expected = [len({other for other in values if other < value}) for value in values]
    assert dense_rank("x", values).tolist() == expected
    assert dense_rank("x", np.array(values)).tolist() == expected


@pytest.mark.parametrize(
    "bad",
    [[0, math.nan], [0, math.inf], [0, np.float32("nan")], [0, "1"], [0, None], [0, 1j], [0, [1]],
     np.array([0.0, math.nan]), np.array([[0, 1]]), np.array(["0", "1"]), 3],
    ids=repr,
)  # fmt: skip
def test_ranks_that_are_no_finite_numbers_are_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match="ranks must"):
        rate([[PRIOR]] * 2, bad, beta=4.0)
