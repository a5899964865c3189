"""The network of the equivariant policy: one score for each opponent, with shared weights.

The score of opponent k is a look-ahead over several games,

    score_k = density(d_k, 2 beta^2 + c C_k) + worth_k * gain_k(games_k),

where d_k and C_k are mean and variance of s_0 - s_k under the belief, and gain_k is what the
best draw density is expected to rise by once k has been played ``games_k`` times: those games
shrink the variance, and the mean moves by what it shrinks. With one game it is the knowledge
gradient of opponent k alone. How much a gain is worth and how many games to look ahead come
from a network that sees the state as a whole (pooled over the opponents) and the opponent.

Sources: the knowledge gradient for draws, Ryzhov, Tariq, Powell (2011); looking ahead
several observations of one alternative, the KG(*) policy of Frazier, Powell (2010).
"""

from __future__ import annotations

import math

import torch
from pydantic.dataclasses import dataclass as checked_dataclass
from torch import nn

from matchenv.agents.config_file import CLOSED, Positive
from matchenv.agents.equivariant.state import (
    COUPLING,
    GAMES_LEFT,
    GAP,
    MISSING_VARIANCE,
    OPPONENT_NUMBERS,
    OWN_VARIANCE,
    SHARE_LEFT,
    STATE_NUMBERS,
    VARIANCE,
)
from matchenv.priors import PRIOR_MEAN_VARIANCE
from matchenv.settings import PAPER_BETA

CONTEXT, ROW, FACTORS = 9, 5, 2
WORTH, GAMES = range(FACTORS)
# Places of numbers in the context.
GAMES_SLOPE, MISSING_SLOPE, OPPONENT_COUNT_SLOPE = 0, 3, 6

NOISE_VARIANCE = 2.0 * PAPER_BETA**2
PEAK_DENSITY = 1.0 / math.sqrt(2.0 * math.pi * NOISE_VARIANCE)
# One game between equals tells as much as a measurement of the difference with this variance.
GAME_VARIANCE = 0.5 * math.pi * NOISE_VARIANCE
# Units of worth and of opponents, so that the network's numbers are of order one.
USUAL_GAMES, USUAL_OPPONENTS = 500.0, 49.0
# Divisions and logarithms stay finite, and so do the slopes of roots.
LEAST_VARIANCE, LEAST_DENSITY, LARGEST_LOG = 1e-9, 1e-30, 12.0


@checked_dataclass(frozen=True, config=CLOSED)
class Index:
    """A fixed index: the same worth and games in every state.

    Attributes:
        worth: what a gain is worth for each game left, > 0.
        games: games looked ahead, > 0.
    """

    worth: Positive
    games: Positive


# The best found by hand, from which training starts.
INDEX = Index(worth=0.1, games=6.0)


def density(gaps: torch.Tensor, variances: torch.Tensor) -> torch.Tensor:
    """Density at 0 of N(gap, variance): eq. (5) of the 2011 paper, in torch for gradients."""
    return torch.exp(-0.5 * gaps * gaps / variances) * torch.rsqrt(2.0 * math.pi * variances)


def best_of_the_others(densities: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The best density, the second best, and whose the best is.

    Args:
        densities: shape (n, M), 0 for opponents who are offline.

    Returns:
        Shapes (n, 1) each, the last an index. Without another opponent, the second is half
        the only one.
    """
    best, place = densities.max(dim=1, keepdim=True)
    if densities.shape[1] == 1:
        return best, 0.5 * best, place
    second = densities.scatter(1, place, 0.0).amax(1, keepdim=True)
    return best, torch.where(second > 0.0, second, 0.5 * best), place


def _mean(row: torch.Tensor, online: torch.Tensor | None) -> torch.Tensor:
    return row.mean(1) if online is None else (row * online).sum(1) / online.sum(1)


def _largest(row: torch.Tensor, online: torch.Tensor | None) -> torch.Tensor:
    return (row if online is None else row.masked_fill(~online, -torch.inf)).amax(1)


def expected_best(
    gaps: torch.Tensor, variances: torch.Tensor, others: torch.Tensor, games: torch.Tensor
) -> torch.Tensor:
    """Expected best density once an opponent has been played several times.

    The mean of s_0 - s_k then is N(gap, S) with S = C^2 / (C + V), V the variance of what the
    games tell, and its variance C - S. Where the new mean lies within a distance r of 0 the
    opponent is better than ``others``; the integral over that interval is exact.

    Args:
        gaps: means d of s_0 - s_k, shape (n, M).
        variances: their variances C > 0.
        others: best density of the other opponents.
        games: games looked ahead, > 0.
    """
    spread = variances * variances / (variances + GAME_VARIANCE / games) + LEAST_VARIANCE
    left = (NOISE_VARIANCE + variances - spread).clamp_min(0.5 * NOISE_VARIANCE)
    total = NOISE_VARIANCE + variances
    log_peaks = torch.log(others.clamp_min(LEAST_DENSITY)) + 0.5 * torch.log(2.0 * math.pi * left)
    reach = torch.sqrt((-2.0 * left * log_peaks).clamp_min(LEAST_VARIANCE))
    # Weighted with the new density, the new mean is a normal of its own.
    within_weighted = _within(reach, gaps * left / total, left * spread / total)
    within = _within(reach, gaps, spread)
    return others + (density(gaps, total) * within_weighted - others * within).clamp_min(0.0)


def _within(reach: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor) -> torch.Tensor:
    scale = torch.rsqrt(2.0 * variance)
    return 0.5 * (torch.erf((reach - mean) * scale) + torch.erf((reach + mean) * scale))


class EquivariantNetwork(nn.Module):
    """Scores of opponents and the value of a state, for any number of opponents.

    Args:
        value_width: units of the hidden layer of the value.
        start: the index whose scores it gives until it has learnt.

    Attributes:
        factors: from context and row to the logarithms of worth and games.
        log_trust: logarithm of c.
        log_sharpness: logits are scores times its exponential.
        value: from pooled numbers to the value.
    """

    def __init__(self, value_width: int = 32, start: Index = INDEX) -> None:
        super().__init__()
        self.factors = nn.Linear(CONTEXT + ROW, FACTORS)
        self.log_trust = nn.Parameter(torch.zeros(()))
        self.log_sharpness = nn.Parameter(torch.tensor(math.log(1000.0)))
        self.value = nn.Sequential(
            nn.Linear(CONTEXT + 2 * ROW, value_width), nn.Tanh(), nn.Linear(value_width, 1)
        )
        with torch.no_grad():
            self.factors.weight.zero_()
            self.factors.bias[WORTH] = math.log(start.worth)
            self.factors.bias[GAMES] = math.log(start.games)
            self.factors.weight[WORTH, GAMES_SLOPE] = 2.0

    def scores(
        self, opponents: torch.Tensor, state: torch.Tensor, online: torch.Tensor | None = None
    ) -> torch.Tensor:
        """The score of each opponent, as if those who are offline did not exist.

        Args:
            opponents: shape (n, 3, M), as ``StateBatch``.
            state: shape (n, 4).
            online: bool, shape (n, M), at least one in each row; None for everybody.

        Returns:
            Shape (n, M), in units of draw density; of those offline it says nothing.
        """
        context, rows, best, second, place = self.features(opponents, state, online)
        gaps, variances = opponents[:, GAP], opponents[:, VARIANCE]
        others = best.expand_as(gaps).scatter(1, place, second)
        worth, games = (self._factor(number, context, rows) for number in (WORTH, GAMES))
        ahead = expected_best(gaps, variances, others, games)
        now = density(gaps, NOISE_VARIANCE + variances * torch.exp(self.log_trust))
        return now + USUAL_GAMES * worth * (ahead - best)

    def _factor(
        self, number: int, context: torch.Tensor, rows: tuple[torch.Tensor, ...]
    ) -> torch.Tensor:
        weights = self.factors.weight[number]
        # The context is the same for all opponents of a state: its share is worked out once.
        total = (context @ weights[:CONTEXT] + self.factors.bias[number]).unsqueeze(1)
        for row, weight in zip(rows, weights[CONTEXT:], strict=True):
            total = torch.addcmul(total, row, weight)
        return torch.exp(total.clamp(-LARGEST_LOG, LARGEST_LOG))

    def features(
        self, opponents: torch.Tensor, state: torch.Tensor, online: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...], torch.Tensor, torch.Tensor, torch.Tensor]:
        """What the network sees, numbers of order one.

        Returns:
            Context (n, 9), five rows (n, M), and the best density, the second best and the
            place of the best, (n, 1) each.
        """
        gaps, variances, couplings = (
            opponents[:, GAP],
            opponents[:, VARIANCE],
            opponents[:, COUPLING],
        )
        squares = gaps * gaps
        densities = density(gaps, NOISE_VARIANCE + variances).clamp_min(LEAST_DENSITY)
        if online is not None:
            densities = densities * online
        best, second, place = best_of_the_others(densities)
        rest = torch.rsqrt(1.0 + variances)
        standardised = gaps.abs() * rest
        nearness = torch.exp(-0.5 * standardised * standardised)
        near = (nearness if online is None else nearness * online).sum(1)
        side = _mean(gaps * torch.rsqrt(1.0 + squares), online)
        if online is None:
            count = torch.full_like(near, math.log(opponents.shape[2] / USUAL_OPPONENTS))
        else:
            count = torch.log(online.sum(1) / USUAL_OPPONENTS)
        context = torch.stack(
            (
                0.5 * torch.log(state[:, GAMES_LEFT].clamp_min(1e-3) / USUAL_GAMES),
                0.5 * torch.log(state[:, OWN_VARIANCE] + 0.01),
                5.0 * torch.log(best[:, 0] / PEAK_DENSITY),
                state[:, MISSING_VARIANCE] / PRIOR_MEAN_VARIANCE,
                0.7 * torch.log(near + 0.1),
                2.0 * side.abs() - 1.0,
                0.7 * count,
                (5.0 * torch.log(best / second)[:, 0]).clamp_max(2.0),
                2.0 * state[:, SHARE_LEFT] - 1.0,
            ),
            dim=1,
        )
        rows = (
            0.7 * torch.log(variances + 1e-4),
            standardised - 1.0,
            2.0 * couplings - 1.0,
            torch.log(densities / best + 1e-6).clamp_min(-3.0),
            torch.zeros_like(gaps).scatter(1, place, 1.0),
        )
        return context, rows, best, second, place

    def state_value(
        self, opponents: torch.Tensor, state: torch.Tensor, online: torch.Tensor | None = None
    ) -> torch.Tensor:
        """An estimate of the rewards to come, shape (n, 1): the same for any order of opponents."""
        context, rows, _, _, _ = self.features(opponents, state, online)
        pooled = [pool for row in rows for pool in (_mean(row, online), _largest(row, online))]
        values: torch.Tensor = self.value(torch.cat((context, torch.stack(pooled, dim=1)), dim=1))
        return values


def split_numbers(
    flat: torch.Tensor, num_opponents: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Opponents, state and who is online out of one row of numbers for each observation.

    Args:
        flat: shape (n, 3 M + 4), the opponents' numbers first; or (n, 4 M + 4) with a mask.
        num_opponents: M.
    """
    size = OPPONENT_NUMBERS * num_opponents
    opponents = flat[:, :size].reshape(flat.shape[0], OPPONENT_NUMBERS, -1)
    masks = flat[:, size + STATE_NUMBERS :]
    online = masks > 0.5 if masks.shape[1] > 0 else None
    return opponents, flat[:, size : size + STATE_NUMBERS], online
