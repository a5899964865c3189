"""Maximum-weight matching over all waiting players, each tick; answered player by player."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from matchenv.baselines.queue.candidates import (
    WAIT,
    Floats,
    Integers,
    QueuePolicy,
    ReservingPolicy,
    band_values,
)
from matchenv.belief import GameConstants
from matchenv.envs.queue.view import NOBODY, QueueView, WaitingPlayers
from matchenv.runtime.checks import as_non_negative_number
from matchenv.runtime.compile import compiled

# Players who may be paired are at most so many places apart in the order of means. Of queues of 50
# that loses nothing, of 1,000 0.05 % (docs/notes.md).
BAND = 9


@compiled
def band_matching(weights: Floats) -> Integers:
    """Return the pairs with the greatest sum of weights among players near in a line.

    Only players at most W places apart may be paired. It goes along the line from behind and
    keeps, for each set of the next W players who are taken already, the best sum of the rest:
    O(n W 2^W). Up to W + 1 players everybody can be paired with everybody.

    Args:
        weights: shape (n, W), W at least 1 and at most 15; ``weights[i, d - 1]`` of players i
            and i + d. Pairs of weight 0 or less are never made; entries beyond the last player
            are not read.

    Returns:
        The partner of each, shape (n,), ``NOBODY`` for those left alone.

    Source: dynamic programming over subsets, as Held and Karp (1962), in a moving window.
    """
    count, width = weights.shape
    sets = 1 << width
    best, behind = np.zeros(sets), np.zeros(sets)
    # Bit d of a set: whether the player d places on is taken.
    choice = np.zeros((count, sets), dtype=np.uint8)
    for i in range(count - 1, -1, -1):
        reach = min(width, count - 1 - i)
        for taken in range(sets):
            rest = taken >> 1
            most, chosen = behind[rest], 0
            if taken & 1 == 0:
                for d in range(1, reach + 1):
                    if weights[i, d - 1] > 0.0 and (taken >> d) & 1 == 0:
                        value = weights[i, d - 1] + behind[rest | (1 << (d - 1))]
                        if value > most:
                            most, chosen = value, d
            best[taken], choice[i, taken] = most, chosen
        best, behind = behind, best
    partners = np.full(count, NOBODY, dtype=np.int64)
    taken = 0
    for i in range(count):
        d = choice[i, taken]
        if d > 0:
            partners[i], partners[i + d] = i + d, i
            taken |= 1 << d
        taken >>= 1
    return partners


def best_pairs(
    mu: Floats,
    sigma: Floats,
    asked: Floats,
    multiplier: float,
    game: GameConstants,
    *,
    barred: Integers | None = None,
) -> Integers:
    """Return the pairs of the greatest summed weight: values minus the mean of what both ask for.

    Args:
        mu: shape (n,), means.
        sigma: shape (n,), standard deviations.
        asked: shape (n,), the reservation of each.
        multiplier: number of games to come for which a gain counts, >= 0.
        game: constants of the games.
        barred: shape (P, 2), players who must not meet; None for nobody.

    Returns:
        The partner of each, shape (n,), ``NOBODY`` for those left alone.
    """
    count, order = mu.size, np.argsort(mu, kind="stable")
    width = min(max(1, count - 1), BAND)
    weights = band_values(mu[order], sigma[order], width, multiplier, game)
    asked = asked[order]
    for d in range(1, width + 1):
        weights[: count - d, d - 1] -= 0.5 * (asked[: count - d] + asked[d:])
    if barred is not None:
        place = np.argsort(order)[barred]
        first, apart = place.min(axis=1), np.abs(place[:, 1] - place[:, 0])
        near = apart <= width
        weights[first[near], apart[near] - 1] = -np.inf
    in_order = band_matching(weights)
    partners = np.empty(count, dtype=np.int64)
    partners[order] = np.where(in_order == NOBODY, NOBODY, order[in_order])
    return partners


class PlannedPolicy(QueuePolicy):
    """A rule that pairs all waiting players once in a tick, at its first choice.

    The plan of each queue is kept until its tick or its run changes, or the focal player is not in
    it or has another mean.
    """

    @cached_property
    def _plans(self) -> dict[int, Any]:
        """Run and tick of each queue's plan, and partners by number and mean."""
        return {}

    def _choose(self, queues: QueueView, rng: np.random.Generator) -> Integers:
        """Follow the plan of the tick; a player without a partner among the candidates waits."""
        actions = np.full(len(queues), WAIT, dtype=np.int64)
        times = list(zip(queues.run.tolist(), queues.tick.tolist(), strict=True))
        players, means = queues.player.tolist(), queues.mu[:, 0].tolist()
        for row in np.flatnonzero(queues.filled > 0).tolist():
            focal = players[row][0], means[row]
            made, partners = self._plans.get(row, (None, {}))
            if made != times[row] or focal not in partners:
                waiting = queues[row]
                plan = self.plan(waiting)
                numbers = np.where(plan == NOBODY, NOBODY, waiting.player[plan]).tolist()
                names = zip(waiting.player.tolist(), waiting.mu.tolist(), strict=True)
                partners = dict(zip(names, numbers, strict=True))
                self._plans[row] = times[row], partners
            partner = partners[focal]
            if partner != NOBODY and partner in players[row]:
                actions[row] = players[row].index(partner)
        return actions

    @abstractmethod
    def plan(self, waiting: WaitingPlayers) -> Integers:
        """Return the index of each player's partner, shape (n,), ``NOBODY`` for those who wait."""


class MaximumWeightMatching(PlannedPolicy, ReservingPolicy):
    """Pairs over all waiting players so that match qualities minus reservations sum to the most.

    The weight of a pair is its match quality minus the mean of both reservations.

    Args:
        reservation: match quality that is accepted in the first tick.
        fall: decrease of the reservation with each tick of waiting, >= 0.

    Raises:
        ValueError: for a number that is not finite, or a negative fall.

    Players are paired with ``BAND`` neighbours on either side in the order of means.

    Source: the weights of Herbrich, Minka, Graepel (2006), section 4.2.
    """

    name: ClassVar[str] = "matching"
    multiplier = 0.0

    def plan(self, waiting: WaitingPlayers) -> Integers:
        """Return the best pairs; as ``PlannedPolicy``."""
        mu, sigma = self.beliefs(waiting)
        prices = self.prices(waiting)
        return best_pairs(mu, sigma, prices, self.multiplier, waiting.settings.constants)

    def prices(self, waiting: WaitingPlayers) -> Floats:
        """Return the match quality that each player asks for, shape (n,)."""
        return self.asked(waiting.waited)

    def beliefs(self, waiting: WaitingPlayers) -> tuple[Floats, Floats]:
        """Return the means and deviations that the weights are computed from."""
        return waiting.mu, waiting.sigma


class PricedMatching(MaximumWeightMatching):
    """Maximum-weight matching with a lower reservation for tails and newcomers.

    The reservation of a player is ``reservation - fall ticks - tail z^2 - newcomer d``, with z the
    distance of the mean from the population's, at most 4, and d the standard deviation of the
    belief, both in standard deviations of the population. A game of players that are rare, or
    about whom little is known, is never as even as others; a later one would not be either. So
    they ask for less.

    Args:
        reservation: match quality that is accepted in the first tick by a known player in the
            middle of the population.
        fall: decrease with each tick of waiting, >= 0.
        tail: decrease with the square of z, >= 0.
        newcomer: decrease with d, >= 0.

    Raises:
        ValueError: for a number that is not finite, or a negative decrease.

    Source: the prices that a network trained by MaskablePPO gave, which are this formula up to
        0.007; the defaults were fitted at three loads (docs/notes.md).
    """

    name: ClassVar[str] = "priced"

    def __init__(
        self,
        reservation: float = 0.595,
        fall: float = 0.0235,
        tail: float = 0.024,
        newcomer: float = 0.365,
    ) -> None:
        super().__init__(reservation, fall)
        self.tail = as_non_negative_number("tail", tail)
        self.newcomer = as_non_negative_number("newcomer", newcomer)

    def prices(self, waiting: WaitingPlayers) -> Floats:
        """Return the reservation of each player; as ``MaximumWeightMatching``."""
        population = waiting.settings.population
        place = np.minimum(np.abs(waiting.mu - population.mean) / population.deviation, 4.0)
        doubt = waiting.sigma / population.deviation
        return super().prices(waiting) - self.tail * place**2 - self.newcomer * doubt


class KnowledgeMatching(MaximumWeightMatching):
    """Maximum-weight matching with KG as a bonus on the weights.

    The weight of a pair is its match quality + multiplier x the mean of both players' gains,
    minus the mean of both reservations; the gain of a player is F_j minus the best draw density
    now, in match quality.

    Args:
        multiplier: number of games to come for which a gain counts, >= 0.
        reservation: value that is accepted in the first tick.
        fall: decrease of the reservation with each tick of waiting, >= 0.

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

    It knows the skills but not who comes next: the reservation is still a choice.

    Args:
        reservation: true match quality that is accepted in the first tick.
        fall: decrease of the reservation with each tick of waiting, >= 0.

    Raises:
        ValueError: for a number that is not finite, or a negative fall.

    Source: eq. (14) of Ryzhov, Tariq, Powell (2011), as weights.
    """

    name: ClassVar[str] = "oracle"
    needs_truth: ClassVar[bool] = True

    def beliefs(self, waiting: WaitingPlayers) -> tuple[Floats, Floats]:
        """Return the true skills, without doubt."""
        return waiting.true_skill, np.zeros_like(waiting.true_skill)
