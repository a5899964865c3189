"""The shared network as a policy for PPO, A2C, TRPO and MaskablePPO."""

from __future__ import annotations

from typing import Any

import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import nn

from matchenv.agents.own_heads import OwnHeads
from matchenv.agents.shared.network import OpponentScores, PooledValue
from matchenv.agents.shared.rows import OpponentNumbers
from matchenv.settings import PAPER_BETA

# Hidden layers of what weighs the opponents' numbers, and of the value.
WIDTHS: dict[str, list[int]] = {"pi": [16], "vf": [64, 64]}


class ScoresAndValue(nn.Module):
    """Both parts in the form that stable-baselines3 builds a policy around.

    Args:
        num_opponents: M.
        widths: of the hidden layers of the scores' network, ``pi``, and of the value's, ``vf``.
        activation: between the layers.

    Attributes:
        latent_dim_pi: M, one logit for each opponent.
        latent_dim_vf: 1.
    """

    def __init__(
        self, num_opponents: int, widths: dict[str, list[int]], activation: type[nn.Module]
    ) -> None:
        super().__init__()
        self.scores = OpponentScores(widths.get("pi", []), activation)
        self.value = PooledValue(widths.get("vf", []), activation)
        self.latent_dim_pi, self.latent_dim_vf = num_opponents, 1

    def forward(self, flat: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits of shape (n, M) and values of shape (n, 1)."""
        return self.scores(flat), self.value(flat)

    def forward_actor(self, flat: torch.Tensor) -> torch.Tensor:
        """Logits, shape (n, M)."""
        scores: torch.Tensor = self.scores(flat)
        return scores

    def forward_critic(self, flat: torch.Tensor) -> torch.Tensor:
        """Values, shape (n, 1)."""
        values: torch.Tensor = self.value(flat)
        return values


class _Shared(OwnHeads):
    """What both policies below add to their library's."""

    def __init__(
        self,
        observation_space: spaces.Box,
        action_space: spaces.Discrete,
        lr_schedule: Schedule,
        net_arch: list[int] | dict[str, list[int]] | None = None,
        activation_fn: type[nn.Module] = nn.Tanh,
        *,
        belief: str | None = None,
        beta: float = PAPER_BETA,
        **kwargs: Any,
    ) -> None:
        kwargs["ortho_init"] = False
        kwargs["features_extractor_class"] = OpponentNumbers
        kwargs["features_extractor_kwargs"] = {"belief": belief, "beta": beta}
        super().__init__(  # type: ignore[call-arg]
            observation_space,
            action_space,
            lr_schedule,
            WIDTHS if net_arch is None else net_arch,
            activation_fn,
            **kwargs,
        )

    def _logits_and_value(self: Any, widths: dict[str, list[int]]) -> nn.Module:
        return ScoresAndValue(int(self.action_space.n), widths, self.activation_fn)


class SharedPolicy(_Shared, ActorCriticPolicy):
    """For PPO, A2C and TRPO, on any belief and any number of opponents.

    Args:
        observation_space: of the environment.
        action_space: of the environment.
        lr_schedule: learning rate.
        net_arch: widths of the hidden layers, as stable-baselines3 takes them.
        activation_fn: between the layers.
        belief: the name of the belief whose observation it reads; None to tell it from the size.
        beta: standard deviation of one performance around skill, as in the environment.
        kwargs: others of ``ActorCriticPolicy``; those about features have no effect.
    """


class MaskableSharedPolicy(_Shared, MaskableActorCriticPolicy):
    """``SharedPolicy`` for sb3-contrib's MaskablePPO; arguments as there."""
