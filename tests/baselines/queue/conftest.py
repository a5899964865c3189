"""Queues made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from matchenv.envs.queue.settings import QueueSettings
from matchenv.envs.queue.view import NOBODY, WaitingPlayers


def queue_of(rng: np.random.Generator, count: int, **changes: Any) -> WaitingPlayers:
    """So many who wait, the longest waiting first, and the first one asked."""
    settings = changes.pop("settings", QueueSettings(capacity=max(2, count)))
    new = rng.random(count) < 0.3
    mu = np.where(new, 0.0, rng.normal(0.0, 2.0, count))
    sigma = np.where(new, 2.5, rng.uniform(0.5, 1.0, count))
    fields = {
        "mu": mu,
        "sigma": sigma,
        "waited": np.sort(rng.integers(0, 9, count))[::-1].copy(),
        "player": rng.permutation(5 * count)[:count],
        "focal": 0,
        "tick": 3,
        "playing": 0,
        "settings": settings,
        "true_skill": rng.normal(mu, sigma),
        **changes,
    }
    others = np.delete(np.arange(count), fields["focal"])
    gaps = np.abs(fields["mu"][others] - fields["mu"][fields["focal"]])
    nearest = others[np.argsort(gaps, kind="stable")][: settings.num_candidates]
    candidates = np.full(settings.num_candidates, NOBODY)
    candidates[: nearest.size] = nearest
    return WaitingPlayers(candidates=candidates, **fields)


@pytest.fixture(scope="session")
def make_queue() -> Any:
    """``queue_of``."""
    return queue_of


def best_set_of_pairs(weights: Any, players: tuple[int, ...]) -> tuple[float, tuple[Any, ...]]:
    """The greatest sum of positive weights of pairs, and the pairs, by trying all."""
    if len(players) < 2:
        return 0.0, ()
    first, rest = players[0], players[1:]
    best = best_set_of_pairs(weights, rest)
    for place, partner in enumerate(rest):
        value, pairs = best_set_of_pairs(weights, rest[:place] + rest[place + 1 :])
        if weights(first, partner) > 0.0 and value + weights(first, partner) > best[0]:
            best = (value + weights(first, partner), ((first, partner), *pairs))
    return best


@pytest.fixture(scope="session")
def best_pairs_of() -> Any:
    """``best_set_of_pairs``."""
    return best_set_of_pairs
