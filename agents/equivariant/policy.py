"""The equivariant network as a policy of stable-baselines3 and of sb3-contrib's MaskablePPO.

Permuting the opponents of an observation permutes the probabilities of the actions and leaves
the value as it is. The weights fit any number of opponents.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.type_aliases import Schedule
from torch import nn

from matchenv.agents.equivariant.network import EquivariantNetwork, split_numbers
from matchenv.agents.equivariant.state import OPPONENT_NUMBERS, STATE_NUMBERS, state_of_observations
from matchenv.agents.policy_file import PolicyDescription
from matchenv.belief import BELIEFS, FullBelief
from matchenv.envs.one_player.simulator import observation_space
from matchenv.settings import PAPER_BETA, Settings
from matchenv.spaces import shows_mask


class OpponentRows(BaseFeaturesExtractor):
    """One row of numbers for each opponent, and a few of the state, by the compiled kernel.

    Args:
        observation_space: the box of an observation of the full belief, with or without a mask.
        beta: standard deviation of one performance around skill.
    """

    def __init__(self, observation_space: spaces.Box, beta: float = PAPER_BETA) -> None:
        opponents = int(np.isneginf(observation_space.low).sum()) - 1
        self.masks = opponents if shows_mask(observation_space, opponents) else 0
        super().__init__(
            observation_space, OPPONENT_NUMBERS * opponents + STATE_NUMBERS + self.masks
        )
        self.beta = float(beta)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Shape (n, 3 M + 4) from observations of shape (n, 3 M + 3); it passes no gradient.

        A mask at the end stays where it is.
        """
        array = observations.detach().cpu().numpy()
        size = array.shape[1] - self.masks
        read = state_of_observations(array[:, :size], self.beta)
        rows = read.opponents.reshape(len(array), -1)
        flat = np.concatenate((rows, read.state, array[:, size:]), axis=1)
        return torch.from_numpy(flat).to(observations.device)


class ScoreExtractor(nn.Module):
    """The network in the form that stable-baselines3 builds a policy around.

    Attributes:
        latent_dim_pi: M, one score for each opponent.
        latent_dim_vf: 1.
    """

    def __init__(self, num_opponents: int) -> None:
        super().__init__()
        self.network = EquivariantNetwork()
        self.num_opponents = self.latent_dim_pi = num_opponents
        self.latent_dim_vf = 1

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits of shape (n, M) and values of shape (n, 1)."""
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: torch.Tensor) -> torch.Tensor:
        """Logits, shape (n, M)."""
        scores = self.network.scores(*split_numbers(features, self.num_opponents))
        return scores * torch.exp(self.network.log_sharpness)

    def forward_critic(self, features: torch.Tensor) -> torch.Tensor:
        """Values, shape (n, 1)."""
        return self.network.state_value(*split_numbers(features, self.num_opponents))


class _Equivariant:
    """What both policies below add to their library's."""

    def __init__(
        self,
        observation_space: spaces.Box,
        action_space: spaces.Discrete,
        lr_schedule: Schedule,
        *,
        beta: float = PAPER_BETA,
        **kwargs: Any,
    ) -> None:
        count = int(action_space.n)
        expected = BELIEFS[FullBelief.name].observation_size(count)
        masks = count if shows_mask(observation_space, count) else 0
        if observation_space.shape != (expected + masks,):
            raise ValueError(
                'the equivariant policy reads observations with belief="full", of shape '
                f"({expected},) for {action_space.n} opponents, got {observation_space.shape}"
            )
        kwargs["ortho_init"] = False
        kwargs["features_extractor_class"] = OpponentRows
        kwargs["features_extractor_kwargs"] = {"beta": beta}
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)  # type: ignore[call-arg]

    def _build_mlp_extractor(self: Any) -> None:
        self.add_module("mlp_extractor", ScoreExtractor(int(self.action_space.n)).to(self.device))

    def _build(self: Any, lr_schedule: Schedule) -> None:
        super()._build(lr_schedule)  # type: ignore[misc]
        # The network gives logits and values itself; the library's layers would have weights for
        # each place in the list of opponents.
        self.add_module("action_net", nn.Identity())
        self.add_module("value_net", nn.Identity())
        self.optimizer = self.optimizer_class(
            self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs
        )


class EquivariantPolicy(_Equivariant, ActorCriticPolicy):
    """For PPO, A2C and TRPO, on environments with ``belief="full"``.

    Args:
        observation_space: of the environment.
        action_space: of the environment.
        lr_schedule: learning rate.
        beta: standard deviation of one performance around skill, as in the environment.
        kwargs: others of ``ActorCriticPolicy``; those about its networks have no effect.
    """


class MaskableEquivariantPolicy(_Equivariant, MaskableActorCriticPolicy):
    """``EquivariantPolicy`` for sb3-contrib's MaskablePPO; arguments as there."""


def network_of(policy: Any) -> EquivariantNetwork:
    """The network inside one of the policies above."""
    network: EquivariantNetwork = policy.mlp_extractor.network
    return network


def new_equivariant_policy(
    env_kwargs: dict[str, Any], network: EquivariantNetwork | None = None
) -> EquivariantPolicy:
    """A policy for an environment, with the weights of a network.

    Args:
        env_kwargs: keyword arguments of the environment; the belief is the full one.
        network: whose weights to take; None keeps those of the index that training starts from.
    """
    settings = Settings.checked(**{**env_kwargs, "belief": "full"})
    policy = EquivariantPolicy(
        observation_space(settings),
        spaces.Discrete(settings.num_opponents),
        _no_learning,
        beta=settings.beta,
    )
    if network is not None:
        network_of(policy).load_state_dict(network.state_dict())
    policy.set_training_mode(False)
    return policy


def description_of(env_kwargs: dict[str, Any]) -> PolicyDescription:
    """What a policy file says of a policy that was trained on these environments."""
    return PolicyDescription(
        algorithm="ppo",
        policy="EquivariantPolicy",
        policy_kwargs={},
        env_kwargs={**env_kwargs, "belief": "full"},
    )


def _no_learning(progress_remaining: float) -> float:
    del progress_remaining
    return 0.0
