"""The shared network as the values of actions, for DQN and QR-DQN, and as a policy for ARS."""

from __future__ import annotations

from typing import Any

from gymnasium import spaces
from sb3_contrib.ars.policies import ARSPolicy
from sb3_contrib.qrdqn.policies import QRDQNPolicy, QuantileNetwork
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import nn

from matchenv.agents.shared.network import ActionValues, OpponentScores
from matchenv.agents.shared.rows import OpponentNumbers
from matchenv.settings import PAPER_BETA


class SharedQNetwork(QNetwork):
    """stable-baselines3's network of action values, with shared weights."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.q_net = ActionValues(self.net_arch, self.activation_fn)  # type: ignore[assignment]


class SharedQuantileNetwork(QuantileNetwork):
    """sb3-contrib's network of quantiles, with shared weights."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.quantile_net = ActionValues(  # type: ignore[assignment]
            self.net_arch, self.activation_fn, self.n_quantiles
        )


class _SharedValues:
    """What both policies of action values add to their library's."""

    def __init__(
        self, *args: Any, belief: str | None = None, beta: float = PAPER_BETA, **kwargs: Any
    ) -> None:
        kwargs["features_extractor_class"] = OpponentNumbers
        kwargs["features_extractor_kwargs"] = {"belief": belief, "beta": beta}
        super().__init__(*args, **kwargs)


class SharedDQNPolicy(_SharedValues, DQNPolicy):
    """For DQN; ``belief`` and ``beta`` as ``SharedPolicy``, other arguments as ``DQNPolicy``."""

    def make_q_net(self) -> SharedQNetwork:
        """A network with numbers of the opponents of its own."""
        arguments = self._update_features_extractor(self.net_args, features_extractor=None)
        return SharedQNetwork(**arguments).to(self.device)


class SharedQRDQNPolicy(_SharedValues, QRDQNPolicy):
    """For QR-DQN; ``belief`` and ``beta`` as ``SharedPolicy``, others as ``QRDQNPolicy``."""

    def make_quantile_net(self) -> SharedQuantileNetwork:
        """A network with numbers of the opponents of its own."""
        arguments = self._update_features_extractor(self.net_args, features_extractor=None)
        return SharedQuantileNetwork(**arguments).to(self.device)


class SharedARSPolicy(ARSPolicy):
    """For ARS: the scores alone, without a value.

    Args:
        observation_space: of the environment.
        action_space: of the environment.
        net_arch: widths of the hidden layers.
        activation_fn: between the layers.
        belief: as ``SharedPolicy``.
        beta: as there.
    """

    def __init__(
        self,
        observation_space: spaces.Box,
        action_space: spaces.Discrete,
        net_arch: list[int] | None = None,
        activation_fn: type[nn.Module] = nn.Tanh,
        *,
        belief: str | None = None,
        beta: float = PAPER_BETA,
    ) -> None:
        self._told = {"belief": belief, "beta": beta}
        super().__init__(observation_space, action_space, net_arch or [], activation_fn)
        self.action_net = OpponentScores(self.net_arch, activation_fn)  # type: ignore[assignment]

    def make_features_extractor(self) -> BaseFeaturesExtractor:
        """The numbers of the opponents."""
        return OpponentNumbers(self.observation_space, **self._told)  # type: ignore[arg-type]

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), **self._told}
