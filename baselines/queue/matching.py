"""Maximum-weight matching of all waiting players, planned once per tick."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from matchenv.baselines.queue.candidates import WAIT, QueuePolicy, ReservingPolicy, band_values
from matchenv.belief import GameConstants
from matchenv.envs.queue.view import NOBODY, QueueView, WaitingPlayers
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.checks import as_non_negative_number
from matchenv.runtime.compile import compiled

# Largest distance of two paired players in the order of means. It costs nothing in queues of 50
# players and 0.05 % of the value in queues of 1,000 (docs/notes.md).
BAND = 9


@compiled
def band_matching(weights: Floats) -> Integers:
    """Return the maximum-weight matching of players on a line, at most W places apart.

    A backward pass over the line stores, for each subset of the next W players that is already
    matched, the best sum of the remaining players: O(n W 2^W). With up to W + 1 players every pair
    is possible.

    Args:
        weights: shape (n, W), 1 <= W <= 15; ``weights[i, d - 1]`` is the weight of players i and
            i + d. Only pairs of positive weight are made; entries beyond the last player are not
            read.

    Returns:
        The partner of each player, shape (n,), ``NOBODY`` for unmatched players.

    Source: dynamic programming over subsets, see Held and Karp (1962), in a moving window.
    """
    count, width = weights.shape
    sets = 1 << width
    best, behind = np.zeros(sets), np.zeros(sets)
    # Bit d of a set: whether the player d places ahead is matched.
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
    """Return the maximum-weight matching; a weight is the value minus the mean reservation.

    Args:
        mu: means, shape (n,).
        sigma: standard deviations, shape (n,).
        asked: reservations, shape (n,).
        multiplier: number of later games that benefit from a gain, >= 0.
        game: constants of the games.
        barred: pairs of players who must not meet, shape (P, 2); None for none.

    Returns:
        The partner of each player, shape (n,), ``NOBODY`` for unmatched players.
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
    """A rule that pairs all waiting players once per tick, at its first choice.

    ``act`` reuses the plan of a queue until its tick or run changes, or the focal player is not in
    the plan or has another mean. ``choose`` reuses it only in the same tick and for the same
    players but for pairs of the plan that have left.
    """

    # The settings and players of the plan that ``choose`` follows.
    _planned: tuple[Any, dict[int, Any]] = None, {}

    @cached_property
    def _plans(self) -> dict[int, Any]:
        """Run and tick of each queue's plan, and partners by player number and mean."""
        return {}

    def choose(self, waiting: WaitingPlayers, rng: np.random.Generator | None = None) -> int:
        """Return the action in one queue; see ``act``."""
        columns = waiting.mu, waiting.sigma, waiting.true_skill, waiting.waited
        rows = zip(*(column.tolist() for column in columns), strict=True)
        now = dict(zip(waiting.player.tolist(), rows, strict=True))
        settings, planned = self._planned
        left, partners = planned.keys() - now.keys(), self._plans.get(0, (None, {}))[1]
        pairs = {partner for (player, _), partner in partners.items() if player in left}
        if pairs != left or settings != waiting.settings or not now.items() <= planned.items():
            self._plans.pop(0, None)
            self._planned = waiting.settings, now
        return super().choose(waiting, rng)

    def _choose(self, queues: QueueView, rng: np.random.Generator) -> Integers:
        """Follow the plan of the tick; players without a partner among the candidates wait."""
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
        """Return the index of each player's partner, shape (n,), ``NOBODY`` to wait."""


class MaximumWeightMatching(PlannedPolicy, ReservingPolicy):
    """Pair all waiting players by maximum-weight matching.

    The weight of a pair is its match quality minus the mean of both reservations. Players can be
    paired with ``BAND`` neighbours on either side in the order of means. See ``ReservingPolicy``
    for the arguments.

    Source: the match quality of Herbrich, Minka, Graepel (2006), section 4.2, as weights.
    """

    name: ClassVar[str] = "matching"
    multiplier = 0.0

    def plan(self, waiting: WaitingPlayers) -> Integers:
        """Return the maximum-weight matching; see ``PlannedPolicy``."""
        mu, sigma = self.beliefs(waiting)
        prices, game = self.prices(waiting), waiting.settings.constants
        return best_pairs(mu, sigma, prices, self.multiplier, game)

    def prices(self, waiting: WaitingPlayers) -> Floats:
        """Return the reservation of each player, shape (n,)."""
        return self.asked(waiting.waited)

    def beliefs(self, waiting: WaitingPlayers) -> tuple[Floats, Floats]:
        """Return the means and deviations for the weights."""
        return waiting.mu, waiting.sigma


class PricedMatching(MaximumWeightMatching):
    """Maximum-weight matching with lower reservations in the tails and for newcomers.

    The reservation of a player is ``reservation - fall ticks - tail z^2 - newcomer d``, with z the
    distance of the mean from the population's, at most 4, and d the standard deviation of the
    belief, both in standard deviations of the population. Games of players in the tails, or with
    uncertain skills, are less even than others, and waiting does not change that. So their
    reservation is lower.

    Args:
        reservation: match quality that a known player in the middle of the population accepts in
            the first tick.
        fall: decrease per tick of waiting, >= 0.
        tail: decrease per unit of z^2, >= 0.
        newcomer: decrease per unit of d, >= 0.

    Raises:
        ValueError: for an option that is not finite, or a negative decrease.

    Source: fitted to the prices of a network trained by MaskablePPO at three loads, which it
        reproduces up to 0.007 (docs/notes.md).
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
        """Return the reservation of each player, shape (n,)."""
        population = waiting.settings.population
        place = np.minimum(np.abs(waiting.mu - population.mean) / population.deviation, 4.0)
        doubt = waiting.sigma / population.deviation
        return super().prices(waiting) - self.tail * place**2 - self.newcomer * doubt


class KnowledgeMatching(MaximumWeightMatching):
    """Maximum-weight matching with the knowledge gradient as a bonus.

    The weight of a pair is its match quality + multiplier x mean gain - mean reservation of the two
    players; for the gain see ``QueueKnowledgeGradient``.

    Args:
        multiplier: number of later games that benefit from a gain, >= 0.
        reservation: see ``ReservingPolicy``.
        fall: see ``ReservingPolicy``.

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

    It knows all skills but not future arrivals, so the reservation, in units of true match quality,
    still matters. See ``ReservingPolicy`` for the arguments.

    Source: Ryzhov, Tariq, Powell (2011), eq. (14), as weights.
    """

    name: ClassVar[str] = "oracle"
    needs_truth: ClassVar[bool] = True

    def beliefs(self, waiting: WaitingPlayers) -> tuple[Floats, Floats]:
        """Return the true skills and deviations of 0."""
        return waiting.true_skill, np.zeros_like(waiting.true_skill)
