"""Measures of a replay and forecasts of rating systems, by hand and brute force."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from matchenv.benchmarks.replay.report import (
    SYSTEMS,
    draw_curve,
    judge,
    most_even,
    win_ratio_deviation,
    win_shares,
)
from matchenv.logs import MatchLog, Model, forecasts
from matchenv.logs.pairs import pairs_of_sides
from matchenv.ratings.elo import LOGISTIC_BETA


def log_of(scores: list[list[int]]) -> MatchLog:
    """Return games in which the k-th side is player k."""
    return MatchLog.from_games([[[str(k)] for k in range(len(game))] for game in scores], scores)


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=6), min_size=1, max_size=6))
def test_pairs_draws_and_win_shares_by_brute_force(scores: list[list[int]]) -> None:
    log = log_of(scores)
    pairs = pairs_of_sides(log.game_start, log.rank)
    expected = []
    for g, start in enumerate(log.game_start[:-1]):
        for i, j in itertools.combinations(range(len(scores[g])), 2):
            a, b = scores[g][i], scores[g][j]
            expected.append((start + i, start + j, g, (a > b) - (a < b)))
    assert list(zip(*pairs, strict=True)) == expected
    draws = [sum(a == b for a, b in itertools.pairwise(sorted(game))) for game in scores]
    assert forecasts.draws_of_games(log).tolist() == draws
    shares = [
        sum((r > other) + 0.5 * (r == other) for k, other in enumerate(game) if k != i)
        / (len(game) - 1)
        for game in scores
        for i, r in enumerate(game)
    ]
    assert_allclose(win_shares(log), shares)


def test_sides_of_unknown_order_are_no_pairs_and_no_draws() -> None:
    """A winner and three losers in no known order, then a place of two after a draw of two."""
    log = MatchLog(
        players=[str(k) for k in range(8)],
        player=range(8),
        team_start=range(9),
        game_start=[0, 4, 8],
        rank=[1, 0, 1, 1, 0, 0, 2, 2],
        unordered=[True, False, True, True, False, False, True, True],
    )
    pairs = list(zip(*log.pairs, strict=True))
    assert pairs[:3] == [(0, 1, 0, -1), (1, 2, 0, 1), (1, 3, 0, 1)]
    assert pairs[3:] == [(4, 5, 1, 0), (4, 6, 1, 1), (4, 7, 1, 1), (5, 6, 1, 1), (5, 7, 1, 1)]
    assert forecasts.draws_of_games(log).tolist() == [0, 1]
    assert forecasts.share_of_draws(log) == 1.0  # of the one pair of neighbours in known places
    assert_allclose(win_shares(log), [0, 1, 0, 0, 2.5 / 3, 2.5 / 3, 0, 0])


def test_too_many_pairs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchenv.logs.pairs.MOST_PAIRS", 3)
    log = log_of([[0, 1, 2], [0, 1]])
    with pytest.raises(ValueError, match=r"at most 3 pairs .*, it has 4; the largest game has 3"):
        pairs_of_sides(log.game_start, log.rank)


def test_prediction_error_by_hand() -> None:
    gap = np.array([1.0, -2.0, 0.0, 3.0, 0.0, 5.0])
    outcome = np.array([1, 1, 1, -1, 0, 0], dtype=np.int8)
    # Right, wrong, forecast draw, wrong; then two drawn pairs.
    costs = forecasts.pair_costs(gap, outcome)
    assert forecasts.mean_over_pairs(costs, np.arange(6))[0] == pytest.approx(3 / 4)
    assert np.isnan(forecasts.mean_over_pairs(costs[4:], np.arange(2))).all()
    assert np.isnan(forecasts.mean_over_pairs(costs, np.zeros(6, dtype=int))[1])
    # With a pair a game, the standard error of a mean.
    assert forecasts.mean_over_pairs(costs, np.arange(6))[1] == pytest.approx(0.25)


def test_standard_error_equals_the_spread_over_logs() -> None:
    """Logs have 200 games of 1 to 9 pairs; all pairs of a game are right or wrong together."""
    rng = np.random.default_rng(11)
    errors, stated = [], []
    for _ in range(400):
        game = np.repeat(np.arange(200), rng.integers(1, 10, 200))
        gap = np.where(rng.random(200) < 0.3, -1.0, 1.0)[game]
        costs = forecasts.pair_costs(gap, np.ones(len(game), dtype=np.int8))
        errors.append(forecasts.mean_over_pairs(costs, game)[0])
        stated.append(forecasts.mean_over_pairs(costs, game)[1])
    # The standard error of a spread of 400 values is one part in sqrt(800).
    assert np.mean(stated) == pytest.approx(np.std(errors), rel=5 / math.sqrt(800))


@pytest.mark.parametrize(("share", "chosen"), [(0.2, [1]), (0.4, [0, 1]), (0.41, [0, 1, 2])])
def test_most_even_games(share: float, chosen: list[int]) -> None:
    assert np.flatnonzero(most_even(np.array([0.5, 0.9, 0.5, 0.5, 0.1]), share)).tolist() == chosen


def test_curve_of_draws_by_hand() -> None:
    # The most even game has one of two possible draws; one of the two games of equal quality
    # behind it was drawn: a line from (1/2, 1/2) to (1, 1).
    curve = draw_curve(log_of([[1, 1], [2, 1, 1], [0, 1]]), np.array([0.2, 0.9, 0.2]))
    assert_allclose(curve["found"], curve["possible"])
    assert curve["area"] == pytest.approx(0.5)
    # A game of all draws first: half of the draws in a quarter of what is possible.
    steep = draw_curve(log_of([[1, 1], [2, 1, 1], [1, 0]]), np.array([0.9, 0.5, 0.1]))
    assert_allclose(np.interp([1 / 4, 3 / 4], steep["possible"], steep["found"]), [0.5, 1.0])
    assert math.isnan(draw_curve(log_of([[1, 0], [1, 0]]), np.ones(2))["area"])


def test_deviation_of_win_ratios_by_hand() -> None:
    # In the first three games a wins two, b and c lose one and draw one; d plays only in a game
    # that is not kept.
    names, scores = ["ab", "ac", "bc", "da", "bc"], [[1, 0], [1, 0], [1, 1], [1, 0], [1, 0]]
    log = MatchLog.from_games([[[one], [other]] for one, other in names], scores)
    found = win_ratio_deviation(log, np.array([True, True, True, False, False]))
    # Ratios 1, 0.5 / 2 and 0.5 / 2.
    assert found["games"].tolist() == [1, 2]
    assert found["players"].tolist() == [3, 3]
    assert_allclose(found["deviation"], [1 / 3, 1 / 3])
    # With the last game b has 1.5 of 3 and c 0.5 of 3.
    found = win_ratio_deviation(log, np.array([True, True, True, False, True]))
    assert found["players"].tolist() == [3, 3, 2]
    assert_allclose(found["deviation"], [(1 / 2 + 1 / 3) / 3, (1 / 2 + 1 / 3) / 3, (1 / 3) / 2])


LOG_P = np.log(np.array([[0.5, 0.2, 0.3], [0.1, 0.2, 0.7], [0.5, 0.4, 0.1]]))
OUTCOME = np.array([1, 1, 0], dtype=np.int8)


def test_log_losses_by_hand() -> None:
    expected = -(math.log(0.5) + math.log(0.1) + math.log(0.4)) / 3
    assert forecasts.log_losses(LOG_P, OUTCOME).mean() == pytest.approx(expected)
    impossible = np.array([[0.0, -np.inf, -np.inf]])
    assert forecasts.log_losses(impossible, np.array([0], dtype=np.int8)).tolist() == [math.inf]
    assert forecasts.log_losses(np.empty((0, 3)), np.empty(0, dtype=np.int8)).size == 0
    # One draw in three: 1/3 for each of the three outcomes.
    for outcome, loss in ((OUTCOME, math.log(3)), ([1, -1], math.log(2)), ([0, 0], 0.0)):
        assert forecasts.constant_log_loss(np.array(outcome, dtype=np.int8)) == pytest.approx(loss)


def test_calibration_by_hand() -> None:
    found = forecasts.calibrations(LOG_P, OUTCOME)
    # Stated wins are 0.5, 0.1, 0.5 and, for the other side, 0.3, 0.7, 0.1; the first two
    # happened. 0.1, 0.3 and 0.7 are edges, where rounding decides.
    wins, draws = found["wins"], found["draws"]
    assert [wins["count"][k : k + 2].sum() for k in (1, 5, 9, 13)] == [2, 1, 2, 1]
    assert_allclose(wins["edges"], np.arange(21) / 20)
    stated, came = [0.5, 0.1, 0.3, 0.7], [0.5, 0.5, 0.0, 0.0]
    off = np.abs(np.subtract(stated, came))
    assert wins["error"] == pytest.approx(np.dot([2, 2, 1, 1], off) / 6)
    # Two draws are stated at 0.2; one at 0.4, the largest, happened.
    assert_allclose(draws["edges"], np.arange(21) / 50)
    assert_allclose((draws["stated"][[10, 19]], draws["observed"][[10, 19]]), [[0.2, 0.4], [0, 1]])
    assert draws["error"] == pytest.approx((0.2 + 0.2 + 0.6) / 3)


NORMAL = NormalDist()
LOG = MatchLog.from_games(
    [[["a"], ["b"], ["c"]], [["a", "b"], ["c"]], [["a"], ["d"]], [["e"], ["f"]]],
    [[3, 1, 1], [0, 0], [1, 2], [1, 0]],
)
PAIRS = pairs_of_sides(LOG.game_start, LOG.rank)


def test_draw_probability_is_counted_between_neighbours_in_rank() -> None:
    # Two pairs of neighbours in the first game, one in each of the others; two of five drew.
    assert Model().counted(LOG).draw_probability == 0.4
    with pytest.raises(ValueError, match="for a log of draws alone"):
        Model().counted(MatchLog.from_games([[["a"], ["b"]]], [[1, 1]]))


@pytest.mark.parametrize("name", SYSTEMS)
def test_starts_and_stated_probabilities_of_every_system(name: str) -> None:
    judgement = judge(name, LOG, PAIRS, Model(mu=10.0, draw_probability=0.5))
    assert judgement.start == (1200.0 if name.startswith("elo") else 10.0)
    assert_allclose(np.exp(judgement.log_probability).sum(axis=1), 1.0, rtol=1e-12)
    # The quality of equal sides does not depend on their number.
    assert judgement.quality[0] == pytest.approx(judgement.quality[3], rel=1e-12)
    assert np.all((judgement.quality > 0) & (judgement.quality <= 1 + 1e-12))


@pytest.mark.parametrize(("name", "spread"), [("elo", 200.0), ("elo-logistic", LOGISTIC_BETA)])
def test_forecasts_of_elo_for_sides_of_several_members(name: str, spread: float) -> None:
    found = judge(name, LOG, PAIRS, Model(draw_probability=0.2))
    mean = found.replay.team_mean
    gap, noise = mean[3] - mean[4], 3.0 * spread**2
    assert gap > 1000.0
    assert found.quality[1] == pytest.approx(math.exp(-(gap**2) / (2.0 * noise)))
    if name == "elo":  # the margin grows with the players: the paper's section 4.1
        margin = NORMAL.inv_cdf(0.6) * math.sqrt(3.0) * spread
        win, loss = (NORMAL.cdf((each - margin) / math.sqrt(noise)) for each in (gap, -gap))
    else:
        ahead = 10.0 ** (gap * math.sqrt(2.0 / 3.0) / 400.0)
        win, loss = 1.0 / (1.0 + 1.5 / ahead), 1.0 / (1.0 + 1.5 * ahead)
    assert_allclose(np.exp(found.log_probability[3]), [win, 1.0 - win - loss, loss], rtol=1e-6)
