"""Random queues of parties, for tests of policies."""

from typing import Any

import numpy as np

from matchenv.envs.queue import QueueSettings, WaitingParties

THREES = QueueSettings(side_size=3, party_sizes=(0.6, 0.3, 0.1), capacity=32)


def party_queue(
    rng: np.random.Generator, count: int, settings: QueueSettings = THREES, lobby: Any = (0,)
) -> WaitingParties:
    """Return a queue of ``count`` random parties, the longest waiting first, with an open lobby."""
    n = settings.side_size
    size = rng.choice(len(settings.party_sizes), count, p=settings.party_sizes) + 1
    is_member = np.arange(n) < size[:, np.newaxis]
    is_newcomer = rng.random((count, n)) < 0.2
    means = np.where(is_newcomer, 0.0, rng.normal(0.0, 2.0, (count, n)))
    sigmas = np.where(is_newcomer, 2.5, rng.uniform(0.5, 1.0, (count, n)))
    member_mu = np.where(is_member, means, 0.0)
    member_sigma = np.where(is_member, sigmas, 0.0)
    mu = member_mu.sum(axis=1)
    joined = np.array(lobby)
    mean = mu[joined].sum() / size[joined].sum()
    others = np.setdiff1d(np.arange(count), joined)
    others = others[np.argsort(np.abs(mu[others] / size[others] - mean), kind="stable")]
    return WaitingParties(
        mu=mu,
        sigma=np.sqrt((member_sigma**2).sum(axis=1)),
        waited=np.sort(rng.integers(0, 9, count))[::-1].copy(),
        party=rng.permutation(5 * count)[:count],
        focal=int(joined[0]),
        candidates=others[: settings.capacity - 1],
        tick=3,
        playing=0,
        settings=settings,
        size=size,
        member=np.where(is_member, np.arange(count * n).reshape(count, n), -1),
        member_mu=member_mu,
        member_sigma=member_sigma,
        lobby=joined,
    )
