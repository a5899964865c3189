"""Inputs of queue policies: the candidates of B queues, and all waiting players."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.queue.settings import QueueSettings
from matchenv.trueskill.two_player import match_quality

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Where there is no candidate, or no focal player.
NOBODY = -1


@dataclass(frozen=True)
class WaitingPlayers:
    """All players who wait in one queue, the longest waiting first; copies.

    A choice for the focal player is 0, to wait this tick, or k from 1 on: to play
    ``candidates[k - 1]``. Within a tick every waiting player is asked about once, the longest
    waiting first, as long as two players wait.

    Attributes:
        mu: means of the beliefs, shape (n,), in skill points.
        sigma: their standard deviations, shape (n,).
        waited: ticks since each joined the queue, shape (n,).
        player: number of each player, shape (n,), which stays while a player is in the service.
        focal: index of the player who is asked about; ``NOBODY`` for none.
        candidates: indices of those who can be chosen, shape (capacity - 1,), the nearest mean
            first and among equals the longest waiting; ``NOBODY`` where there is none.
        tick: the current one.
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
        """The allowed actions, shape (capacity,); 0 always is."""
        return np.concatenate(([True], self.candidates != NOBODY))

    def candidate_quality(self) -> Floats:
        """Return the match quality of the focal player with each of ``filled``."""
        focal, others = self.focal, self.filled
        quality: Floats = match_quality(
            self.mu[focal], self.sigma[focal], self.mu[others], self.sigma[others],
            self.settings.beta,
        )  # fmt: skip
        return quality


@dataclass(frozen=True)
class QueueView:
    """The focal player and the candidates of B queues, in float64; ``view[row]`` has all who wait.

    Attributes:
        mu: means of the beliefs, shape (B, C): the focal player, then the candidates, the nearest
            mean first.
        sigma: their standard deviations, shape (B, C).
        waited: ticks that the focal player has waited, shape (B,).
        player: numbers of the players, shape (B, C); ``NOBODY`` where there is none.
        filled: number of candidates, shape (B,); what is behind them has no meaning.
        tick: the current one, shape (B,).
        run: identifies the episode of each queue, shape (B,).
        settings: of the environment.
        everyone: returns all who wait in the queue of a row.
    """

    mu: Floats
    sigma: Floats
    waited: Floats
    player: Integers
    filled: Integers
    tick: Integers
    run: NDArray[np.uint64]
    settings: QueueSettings
    everyone: Callable[[int], WaitingPlayers]

    @classmethod
    def of(cls, waiting: WaitingPlayers) -> Self:
        """Return the view of one queue; its focal player must not be ``NOBODY``."""
        shown = np.concatenate(([waiting.focal], waiting.filled))
        return cls(
            mu=waiting.mu[np.newaxis, shown],
            sigma=waiting.sigma[np.newaxis, shown],
            waited=waiting.waited[np.newaxis, waiting.focal].astype(np.float64),
            player=waiting.player[np.newaxis, shown],
            filled=np.array([shown.size - 1]),
            tick=np.array([waiting.tick]),
            run=np.zeros(1, dtype=np.uint64),
            settings=waiting.settings,
            everyone=lambda _: waiting,
        )

    def __len__(self) -> int:
        return len(self.mu)

    def __getitem__(self, row: int) -> WaitingPlayers:
        return self.everyone(row)
