"""Maximum-weight matching over all who wait, each tick; answered player by player."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from matchenv.baselines.queue.band_matching import band_matching
from matchenv.baselines.queue.exact_matching import exact_matching
from matchenv.baselines.queue.pair_values import band_values
from matchenv.baselines.queue.policy import WAIT, Floats, QueuePolicy, Reservation
from matchenv.queue.waiting import NOBODY, WaitingPlayers
from matchenv.validation import as_non_negative_number

Integers = NDArray[np.int64]

# Queues up to here are matched exactly, larger ones among players so many places apart.
MOST_EXACT = 200
BAND = 10


@dataclass(frozen=True)
class Tick:
    """The plan of one tick.

    Attributes:
        tick: which.
        partner: by the number of a player, the partner's, or ``NOBODY``.
    """

    tick: int
    partner: dict[int, int]


class MaximumWeightMatching(QueuePolicy):
    """Pairs over all who wait so that the values of the pairs, less the reservations, are most.

    The weight of a pair is its match quality + multiplier x the mean of both players' gains,
    less the mean of what both ask for. The plan is made once in a tick, at the first question;
    who is paired with a player that is no candidate waits.

    Args:
        reservation: value that is asked for in the first tick.
        fall: by how much that falls with each tick of waiting, >= 0.
        multiplier: for how many games to come a gain counts, >= 0; 0 is match quality alone.

    Raises:
        ValueError: for a number that is not finite, or a negative fall or multiplier.

    Source: Edmonds (1965), with the weights of Herbrich, Minka, Graepel (2006), section 4.2;
        with a multiplier, Ryzhov, Tariq, Powell (2011), eq. (13).
    """

    name: ClassVar[str] = "matching"

    def __init__(
        self, reservation: float = 0.7, fall: float = 0.02, multiplier: float = 0.0
    ) -> None:
        self._asked = Reservation(reservation, fall)
        self.reservation, self.fall = self._asked.reservation, self._asked.fall
        self.multiplier = as_non_negative_number("multiplier", multiplier)
        self._plan = Tick(-1, {})

    def choose(self, waiting: WaitingPlayers, rng: np.random.Generator) -> int:
        """What the tick's plan says; as ``QueuePolicy``."""
        focal = int(waiting.player[waiting.focal])
        if self._plan.tick != waiting.tick or focal not in self._plan.partner:
            self._plan = self.plan(waiting)
        partner = self._plan.partner[focal]
        found = np.flatnonzero(waiting.player[waiting.filled] == partner)
        return int(found[0]) + 1 if found.size > 0 else WAIT

    def plan(self, waiting: WaitingPlayers) -> Tick:
        """The best pairing of all who wait."""
        mu, sigma = self.beliefs(waiting)
        order = np.argsort(mu, kind="stable")
        partners = best_pairs(
            mu[order],
            sigma[order],
            self._asked.after(waiting.waited[order]),
            self.multiplier,
            *waiting.settings.constants,
        )
        players = waiting.player[order]
        names = np.where(partners == NOBODY, NOBODY, players[partners])
        return Tick(waiting.tick, dict(zip(players.tolist(), names.tolist(), strict=True)))

    def beliefs(self, waiting: WaitingPlayers) -> tuple[Floats, Floats]:
        """Means and deviations that the weights are computed from."""
        return waiting.mu, waiting.sigma


class MatchingOracle(MaximumWeightMatching):
    """Maximum-weight matching by the true skills.

    It knows the skills but not who comes next: what it asks for in quality is still a choice.

    Args:
        reservation: true match quality that is asked for in the first tick.
        fall: by how much that falls with each tick of waiting, >= 0.

    Source: eq. (14) of Ryzhov, Tariq, Powell (2011), as weights.
    """

    name: ClassVar[str] = "oracle"
    needs_truth: ClassVar[bool] = True

    def __init__(self, reservation: float = 0.7, fall: float = 0.02) -> None:
        super().__init__(reservation, fall)

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
) -> Integers:
    """The pairs of the greatest summed weight: values less the mean of what both ask for.

    Up to ``MOST_EXACT`` players the matching is exact, beyond that among ``BAND`` neighbours.

    Args:
        mu: shape (n,), means in ascending order.
        sigma: shape (n,), standard deviations.
        asked: shape (n,), what each asks for.
        multiplier: for how many games to come a gain counts, >= 0.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
        tau: standard deviation of a skill's drift before a game.

    Returns:
        The partner of each, shape (n,), ``NOBODY`` for those left alone.
    """
    count = mu.size
    is_small = count <= MOST_EXACT
    width = max(1, count - 1) if is_small else BAND
    weights = band_values(mu, sigma, width, multiplier, beta, draw_margin, tau)
    for d in range(1, width + 1):
        weights[: count - d, d - 1] -= 0.5 * (asked[: count - d] + asked[d:])
    if count <= BAND + 1 or not is_small:
        return band_matching(weights)
    square = np.zeros((count, count))
    first, second = np.triu_indices(count, 1)
    square[first, second] = weights[first, second - first - 1]
    return exact_matching(square)
