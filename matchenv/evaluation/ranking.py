"""Summary of episodes of ``Ranking-v0``: accuracy over the games, and when they could stop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.core.episodes import Episodes
from matchenv.envs.ranking import RankingSimulator, stopping_loss
from matchenv.evaluation.estimates import CONFIDENCE
from matchenv.evaluation.rollout import Steps, sums
from matchenv.runtime.files import Arrays

# Points of a curve; each is the mean over its share of the games.
POINTS = 200


def parts_of_points(horizon: int) -> NDArray[np.int64]:
    """Return the part of an episode of each point of a curve, shape (POINTS,).

    An episode with fewer games than ``POINTS`` has as many parts, and repeats points.
    """
    return np.arange(POINTS) * min(POINTS, horizon) // POINTS


def ranking_sums(episodes: Episodes[Any], steps: Steps) -> Arrays:
    """Return the measures of a batch of rankings, their accuracy, and the stopping rule's errors.

    Games could stop once the goal is settled at a confidence of 95 %.

    Args:
        episodes: B episodes that have just begun.
        steps: their steps.

    Returns:
        The arrays of ``sums``, and ``accuracy``, shape (B, POINTS): Kendall's tau, for the goals
        ``top`` and ``best`` minus the number of wrong items at the top. Further columns are
        ``settled``, 1 if games could stop within the episode; ``games_to_settle``, NaN if not; and
        ``wrong``, 1 if the ranking was wrong at that time, ``ever_wrong`` at that time or later
        while settled.
    """
    simulator = episodes.simulator
    assert isinstance(simulator, RankingSimulator)
    horizon = simulator.settings.horizon
    points = min(POINTS, horizon)
    point_of_game = np.arange(horizon) * points // horizon
    measure = "kendall_tau"
    sign = 1.0
    if simulator.settings.cut > 0:
        measure = "top_errors"
        sign = -1.0
    accuracy = np.zeros((len(episodes), points))
    games_to_settle = np.full(len(episodes), np.nan)
    wrong = np.zeros(len(episodes))
    ever_wrong = np.zeros(len(episodes))

    def watched() -> Iterator[Any]:
        for game, step in enumerate(steps):
            yield step
            measures = simulator.measures(episodes.state)
            accuracy[:, point_of_game[game]] += sign * measures[measure]
            is_settled = measures["expected_loss"] <= stopping_loss(CONFIDENCE)
            is_wrong = is_settled & (measures["true_loss"] > 0.0)
            is_first = is_settled & np.isnan(games_to_settle)
            wrong[is_wrong & is_first] = 1.0
            ever_wrong[is_wrong] = 1.0
            games_to_settle[is_first] = game + 1

    arrays = sums(episodes, watched())
    means = accuracy / np.bincount(point_of_game)
    return {
        **arrays,
        "accuracy": means[:, parts_of_points(horizon)],
        "settled": np.where(np.isnan(games_to_settle), 0.0, 1.0),
        "games_to_settle": games_to_settle,
        "wrong": wrong,
        "ever_wrong": ever_wrong,
    }
