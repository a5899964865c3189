"""Forecasts of rating systems on small games, by hand."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from numpy.testing import assert_allclose

from matchenv.benchmarks.replay.report import SYSTEMS, judge
from matchenv.logs import MatchLog, Model
from matchenv.logs.forecasts import pairs_of_sides
from matchenv.ratings.elo import LOGISTIC_BETA

NORMAL = NormalDist()
LOG = MatchLog.from_games(
    [[["a"], ["b"], ["c"]], [["a", "b"], ["c"]], [["a"], ["d"]]], [[3, 1, 1], [0, 0], [1, 2]]
)
PAIRS = pairs_of_sides(LOG.game_start, LOG.rank)


def test_draw_probability_is_counted_between_neighbours_in_rank() -> None:
    # Two pairs of neighbours in the first game, one in each of the others; two of four drew.
    assert Model().counted(LOG).draw_probability == 0.5
    with pytest.raises(ValueError, match="for a log of draws alone"):
        Model().counted(MatchLog.from_games([[["a"], ["b"]]], [[1, 1]]))


@pytest.mark.parametrize("name", SYSTEMS)
def test_starts_and_stated_probabilities_of_every_system(name: str) -> None:
    judgement = judge(name, LOG, PAIRS, Model(mu=10.0, draw_probability=0.5))
    assert judgement.start == (1200.0 if name.startswith("elo") else 10.0)
    assert_allclose(np.exp(judgement.log_probability).sum(axis=1), 1.0, rtol=1e-12)
    assert judgement.quality.shape == (3,)
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


def test_quality_of_equal_sides_does_not_depend_on_their_number() -> None:
    log = MatchLog.from_games(
        [[["a"], ["b"]], [["c"], ["d"], ["e"], ["f"], ["g"]]], [[1, 2], [1, 2, 3, 4, 5]]
    )
    pairs = pairs_of_sides(log.game_start, log.rank)
    quality = judge("trueskill", log, pairs, Model(draw_probability=0.1)).quality
    assert quality[0] == pytest.approx(quality[1], rel=1e-12)
