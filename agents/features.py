"""What a network sees of an observation: numbers of order one, whatever the skills' scale."""

from __future__ import annotations

import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, FlattenExtractor

from matchenv.settings import PAPER_BETA


class RelativeSkills(BaseFeaturesExtractor):
    """Each opponent as seen from player 0: how even a game is, and how uncertain.

    A network has a hard time to find out that only differences of skill matter. Of every
    opponent it gets exp(-t^2 / 2), with t = (mu_0 - mu_j) / c and c^2 = sigma_0^2 +
    sigma_j^2 + 2 beta^2, moved to [-1, 1], and sigma_j / beta; besides these sigma_0 / beta
    and the share of games left.

    Args:
        observation_space: the box of shape (2 (M + 1) + 1,).
        beta: standard deviation of one performance around skill.
    """

    def __init__(self, observation_space: spaces.Box, beta: float = PAPER_BETA) -> None:
        self.num_players = observation_space.shape[0] // 2
        self.beta = float(beta)
        super().__init__(observation_space, features_dim=2 * self.num_players)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Features of shape (n, 2 (M + 1)) from observations of shape (n, 2 (M + 1) + 1)."""
        players = self.num_players
        mu, sigma = observations[:, :players], observations[:, players : 2 * players]
        variance = sigma[:, :1] ** 2 + sigma[:, 1:] ** 2 + 2.0 * self.beta**2
        squared = (mu[:, :1] - mu[:, 1:]) ** 2 / variance
        closeness = 2.0 * torch.exp(-0.5 * squared) - 1.0
        return torch.cat((closeness, sigma / self.beta, observations[:, -1:]), dim=1)


EXTRACTORS: dict[str, type[BaseFeaturesExtractor]] = {
    "Flatten": FlattenExtractor,
    "RelativeSkills": RelativeSkills,
}
