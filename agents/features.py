"""What a network sees of an observation: numbers of order one, whatever the skills' scale."""

from __future__ import annotations

import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, FlattenExtractor

from matchenv.belief import DEFAULT_BELIEF, belief_named
from matchenv.settings import PAPER_BETA

# The first is the exponent of the draw density itself. It hardly differs between the nearest
# few of many opponents, which the others tell apart.
SHARPNESSES = (0.5, 4.0, 16.0)


class RelativeSkills(BaseFeaturesExtractor):
    """Each opponent as seen from player 0: how even a game is, and how uncertain.

    A network has a hard time to find out that only differences of skill matter. Of every
    opponent it gets exp(-a t^2) at three sharpnesses a, moved to [-1, 1], with
    t = (mu_0 - mu_j) / c, where c^2 is 2 beta^2 plus the variance of s_0 - s_j under the belief
    (sigma_0^2 + sigma_j^2 if that is factorised). It also gets all deviations in units of beta,
    and the share of games left.

    Args:
        observation_space: the box of the environment's observation, of K numbers.
        num_opponents: M.
        belief: the name of the belief whose observation it is.
        beta: standard deviation of one performance around skill.
    """

    def __init__(
        self,
        observation_space: spaces.Box,
        num_opponents: int,
        belief: str = DEFAULT_BELIEF,
        beta: float = PAPER_BETA,
    ) -> None:
        beside_means = observation_space.shape[0] - num_opponents - 1
        super().__init__(observation_space, len(SHARPNESSES) * num_opponents + beside_means)
        self.num_players = num_opponents + 1
        self.belief = belief_named(belief)
        self.beta = float(beta)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Features of shape (n, K + 2 M - 1) from observations of shape (n, K)."""
        players = self.num_players
        mu, deviations = observations[:, :players], observations[:, players:-1]
        variance = self.belief.difference_variance(deviations[:, :players], deviations[:, players:])
        squared = (mu[:, :1] - mu[:, 1:]) ** 2 / (variance + 2.0 * self.beta**2)
        closeness = [2.0 * torch.exp(-sharpness * squared) - 1.0 for sharpness in SHARPNESSES]
        return torch.cat((*closeness, deviations / self.beta, observations[:, -1:]), dim=1)


EXTRACTORS: dict[str, type[BaseFeaturesExtractor]] = {
    "Flatten": FlattenExtractor,
    "RelativeSkills": RelativeSkills,
}
