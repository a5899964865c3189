"""What the observations of a batch of queues show, in float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from matchenv.play import MU, SIGMA
from matchenv.queue.settings import QueueSettings
from matchenv.queue.state import ASK, FOCAL, JOINED, NONE, PHASE, TICK, Batch
from matchenv.queue.waiting import WaitingPlayers
from matchenv.runtime.compile import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class ShownPlayers:
    """The focal player and the candidates of B queues.

    Attributes:
        mu: means of the beliefs, shape (B, C): the focal player, then the candidates, the nearest
            mean first.
        sigma: their standard deviations, shape (B, C).
        waited: ticks that the focal player has waited, shape (B,).
        filled: how many candidates there are, shape (B,); what stands behind them means nothing.
        settings: of the environment.
    """

    mu: Floats
    sigma: Floats
    waited: Floats
    filled: Integers
    settings: QueueSettings

    @classmethod
    def of(cls, waiting: WaitingPlayers) -> Self:
        """One queue."""
        shown = np.concatenate(([waiting.focal], waiting.filled))
        return cls(
            waiting.mu[np.newaxis, shown],
            waiting.sigma[np.newaxis, shown],
            waiting.waited[np.newaxis, waiting.focal].astype(np.float64),
            np.array([shown.size - 1]),
            waiting.settings,
        )

    @classmethod
    def of_batch(cls, batch: Batch, settings: QueueSettings) -> Self:
        """All queues of a batch; one in which nobody is asked about has no candidates."""
        shape = batch.mask.shape
        mu, sigma = np.zeros(shape), np.ones(shape)
        waited, filled = np.zeros(len(mu)), np.zeros(len(mu), dtype=np.int64)
        _show(batch, mu, sigma, waited, filled)
        return cls(mu, sigma, waited, filled, settings)


@compiled
def _show(batch: Batch, mu: Floats, sigma: Floats, waited: Floats, filled: Integers) -> None:
    """Fill in the fields of ``ShownPlayers``."""
    for row in range(mu.shape[0]):
        numbers = batch.numbers[row]
        focal = numbers[FOCAL]
        if numbers[PHASE] != ASK or focal == NONE:
            continue
        mu[row, 0] = batch.belief[row, focal, MU]
        sigma[row, 0] = batch.belief[row, focal, SIGMA]
        waited[row] = numbers[TICK] - batch.players[row, focal, JOINED]
        for place in range(batch.candidates.shape[1]):
            slot = batch.candidates[row, place]
            if slot == NONE:
                break
            mu[row, place + 1] = batch.belief[row, slot, MU]
            sigma[row, place + 1] = batch.belief[row, slot, SIGMA]
            filled[row] = place + 1
