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
    parts = min(POINTS, horizon)
    name, sign = ("kendall_tau", 1.0) if simulator.settings.cut == 0 else ("top_errors", -1.0)
    part = np.arange(horizon) * parts // horizon
    accuracy = np.zeros((len(episodes), parts))
    first, wrong = np.full(len(episodes), np.nan), np.zeros((2, len(episodes)))

    def watched() -> Iterator[Any]:
        for n, step in enumerate(steps):
            yield step
            measured = simulator.measures(episodes.state)
            accuracy[:, part[n]] += sign * measured[name]
            settled = measured["expected_loss"] <= stopping_loss(CONFIDENCE)
            mistaken = settled & (measured["true_loss"] > 0.0)
            wrong[0] += mistaken & np.isnan(first)
            wrong[1] = np.maximum(wrong[1], mistaken)
            first[settled & np.isnan(first)] = n + 1

    return {
        **sums(episodes, watched()),
        "accuracy": (accuracy / np.bincount(part))[:, parts_of_points(horizon)],
        "settled": np.where(np.isnan(first), 0.0, 1.0),
        "games_to_settle": first,
        "wrong": wrong[0],
        "ever_wrong": wrong[1],
    }
