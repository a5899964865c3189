"""Numbers of any size keep their order: alone, in ratings and in logs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchenv.logs import replay_trueskill
from matchenv.logs.match_log import MatchLog
from matchenv.ratings.elo import rate_elo
from matchenv.ratings.leaderboard import Leaderboard
from matchenv.trueskill import ranking_probability, rate
from matchenv.trueskill.dense_rank import dense_rank

# Nanoseconds since 1970: float64 cannot tell neighbours apart.
T = 1_700_000_000_123_456_789
MIXED = [
    [T, T + 1, T + 2],
    np.array([T, T + 1, T + 2]),
    np.array([2**64 - 3, 2**64 - 2, 2**64 - 1], dtype=np.uint64),
    [np.int64(T), np.uint64(T + 1), T + 2],
    [-(10**400), 0.5, 2**70],
    [float(2**53), 2**53 + 1, float(2**53 + 2)],
    [Fraction(1, 10), 0.1, Fraction(2, 10)],
    np.array([2**63, 2**64, 2**65], dtype=object),
    range(T, T + 3),
]

finite = st.one_of(
    st.integers(),
    st.integers(2**53 - 2, 2**53 + 2),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(2.0**53 - 2, 2.0**53 + 2),
    st.fractions(),
)


@given(st.lists(finite, max_size=8))
def test_places_are_what_exact_comparison_says(values: list[Any]) -> None:
    exact = [Fraction(value) for value in values]
    expected = [len({other for other in exact if other < value}) for value in exact]
    assert dense_rank("x", values).tolist() == expected


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8))
def test_arrays_and_lists_have_the_same_places(values: list[int]) -> None:
    assert dense_rank("x", np.array(values)).tolist() == dense_rank("x", values).tolist()


@pytest.mark.parametrize("ranks", MIXED, ids=repr)
def test_ranks_beyond_floats_are_no_draws(ranks: Any) -> None:
    skills = [[(25.0, 8.0)]] * 3
    plain = [0, 1, 2]
    # Without a margin a draw would be refused.
    assert rate(skills, ranks, beta=4.0) == rate(skills, plain, beta=4.0)
    assert rate_elo([[1200.0]] * 3, ranks) == rate_elo([[1200.0]] * 3, plain)
    assert ranking_probability(skills, ranks, 4.0) == ranking_probability(skills, plain, 4.0)
    board = Leaderboard(draw_probability=0.0)
    board.update([["c"], ["b"], ["a"]], ranks)
    assert [line.name for line in board.standings()] == ["c", "b", "a"]


@pytest.mark.parametrize("scores", MIXED, ids=repr)
def test_scores_beyond_floats_are_no_draws(scores: Any) -> None:
    if max(abs(score) for score in scores) > 10**300:
        with pytest.raises(ValueError, match="scores must be within"):
            MatchLog.from_games([[["a"], ["b"], ["c"]]], [scores])
        return
    log = MatchLog.from_games([[["a"], ["b"], ["c"]]], [scores])
    assert log.rank.tolist() == [2, 1, 0]
    assert np.all(np.diff(replay_trueskill(log).mu) > 0.0)


@pytest.mark.parametrize(
    "bad",
    [[0, math.nan], [0, math.inf], [0, np.float32("nan")], [0, "1"], [0, None], [0, 1j], [0, [1]],
     np.array([0.0, math.nan]), np.array([[0, 1]]), np.array(["0", "1"]), 3],
    ids=repr,
)  # fmt: skip
def test_what_is_no_finite_number_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match="ranks must"):
        rate([[(25.0, 8.0)]] * 2, bad, beta=4.0)
    with pytest.raises(ValueError, match="ranks must"):
        rate_elo([[1200.0]] * 2, bad)
    if isinstance(bad, list):
        with pytest.raises(ValueError, match="score must"):
            MatchLog.from_games([[["a"], ["b"]]], [bad])
