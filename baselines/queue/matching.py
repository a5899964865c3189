"""Maximum-weight matching of all waiting parties, planned once per tick."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from matchenv.baselines.queue.candidates import ReservingPolicy, band_values
from matchenv.baselines.queue.lobbies import LobbyPlanner, line_of
from matchenv.baselines.queue.planned import PlannedLobbies, PlannedPolicy
from matchenv.belief import GameConstants
from matchenv.envs.queue.state import NOBODY
from matchenv.envs.queue.view import WaitingParties
from matchenv.runtime.arrays import Floats, Integers
from matchenv.runtime.checks import as_non_negative_number
from matchenv.runtime.compile import compiled

# Largest distance of two paired players in the order of means. It costs nothing in queues of 50
# players and 0.05 % of the value in queues of 1,000 (docs/notes.md).
BAND = 9

# Largest distance from the population's mean that lowers a price, in its standard deviations.
FURTHEST = 4.0


@compiled
def band_matching(weights: Floats) -> Integers:
    """Return the maximum-weight matching of players on a line, at most W ranks apart.

    A backward pass over the line stores, for each subset of the next W players that is already
    matched, the best sum of the remaining players: O(n W 2^W). With up to W + 1 players every pair
    is possible.

    Args:
        weights: shape (n, W), 1 <= W <= 15; ``weights[i, d - 1]`` is the weight of players i and
            i + d. Only pairs of positive weight are made; elements beyond the last player are not
            read.

    Returns:
        The partner of each player, shape (n,), ``NOBODY`` for unmatched players.

    Source: dynamic programming over subsets, see Held and Karp (1962), in a moving window.
    """
    count, width = weights.shape
    num_sets = 1 << width
    # The best sums from player i on and from player i + 1 on. Bit d of a set: whether the player d
    # ranks ahead is matched.
    best = np.zeros(num_sets)
    best_ahead = np.zeros(num_sets)
    choice = np.zeros((count, num_sets), dtype=np.uint8)
    for i in range(count - 1, -1, -1):
        reach = min(width, count - 1 - i)
        for matched in range(num_sets):
            matched_ahead = matched >> 1
            largest = best_ahead[matched_ahead]
            chosen = 0
            if matched & 1 == 0:
                for d in range(1, reach + 1):
                    if weights[i, d - 1] > 0.0 and (matched >> d) & 1 == 0:
                        with_partner = matched_ahead | (1 << (d - 1))
                        value = weights[i, d - 1] + best_ahead[with_partner]
                        if value > largest:
                            largest = value
                            chosen = d
            best[matched] = largest
            choice[i, matched] = chosen
        best, best_ahead = best_ahead, best
    partners = np.full(count, NOBODY, dtype=np.int64)
    matched = 0
    for i in range(count):
        d = choice[i, matched]
        if d > 0:
            partners[i] = i + d
            partners[i + d] = i
            matched |= 1 << d
        matched >>= 1
    return partners


def best_pairs(
    mu: Floats,
    sigma: Floats,
    reservations: Floats,
    multiplier: float,
    constants: GameConstants,
    *,
    barred: Integers | None = None,
) -> Integers:
    """Return the maximum-weight matching; a weight is the value minus the mean reservation.

    Args:
        mu: means, shape (n,).
        sigma: standard deviations, shape (n,).
        reservations: of the players, shape (n,).
        multiplier: number of later games that benefit from a gain, >= 0.
        constants: of the games.
        barred: pairs of players who must not meet, shape (P, 2); None for none.

    Returns:
        The partner of each player, shape (n,), ``NOBODY`` for unmatched players.
    """
    count = mu.size
    order = np.argsort(mu, kind="stable")
    width = min(max(1, count - 1), BAND)
    weights = band_values(mu[order], sigma[order], width, multiplier, constants)
    in_order = reservations[order]
    for d in range(1, width + 1):
        weights[: count - d, d - 1] -= 0.5 * (in_order[: count - d] + in_order[d:])
    if barred is not None:
        ranks = np.argsort(order)[barred]
        first = ranks.min(axis=1)
        apart = np.abs(ranks[:, 1] - ranks[:, 0])
        is_near = apart <= width
        weights[first[is_near], apart[is_near] - 1] = -np.inf
    matching = band_matching(weights)
    partners = np.empty(count, dtype=np.int64)
    partners[order] = np.where(matching == NOBODY, NOBODY, order[matching])
    return partners


class MaximumWeightMatching(PlannedPolicy, ReservingPolicy):
    """Plan the lobbies of all waiting parties by maximum weight.

    The weight of a lobby is its match quality minus the mean reservation of its players. With two
    seats it is a pair of a maximum-weight matching, with ``BAND`` neighbours on either side in the
    order of means; for more seats see ``LobbyPlanner``. See ``ReservingPolicy`` for the arguments.

    Source: the match quality of Herbrich, Minka, Graepel (2006), section 4.2, as weights.
    """

    name: ClassVar[str] = "matching"
    multiplier = 0.0

    def plan(self, waiting: WaitingParties) -> PlannedLobbies:
        """Return the lobbies of maximum weight; see ``PlannedPolicy``."""
        mu, sigma = self.beliefs(waiting)
        prices = self.prices(waiting)
        settings = waiting.settings
        if settings.has_lobbies:
            line = line_of(waiting, mu, sigma, prices, self.multiplier)
            return [lobby.parties for lobby in LobbyPlanner(settings, line).plan()]
        partners = best_pairs(mu, sigma, prices, self.multiplier, settings.constants)
        first = np.flatnonzero(partners > np.arange(partners.size))
        return list(np.column_stack((first, partners[first])))

    def prices(self, waiting: WaitingParties) -> Floats:
        """Return the mean reservation of the members of each party, shape (Q,)."""
        return self.reservations(waiting.waited)

    def beliefs(self, waiting: WaitingParties) -> tuple[Floats, Floats]:
        """Return the means and deviations of the parties for the weights."""
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

    def prices(self, waiting: WaitingParties) -> Floats:
        """Return the mean reservation of the members of each party, shape (Q,)."""
        population = waiting.settings.population
        distance = np.abs(waiting.member_mu - population.mean) / population.deviation
        distance = np.minimum(distance, FURTHEST)
        doubt = waiting.member_sigma / population.deviation
        tail = mean_of_members(self.tail * distance**2, waiting.size)
        newcomer = mean_of_members(self.newcomer * doubt, waiting.size)
        return super().prices(waiting) - tail - newcomer


def mean_of_members(values: Floats, size: Integers) -> Floats:
    """Return the mean over the members of each party, shape (Q,), of values of shape (Q, n)."""
    is_member = np.arange(values.shape[1]) < size[:, np.newaxis]
    mean: Floats = np.where(is_member, values, 0.0).sum(axis=1) / size
    return mean


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

    def beliefs(self, waiting: WaitingParties) -> tuple[Floats, Floats]:
        """Return the true skills and deviations of 0."""
        return waiting.true_skill, np.zeros_like(waiting.true_skill)
