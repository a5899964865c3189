"""Pairs of those who wait in a pool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.baselines.queue.planned import best_pairs
from matchenv.queue.waiting import NOBODY
from matchenv.runtime.checks import as_number
from matchenv.service.given import as_text, as_texts
from matchenv.service.players import Players, sigmas_after
from matchenv.service.settings import PoolSettings
from matchenv.trueskill import match_quality

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Asked(NamedTuple):
    """Who waits and for what.

    Attributes:
        names: of those who wait.
        quality: shape (n,), the match quality that each asks for.
    """

    names: list[str]
    quality: Floats


def as_asked(waiting: Any) -> Asked:
    """Names, or a mapping from names to the match quality that each asks for.

    Raises:
        ValueError: for anything else, a name that comes twice, or a bad number.
    """
    if isinstance(waiting, Mapping):
        names = [as_text("waiting", name) for name in waiting]
        asked = [as_number(f"waiting[{name!r}]", value) for name, value in waiting.items()]
        return Asked(names, np.array(asked, dtype=np.float64))
    names = as_texts("waiting", waiting)
    return Asked(names, np.zeros(len(names)))


def pairs_of(
    players: Players,
    slots: Integers,
    asked: Floats,
    barred: Mapping[int, Iterable[int]],
    settings: PoolSettings,
    now: float,
) -> list[tuple[int, int, float]]:
    """Pairs of slots with the match quality of each, region by region.

    Args:
        players: of the pool.
        slots: shape (n,), of those who wait.
        asked: shape (n,), match quality that each asks for.
        barred: for each slot those who must not meet it.
        settings: of the pool.
        now: in seconds.
    """
    pairs: list[tuple[int, int, float]] = []
    beta = settings.beta
    for region in np.unique(players.region[slots]).tolist():
        here = np.flatnonzero(players.region[slots] == region)
        here = here[np.argsort(players.mu[slots[here]], kind="stable")]
        ours = slots[here]
        mu = players.mu[ours]
        sigma = sigmas_after(players.sigma[ours], players.seen[ours], now, settings.drift_per_day)
        place = {slot: i for i, slot in enumerate(ours.tolist())}
        closed = [
            (place[slot], place[other])
            for slot in place
            for other in barred.get(slot, ())
            if other in place
        ]
        partners = best_pairs(
            mu, sigma, asked[here], 0.0, beta, 0.0, 0.0,
            barred=np.array(closed, dtype=np.int64).reshape(-1, 2),
        )  # fmt: skip
        first = np.flatnonzero((partners != NOBODY) & (partners > np.arange(partners.size)))
        second = partners[first]
        quality = match_quality(mu[first], sigma[first], mu[second], sigma[second], beta)
        pairs += zip(ours[first].tolist(), ours[second].tolist(), quality.tolist(), strict=True)
    return pairs
