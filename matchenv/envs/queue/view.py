"""Views of the queue: open lobbies and candidates of B queues, and all waiting parties of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from matchenv.envs.core.view import View, truth
from matchenv.envs.queue.lobby import Parties, packing_table
from matchenv.envs.queue.observation import quality_of_lobby
from matchenv.envs.queue.settings import QueueSettings
from matchenv.envs.queue.state import NOBODY as NOBODY
from matchenv.runtime.arrays import Floats, Integers, Keys, Masks
from matchenv.trueskill.two_player import match_quality


@dataclass(frozen=True, eq=False)
class WaitingParties(View):
    """All waiting parties of one queue, the longest waiting first; copies.

    Q parties wait, and the sides of a game have n players. An action is 0 to dissolve the open
    lobby, whose founder waits this tick, or k >= 1 to add ``candidates[k - 1]``. With two sides of
    one, that is to wait, or to play a candidate.

    Attributes:
        mu: means of the parties' performances, shape (Q,): sums of the members' means, with the
            ``party_bonus`` if beliefs count it, in skill points.
        sigma: standard deviations of the sums of the members' skills, shape (Q,).
        waited: ticks since each party joined the queue, shape (Q,).
        party: numbers of the parties, shape (Q,), constant while a party is in the service. A
            player without a party is one, with the player's number if all are.
        focal: index of the founder of the open lobby, or ``NOBODY``.
        candidates: indices of the parties that can join, shape (K,), K < capacity, sorted by the
            gap of the means per player to the lobby's and then by waiting time.
        tick: the current tick.
        playing: number of players in games.
        settings: of the environment.
        run: identifier of the queue's episode.
        action_mask: allowed actions, shape (capacity,), by default 0 to K.
        size: members of each party, shape (Q,), by default 1.
        member: numbers of the members, shape (Q, n), ``NOBODY`` beyond the size; by default
            ``party``. So are the next two.
        member_mu: means of the beliefs about the members, shape (Q, n), 0 beyond the size.
        member_sigma: standard deviations of these beliefs, shape (Q, n), 0 beyond the size.
        lobby: indices of the parties in the open lobby in the order of joining it, the founder
            first, shape (m,), empty if there is none; by default the founder.
        true_skill: sums of the members' true skills, with the ``party_bonus``, shape (Q,), for
            evaluation and policies with ``needs_truth``.
        member_true_skill: shape (Q, n), 0 beyond the size; exists where ``true_skill`` does.
    """

    mu: Floats
    sigma: Floats
    waited: Integers
    party: Integers
    focal: int
    candidates: Integers
    tick: int
    playing: int
    settings: QueueSettings
    run: int = 0
    action_mask: Any = field(default=None, kw_only=True)
    size: Any = field(default=None, kw_only=True)
    member: Any = field(default=None, kw_only=True)
    member_mu: Any = field(default=None, kw_only=True)
    member_sigma: Any = field(default=None, kw_only=True)
    lobby: Any = field(default=None, kw_only=True)
    true_skill: Any = truth()
    member_true_skill: Any = truth()

    def __post_init__(self) -> None:
        defaults = {
            "action_mask": np.arange(self.settings.capacity) <= self.candidates.size,
            "size": np.ones(self.mu.size, dtype=np.int64),
            "member": self.party[:, np.newaxis],
            "member_mu": self.mu[:, np.newaxis],
            "member_sigma": self.sigma[:, np.newaxis],
            "lobby": np.flatnonzero(np.arange(self.mu.size) == self.focal),
        }
        if self.true_skill is not None:
            defaults["member_true_skill"] = self.true_skill[:, np.newaxis]
        for name, value in defaults.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        super().__post_init__()

    @property
    def lobby_size(self) -> int:
        """Number of players in the open lobby."""
        return int(self.size[self.lobby].sum())

    @property
    def free_seats(self) -> int:
        """Number of seats that are free in the open lobby; of a whole game without one."""
        return self.settings.num_seats - self.lobby_size

    def candidate_quality(self) -> Floats:
        """Return the match quality of the open lobby with each of the candidates, shape (K,).

        Free seats count as average players of the lobby; see ``MatchmakingQueueEnv``.
        """
        if self.focal == NOBODY:
            return np.empty(0)
        if not self.settings.has_lobbies:
            return match_quality(
                self.mu[self.focal],
                self.sigma[self.focal],
                self.mu[self.candidates],
                self.sigma[self.candidates],
                self.settings.beta,
            )
        qualities = []
        for candidate in self.candidates:
            qualities.append(self.quality_of([*self.lobby, candidate]))
        return np.array(qualities)

    def quality_of(self, parties: Sequence[int]) -> float:
        """Return the match quality of a lobby of some parties, by their indices.

        The lobby is split in the best way. Free seats count as average players of it; see
        ``MatchmakingQueueEnv``.
        """
        settings = self.settings
        num_seats = settings.num_seats
        count = len(parties)
        indices = np.asarray(parties)
        mean = np.zeros(num_seats)
        variance = np.zeros(num_seats)
        size = np.zeros(num_seats, dtype=np.int64)
        mean[:count] = self.mu[indices]
        variance[:count] = self.sigma[indices] ** 2
        size[:count] = self.size[indices]
        table = packing_table(settings.side_size, settings.num_sides)
        lobby = Parties(mean, variance, size, count)
        return quality_of_lobby(table, lobby, settings.beta, np.zeros_like(size))


@dataclass(frozen=True, eq=False)
class QueueView(View):
    """The open lobbies and candidates of B queues; ``view[row]`` has all waiting parties of one.

    C is the capacity. Column 0 is the open lobby, and column k the candidate of action k, sorted
    by the gap of the means per player. Columns of missing parties are 0, with a sigma of 1.

    Attributes:
        mu: means of the performances of the lobby and the parties, shape (B, C), in skill points;
            see ``WaitingParties``.
        sigma: standard deviations of the sums of the skills, shape (B, C).
        waited: ticks that the founder has waited, shape (B,).
        party: numbers of the founder and the parties, shape (B, C); ``NOBODY`` for missing ones.
        tick: the current tick, shape (B,).
        run: identifier of each queue's episode, shape (B,).
        settings: of the environment.
        waiting_parties: returns all waiting parties of the queue in a row.
        size: players in the lobby and in the parties, shape (B, C), 0 for missing ones.
        quality: match quality of the lobby, and of the lobby with each candidate, shape (B, C); see
            ``MatchmakingQueueEnv``. Only with more than two seats.
        action_mask: allowed actions, shape (B, C): dissolving the lobby, and each candidate.
        true_skill: shape (B, C); only for policies with ``needs_truth``.
    """

    mu: Floats
    sigma: Floats
    waited: Floats
    party: Integers
    tick: Integers
    run: Keys
    settings: QueueSettings
    waiting_parties: Callable[[int], WaitingParties]
    size: Integers
    quality: Any = None
    true_skill: Any = truth()

    @classmethod
    def of(cls, waiting: WaitingParties) -> Self:
        """Return the view of one queue, B = 1."""
        settings = waiting.settings
        capacity = settings.capacity
        waited = 0.0
        lobby = []
        founder = waiting.candidates[:0]
        quality = None
        if waiting.focal != NOBODY:
            waited = float(waiting.waited[waiting.focal])
            lobby = [waiting.lobby]
            founder = np.array([waiting.focal])
        if settings.has_lobbies:
            qualities = waiting.candidate_quality()
            if waiting.focal != NOBODY:
                qualities = np.append(waiting.quality_of(waiting.lobby), qualities)
            quality = _padded(qualities, capacity, 0.0)
        # The lobby, if there is one, and the candidates.
        groups = lobby + [np.array([k]) for k in waiting.candidates]

        def sums(values: Any) -> Any:
            return np.array([values[group].sum() for group in groups], dtype=values.dtype)

        true_skill = getattr(waiting, "true_skill", None)
        if true_skill is not None:
            true_skill = _padded(sums(true_skill), capacity, 0.0)
        numbers = waiting.party[np.concatenate((founder, waiting.candidates))]
        return cls(
            mu=_padded(sums(waiting.mu), capacity, 0.0),
            sigma=_padded(np.sqrt(sums(waiting.sigma**2)), capacity, 1.0),
            waited=np.array([waited]),
            party=_padded(numbers, capacity, NOBODY),
            tick=np.array([waiting.tick]),
            run=np.array([waiting.run], dtype=np.uint64),
            settings=settings,
            waiting_parties=lambda _: waiting,
            size=_padded(sums(waiting.size), capacity, 0),
            quality=quality,
            action_mask=waiting.action_mask[np.newaxis],
            true_skill=true_skill,
        )

    @property
    def lobby_size(self) -> Integers:
        """Number of players in the open lobby, shape (B,)."""
        return self.size[:, 0]

    @property
    def free_seats(self) -> Integers:
        """Number of seats that are free in the open lobby, shape (B,)."""
        return self.settings.num_seats - self.size[:, 0]

    @property
    def has_candidates(self) -> Masks:
        """Whether a party can join the open lobby, shape (B,)."""
        return self.action_mask[:, 1]

    @property
    def num_candidates(self) -> Integers:
        """Number of candidates, shape (B,)."""
        return np.count_nonzero(self.action_mask[:, 1:], axis=1)

    def __len__(self) -> int:
        return len(self.mu)

    def __getitem__(self, row: int) -> WaitingParties:
        return self.waiting_parties(row)


def _padded(values: Any, capacity: int, missing: float) -> Any:
    """Return one row of ``capacity`` numbers: the values, then ``missing``."""
    row = np.full((1, capacity), missing, dtype=values.dtype)
    row[0, : values.size] = values
    return row
