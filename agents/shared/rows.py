"""An observation as numbers of each opponent and of the state, alike for every opponent.

No number depends on the order of the opponents, on the zero of the scale of skills, on its unit,
or on which end of it is up.
"""

from __future__ import annotations

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

from matchenv.agents.features import belief_of_space
from matchenv.belief import belief_named
from matchenv.runtime.checks import as_positive_number
from matchenv.settings import PAPER_BETA
from matchenv.spaces import shows_mask

# The draw density is also shown as it would be with a larger variance of the difference: an
# opponent who is far away, but little known, looks better there.
WIDENINGS = (4.0, 16.0)
ROWS, CONTEXT = 3 + len(WIDENINGS), 7
DENSITY, LOG_DEVIATION = 0, 1 + len(WIDENINGS)

# A density that is a twentieth below the best is one unit away; far opponents are all alike.
STEEPNESS, FARTHEST = 20.0, 4.0
# Logarithms stay finite.
LEAST_VARIANCE, LEAST_SHARE = 1e-3, 2e-3
OFFLINE = -1e9


class OpponentNumbers(BaseFeaturesExtractor):
    """Five numbers of each opponent and seven of the state, without weights.

    With d and C the mean and variance of s_0 - s_k in units of 2 beta^2, these are of opponent k:
    the logarithm of its draw density less that of the best; the same for -d^2 / (2 (1 + a C)), the
    exponent of the density with a wider variance, for a = 4 and 16; the logarithm of C; and the
    distance in standard deviations. The first three are squashed, so that far opponents
    are alike. The density is the reward itself; no number looks ahead.

    Of the state: the best density, Var(s_0), how many opponents are near, how far player 0 stands
    from the middle of the field, the share of games left and its logarithm, and the mean
    of log C among the best opponents.

    Args:
        observation_space: the box of the environment's observation, of any belief.
        belief: the name of the belief whose observation it is; None to tell it from the size.
        beta: standard deviation of one performance around skill, as in the environment.

    Raises:
        ValueError: for a space of another environment.
    """

    def __init__(
        self, observation_space: spaces.Box, belief: str | None = None, beta: float = PAPER_BETA
    ) -> None:
        # Only the means have no lower bound.
        num_opponents = int(np.isneginf(observation_space.low).sum()) - 1
        told = belief_of_space(observation_space, num_opponents)
        # The last row says who is online: everyone, where the pool never changes.
        super().__init__(observation_space, (ROWS + 1) * num_opponents + CONTEXT)
        self.num_opponents = num_opponents
        self.masked = shows_mask(observation_space, num_opponents)
        self.belief = told if belief is None else belief_named(belief)
        self.beta = as_positive_number("beta", beta)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Shape (n, 6 M + 7) from observations of shape (n, K), for ``split_numbers``."""
        unit = 0.5 / self.beta**2
        players = self.num_opponents + 1
        size = self.belief.observation_size(self.num_opponents)
        mu, deviations = observations[:, :players], observations[:, players : size - 1]
        share = observations[:, size - 1].clamp_min(0.0)
        spread = self.belief.difference_variance(deviations[:, :players], deviations[:, players:])
        variances = spread * unit
        gaps = (mu[:, :1] - mu[:, 1:]) * unit**0.5
        squares = gaps * gaps
        online = observations[:, size:] if self.masked else torch.ones_like(gaps)

        def best_of(scores: torch.Tensor) -> torch.Tensor:
            shown = scores + OFFLINE * (1.0 - online) if self.masked else scores
            return shown.amax(1, keepdim=True)

        def below_best(scores: torch.Tensor) -> torch.Tensor:
            # Whoever is offline may be better than the best of those who are there.
            above = (STEEPNESS * (scores - best_of(scores))).clamp_max(0.0)
            return above / (1.0 - above / FARTHEST)

        densities = -0.5 * squares / (1.0 + variances) - 0.5 * torch.log1p(variances)
        nearness = below_best(densities)
        log_deviations = 0.5 * torch.log(variances + LEAST_VARIANCE)
        rows = (
            nearness,
            *(below_best(-0.5 * squares / (1.0 + wider * variances)) for wider in WIDENINGS),
            log_deviations,
            torch.sqrt(squares / (1.0 + variances)) - 1.0,
            online,
        )
        best = best_of(densities)[:, 0]
        weights = online * torch.exp(nearness)
        near = (online * torch.exp(-0.5 * squares / (variances + 0.05))).sum(1)
        own = deviations[:, 0] ** 2 * unit
        side = (gaps * torch.rsqrt(1.0 + squares)).mean(1)
        context = (
            10.0 * best + 1.0,
            0.5 * torch.log(own + LEAST_VARIANCE),
            0.7 * torch.log(near + 0.1),
            2.0 * side.abs() - 1.0,
            2.0 * share - 1.0,
            0.5 * torch.log(share + LEAST_SHARE) + 1.0,
            (weights * log_deviations).sum(1) / weights.sum(1),
        )
        flat = torch.stack(rows, dim=1).flatten(1)
        return torch.cat((flat, torch.stack(context, dim=1)), dim=1)


def split_numbers(flat: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows, who is online, and the state, out of what ``OpponentNumbers`` gives.

    Args:
        flat: shape (n, 6 M + 7).

    Returns:
        Shapes (n, 5, M), (n, M) and (n, 7).
    """
    rows = flat[:, :-CONTEXT].reshape(flat.shape[0], ROWS + 1, -1)
    return rows[:, :ROWS], rows[:, ROWS], flat[:, -CONTEXT:]
