"""The base class of the queue's policies, and the policies that only consider the candidates.

They fill the open lobby with one party after the other. With two seats that is an opponent for the
focal player. The value of a game is in units of match quality, per player.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from matchenv.baselines.knowledge_gradient_rule import look_ahead, read_opponents
from matchenv.baselines.policy import Baseline
from matchenv.baselines.queue.lobbies import REACH, lobby_gains
from matchenv.belief import DEFAULT_BELIEF, GameConstants
from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.one_player.simulator import MatchmakingView
from matchenv.envs.queue.settings import QueueSettings
from matchenv.envs.queue.view import QueueView
from matchenv.runtime.arrays import Floats, Integers
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

# Action: wait this tick.
WAIT = 0


@compiled
def information_gain(mu: Floats, sigma: Floats, i: int, j: int, constants: GameConstants) -> float:
    """Return the expected gain of player i's best match quality from a game against j.

    This is KG's F_j minus the best current draw density, in units of match quality. As in the
    paper, the look-ahead assumes the same opponents after the game: j and the nearest neighbours.
    ``mu``, in ascending order, and ``sigma`` have shape (n,).

    Source: Ryzhov, Tariq, Powell (2011), section 3, misprints corrected.
    """
    neighbours = np.arange(max(0, i - REACH), min(mu.size, i + REACH + 1))
    neighbours = neighbours[(neighbours != i) & (neighbours != j)]
    players = np.concatenate((np.array([i, j]), neighbours))
    opponents = read_opponents(mu[players], sigma[players], np.empty(0), constants)
    gain = look_ahead(opponents, 0, constants) - opponents.densities.max()
    return gain * quality_per_density(constants.beta)


@compiled
def pair_value(
    mu: Floats,
    sigma: Floats,
    i: int,
    j: int,
    multipliers: tuple[float, float],
    constants: GameConstants,
) -> float:
    """Return the match quality plus the gains of i and j, each times its multiplier."""
    variance = total_variance(sigma[i], sigma[j], constants.beta)
    value = match_quality_of(mu[i] - mu[j], variance, constants.beta)
    if multipliers[0] > 0.0:
        value += multipliers[0] * information_gain(mu, sigma, i, j, constants)
    if multipliers[1] > 0.0:
        value += multipliers[1] * information_gain(mu, sigma, j, i, constants)
    return value


@compiled
def band_values(
    mu: Floats, sigma: Floats, width: int, multiplier: float, constants: GameConstants
) -> Floats:
    """Return match quality + multiplier x mean gain of pairs at most W = ``width`` ranks apart.

    ``mu``, in ascending order, and ``sigma`` have shape (n,). The result has shape (n, W), with
    element (i, d - 1) for players i and i + d, and 0 beyond the last player.
    """
    values = np.zeros((mu.size, width))
    multipliers = (0.5 * multiplier, 0.5 * multiplier)
    for i in range(mu.size):
        for d in range(1, min(width, mu.size - 1 - i) + 1):
            values[i, d - 1] = pair_value(mu, sigma, i, i + d, multipliers, constants)
    return values


@compiled
def candidate_values(
    mu: Floats, sigma: Floats, multipliers: tuple[float, float], constants: GameConstants
) -> Floats:
    """Return the value of the first player's game against each of the others, shape (n - 1,).

    ``mu``, in any order, and ``sigma`` have shape (n,).
    """
    order = np.argsort(mu, kind="mergesort")
    rank = np.empty(mu.size, dtype=np.int64)
    rank[order] = np.arange(mu.size)
    means = mu[order]
    deviations = sigma[order]
    values = np.empty(mu.size - 1)
    for k in range(values.size):
        values[k] = pair_value(means, deviations, rank[0], rank[k + 1], multipliers, constants)
    return values


class QueuePolicy(Baseline):
    """A rule that chooses the next party of the open lobby of each queue.

    It never touches an environment.
    """

    @abstractmethod
    def act(self, view: QueueView, rng: np.random.Generator | None = None) -> Integers:
        """Choose an action for the open lobby of each queue.

        Args:
            view: of B queues; ``view[row]`` has all waiting parties of one.
            rng: generator for stochastic policies; None creates one.

        Returns:
            Shape (B,): 0 to dissolve the lobby, whose founder waits this tick, k to add the k-th
            candidate.
        """


class ReservingPolicy(QueuePolicy):
    """Base class of rules with a reservation: the smallest value of a game that a party accepts.

    Args:
        reservation: value accepted in the first tick, in units of match quality.
        fall: decrease of the reservation per tick of waiting, >= 0.

    Raises:
        ValueError: for an option that is not finite or out of range.

    Source: the reservation value of search theory, McCall (1970).
    """

    def __init__(self, reservation: float = 0.45, fall: float = 0.05) -> None:
        self.reservation = as_number("reservation", reservation)
        self.fall = as_non_negative_number("fall", fall)

    def reservations(self, waited: ArrayLike) -> Floats:
        """Return the reservation after ``waited`` ticks, of the same shape."""
        return self.reservation - self.fall * np.asarray(waited, dtype=np.float64)


class FirstComeFirstServed(QueuePolicy):
    """Match the longest waiting party at once, with the nearest means per player.

    Source: the first-come, first-served discipline of queueing theory, with the rule of
        Ryzhov, Tariq, Powell (2011), eq. (8).
    """

    name: ClassVar[str] = "fcfs"

    def act(self, view: QueueView, rng: np.random.Generator | None = None) -> Integers:
        """Choose the first candidate; see ``QueuePolicy.act``."""
        return np.where(view.has_candidates, 1, WAIT)


class WideningWindow(QueuePolicy):
    """Choose the nearest mean once it is within a window that grows while the founder waits.

    Args:
        width: largest difference of means per player in the first tick, >= 0, in skill points.
        growth: growth of the window per tick, >= 0.

    Raises:
        ValueError: for an option that is negative or not finite.

    Source: the rule of open-source match-makers, for example FAForever/server and teiserver.
    """

    name: ClassVar[str] = "window"

    def __init__(self, width: float = 2.5, growth: float = 0.2) -> None:
        self.width = as_non_negative_number("width", width)
        self.growth = as_non_negative_number("growth", growth)

    def act(self, view: QueueView, rng: np.random.Generator | None = None) -> Integers:
        """Choose the first candidate within the window; see ``QueuePolicy.act``."""
        window = self.width + self.growth * view.waited
        means = view.mu[:, :2] / np.maximum(view.size[:, :2], 1)
        is_near = np.abs(means[:, 1] - means[:, 0]) <= window
        return np.where(view.has_candidates & is_near, 1, WAIT)


class RandomCandidate(QueuePolicy):
    """Choose a candidate uniformly at random.

    Args:
        wait: probability of waiting this tick, in [0, 1).

    Raises:
        ValueError: for a probability outside [0, 1).
    """

    name: ClassVar[str] = "random"
    stochastic: ClassVar[bool] = True

    def __init__(self, wait: float = 0.0) -> None:
        self.wait = as_probability("wait", wait)

    def act(self, view: QueueView, rng: np.random.Generator | None = None) -> Integers:
        """Choose a random candidate; see ``QueuePolicy.act``."""
        rng = np.random.default_rng(rng)
        waits = rng.random(len(view)) < self.wait
        candidates = rng.integers(1, np.maximum(view.num_candidates, 1) + 1)
        return np.where(view.has_candidates & ~waits, candidates, WAIT)


class ReservedDrawChance(ReservingPolicy):
    """Choose the candidate with the highest match quality once it reaches a falling reservation.

    A game of more than two seats must reach the reservation of its founder when the last seat is
    taken; until then, the lobby is filled with the best candidates. See ``ReservingPolicy`` for the
    arguments.

    Source: Herbrich, Minka, Graepel (2006), section 4.2; Ryzhov, Tariq, Powell (2011), eq. (9).
    """

    name: ClassVar[str] = "drawchance"
    # For the gains of the focal player and of the candidate.
    _multipliers = (0.0, 0.0)

    def values(self, view: QueueView, row: int = 0) -> Floats:
        """Return the value of each candidate of a queue."""
        if view.settings.has_lobbies:
            values: Floats = view.quality[row, 1:][view.action_mask[row, 1:]]
            return values
        players = view.action_mask[row]
        mu = view.mu[row, players]
        sigma = view.sigma[row, players]
        constants = view.settings.constants
        return np.asarray(candidate_values(mu, sigma, self._multipliers, constants))

    def act(self, view: QueueView, rng: np.random.Generator | None = None) -> Integers:
        """Choose the best candidate or wait; see ``QueuePolicy.act``."""
        reservations = self.reservations(view.waited)
        actions = np.full(len(view), WAIT, dtype=np.int64)
        for row in np.flatnonzero(view.has_candidates).tolist():
            values = self.values(view, row)
            best = values.argmax()
            is_last = view.size[row, best + 1] == view.free_seats[row]
            if not is_last or values[best] >= reservations[row]:
                actions[row] = best + 1
        return actions


class QueueKnowledgeGradient(ReservedDrawChance):
    """Choose the candidate with the highest KG value once it reaches a falling reservation.

    The value of a candidate is the match quality + multiplier x gain. A player's gain is F_j minus
    the best current draw density, in units of match quality. The look-ahead assumes the same
    candidates after the game. With more than two seats, the gain is the mean of all members of the
    lobby, and a player's best match is that with one of the nearest waiting players.

    Args:
        multiplier: number of later games that benefit from a gain, >= 0.
        both: use the mean gain of both players instead of the focal player's; only with two seats.
        reservation: see ``ReservingPolicy``.
        fall: see ``ReservingPolicy``.

    Raises:
        ValueError: for an option out of range, and where the policy plays more than two seats with
            ``both``.

    Source: Ryzhov, Tariq, Powell (2011), eq. (13), for a player who returns to the queue.
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

    def for_settings(self, settings: QueueSettings) -> Self:
        """Return this policy for settings of the environment.

        Raises:
            ValueError: for ``both`` with more than two seats.
        """
        self._check_seats(settings)
        return self

    def _check_seats(self, settings: QueueSettings) -> None:
        """Refuse ``both`` with more than two seats."""
        if self.both and settings.has_lobbies:
            raise ValueError(
                "both must be False with more than two seats, where the gain of a lobby always is "
                f"the mean of its members' gains, got True for {settings.num_seats} seats"
            )

    def values(self, view: QueueView, row: int = 0) -> Floats:
        """Return the value of each candidate of a queue."""
        self._check_seats(view.settings)
        values = super().values(view, row)
        if not view.settings.has_lobbies or self.multiplier == 0.0:
            return values
        waiting = view[row]
        return values + self.multiplier * lobby_gains(waiting)


class Reserved(ReservingPolicy):
    """Choose the opponent of a ``Matchmaking-v0`` policy if the game is even enough.

    The policy sees the focal player and the candidates as player 0 and a pool; with more than two
    seats, average players of the open lobby and of the candidates. It only sees current beliefs; a
    belief with covariances starts from independence.

    Args:
        policy: a ``matchenv.baselines.Policy``, or any object with the ``predict`` of
            stable-baselines3's models. Its attribute ``belief`` names the belief that it reads.
        reservation: see ``ReservingPolicy``.
        fall: see ``ReservingPolicy``.
        games_left: games left that the policy is given, >= 1; the queue has no horizon per player.

    Raises:
        ValueError: for an option out of range, an object without ``predict``, or a policy that
            reads the true skills.
    """

    name: ClassVar[str] = "reservation"

    def __init__(
        self, policy: Any, reservation: float = 0.5, fall: float = 0.1, games_left: int = 20
    ) -> None:
        if not callable(getattr(policy, "predict", None)):
            raise ValueError(f"policy must have a method predict, got {policy!r}")
        if getattr(policy, "needs_truth", False):
            raise ValueError(f"policy must not read the true skills, got {policy!r}")
        super().__init__(reservation, fall)
        self.policy = policy
        self.games_left = as_integer("games_left", games_left, 1)

    @property
    def stochastic(self) -> bool:  # type: ignore[override]
        """True if the wrapped policy is stochastic."""
        return bool(getattr(self.policy, "stochastic", False))

    def act(self, view: QueueView, rng: np.random.Generator | None = None) -> Integers:
        """Choose the opponent of the policy or wait; see ``QueuePolicy.act``."""
        rng = np.random.default_rng(rng)
        reservations = self.reservations(view.waited)
        actions = np.full(len(view), WAIT, dtype=np.int64)
        # Queues with equally many candidates form one batch.
        counts = view.num_candidates
        for count in np.unique(counts[counts > 0]).tolist():
            rows = np.flatnonzero(counts == count)
            columns = slice(count + 1)
            mu = view.mu[rows, columns] / view.size[rows, columns]
            sigma = view.sigma[rows, columns] / np.sqrt(view.size[rows, columns])
            opponents = self._opponents(mu, sigma, rng)
            pairs = (np.arange(rows.size), opponents)
            if view.settings.has_lobbies:
                quality = view.quality[rows, opponents]
            else:
                quality = match_quality(
                    mu[:, 0], sigma[:, 0], mu[pairs], sigma[pairs], view.settings.beta
                )
            is_last = view.size[rows, opponents] == view.free_seats[rows]
            is_accepted = ~is_last | (quality >= reservations[rows])
            actions[rows] = np.where(is_accepted, opponents, WAIT)
        return actions

    def _opponents(self, mu: Floats, sigma: Floats, rng: np.random.Generator) -> Integers:
        """Return the opponents that the policy chooses, shape (n,), from 1 to M.

        Args:
            mu: means of player 0 and M opponents, shape (n, M + 1).
            sigma: standard deviations of these beliefs, shape (n, M + 1).
            rng: for stochastic policies.
        """
        policy = self.policy
        count, players = mu.shape
        belief = getattr(policy, "belief", DEFAULT_BELIEF)
        state = KnowledgeState.of_prior(mu, sigma, belief)
        if callable(getattr(policy, "act", None)):
            actions = policy.act(MatchmakingView(state, self.games_left), rng)
        else:
            if getattr(policy, "is_shared", False):  # see ``LearnedPolicy``
                policy = policy.for_opponents(players - 1)
            horizon = getattr(getattr(policy, "settings", None), "horizon", self.games_left)
            share = min(1.0, self.games_left / horizon)
            actions, _ = policy.predict(state.to_observation(share))
        return as_actions(actions, count, players - 1) + 1
