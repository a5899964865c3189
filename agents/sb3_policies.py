"""The shared network as policies of stable-baselines3 and sb3-contrib."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymnasium import spaces
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import Schedule
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import nn

from matchenv.agents.config_file import built
from matchenv.agents.network import ActionValues, OpponentReader, SharedNetwork, reader_of
from matchenv.agents.run_config import SHARED, PolicyKwargs
from matchenv.envs.core.settings import Options

# Hidden layers of the scores and of the value.
WIDTHS: dict[str, list[int]] = {"pi": [32], "vf": [64, 64]}

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "elu": nn.ELU,
    "leaky_relu": nn.LeakyReLU,
    "silu": nn.SiLU,
}


class SharedPolicy(ActorCriticPolicy):
    """For PPO, A2C, TRPO and imitation, for any number of actions.

    The library would put linear layers behind the network, with weights for each action.

    Args:
        observation_space: of the environment.
        action_space: of the environment.
        lr_schedule: learning rate.
        net_arch: widths of the hidden layers, as stable-baselines3 takes them.
        activation_fn: between the layers.
        kwargs: others of ``ActorCriticPolicy``; ``features_extractor_class`` is the environment's
            ``Reader``, by default that of ``Matchmaking-v0``.
    """

    shares_weights = True

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Schedule,
        net_arch: list[int] | dict[str, list[int]] | None = None,
        activation_fn: type[nn.Module] = nn.Tanh,
        **kwargs: Any,
    ) -> None:
        kwargs["ortho_init"] = False
        kwargs.setdefault("features_extractor_class", OpponentReader)
        super().__init__(
            observation_space, action_space, lr_schedule, _widths(net_arch), activation_fn, **kwargs
        )

    def _build_mlp_extractor(self: Any) -> None:
        network = SharedNetwork(self.features_extractor, self.net_arch, self.activation_fn)
        self.add_module("mlp_extractor", network.to(self.device))

    def _build(self: Any, lr_schedule: Schedule) -> None:
        super()._build(lr_schedule)
        self.add_module("action_net", nn.Identity())
        self.add_module("value_net", nn.Identity())
        self.optimizer = self.optimizer_class(
            self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs
        )


class SharedDQNPolicy(DQNPolicy):
    """For DQN; arguments as ``DQNPolicy``, ``features_extractor_class`` a ``Reader``."""

    shares_weights = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("features_extractor_class", OpponentReader)
        super().__init__(*args, **kwargs)

    def make_q_net(self) -> QNetwork:
        """Return the library's network with shared weights in place of its layers."""
        network: Any = super().make_q_net()
        widths = _widths(network.net_arch)
        made = ActionValues(network.features_extractor, widths, network.activation_fn)
        network.q_net = made.to(self.device)
        return network


def _widths(net_arch: Any) -> dict[str, list[int]]:
    """Return the hidden widths of scores and value; a list stands for both."""
    if net_arch is None:
        return WIDTHS
    given = net_arch if isinstance(net_arch, dict) else {"pi": net_arch, "vf": net_arch}
    return {**WIDTHS, **given}


def resolved_policy_kwargs(
    policy: str, plain: Mapping[str, Any], settings: Options
) -> dict[str, Any]:
    """Return the arguments of a policy network, with classes for names.

    The names are looked up in fixed lists, so reading a file never runs code that the file names.

    Args:
        policy: name of the policy network.
        plain: as ``run_config.PolicyKwargs`` describes.
        settings: of the environment, whose observations are read.

    Raises:
        ValueError: for an unknown name or a bad value.
    """
    kwargs = built(PolicyKwargs, dict(plain), "policy_kwargs").model_dump(exclude_none=True)
    if "activation_fn" in kwargs:
        kwargs["activation_fn"] = ACTIVATIONS[kwargs["activation_fn"]]
    if "Reader" in (kwargs.pop("features_extractor_class", None), policy.replace(SHARED, "Reader")):
        kwargs |= reader_of(settings)
    return kwargs
