"""Matchings against all matchings there are, and against the blossom method."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from matchenv.baselines.queue.matching import band_matching
from matchenv.envs.queue.view import NOBODY

Floats = NDArray[np.float64]
BETA_SQUARED = 2.5


def value_of(partners: NDArray[np.int64], weights: Floats) -> float:
    """The sum of the weights of a matching, after a look at whether it is one."""
    paired = np.flatnonzero(partners != NOBODY)
    np.testing.assert_array_equal(partners[partners[paired]], paired)
    assert (partners[paired] != paired).all()
    first = paired[partners[paired] > paired]
    assert (weights[first, partners[first]] > 0.0).all()
    return float(weights[first, partners[first]].sum())


def symmetric(rng: np.random.Generator, count: int) -> Floats:
    weights = rng.normal(size=(count, count))
    return weights + weights.T


def band_of(weights: Floats, width: int) -> Floats:
    count = len(weights)
    band = np.full((count, width), np.nan)
    for d in range(1, min(width, count - 1) + 1):
        band[: count - d, d - 1] = np.diagonal(weights, d)
    return band


def queue_weights(
    rng: np.random.Generator, count: int, newcomers: float, reservation: float
) -> Floats:
    """Match qualities of a queue sorted by mean, plus a bonus for waiting, less a reservation."""
    new = rng.random(count) < newcomers
    mu = np.where(new, rng.normal(0.0, 0.5, count), rng.normal(0.0, 3.0, count))
    sigma = np.where(new, 2.5, rng.uniform(0.4, 1.0, count))
    order = np.argsort(mu)
    mu, sigma, waited = mu[order], sigma[order], rng.exponential(5.0, count)
    variance = sigma[:, None] ** 2 + sigma**2 + 2.0 * BETA_SQUARED
    quality = np.sqrt(2.0 * BETA_SQUARED / variance) * np.exp(
        -0.5 * (mu[:, None] - mu) ** 2 / variance
    )
    return quality + 0.005 * (waited[:, None] + waited) - reservation


@pytest.mark.parametrize("count", [1, 2, 3, 6, 9])
def test_band_matching_is_the_best_of_all_pairs_in_the_band(best_pairs_of: Any, count: int) -> None:
    rng = np.random.default_rng(count)
    for width in (1, 2, 4, 9, 12):
        weights = symmetric(rng, count)
        found = value_of(band_matching(band_of(weights, width)), weights)
        near = np.abs(np.subtract.outer(np.arange(count), np.arange(count))) <= width
        inside = np.where(near, weights, -1.0)
        best, _ = best_pairs_of(lambda i, j, inside=inside: inside[i, j], tuple(range(count)))
        assert found == pytest.approx(best, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("newcomers", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("reservation", [0.2, 0.85])
def test_the_band_is_near_the_best_of_all_pairs_in_large_queues(
    newcomers: float, reservation: float
) -> None:
    """The reference is the blossom method of networkx, over all pairs."""
    networkx = pytest.importorskip("networkx")
    weights = queue_weights(np.random.default_rng(7), 60, newcomers, reservation)
    graph = networkx.Graph()
    for i, j in zip(*np.nonzero(np.triu(weights, 1) > 0.0), strict=True):
        graph.add_edge(int(i), int(j), weight=float(weights[i, j]))
    exact = sum(weights[i, j] for i, j in networkx.max_weight_matching(graph))
    band = value_of(band_matching(band_of(weights, 9)), weights)
    assert 0.99 * exact <= band <= (1.0 + 1e-9) * exact


def test_equal_weights_and_no_weights_are_well_answered() -> None:
    for weights in (np.zeros((6, 6)), np.full((6, 6), -1.0)):
        assert (band_matching(band_of(weights, 3)) == NOBODY).all()
    ones = np.ones((6, 6))
    assert value_of(band_matching(band_of(ones, 3)), ones) == pytest.approx(3.0)
