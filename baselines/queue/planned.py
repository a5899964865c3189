"""Maximum-weight matching over all who wait, each tick; answered player by player."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from matchenv.baselines.queue.band_matching import band_matching
from matchenv.baselines.queue.exact_matching import exact_matching
from matchenv.baselines.queue.pair_values import band_values
from matchenv.baselines.queue.policy import WAIT, Floats, QueuePolicy, Reservation
from matchenv.queue.waiting import NOBODY, WaitingPlayers
from matchenv.runtime.checks import as_non_negative_number

Integers = NDArray[np.int64]

# Queues up to here are matched exactly, larger ones among players so many places apart.
MOST_EXACT = 200
BAND = 9


class PlannedPolicy(QueuePolicy):
    """A rule that pairs all who wait once in a tick, at the first question.

    ``choose`` keeps the plan of one tick of one queue; who plays several queues side by side asks
    ``plan`` for each.
    """

    def __init__(self) -> None:
        self._tick = -1
        # By the number of a player: the mean when the plan was made, and the partner's number.
        self._planned = dict[int, tuple[float, int]]()

    def choose(self, waiting: WaitingPlayers, rng: np.random.Generator) -> int:
        """What the tick's plan says; who is paired with no candidate waits."""
        focal, mean = int(waiting.player[waiting.focal]), float(waiting.mu[waiting.focal])
        known, _ = self._planned.get(focal, (math.nan, NOBODY))
        if self._tick != waiting.tick or known != mean:
            partners = self.plan(waiting)
            names = np.where(partners == NOBODY, NOBODY, waiting.player[partners])
            planned = zip(waiting.mu.tolist(), names.tolist(), strict=True)
            self._tick = waiting.tick
            self._planned = dict(zip(waiting.player.tolist(), planned, strict=True))
        chosen = np.flatnonzero(waiting.player[waiting.filled] == self._planned[focal][1])
        return int(chosen[0]) + 1 if chosen.size > 0 else WAIT

    @abstractmethod
    def plan(self, waiting: WaitingPlayers) -> Integers:
        """The index of each one's partner, shape (n,), ``NOBODY`` for those who wait."""


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
