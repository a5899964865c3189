"""Features extractors: observations as numbers of order one."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, FlattenExtractor

from matchenv.belief import BELIEFS, Belief, belief_named
from matchenv.runtime.checks import as_positive_number
from matchenv.settings import PAPER_BETA
from matchenv.spaces import shows_mask

# The first is the exponent of the draw density. It hardly differs among the nearest of many
# opponents; the others do.
SHARPNESSES = (0.5, 4.0, 16.0)


def belief_of_space(box: spaces.Space[Any], num_opponents: int) -> Belief:
    """The belief whose observations a box holds, with or without a mask; the first of several.

    Args:
        box: of one observation.
        num_opponents: M.

    Raises:
        ValueError: if no belief gives it.
    """
    if isinstance(box, spaces.Box) and len(box.shape) == 1 and num_opponents >= 1:
        size = box.shape[0] - (num_opponents if shows_mask(box, num_opponents) else 0)
        for belief in BELIEFS.values():
            if size == belief.observation_size(num_opponents):
                return belief
    raise ValueError(
        f"observations must be those of Matchmaking-v0, got shape {box.shape} with "
        f"{num_opponents} opponents"
    )


class RelativeSkills(BaseFeaturesExtractor):
    """Each opponent as seen from player 0: how even a game is, and how uncertain.

    A network does not easily learn that only differences of skill matter. Of every opponent
    it gets exp(-a t^2) at three sharpnesses a, moved to [-1, 1], with
    t = (mu_0 - mu_j) / c, where c^2 is 2 beta^2 plus the variance of s_0 - s_j under the belief
    (sigma_0^2 + sigma_j^2 if that is factorised). It also gets all deviations in units of beta,
    the share of games left, and the mask where the pool changes.

    Args:
        observation_space: the box of the environment's observation, of K numbers. It says how
            many opponents there are.
        belief: the name of the belief whose observation it is; None to tell it from K.
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
        beside_means = observation_space.shape[0] - num_opponents - 1
        super().__init__(observation_space, len(SHARPNESSES) * num_opponents + beside_means)
        self.num_players = num_opponents + 1
        self.belief = told if belief is None else belief_named(belief)
        masks = num_opponents if shows_mask(observation_space, num_opponents) else 0
        self.share = observation_space.shape[0] - masks - 1
        self.beta = as_positive_number("beta", beta)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Features of shape (n, K + 2 M - 1) from observations of shape (n, K)."""
        players = self.num_players
        mu, deviations = observations[:, :players], observations[:, players : self.share]
        variance = self.belief.difference_variance(deviations[:, :players], deviations[:, players:])
        squared = (mu[:, :1] - mu[:, 1:]) ** 2 / (variance + 2.0 * self.beta**2)
        closeness = [2.0 * torch.exp(-sharpness * squared) - 1.0 for sharpness in SHARPNESSES]
        return torch.cat((*closeness, deviations / self.beta, observations[:, self.share :]), dim=1)


EXTRACTORS: dict[str, type[BaseFeaturesExtractor]] = {
    "Flatten": FlattenExtractor,
    "RelativeSkills": RelativeSkills,
}
