"""The base class of the queue's policies, and those that look at the candidates alone.

Values of games are in match quality, for each of the two players.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchenv.baselines.knowledge_gradient_rule import look_ahead, read_opponents
from matchenv.belief import DEFAULT_BELIEF, GameConstants
from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.queue.view import QueueView, WaitingPlayers
from matchenv.runtime.checks import (
    as_actions,
    as_flag,
    as_integer,
    as_non_negative_number,
    as_number,
    as_probability,
)
from matchenv.runtime.compile import compiled
from matchenv.trueskill import match_quality
from matchenv.trueskill.game import match_quality_of, quality_per_density, total_variance

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# The action of a player who waits this tick.
WAIT = 0

# Opponents on either side that a player looks ahead to, in the order of the means.
REACH = 10


@compiled
def information_gain(mu: Floats, sigma: Floats, i: int, j: int, game: GameConstants) -> float:
    """Return by how much the best match quality that i can expect grows with a game against j.

    KG's F_j minus the best draw density now, in match quality. As in the paper, player i looks
    ahead as though the same opponents were there after the game: j, and the nearest in the line.

    Args:
        mu: shape (n,), means in ascending order.
        sigma: shape (n,), standard deviations.
        i: the player who gains.
        j: the opponent.
        game: constants of the games.

    Source: Ryzhov, Tariq, Powell (2011), section 3, misprints corrected.
    """
    near = np.arange(max(0, i - REACH), min(mu.size, i + REACH + 1))
    near = near[(near != i) & (near != j)]
    players = np.concatenate((np.array([i, j]), near))
    opponents = read_opponents(mu[players], sigma[players], np.empty(0), game)
    gain = look_ahead(opponents, 0, game) - opponents.densities.max()
    return gain * quality_per_density(game.beta)


@compiled
def pair_value(
    mu: Floats, sigma: Floats, i: int, j: int, multipliers: tuple[float, float], game: GameConstants
) -> float:
    """Return match quality plus the gains of i and of j, each times its multiplier."""
    variance = total_variance(sigma[i], sigma[j], game.beta)
    value = match_quality_of(mu[i] - mu[j], variance, game.beta)
    if multipliers[0] > 0.0:
        value += multipliers[0] * information_gain(mu, sigma, i, j, game)
    if multipliers[1] > 0.0:
        value += multipliers[1] * information_gain(mu, sigma, j, i, game)
    return value


@compiled
def band_values(
    mu: Floats, sigma: Floats, width: int, multiplier: float, game: GameConstants
) -> Floats:
    """Return match quality + multiplier x the mean of both gains, up to ``width`` places apart.

    Args:
        mu: shape (n,), means in ascending order.
        sigma: shape (n,), standard deviations.
        width: W, places that two players may be apart.
        multiplier: number of games to come for which a player's gain counts, >= 0.
        game: constants of the games.

    Returns:
        Shape (n, W), entry (i, d - 1) of players i and i + d; 0 beyond the last player.
    """
    values = np.zeros((mu.size, width))
    each = (0.5 * multiplier, 0.5 * multiplier)
    for i in range(mu.size):
        for d in range(1, min(width, mu.size - 1 - i) + 1):
            values[i, d - 1] = pair_value(mu, sigma, i, i + d, each, game)
    return values


@compiled
def candidate_values(
    mu: Floats, sigma: Floats, multipliers: tuple[float, float], game: GameConstants
) -> Floats:
    """Return the value of the first player's game with each of the others, shape (n - 1,).

    Args:
        mu: shape (n,), means in any order.
        sigma: shape (n,), standard deviations.
        multipliers: of the gains of the first player and of the other.
        game: constants of the games.
    """
    order = np.argsort(mu, kind="mergesort")
    place = np.empty(mu.size, dtype=np.int64)
    place[order] = np.arange(mu.size)
    means, deviations = mu[order], sigma[order]
    values = np.empty(mu.size - 1)
    for k in range(values.size):
        values[k] = pair_value(means, deviations, place[0], place[k + 1], multipliers, game)
    return values


class QueuePolicy(ABC):
    """A rule that chooses an opponent for the focal player of each queue.

    It never touches an environment.

    Attributes:
        name: the policy's name in tables and on command lines.
        stochastic: whether equal queues may get different choices, so that it needs ``rng``.
        needs_truth: whether it reads the true skills, which no fair policy sees.
    """

    name: ClassVar[str]
    stochastic: ClassVar[bool] = False
    needs_truth: ClassVar[bool] = False

    def __repr__(self) -> str:
        names = [name for name in inspect.signature(type(self)).parameters if hasattr(self, name)]
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"

    def act(self, queues: QueueView, rng: np.random.Generator | None = None) -> Integers:
        """Choose an action for the focal player of each queue.

        Args:
            queues: view of B queues; ``queues[row]`` holds all who wait in one.
            rng: generator for stochastic policies; None for a new one.

        Returns:
            Shape (B,): 0 to wait this tick, k for the k-th candidate.
        """
        return self._choose(queues, np.random.default_rng() if rng is None else rng)

    def choose(self, waiting: WaitingPlayers, rng: np.random.Generator | None = None) -> int:
        """Return the action in one queue, as ``act``."""
        return int(self.act(QueueView.of(waiting), rng)[0])

    @abstractmethod
    def _choose(self, queues: QueueView, rng: np.random.Generator) -> Integers:
        """Return the actions, shape (B,)."""


class ReservingPolicy(QueuePolicy):
    """Base of rules with a reservation: the least value of a game that a player accepts.

    Args:
        reservation: in the first tick, in match quality.
        fall: decrease with each tick of waiting, >= 0.

    Raises:
        ValueError: for a number that is not finite, or a negative fall.

    Source: the reservation value of search theory, McCall (1970).
    """

    def __init__(self, reservation: float = 0.45, fall: float = 0.05) -> None:
        self.reservation = as_number("reservation", reservation)
        self.fall = as_non_negative_number("fall", fall)

    def asked(self, waited: ArrayLike) -> Floats:
        """Return the reservation after so many ticks, of the same shape."""
        return self.reservation - self.fall * np.asarray(waited, dtype=np.float64)


class FirstComeFirstServed(QueuePolicy):
    """The longest waiting player plays at once, against the nearest mean.

    Source: the first come, first served discipline of queueing theory, with the rule of
        Ryzhov, Tariq, Powell (2011), eq. (8).
    """

    name: ClassVar[str] = "fcfs"

    def _choose(self, queues: QueueView, rng: np.random.Generator) -> Integers:
        return np.where(queues.filled > 0, 1, WAIT)


class WideningWindow(QueuePolicy):
    """The nearest mean, once it is within a window that grows while the player waits.

    Args:
        width: largest difference of means in the first tick, >= 0, in skill points.
        growth: growth of the window with each tick, >= 0.

    Raises:
        ValueError: for a number that is negative or not finite.

    Source: the rule of open match-makers, for example FAForever/server and teiserver.
    """

    name: ClassVar[str] = "window"

    def __init__(self, width: float = 2.5, growth: float = 0.2) -> None:
        self.width = as_non_negative_number("width", width)
        self.growth = as_non_negative_number("growth", growth)

    def _choose(self, queues: QueueView, rng: np.random.Generator) -> Integers:
        window = self.width + self.growth * queues.waited
        nearest = queues.mu[:, :2][:, -1]  # the focal player's own where there is no other
        is_near = (queues.filled > 0) & (np.abs(nearest - queues.mu[:, 0]) <= window)
        return np.where(is_near, 1, WAIT)


class RandomCandidate(QueuePolicy):
    """A candidate at random, all equally likely.

    Args:
        wait: probability to wait this tick, in [0, 1).

    Raises:
        ValueError: for another probability.
    """

    name: ClassVar[str] = "random"
    stochastic: ClassVar[bool] = True

    def __init__(self, wait: float = 0.0) -> None:
        self.wait = as_probability("wait", wait)

    def _choose(self, queues: QueueView, rng: np.random.Generator) -> Integers:
        waits = rng.random(len(queues.mu)) < self.wait
        candidate = rng.integers(1, np.maximum(queues.filled, 1) + 1)
        return np.where(waits | (queues.filled == 0), WAIT, candidate)


class ReservedDrawChance(ReservingPolicy):
    """The candidate of the highest match quality, once that reaches a falling reservation.

    Args:
        reservation: match quality that is accepted in the first tick.
        fall: decrease of the reservation with each tick of waiting, >= 0.

    Raises:
        ValueError: for a number that is not finite, or a negative fall.

    Source: Herbrich, Minka, Graepel (2006), section 4.2; Ryzhov, Tariq, Powell (2011), eq. (9).
    """

    name: ClassVar[str] = "drawchance"
    # Of the gains of the focal player and of the candidate.
    _multipliers = (0.0, 0.0)

    def values(self, queues: QueueView, row: int = 0) -> Floats:
        """Return the value of each candidate of a queue."""
        players = slice(int(queues.filled[row]) + 1)
        mu, sigma = queues.mu[row, players], queues.sigma[row, players]
        game = queues.settings.constants
        return np.asarray(candidate_values(mu, sigma, self._multipliers, game))

    def _choose(self, queues: QueueView, rng: np.random.Generator) -> Integers:
        asked, actions = self.asked(queues.waited), np.full(len(queues), WAIT, dtype=np.int64)
        for row in np.flatnonzero(queues.filled > 0).tolist():
            values = self.values(queues, row)
            best = values.argmax()
            if values[best] >= asked[row]:
                actions[row] = best + 1
        return actions


class QueueKnowledgeGradient(ReservedDrawChance):
    """KG: match quality now, and what the game would teach for the games to come.

    The value of a candidate is the match quality + multiplier x gain; the gain of a player is
    F_j minus the best draw density now, in match quality. The look-ahead assumes that the same
    candidates are there after the game. The best one is taken once its value is at least the
    reservation.

    Args:
        multiplier: number of games to come for which a gain counts, >= 0.
        both: the gain is the mean of both players', else the focal player's.
        reservation: value that is accepted in the first tick.
        fall: decrease of the reservation with each tick of waiting, >= 0.

    Raises:
        ValueError: for a number that is not finite, or a negative multiplier or fall.

    Source: Ryzhov, Tariq, Powell (2011), eq. (13), for a player who queues again and again.
    """

    name: ClassVar[str] = "kg"

    def __init__(
        self,
        multiplier: float = 0.3,
        *,
        both: bool = False,
        reservation: float = 0.45,
        fall: float = 0.05,
    ) -> None:
        super().__init__(reservation, fall)
        self.multiplier = as_non_negative_number("multiplier", multiplier)
        self.both = as_flag("both", both)
        half = 0.5 * self.multiplier
        self._multipliers = (half, half) if self.both else (self.multiplier, 0.0)


class Reserved(ReservingPolicy):
    """The opponent whom a policy of ``Matchmaking-v0`` chooses, if the game is even enough.

    The policy sees the focal player and the candidates as one player and a pool. Of earlier games
    it sees the beliefs alone; a belief with covariances starts from independence.

    Args:
        policy: a ``matchenv.baselines.Policy``, or anything with the ``predict`` of
            stable-baselines3's models. Its attribute ``belief`` names the belief that it reads.
        reservation: match quality that is accepted in the first tick.
        fall: decrease of the reservation with each tick of waiting, >= 0.
        games_left: games left in the observation of the policy, >= 1; the queue has no number.

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
        super().__init__(reservation, fall)
        self.policy = policy
        self.games_left = as_integer("games_left", games_left, 1)

    @property
    def stochastic(self) -> bool:  # type: ignore[override]
        """True if the policy of one player is stochastic."""
        return bool(getattr(self.policy, "stochastic", False))

    def _choose(self, queues: QueueView, rng: np.random.Generator) -> Integers:
        actions = np.full(len(queues.mu), WAIT, dtype=np.int64)
        asked, beta = self.asked(queues.waited), queues.settings.beta
        belief = getattr(self.policy, "belief", DEFAULT_BELIEF)
        horizon = getattr(getattr(self.policy, "settings", None), "horizon", self.games_left)
        for size in np.unique(queues.filled[queues.filled > 0]).tolist():
            rows = np.flatnonzero(queues.filled == size)
            mu, sigma = queues.mu[rows, : size + 1], queues.sigma[rows, : size + 1]
            state = KnowledgeState.of_prior(mu, sigma, belief)
            if callable(getattr(self.policy, "act", None)):
                chosen = self.policy.act(state, self.games_left, rng)
            else:
                share = min(1.0, self.games_left / horizon)
                chosen = self.policy.predict(state.to_observation(share))[0]
            chosen = as_actions(chosen, rows.size, size)
            pair = np.arange(rows.size), chosen + 1
            quality = match_quality(mu[:, 0], sigma[:, 0], mu[pair], sigma[pair], beta)
            actions[rows] = np.where(quality >= asked[rows], chosen + 1, WAIT)
        return actions
