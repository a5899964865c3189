"""Views of the queue: the candidates in B queues, and all waiting players of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from matchenv.envs.core.view import View, truth
from matchenv.envs.queue.settings import QueueSettings
from matchenv.runtime.arrays import Floats, Integers, Keys, Masks
from matchenv.trueskill.two_player import match_quality

# Index or number of a missing player.
NOBODY = -1


@dataclass(frozen=True, eq=False)
class WaitingPlayers(View):
    """All waiting players of one queue, the longest waiting first; copies.

    An action is 0 if the focal player waits, or k >= 1 for a game with ``candidates[k - 1]``.

    Attributes:
        mu: means of the beliefs, shape (n,), in skill points.
        sigma: standard deviations of the beliefs, shape (n,).
        waited: ticks since each player joined the queue, shape (n,).
        player: numbers of the players, shape (n,), constant while a player is in the service.
        focal: index of the focal player, or ``NOBODY``.
        candidates: indices of the candidates, shape (K,), K < capacity, sorted by the gap of means
            and then by waiting time.
        tick: the current tick.
        playing: number of players in games.
        settings: of the environment.
        run: identifier of the queue's episode.
        action_mask: allowed actions, shape (capacity,), by default 0 to K.
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
    run: int = 0
    action_mask: Any = field(default=None, kw_only=True)
    true_skill: Any = truth()

    def __post_init__(self) -> None:
        if self.action_mask is None:
            mask = np.arange(self.settings.capacity) <= self.candidates.size
            object.__setattr__(self, "action_mask", mask)
        super().__post_init__()

    def candidate_quality(self) -> Floats:
        """Return the match quality of the focal player with each of the candidates."""
        if self.focal == NOBODY:
            return np.empty(0)
        return match_quality(
            self.mu[self.focal],
            self.sigma[self.focal],
            self.mu[self.candidates],
            self.sigma[self.candidates],
            self.settings.beta,
        )


@dataclass(frozen=True, eq=False)
class QueueView(View):
    """The focal players and candidates of B queues; ``view[row]`` has all waiting players of one.

    C is the capacity. Column 0 is the focal player and column k the candidate of action k, sorted
    by the gap of means. Columns of missing players are 0, with a sigma of 1.

    Attributes:
        mu: means of the beliefs, shape (B, C), in skill points.
        sigma: standard deviations of the beliefs, shape (B, C).
        waited: ticks that the focal player has waited, shape (B,).
        player: numbers of the players, shape (B, C); ``NOBODY`` for missing ones.
        tick: the current tick, shape (B,).
        run: identifier of each queue's episode, shape (B,).
        settings: of the environment.
        waiting_players: returns all waiting players of the queue in a row.
        action_mask: allowed actions, shape (B, C): waiting, and each candidate.
        true_skill: shape (B, C); only for policies with ``needs_truth``.
    """

    mu: Floats
    sigma: Floats
    waited: Floats
    player: Integers
    tick: Integers
    run: Keys
    settings: QueueSettings
    waiting_players: Callable[[int], WaitingPlayers]
    true_skill: Any = truth()

    @classmethod
    def of(cls, waiting: WaitingPlayers) -> Self:
        """Return the view of one queue, B = 1."""
        capacity = waiting.settings.capacity
        indices = waiting.candidates
        waited = 0.0
        if waiting.focal != NOBODY:
            indices = np.concatenate(([waiting.focal], indices))
            waited = float(waiting.waited[waiting.focal])
        true_skill = getattr(waiting, "true_skill", None)
        if true_skill is not None:
            true_skill = _padded(true_skill[indices], capacity, 0.0)
        return cls(
            mu=_padded(waiting.mu[indices], capacity, 0.0),
            sigma=_padded(waiting.sigma[indices], capacity, 1.0),
            waited=np.array([waited]),
            player=_padded(waiting.player[indices], capacity, NOBODY),
            tick=np.array([waiting.tick]),
            run=np.array([waiting.run], dtype=np.uint64),
            settings=waiting.settings,
            waiting_players=lambda _: waiting,
            action_mask=waiting.action_mask[np.newaxis],
            true_skill=true_skill,
        )

    @property
    def has_candidates(self) -> Masks:
        """Whether the focal player can play, shape (B,)."""
        return self.action_mask[:, 1]

    @property
    def num_candidates(self) -> Integers:
        """Number of candidates, shape (B,)."""
        return np.count_nonzero(self.action_mask[:, 1:], axis=1)

    def __len__(self) -> int:
        return len(self.mu)

    def __getitem__(self, row: int) -> WaitingPlayers:
        return self.waiting_players(row)


def _padded(values: Any, capacity: int, missing: float) -> Any:
    """Return one row of ``capacity`` numbers: the values, then ``missing``."""
    row = np.full((1, capacity), missing, dtype=values.dtype)
    row[0, : values.size] = values
    return row
