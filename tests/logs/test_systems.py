"""What the systems state, on games small enough to work out again."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from numpy.testing import assert_allclose

from matchenv.benchmarks.replay.systems import (
    SYSTEMS,
    judge,
    quality_per_comparison,
)
from matchenv.logs import MatchLog, Model
from matchenv.logs.forecasts import gaussian_log_probabilities, pairs_of_sides
from matchenv.ratings.elo import LOGISTIC_BETA

NORMAL = NormalDist()
LOG = MatchLog.from_games(
    [[["a"], ["b"], ["c"]], [["a", "b"], ["c"]], [["a"], ["d"]]], [[3, 1, 1], [0, 0], [1, 2]]
)
PAIRS = pairs_of_sides(LOG.game_start, LOG.rank)


def test_draw_probability_is_counted_between_neighbours_in_rank() -> None:
    # Two neighbours in the first game, one in each of the others; two of the four are level.
    assert Model().counted(LOG).draw_probability == 0.5
    with pytest.raises(ValueError, match="for a log of draws alone"):
        Model().counted(MatchLog.from_games([[["a"], ["b"]]], [[1, 1]]))


@pytest.mark.parametrize("name", SYSTEMS)
def test_stated_probabilities_are_a_distribution(name: str) -> None:
    judgement = judge(name, LOG, PAIRS, Model(draw_probability=0.5))
    assert_allclose(np.exp(judgement.log_probability).sum(axis=1), 1.0, rtol=1e-12)
    assert judgement.quality.shape == (3,)
    assert np.all((judgement.quality > 0) & (judgement.quality <= 1 + 1e-12))


def test_margin_of_a_pair_grows_with_its_players() -> None:
    """Sides of two and three against one, by the formula of the paper's section 4.1."""
    mean, variance = np.array([50.0, 25.0]), np.array([90.0, 40.0])
    pairs = pairs_of_sides(np.array([0, 2]), np.array([0, 1]))
    got = gaussian_log_probabilities(
        pairs.gap(mean), pairs.sum(variance), np.array([3]), 25 / 6, 0.2
    )
    margin = NORMAL.inv_cdf(0.6) * math.sqrt(3) * 25 / 6
    c = math.sqrt(130.0)
    win, loss = NORMAL.cdf((25 - margin) / c), NORMAL.cdf((-25 - margin) / c)
    assert_allclose(np.exp(got[0]), [win, 1 - win - loss, loss], rtol=1e-9)


@pytest.mark.parametrize(("name", "spread"), [("elo", 200.0), ("elo-logistic", LOGISTIC_BETA)])
def test_sides_of_elo_are_sums_with_the_noise_of_their_members(name: str, spread: float) -> None:
    found = judge(name, LOG, PAIRS, Model(draw_probability=0.2))
    mean = found.replay.team_mean
    # Two against one is no even game.
    gap, noise = mean[3] - mean[4], 3.0 * spread**2
    assert gap > 1000.0
    assert found.quality[1] == pytest.approx(math.exp(-(gap**2) / (2.0 * noise)))
    if name == "elo":
        margin = NORMAL.inv_cdf(0.6) * math.sqrt(3.0) * spread
        win = NORMAL.cdf((gap - margin) / math.sqrt(noise))
    else:
        win = 1.0 / (1.0 + 1.5 * 10.0 ** (-gap * math.sqrt(2.0 / 3.0) / 400.0))
    assert math.exp(found.log_probability[3, 0]) == pytest.approx(win)


def test_quality_of_equals_does_not_fall_with_the_number_of_sides() -> None:
    log = MatchLog.from_games(
        [[["a"], ["b"]], [["c"], ["d"], ["e"], ["f"], ["g"]]], [[1, 2], [1, 2, 3, 4, 5]]
    )
    pairs = pairs_of_sides(log.game_start, log.rank)
    quality = judge("trueskill", log, pairs, Model(draw_probability=0.1)).quality
    # Five newcomers are as even as two.
    assert quality[0] == pytest.approx(quality[1], rel=1e-12)
    assert quality_per_comparison(np.array([0.25, 0.25]), log).tolist() == [0.25, 0.25**0.25]
