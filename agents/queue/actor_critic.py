"""The price network as a policy for sb3-contrib's MaskablePPO."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import nn

from matchenv.agents.own_heads import OwnHeads
from matchenv.agents.queue.network import (
    PlanLogits,
    PlayersValue,
    QueueConstants,
    QueueNumbers,
    own_numbers,
    state_numbers,
)

Floats = NDArray[np.float64]

# Hidden layers of the price's network and of the value's.
WIDTHS: dict[str, list[int]] = {"pi": [32], "vf": [64]}


class LogitsAndValue(nn.Module):
    """Both parts in the form that stable-baselines3 builds a policy around.

    Args:
        capacity: C, actions.
        constants: of the environment.
        widths: of the hidden layers, ``pi`` and ``vf``.
        activation: between the layers.

    Attributes:
        latent_dim_pi: C, one logit for each action.
        latent_dim_vf: 1.
    """

    def __init__(
        self,
        capacity: int,
        constants: QueueConstants,
        widths: dict[str, list[int]],
        activation: type[nn.Module],
    ) -> None:
        super().__init__()
        self.constants = constants
        self.logits = PlanLogits(widths["pi"], activation)
        self.value = PlayersValue(widths["vf"], activation)
        self.latent_dim_pi, self.latent_dim_vf = capacity, 1

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits of shape (n, C) and values of shape (n, 1)."""
        numbers = QueueNumbers.of(observations, self.constants)
        logits, ahead = self.logits(numbers, self.constants.beta)
        return logits, self.value(numbers, ahead)

    def forward_actor(self, observations: torch.Tensor) -> torch.Tensor:
        """Logits, shape (n, C); of any capacity."""
        numbers = QueueNumbers.of(observations, self.constants)
        logits: torch.Tensor = self.logits(numbers, self.constants.beta)[0]
        return logits

    def forward_critic(self, observations: torch.Tensor) -> torch.Tensor:
        """Values, shape (n, 1)."""
        return self(observations)[1]


class MaskablePricePolicy(OwnHeads, MaskableActorCriticPolicy):
    """For MaskablePPO on ``MatchmakingQueue-v0``, of any capacity.

    Args:
        observation_space: of the environment.
        action_space: of the environment.
        lr_schedule: learning rate.
        net_arch: widths of the hidden layers, as stable-baselines3 takes them.
        activation_fn: between the layers.
        constants: of the environment.
        kwargs: others of ``MaskableActorCriticPolicy``; those about features have no effect.
    """

    def __init__(
        self,
        observation_space: spaces.Box,
        action_space: spaces.Discrete,
        lr_schedule: Schedule,
        net_arch: list[int] | dict[str, list[int]] | None = None,
        activation_fn: type[nn.Module] = nn.Tanh,
        *,
        constants: QueueConstants,
        **kwargs: Any,
    ) -> None:
        self.constants = constants
        kwargs["ortho_init"] = False
        super().__init__(
            observation_space,
            action_space,
            lr_schedule,
            WIDTHS if net_arch is None else net_arch,
            activation_fn,
            **kwargs,
        )

    def _logits_and_value(self: Any, widths: dict[str, list[int]]) -> nn.Module:
        return LogitsAndValue(int(self.action_space.n), self.constants, widths, self.activation_fn)

    def prices(self, mu: Floats, sigma: Floats, waited: NDArray[np.int64], playing: int) -> Floats:
        """What everyone who waits asks of a game, in match quality, before anyone is asked.

        Args:
            mu: means of the beliefs, shape (n,).
            sigma: their standard deviations.
            waited: ticks since each joined the queue.
            playing: players in games under way.
        """
        both = self.mlp_extractor
        assert isinstance(both, LogitsAndValue)
        with torch.no_grad():
            means, deviations, ticks = (
                torch.from_numpy(each.astype(np.float32)) for each in (mu, sigma, waited)
            )
            own = own_numbers(means, deviations, ticks, self.constants)
            count, busy = torch.tensor([float(mu.size)]), torch.tensor([float(playing)])
            state = state_numbers(count, count, busy, self.constants)
            players = torch.cat((own, state.expand(mu.size, -1)), dim=1)
            prices: Floats = both.logits.price_of(players.to(self.device)).cpu().numpy()
        return prices.astype(np.float64)

    def scores(self, observations: NDArray[np.float32]) -> torch.Tensor:
        """Logits, shape (n, C), of observations of shape (n, 4 C + 3)."""
        both = self.mlp_extractor
        assert isinstance(both, LogitsAndValue)
        return both.forward_actor(torch.from_numpy(observations).to(self.device))

    def told(self, constants: QueueConstants) -> Self:
        """The same weights for an environment with other constants, of any capacity."""
        other = copy.copy(self)
        other._modules = dict(self._modules)
        both = copy.copy(self.mlp_extractor)
        assert isinstance(both, LogitsAndValue)
        both.constants = constants
        other.constants = constants
        other._modules["mlp_extractor"] = both
        return other
