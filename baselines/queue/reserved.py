"""Policies of one player and a pool, asked in the queue."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from matchenv.baselines.queue.policy import WAIT, Floats, Integers, QueuePolicy, Reservation
from matchenv.belief import DEFAULT_BELIEF
from matchenv.belief.states import States
from matchenv.envs.queue.view import QueueView
from matchenv.runtime.checks import as_integer
from matchenv.trueskill import match_quality


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
        self, policy: Any, reservation: float = 0.5, fall: float = 0.1, games_left: int = 20
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

    def act(
        self,
        queues: QueueView,
        rng: np.random.Generator | None = None,
        action_masks: ArrayLike | None = None,
    ) -> Integers:
        """The policy's opponent or none; pools of one size are asked about at once."""
        actions = np.full(len(queues.mu), WAIT, dtype=np.int64)
        asked = self._asked.after(queues.waited)
        for size in np.unique(queues.filled[queues.filled > 0]).tolist():
            rows = np.flatnonzero(queues.filled == size)
            mu, sigma = queues.mu[rows, : size + 1], queues.sigma[rows, : size + 1]
            chosen = self._opponents(mu, sigma, rng)
            pair = np.arange(rows.size), chosen + 1
            quality = match_quality(
                mu[:, 0], sigma[:, 0], mu[pair], sigma[pair], queues.settings.beta
            )
            actions[rows] = np.where(quality >= asked[rows], chosen + 1, WAIT)
        return actions

    def _opponents(self, mu: Floats, sigma: Floats, rng: np.random.Generator | None) -> Integers:
        """Whom the policy chooses in pools of one size, shape (B, M + 1) to (B,), from 0 on."""
        belief = getattr(self.policy, "belief", DEFAULT_BELIEF)
        state = States.of_prior(mu, sigma, belief).knowledge_state()
        if callable(getattr(self.policy, "act", None)):
            chosen: Integers = self.policy.act(state, self.games_left, rng)
            return chosen
        horizon = getattr(getattr(self.policy, "settings", None), "horizon", self.games_left)
        observation = state.to_observation(min(1.0, self.games_left / horizon))
        return np.asarray(self.policy.predict(observation)[0]).astype(np.int64)
