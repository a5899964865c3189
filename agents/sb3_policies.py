"""The shared network as policies of stable-baselines3 and sb3-contrib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import Schedule
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import nn

from matchenv.agents.config_file import built
from matchenv.agents.network import (
    ActionValues,
    Reader,
    SharedNetwork,
    reader_of,
    settings_of_space,
)
from matchenv.agents.run_config import PLAIN, SHARED, PolicyKwargs
from matchenv.envs.core.settings import Options

# Default hidden layers of the scores and the value.
WIDTHS: dict[str, list[int]] = {"pi": [32], "vf": [64, 64]}

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "elu": nn.ELU,
    "leaky_relu": nn.LeakyReLU,
    "silu": nn.SiLU,
}


class _SharedActorCritic:
    """The shared network in place of the layers of an actor-critic policy."""

    shares_weights = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["ortho_init"] = False
        kwargs["net_arch"] = _widths(kwargs.get("net_arch"))
        super().__init__(*args, **_with_reader(args, kwargs))

    def _build_mlp_extractor(self: Any) -> None:
        _check_actions(self.features_extractor, self.action_space)
        network = SharedNetwork(self.features_extractor, self.net_arch, self.activation_fn)
        self.add_module("mlp_extractor", network.to(self.device))

    def _build(self: Any, lr_schedule: Schedule) -> None:
        super()._build(lr_schedule)  # type: ignore[misc]
        # The library's linear layers have weights for each action.
        self.add_module("action_net", nn.Identity())
        self.add_module("value_net", nn.Identity())
        self.optimizer = self.optimizer_class(
            self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs
        )


class SharedPolicy(_SharedActorCritic, ActorCriticPolicy):
    """Policy of PPO, A2C, TRPO and imitation, for any number of actions.

    Arguments as for ``ActorCriticPolicy``; ``features_extractor_class`` is a ``Reader``, by default
    that of the environment of the observation space.
    """

    def _get_action_dist_from_latent(self: Any, latent_pi: torch.Tensor) -> Any:
        # The library's validation checks every logit; NaN shows in their sum, which is faster.
        categorical = torch.distributions.Categorical(logits=latent_pi, validate_args=False)
        if categorical.logits.sum().isnan():
            raise ValueError("the network gives invalid values")
        self.action_dist.distribution = categorical
        return self.action_dist


class SharedMaskablePolicy(_SharedActorCritic, MaskableActorCriticPolicy):
    """Policy of MaskablePPO; arguments as for ``SharedPolicy``."""


class SharedDQNPolicy(DQNPolicy):
    """Policy of DQN; arguments as for ``DQNPolicy``, ``features_extractor_class`` a ``Reader``."""

    shares_weights = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **_with_reader(args, kwargs))

    def make_q_net(self) -> QNetwork:
        """Return the library's network with shared weights in place of its layers."""
        network: Any = super().make_q_net()
        _check_actions(network.features_extractor, self.action_space)
        widths = _widths(network.net_arch)
        values = ActionValues(network.features_extractor, widths, network.activation_fn)
        network.q_net = values.to(self.device)
        return network


def _with_reader(args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return arguments of a policy with a reader, by default that of the observation space.

    Raises:
        ValueError: if the environment has no reader.
    """
    if "features_extractor_class" in kwargs:
        return kwargs
    space = args[0] if args else kwargs["observation_space"]
    settings = settings_of_space(space)
    reader = reader_of(settings)
    if not reader:
        raise ValueError(f"policy must be MlpPolicy, since {settings.env_id} has no reader")
    return {**kwargs, **reader}


def _check_actions(reader: Reader, action_space: Any) -> None:
    if reader.num_actions != action_space.n:
        raise ValueError(
            f"action_space must have the {reader.num_actions} actions of the environment, got "
            f"{action_space}"
        )


def _widths(net_arch: Any) -> dict[str, list[int]]:
    """Return the hidden widths of scores and value; a list applies to both."""
    if net_arch is None:
        return WIDTHS
    if isinstance(net_arch, dict):
        return {**WIDTHS, **net_arch}
    return dict.fromkeys(WIDTHS, net_arch)


def resolved_policy_kwargs(
    policy: str, plain: Mapping[str, Any], settings: Options
) -> dict[str, Any]:
    """Return the arguments of a policy network, with classes in place of their names.

    Names are looked up in fixed lists, so no code that a file names is run.

    Args:
        policy: name of the policy network.
        plain: arguments as in ``run_config.PolicyKwargs``.
        settings: settings of the environment.

    Raises:
        ValueError: for an unknown name or a bad value.
    """
    kwargs = built(PolicyKwargs, dict(plain), "policy_kwargs").model_dump(exclude_none=True)
    if "activation_fn" in kwargs:
        kwargs["activation_fn"] = ACTIVATIONS[kwargs["activation_fn"]]
    extractor = kwargs.pop("features_extractor_class", None)
    if extractor == "Reader" or policy == SHARED:
        reader = reader_of(settings)
        if not reader:
            raise ValueError(f"policy must be {PLAIN}, since {settings.env_id} has no reader")
        kwargs.update(reader)
    return kwargs
