"""Policies of one player and a pool, asked in the queue."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from matchenv.baselines.queue.policy import WAIT, QueuePolicy, Reservation
from matchenv.belief.states import States
from matchenv.queue.waiting import WaitingPlayers
from matchenv.validation import as_integer


class Reserved(QueuePolicy):
    """The opponent whom a policy of ``Matchmaking-v0`` chooses, if the game is even enough.

    The policy sees the focal player and the candidates as one player and a pool. What it knows
    of earlier games is the beliefs alone; a belief with covariances starts from independence.

    Args:
        policy: a ``matchenv.baselines.Policy``, or anything with the ``predict`` of
            stable-baselines3's models. Its attribute ``belief`` says which belief it reads.
        reservation: match quality that is asked for in the first tick.
        fall: by how much that falls with each tick of waiting, >= 0.
        games_left: games that the policy is told are left, >= 1: in the queue nobody knows.

    Raises:
        ValueError: for a number that is not finite, a negative fall, or no such policy.
    """

    name: ClassVar[str] = "reservation"

    def __init__(
        self, policy: Any, reservation: float = 0.6, fall: float = 0.02, games_left: int = 20
    ) -> None:
        if not callable(getattr(policy, "predict", None)):
            raise ValueError(f"policy must have a method predict, got {policy!r}")
        if getattr(policy, "needs_truth", False):
            raise ValueError(f"policy must not know the true skills, got {policy!r}")
        self.policy = policy
        self._asked = Reservation(reservation, fall)
        self.reservation, self.fall = self._asked.reservation, self._asked.fall
        self.games_left = as_integer("games_left", games_left, 1)

    @property
    def stochastic(self) -> bool:  # type: ignore[override]
        """Whether the policy that it asks is."""
        return bool(getattr(self.policy, "stochastic", False))

    def choose(self, waiting: WaitingPlayers, rng: np.random.Generator) -> int:
        """The policy's opponent or none; as ``QueuePolicy``."""
        if waiting.filled.size == 0:
            return WAIT
        shown = np.concatenate(([waiting.focal], waiting.filled))
        belief = getattr(self.policy, "belief", "factorised")
        mu, sigma = waiting.mu[None, shown], waiting.sigma[None, shown]
        state = States.of_prior(mu, sigma, belief).knowledge_state()
        if callable(getattr(self.policy, "act", None)):
            chosen = int(self.policy.act(state, self.games_left, rng)[0])
        else:
            horizon = getattr(getattr(self.policy, "settings", None), "horizon", self.games_left)
            share = min(1.0, self.games_left / horizon)
            chosen = int(self.policy.predict(state.to_observation(share))[0][0])
        asked = self._asked.after(waiting.waited[waiting.focal])
        return chosen + 1 if waiting.candidate_quality()[chosen] >= asked else WAIT
