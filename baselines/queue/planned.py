"""Maximum-weight matching over all who wait, each tick; answered player by player."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from matchenv.baselines.queue.band_matching import band_matching
from matchenv.baselines.queue.exact_matching import exact_matching
from matchenv.baselines.queue.pair_values import band_values
from matchenv.baselines.queue.policy import WAIT, Floats, Integers, QueuePolicy, Reservation
from matchenv.envs.queue.view import NOBODY, QueueView, WaitingPlayers
from matchenv.runtime.checks import as_non_negative_number

NO_PLAYERS, NO_MEANS = np.zeros(0, dtype=np.int64), np.zeros(0)

# Queues up to here are matched exactly, larger ones among players so many places apart.
MOST_EXACT = 200
BAND = 9


class PlannedPolicy(QueuePolicy):
    """A rule that pairs all who wait once in a tick, at its first choice.

    The plan of each queue is kept until its tick or its run changes, or a player is asked about
    who is not in it.
    """

    def __init__(self) -> None:
        # Of each queue: the run, the tick, and all players of the plan with their partners.
        self._plans: list[tuple[int, int, Integers, Floats, Integers]] = []

    def act(
        self,
        queues: QueueView,
        rng: np.random.Generator | None = None,
        action_masks: ArrayLike | None = None,
    ) -> Integers:
        """Follow the plan of the tick; a player without a partner among the candidates waits."""
        actions = np.full(len(queues), WAIT, dtype=np.int64)
        if len(self._plans) != len(queues):
            self._plans = [(0, -1, NO_PLAYERS, NO_MEANS, NO_PLAYERS)] * len(queues)
        for row in np.flatnonzero(queues.filled > 0).tolist():
            partner = self._partner(queues, row)
            if partner != NOBODY:
                chosen = queues.player[row, 1:] == partner
                actions[row] = chosen.argmax() + 1 if chosen.any() else WAIT
        return actions

    def _partner(self, queues: QueueView, row: int) -> int:
        """Return the number of the focal player's partner, or ``NOBODY``."""
        run, tick = int(queues.run[row]), int(queues.tick[row])
        focal, mean = queues.player[row, 0], queues.mu[row, 0]
        planned = self._plans[row]
        if planned[:2] == (run, tick):
            found = np.flatnonzero((planned[2] == focal) & (planned[3] == mean))
            if found.size > 0:
                return int(planned[4][found[0]])
        waiting = queues[row]
        partners = self.plan(waiting)
        names = np.where(partners == NOBODY, NOBODY, waiting.player[partners])
        self._plans[row] = (run, tick, waiting.player, waiting.mu, names)
        return int(names[waiting.focal])

    @abstractmethod
    def plan(self, waiting: WaitingPlayers) -> Integers:
        """Return the index of each player's partner, shape (n,), ``NOBODY`` for those who wait."""


class MaximumWeightMatching(PlannedPolicy):
    """Pairs over all who wait so that match qualities, less the reservations, sum to the most.

    The weight of a pair is its match quality less the mean of what both ask for.

    Args:
        reservation: match quality that is asked for in the first tick.
        fall: by how much that falls with each tick of waiting, >= 0.

    Raises:
        ValueError: for a number that is not finite, or a negative fall.

    Source: Edmonds (1965), with the weights of Herbrich, Minka, Graepel (2006), section 4.2.
    """

    name: ClassVar[str] = "matching"
    multiplier = 0.0

    def __init__(self, reservation: float = 0.45, fall: float = 0.05) -> None:
        super().__init__()
        self._asked = Reservation(reservation, fall)
        self.reservation, self.fall = self._asked.reservation, self._asked.fall

    def plan(self, waiting: WaitingPlayers) -> Integers:
        """The best pairing; as ``PlannedPolicy``."""
        mu, sigma = self.beliefs(waiting)
        order = np.argsort(mu, kind="stable")
        in_order = best_pairs(
            mu[order],
            sigma[order],
            self._asked.after(waiting.waited[order]),
            self.multiplier,
            *waiting.settings.constants,
        )
        partners = np.empty(order.size, dtype=np.int64)
        partners[order] = np.where(in_order == NOBODY, NOBODY, order[in_order])
        return partners

    def beliefs(self, waiting: WaitingPlayers) -> tuple[Floats, Floats]:
        """Means and deviations that the weights are computed from."""
        return waiting.mu, waiting.sigma


class KnowledgeMatching(MaximumWeightMatching):
    """Maximum-weight matching with KG as a bonus on the weights.

    The weight of a pair is its match quality + multiplier x the mean of both players' gains,
    less the mean of what both ask for; the gain of a player is F_j less the best draw density
    now, in match quality.

    Args:
        multiplier: for how many games to come a gain counts, >= 0.
        reservation: value that is asked for in the first tick.
        fall: by how much that falls with each tick of waiting, >= 0.

    Raises:
        ValueError: for a number that is not finite, or a negative multiplier or fall.

    Source: Ryzhov, Tariq, Powell (2011), eq. (13), as weights.
    """

    name: ClassVar[str] = "kg_matching"

    def __init__(
        self, multiplier: float = 0.3, *, reservation: float = 0.45, fall: float = 0.05
    ) -> None:
        super().__init__(reservation, fall)
        self.multiplier = as_non_negative_number("multiplier", multiplier)


class MatchingOracle(MaximumWeightMatching):
    """Maximum-weight matching by the true skills.

    It knows the skills but not who comes next: what it asks for in quality is still a choice.

    Args:
        reservation: true match quality that is asked for in the first tick.
        fall: by how much that falls with each tick of waiting, >= 0.

    Raises:
        ValueError: for a number that is not finite, or a negative fall.

    Source: eq. (14) of Ryzhov, Tariq, Powell (2011), as weights.
    """

    name: ClassVar[str] = "oracle"
    needs_truth: ClassVar[bool] = True

    def beliefs(self, waiting: WaitingPlayers) -> tuple[Floats, Floats]:
        """The true skills, without doubt."""
        return waiting.true_skill, np.zeros_like(waiting.true_skill)


def best_pairs(
    mu: Floats,
    sigma: Floats,
    asked: Floats,
    multiplier: float,
    beta: float,
    draw_margin: float,
    tau: float,
    *,
    most_exact: int = MOST_EXACT,
    barred: Integers | None = None,
) -> Integers:
    """The pairs of the greatest summed weight: values less the mean of what both ask for.

    Args:
        mu: shape (n,), means in ascending order.
        sigma: shape (n,), standard deviations.
        asked: shape (n,), what each asks for.
        multiplier: for how many games to come a gain counts, >= 0.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
        tau: standard deviation of a skill's drift before a game.
        most_exact: so many players are matched exactly, more among ``BAND`` neighbours.
        barred: shape (P, 2), players who must not meet; None for nobody.

    Returns:
        The partner of each, shape (n,), ``NOBODY`` for those left alone.
    """
    count = mu.size
    is_small = count <= most_exact
    width = max(1, count - 1) if is_small else BAND
    weights = band_values(mu, sigma, width, multiplier, beta, draw_margin, tau)
    for d in range(1, width + 1):
        weights[: count - d, d - 1] -= 0.5 * (asked[: count - d] + asked[d:])
    if barred is not None:
        first, apart = barred.min(axis=1), np.abs(barred[:, 1] - barred[:, 0])
        near = apart <= width
        weights[first[near], apart[near] - 1] = -np.inf
    if count <= BAND + 1 or not is_small:
        return band_matching(weights)
    square = np.zeros((count, count))
    first, second = np.triu_indices(count, 1)
    square[first, second] = weights[first, second - first - 1]
    return exact_matching(square)
