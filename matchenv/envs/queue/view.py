"""Inputs of queue policies: the candidates of B queues, and all waiting players of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from matchenv.envs.queue.settings import QueueSettings
from matchenv.runtime.arrays import Floats, Integers, Keys, Masks
from matchenv.trueskill.two_player import match_quality

# Index of a missing candidate or focal player.
NOBODY = -1


@dataclass(frozen=True)
class WaitingPlayers:
    """All waiting players of one queue, the longest waiting first; copies.

    A policy's choice is 0 if the focal player waits, or k >= 1 for a game with
    ``candidates[k - 1]``.

    Attributes:
        mu: means of the beliefs, shape (n,), in skill points.
        sigma: standard deviations of the beliefs, shape (n,).
        waited: ticks since each player joined the queue, shape (n,).
        player: numbers of the players, shape (n,), constant while a player is in the service.
        focal: index of the focal player, or ``NOBODY``.
        candidates: indices of the candidates, shape (capacity - 1,), sorted by the gap of means and
            then by waiting time; ``NOBODY`` for missing ones.
        tick: the current tick.
        playing: number of players in games.
        settings: of the environment.
        true_skill: shape (n,), for evaluation and policies with ``needs_truth``.
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
        """The indices of the candidates without missing ones."""
        return self.candidates[self.candidates != NOBODY]

    @property
    def action_mask(self) -> Masks:
        """The allowed actions, shape (capacity,); 0 is always allowed."""
        return np.concatenate(([True], self.candidates != NOBODY))

    def candidate_quality(self) -> Floats:
        """Return the match quality of the focal player with each of ``filled``."""
        focal, others = self.focal, self.filled
        if focal == NOBODY:
            return np.empty(0)
        return match_quality(
            self.mu[focal], self.sigma[focal], self.mu[others], self.sigma[others],
            self.settings.beta,
        )  # fmt: skip


@dataclass(frozen=True)
class QueueView:
    """The focal players and candidates of B queues; ``view[row]`` has all waiting players of one.

    Attributes:
        mu: means of the beliefs about the focal player and the candidates, sorted by the gap of
            means, shape (B, C).
        sigma: standard deviations of the beliefs, shape (B, C).
        waited: ticks that the focal player has waited, shape (B,).
        player: numbers of the players, shape (B, C); ``NOBODY`` for missing ones.
        filled: number of candidates, shape (B,); later columns are undefined.
        tick: the current tick, shape (B,).
        run: identifier of each queue's episode, shape (B,).
        settings: of the environment.
        everyone: returns all waiting players of the queue in a row.
    """

    mu: Floats
    sigma: Floats
    waited: Floats
    player: Integers
    filled: Integers
    tick: Integers
    run: Keys
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
