"""Measures of a replay against examples worked out by hand and by brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from matchenv.benchmarks.replay.measures import (
    draw_curve,
    games_to_settle,
    most_even,
    prediction_error,
    win_ratio_deviation,
    win_shares,
)
from matchenv.logs.forecasts import (
    calibration,
    calibrations,
    constant_log_loss,
    log_losses,
    pairs_of_sides,
    possible_and_found_draws,
)
from matchenv.logs.match_log import ranks_from_scores

# Game 0: three sides, the last two level. Game 1: two sides, the second wins. Game 2: a draw.
GAME_START = np.array([0, 3, 5, 7])
RANK = np.array([0, 1, 1, 1, 0, 0, 0])


def ragged_ranks() -> st.SearchStrategy[list[list[int]]]:
    game = st.lists(st.integers(0, 3), min_size=2, max_size=6)
    return st.lists(game, min_size=1, max_size=6)


def flat(games: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    starts = np.concatenate([[0], np.cumsum([len(g) for g in games])])
    return starts, np.array(list(itertools.chain(*games)))


class TestPairs:
    @given(ragged_ranks())
    def test_by_brute_force(self, games: list[list[int]]) -> None:
        starts, rank = flat(games)
        pairs = pairs_of_sides(starts, rank)
        expected = []
        for g, start in enumerate(starts[:-1]):
            for i, j in itertools.combinations(range(len(games[g])), 2):
                a, b = games[g][i], games[g][j]
                expected.append((start + i, start + j, g, (a < b) - (a > b)))
        got = zip(pairs.first, pairs.second, pairs.game, pairs.outcome, strict=True)
        assert list(got) == expected
        _, found = possible_and_found_draws(starts, rank)
        draws = [sum(a == b for a, b in itertools.pairwise(sorted(game))) for game in games]
        assert found.tolist() == draws


class TestPredictionError:
    GAP = np.array([1.0, -2.0, 0.0, 3.0, 0.0, 5.0])
    OUTCOME = np.array([1, 1, 1, -1, 0, 0], dtype=np.int8)
    # Right, wrong, draw predicted, wrong; then two drawn pairs.

    def test_by_hand(self) -> None:
        found = prediction_error(self.GAP, self.OUTCOME, np.arange(6))
        assert found["error"] == pytest.approx(3 / 4)
        assert (found["pairs"], found["drawn"], found["predicted_draws"]) == (4, 2, 1)

    def test_nothing_to_count(self) -> None:
        found = prediction_error(self.GAP[4:], self.OUTCOME[4:], np.arange(2))
        assert math.isnan(found["error"])
        assert math.isnan(found["standard_error"])

    def test_standard_error_is_the_spread_over_repeated_logs(self) -> None:
        """Logs of 200 games of 1 to 9 pairs, all pairs of a game right or wrong together."""
        rng = np.random.default_rng(11)
        errors, stated = [], []
        for _ in range(400):
            game = np.repeat(np.arange(200), rng.integers(1, 10, 200))
            gap = np.where(rng.random(200) < 0.3, -1.0, 1.0)[game]
            outcome = np.ones(len(game), dtype=np.int8)
            found = prediction_error(gap, outcome, game)
            errors.append(found["error"])
            stated.append(found["standard_error"])
        # The spread of 400 values is itself known to one part in sqrt(800).
        assert np.mean(stated) == pytest.approx(np.std(errors), rel=5 / math.sqrt(800))


class TestMostEven:
    def test_best_first_and_earlier_among_equals(self) -> None:
        quality = np.array([0.5, 0.9, 0.5, 0.5, 0.1])
        assert np.flatnonzero(most_even(quality, 0.2)).tolist() == [1]
        assert np.flatnonzero(most_even(quality, 0.4)).tolist() == [0, 1]
        assert np.flatnonzero(most_even(quality, 0.41)).tolist() == [0, 1, 2]
        assert most_even(quality, 1.0).all()


class TestDraws:
    def test_curve_by_hand(self) -> None:
        # The most even game could hold two draws and held one; of the two games of equal
        # quality behind it one was drawn: a line from (1/2, 1/2) to (1, 1).
        curve = draw_curve(np.array([0.2, 0.9, 0.2]), np.array([1, 2, 1]), np.array([1, 1, 0]))
        assert_allclose(curve["possible"], [0, 0.5, 1])
        assert_allclose(curve["found"], [0, 0.5, 1])
        assert curve["area"] == pytest.approx(0.5)
        assert curve["draws"] == 2

    def test_no_draws(self) -> None:
        assert math.isnan(draw_curve(np.ones(2), np.ones(2, int), np.zeros(2, int))["area"])


class TestFairness:
    @given(ragged_ranks())
    def test_win_shares_by_brute_force(self, games: list[list[int]]) -> None:
        expected = [
            sum((r < other) + 0.5 * (r == other) for k, other in enumerate(game) if k != i)
            / (len(game) - 1)
            for game in games
            for i, r in enumerate(game)
        ]
        starts, level = flat(games)
        assert_allclose(win_shares(starts, ranks_from_scores(-level, starts)), expected)

    def test_deviation_by_hand(self) -> None:
        # Player 0 wins both kept games, 1 wins one of two, 2 draws one, 3 only plays
        # in a game that is not kept.
        player = np.array([0, 1, 0, 1, 1, 2, 3, 0])
        game = np.array([0, 0, 1, 1, 2, 2, 3, 3])
        share = np.array([1.0, 0, 1, 0, 0.5, 0.5, 1, 0])
        kept = np.array([True, True, True, False])
        found = win_ratio_deviation(player, game, share, kept)
        # Ratios 1, 0.5 / 3 and 0.5: distances 1/2, 1/3 and 0, after 2, 3 and 1 games.
        assert found["games"].tolist() == [1, 2, 3]
        assert found["players"].tolist() == [3, 2, 1]
        assert_allclose(found["deviation"], [(1 / 2 + 1 / 3) / 3, (1 / 2 + 1 / 3) / 2, 1 / 3])
        assert found["kept_games"] == 3


class TestCalibration:
    LOG_P = np.log(np.array([[0.5, 0.2, 0.3], [0.1, 0.2, 0.7], [0.5, 0.4, 0.1]]))
    OUTCOME = np.array([1, 1, 0], dtype=np.int8)

    def test_log_loss_by_hand(self) -> None:
        expected = -(math.log(0.5) + math.log(0.1) + math.log(0.4)) / 3
        assert log_losses(self.LOG_P, self.OUTCOME).mean() == pytest.approx(expected)
        impossible = np.array([[0.0, -np.inf, -np.inf]])
        assert log_losses(impossible, np.array([0], dtype=np.int8)).tolist() == [math.inf]
        assert log_losses(np.empty((0, 3)), np.empty(0, dtype=np.int8)).size == 0

    def test_constant_forecast(self) -> None:
        # One draw in three: 1/3 for each of the three outcomes.
        assert constant_log_loss(self.OUTCOME) == pytest.approx(math.log(3))
        assert constant_log_loss(np.array([1, -1], dtype=np.int8)) == pytest.approx(math.log(2))
        assert constant_log_loss(np.array([0, 0], dtype=np.int8)) == 0.0

    def test_wins_by_hand(self) -> None:
        found = calibrations(self.LOG_P, self.OUTCOME, 2)["wins"]
        # Wins stated 0.5, 0.1, 0.5 and, from the other side, 0.3, 0.7, 0.1; the first two
        # came true.
        assert found["count"].tolist() == [3, 3]
        assert_allclose(found["stated"], [0.5 / 3, 1.7 / 3])
        assert_allclose(found["observed"], [1 / 3, 1 / 3])
        assert found["error"] == pytest.approx((0.5 / 3 + 0.7 / 3) / 2)

    def test_draws_by_hand(self) -> None:
        found = calibrations(self.LOG_P, self.OUTCOME, 4)["draws"]
        assert_allclose(found["edges"], [0, 0.1, 0.2, 0.3, 0.4])
        # Two stated at 0.2, an edge, where rounding decides; one at 0.4, the draw.
        assert found["count"][1] + found["count"][2] == 2
        assert found["count"][3] == 1
        assert found["error"] == pytest.approx((0.2 + 0.2 + 0.6) / 3)

    def test_edges(self) -> None:
        found = calibration(
            np.array([0.0, 0.5, 1.0]), np.array([False, True, True]), np.array([0, 0.5, 1.0])
        )
        assert found["count"].tolist() == [1, 2]
        empty = calibration(np.empty(0), np.empty(0, dtype=bool), np.array([0.0, 1.0]))
        assert math.isnan(empty["error"])


class TestConvergence:
    def test_by_hand(self) -> None:
        # Level 10 over the last two of eight games; within 1 of it from game 5 on.
        rating = np.array([2.0, 5, 7, 8, 9, 12, 10, 10])
        assert games_to_settle(rating, 0.0) == 5
        assert games_to_settle(-rating, 0.0) == 5
        assert games_to_settle(rating + 100, 100.0) == 5
        assert games_to_settle(np.array([3.0]), 1.0) == 1
        assert games_to_settle(np.array([1.0]), 1.0) == 1

    def test_a_jump_across_the_level_is_not_yet_close(self) -> None:
        assert games_to_settle(np.array([20.0, 14, 10.5, 10, 10, 10, 10, 10]), 0.0) == 3
        assert games_to_settle(np.array([0.0, 0, 0, 0, 0, 0, -20, 40]), 0.0) == 8
