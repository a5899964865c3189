"""What a policy of the queue is asked about: everyone who waits, and whose turn it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from matchenv.queue.settings import QueueSettings
from matchenv.trueskill.two_player import match_quality

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Where there is no candidate, or nobody is asked about.
NOBODY = -1


@dataclass(frozen=True)
class WaitingPlayers:
    """Everyone who waits at one moment, the longest waiting first; copies.

    A choice for the focal player is 0, to wait this tick, or k from 1 on: to play
    ``candidates[k - 1]``. Within a tick every waiting player is asked about once, the longest
    waiting first, as long as two players wait.

    Attributes:
        mu: means of the beliefs, shape (n,), in skill points.
        sigma: their standard deviations, shape (n,).
        waited: ticks since each joined the queue, shape (n,).
        player: who it is, shape (n,): numbers that stay while a player is in the system.
        focal: index of the player who is asked about; ``NOBODY`` where none is.
        candidates: indices of those who can be chosen, shape (capacity - 1,), the nearest mean
            first and among equals the longest waiting; ``NOBODY`` where there is none.
        tick: the present one.
        playing: players in games under way.
        settings: of the environment: beta, draw_margin, costs and all others.
        true_skill: shape (n,); only for policies with ``needs_truth``, and for judging.
    """

    mu: Floats
    sigma: Floats
    waited: Integers
    player: Integers
    focal: int
    candidates: Integers
    tick: int
    playing: int
    settings: QueueSettings
    true_skill: Floats

    @property
    def filled(self) -> Integers:
        """The indices of the candidates that there are, in order."""
        found: Integers = self.candidates[self.candidates != NOBODY]
        return found

    @property
    def action_mask(self) -> NDArray[np.bool_]:
        """Which actions are allowed, shape (capacity,); 0 always is."""
        mask = np.empty(self.candidates.size + 1, dtype=np.bool_)
        mask[0] = True
        np.not_equal(self.candidates, NOBODY, out=mask[1:])
        return mask

    def candidate_quality(self) -> Floats:
        """Match quality of the focal player with each of ``filled``: eq. (6) of the 2011 paper."""
        focal, others = self.focal, self.filled
        quality: Floats = match_quality(
            self.mu[focal], self.sigma[focal], self.mu[others], self.sigma[others],
            self.settings.beta,
        )  # fmt: skip
        return quality
