"""Calls with plain floats go a short way; they must say what arrays and weights of 1 say."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchenv import trueskill
from matchenv.trueskill import rate, team_match_quality

ODD = [0.0, -0.0, -1.0, 1e-151, 1e-150, 1e150, 1.1e150, math.inf, -math.inf, math.nan]
MEANS = st.one_of(st.floats(-1e3, 1e3), st.sampled_from(ODD))
SPREADS = st.one_of(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.sampled_from(ODD))
MARGINS = st.one_of(st.just(0.0), st.floats(0.0, 1e3), st.sampled_from(ODD))
PAIRS = st.tuples(MEANS, SPREADS, MEANS, SPREADS)


def said(call: Callable[[], Any]) -> Any:
    """What a call gives, or the words of its refusal."""
    try:
        return call()
    except ValueError as error:
        return str(error)


def as_shown(result: Any) -> str:
    """All digits, and the types of numbers."""
    return repr(result)


def assert_same(function: Callable[..., Any], *numbers: Any) -> None:
    with np.errstate(all="ignore"):
        short = said(lambda: function(*numbers))
        long = said(lambda: function(*map(np.array, numbers)))
    assert as_shown(short) == as_shown(long), (function.__name__, numbers)


@settings(max_examples=150, deadline=None)
@given(pair=PAIRS, beta=SPREADS, margin=MARGINS, outcome=st.integers(-2, 2))
def test_a_pair_of_floats_gives_what_arrays_give(pair, beta, margin, outcome) -> None:
    for function in (
        trueskill.win_probability,
        trueskill.draw_probability,
    ):
        assert_same(function, *pair, beta)
        assert_same(function, *pair, beta, margin)
    for function in (trueskill.draw_density, trueskill.match_quality):
        assert_same(function, *pair, beta)
    assert_same(trueskill.true_draw_density, pair[0], pair[2], beta)
    assert_same(trueskill.update, *pair, outcome, beta, margin)


@pytest.mark.parametrize("odd", [1, True, np.float32(0.5), 2**70, "1", None, [1.0], 1j])
@pytest.mark.parametrize("place", range(7))
def test_other_numbers_give_what_arrays_give(odd, place) -> None:
    numbers: list[Any] = [1.0, 2.0, 3.0, 1.0, 1, 1.5, 0.5]
    numbers[place] = odd
    short = said(lambda: trueskill.update(*numbers))
    numbers = [np.array(x) if type(x) in (int, float) and abs(x) < 9 else x for x in numbers]
    assert as_shown(short) == as_shown(said(lambda: trueskill.update(*numbers)))


SIDES = st.lists(st.lists(st.tuples(MEANS, SPREADS), min_size=0, max_size=9), max_size=4)
GOOD_SIDES = st.lists(
    st.lists(st.tuples(st.floats(-50.0, 50.0), st.floats(0.1, 10.0)), min_size=1, max_size=9),
    min_size=2,
    max_size=4,
)
RANKS = st.one_of(
    st.integers(0, 3), st.floats(0.0, 3.0), st.sampled_from([2**53, 2**53 + 1, 10**400, math.nan])
)


@settings(max_examples=100, deadline=None)
@given(
    teams=st.one_of(GOOD_SIDES, SIDES),
    ranks=st.lists(RANKS, min_size=4, max_size=4),
    beta=SPREADS,
    chance=st.sampled_from([None, 0.1]),
)
def test_teams_of_floats_give_what_weights_of_one_give(teams, ranks, beta, chance) -> None:
    whole = [[1.0] * len(side) for side in teams]
    ranks = ranks[: len(teams)]
    assert as_shown(said(lambda: team_match_quality(teams, beta))) == as_shown(
        said(lambda: team_match_quality(teams, beta, whole))
    )
    short = said(lambda: rate(teams, ranks, beta=beta, tau=0.1, draw_probability=chance))
    long = said(
        lambda: rate(teams, ranks, beta=beta, tau=0.1, draw_probability=chance, weights=whole)
    )
    if len(teams) == 2 and not isinstance(long, str):
        # Two sides are the closed form, which the general sums meet but for rounding.
        for mine, other in zip(short, long, strict=True):
            assert np.allclose(mine, other, rtol=1e-11, atol=1e-11)
    else:
        assert as_shown(short) == as_shown(long)


@settings(max_examples=200, deadline=None)
@given(
    numbers=st.tuples(PAIRS, PAIRS),
    ranks=st.lists(RANKS, min_size=2, max_size=3),
    beta=SPREADS,
    chance=st.sampled_from([None, 0.1]),
)
def test_two_against_two_give_what_weights_of_one_give(numbers, ranks, beta, chance) -> None:
    """They have a way of their own."""
    teams = [[(a, b), (c, d)] for a, b, c, d in numbers]
    game = {"beta": beta, "tau": 0.1, "draw_probability": chance}
    short = said(lambda: rate(teams, ranks, **game))
    long = said(lambda: rate(teams, ranks, **game, weights=[[1.0, 1.0], [1.0, 1.0]]))
    if isinstance(long, str):
        assert short == long
    else:
        for mine, other in zip(short, long, strict=True):
            assert np.allclose(mine, other, rtol=1e-11, atol=1e-11)


def test_what_was_given_is_not_changed() -> None:
    sides = [np.array([[25.0, 8.0], [20.0, 3.0]]), np.array([[22.0, 2.0]])]
    before = [side.copy() for side in sides]
    rate(sides, [0, 1], beta=4.0)
    team_match_quality(sides, 4.0)
    assert all(np.array_equal(a, b) for a, b in zip(sides, before, strict=True))


def test_teams_may_be_a_generator() -> None:
    teams = [[(25.0, 8.0)], [(20.0, 3.0)]]
    assert rate((side for side in teams), [0, 1], beta=4.0) == rate(
        teams, [0, 1], beta=4.0, weights=[[1.0], [1.0]]
    )
