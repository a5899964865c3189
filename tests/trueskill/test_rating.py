"""rate: closed form, symmetries, extremes, partial play, refusals and speed's short cuts."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchenv.trueskill import (
    ConvergenceWarning,
    Rating,
    draw_margin_from_probability,
    expose,
    rate,
    update,
)

BETA, TAU = 25.0 / 6.0, 25.0 / 300.0
PRIOR = (25.0, 25.0 / 3.0)
beliefs = st.tuples(st.floats(-50.0, 50.0), st.floats(0.05, 20.0))


@given(
    i=beliefs,
    j=beliefs,
    outcome=st.sampled_from([1, 0, -1]),
    tau=st.sampled_from([0.0, 0.5]),
    sizes=st.sampled_from([None, [[1.0], [1.0]]]),
)
@settings(max_examples=200, deadline=None)
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
@settings(max_examples=50, deadline=None)
def test_the_order_in_which_sides_are_named_does_not_matter(skills, random) -> None:
    order = list(range(len(skills)))
    random.shuffle(order)
    straight = rate([[s] for s in skills], range(len(skills)), beta=BETA, draw_probability=0.1)
    shuffled = rate([[skills[k]] for k in order], order, beta=BETA, draw_probability=0.1)
    for place, k in enumerate(order):
        assert shuffled[place] == straight[k]


def test_mirror_image() -> None:
    skills = [(30.0, 3.0), (20.0, 8.0), (26.0, 2.0), (25.0, 5.0)]
    rated = rate([[s] for s in skills], [0, 1, 1, 2], beta=BETA, draw_probability=0.1)
    # Named from the last to the first, so that the tied ones stand in mirrored order too.
    turned = [[(-mu, sigma)] for mu, sigma in reversed(skills)]
    mirrored = rate(turned, [0, 1, 1, 2], beta=BETA, draw_probability=0.1)
    for (a,), (b,) in zip(rated, reversed(mirrored), strict=True):
        assert (a.mu, a.sigma) == pytest.approx((-b.mu, b.sigma), rel=1e-7)


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


@pytest.mark.parametrize("gap_in_sigmas", [10, 100, 1000])
@pytest.mark.parametrize("ranks", [[0, 1], [1, 0], [0, 0]])
def test_gaps_of_a_thousand_sigmas(gap_in_sigmas: int, ranks: list[int]) -> None:
    gap = gap_in_sigmas * PRIOR[1]
    upset, favourite = rate(
        [[PRIOR], [(25.0 + gap, PRIOR[1])]], ranks, beta=BETA, draw_probability=0.1
    )
    c = math.sqrt(2.0 * PRIOR[1] ** 2 + 2.0 * BETA**2)
    expected_shift = 0.0 if ranks == [1, 0] else gap * PRIOR[1] ** 2 / c**2
    # Who must have been level at the end was so within a few c; that is what moves them.
    assert abs(upset[0].mu - 25.0 - expected_shift) < c
    assert abs(upset[0].mu - 25.0 + favourite[0].mu - 25.0 - gap) < 1e-9 * gap
    assert 0.5 * PRIOR[1] < upset[0].sigma <= PRIOR[1]


def sane(teams: list, rated: list) -> None:
    for side, new_side in zip(teams, rated, strict=True):
        for (_, sigma), new in zip(side, new_side, strict=True):
            assert math.isfinite(new.mu)
            assert 0.0 < new.sigma <= sigma * (1.0 + 1e-12)


@pytest.mark.parametrize("draw_probability", [1e-9, 0.1, 0.999])
def test_three_hundred_sides(draw_probability: float) -> None:
    rng = np.random.default_rng(0)
    teams = [[(float(rng.normal(25.0, 8.0)), 8.0)] for _ in range(300)]
    ranks = rng.integers(0, 200, 300).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rated = rate(teams, ranks, beta=BETA, draw_probability=draw_probability)
    sane(teams, rated)
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


@pytest.mark.parametrize("draw_probability", [1e-9, 0.999])
@pytest.mark.parametrize("ranks", [[0, 1], [1, 0], [0, 0]])
def test_one_against_fifty(draw_probability: float, ranks: list[int]) -> None:
    teams = [[PRIOR], [PRIOR] * 50]
    rated = rate(teams, ranks, beta=BETA, draw_probability=draw_probability)
    sane(teams, rated)
    assert len(set(rated[1])) == 1


def test_wild_games_stay_sane_and_nearly_all_converge() -> None:
    rng = np.random.default_rng(5)
    unconverged = 0
    for _ in range(1500):
        sides = int(rng.choice([2, 3, 4, 8, 30]))
        spread, scale = 10.0 ** rng.uniform(-1, 4), 10.0 ** rng.uniform(-3, 3)
        teams = [
            [
                (float(rng.normal(0.0, spread)), float(scale * 10.0 ** rng.uniform(-1, 1)))
                for _ in range(rng.choice([1, 1, 2, 5, 50]))
            ]
            for _ in range(sides)
        ]
        ranks = rng.integers(0, sides, sides).tolist()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rated = rate(
                teams,
                ranks,
                beta=10.0 ** rng.uniform(-3, 2),
                draw_probability=float(rng.choice([1e-9, 0.1, 0.999])),
            )
        sane(teams, rated)
        unconverged += len(caught)
    assert unconverged <= 1


def test_a_huge_sigma_does_not_wipe_out_the_rest_of_the_side() -> None:
    newcomer, known = (0.0, 1e9), (0.0, 1e-3)
    (side, (other,)) = rate([[newcomer, known], [(0.0, 1.0)]], [0, 1], beta=1.0)
    assert side[0].sigma == pytest.approx(1e9 * math.sqrt(1.0 - 2.0 / math.pi), rel=1e-6)
    assert side[1].sigma == pytest.approx(1e-3, rel=1e-6)
    assert other.sigma == pytest.approx(1.0, rel=1e-6)


def test_a_run_that_does_not_converge_says_so() -> None:
    teams = [[PRIOR]] * 8
    with pytest.warns(ConvergenceWarning, match="within 1 iterations"):
        rate(teams, range(8), beta=BETA, max_iterations=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rate(teams, range(8), beta=BETA)
        rate([[PRIOR]] * 2, range(2), beta=BETA, max_iterations=1)


def test_tighter_tolerance_moves_the_result_by_less_than_the_looser_one() -> None:
    teams = [[(25.0 + 3.0 * k % 7, 8.0)] for k in range(8)]
    exact = np.array(rate(teams, range(8), beta=BETA, tolerance=1e-13)).ravel()
    for tolerance in (1e-2, 1e-4, 1e-6, 1e-8):
        near = np.array(rate(teams, range(8), beta=BETA, tolerance=tolerance)).ravel()
        assert np.abs(near - exact).max() < 10.0 * tolerance


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
        ([[PRIOR], [PRIOR]], [0, 1], {"max_iterations": 0}, "max_iterations"),
        ([[PRIOR], [PRIOR]], [0, 1, 2], {}, "ranks"),
        ([[PRIOR], [PRIOR]], [0.0, math.nan], {}, "ranks"),
        ([[PRIOR], [PRIOR]], ["a", "b"], {}, "ranks"),
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
        ([[PRIOR], [PRIOR]], [0, 1], {"weights": [[0.0], [1.0]]}, r"weights\[0\]"),
        ([[PRIOR], [PRIOR]], [0, 1], {"weights": [[math.nan], [1.0]]}, r"weights\[0\]"),
    ],
)
def test_bad_input_is_refused(teams, ranks, keywords, message) -> None:
    with pytest.raises(ValueError, match=message):
        rate(teams, ranks, **{"beta": BETA, **keywords})


def test_expose() -> None:
    assert expose(25.0, 25.0 / 3.0) == pytest.approx(0.0, abs=1e-12)
    assert expose([30.0, 20.0], 2.0).tolist() == [24.0, 14.0]
    with pytest.raises(ValueError, match="sigma"):
        expose(25.0, -1.0)
