"""What every choice leaves to all, against brute force over all matchings."""

from __future__ import annotations

import numpy as np
import pytest

from matchenv.agents.queue.best_plans import plan_margins
from matchenv.trueskill import match_quality

BETA = 1.3


def best_value(weights: np.ndarray, players: tuple[int, ...]) -> float:
    """The greatest sum of weights of a matching of these players, of all there are."""
    if len(players) < 2:
        return 0.0
    first, others = players[0], players[1:]
    found = [best_value(weights, others)]
    for k in others:
        rest = tuple(player for player in others if player != k)
        found.append(weights[first, k] + best_value(weights, rest))
    return max(found)


def drawn(seed: int, count: int, capacity: int = 16) -> tuple[np.ndarray, ...]:
    """Means with the candidates in the order of their gaps, deviations and prices of one queue."""
    rng = np.random.default_rng(seed)
    mu = np.zeros((1, capacity))
    mu[0, :count] = rng.normal(0, 2, count)
    mu[0, 1:count] = sorted(mu[0, 1:count], key=lambda mean: abs(mean - mu[0, 0]))
    sigma, price = rng.uniform(0.3, 2, (1, capacity)), rng.uniform(-0.1, 0.6, (1, capacity))
    return mu, sigma, price


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("seed", range(6))
def test_margins_are_those_of_all_matchings(count: int, seed: int) -> None:
    mu, sigma, price = drawn(seed, count)
    margins, _ = plan_margins(mu, sigma, np.array([count]), price, BETA)
    m, s, p = mu[0], sigma[0], price[0]
    weights = match_quality(m[:, None], s[:, None], m, s, BETA) - 0.5 * (p[:, None] + p)
    others = tuple(range(1, count))
    expected = np.zeros(mu.shape[1])
    for k in others:
        rest = tuple(player for player in others if player != k)
        expected[k] = weights[0, k] + best_value(weights, rest) - best_value(weights, others)
    np.testing.assert_allclose(margins[0], expected, atol=1e-12)


@pytest.mark.parametrize("count", [2, 5, 9, 16])
def test_slopes_are_the_derivatives_with_respect_to_the_prices(count: int) -> None:
    mu, sigma, price = drawn(count, count)
    counts, step = np.array([count]), 1e-6
    margins, slopes = plan_margins(mu, sigma, counts, price, BETA)
    for player in range(count):
        moved = price.copy()
        moved[0, player] += step
        changed = (plan_margins(mu, sigma, counts, moved, BETA)[0] - margins)[0] / step
        np.testing.assert_allclose(slopes[0, :, player], changed, atol=1e-6)


def test_a_long_line_is_nearly_exact() -> None:
    """Beyond the width the plan is one of those that exist, so no value is above the best."""
    better = 0
    for seed in range(40):
        mu, sigma, price = drawn(seed, 9)
        margins, _ = plan_margins(mu, sigma, np.array([9]), price, BETA)
        m, s, p = mu[0], sigma[0], price[0]
        weights = match_quality(m[:, None], s[:, None], m, s, BETA) - 0.5 * (p[:, None] + p)
        others = tuple(range(1, 9))
        expected = [0.0] + [
            weights[0, k]
            + best_value(weights, tuple(player for player in others if player != k))
            - best_value(weights, others)
            for k in others
        ]
        better += int(np.argmax(expected) == margins[0, :9].argmax())
    assert better >= 38
