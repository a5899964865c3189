"""Policy networks of stable-baselines3, made from plain data.

``policy_kwargs`` in YAML or JSON name classes. The names are looked up in fixed lists, so
reading a file never runs code that the file names.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from gymnasium import spaces
from stable_baselines3.common.policies import BasePolicy
from torch import nn

from matchenv.agents.algorithms import Algorithm
from matchenv.agents.features import EXTRACTORS, RelativeSkills
from matchenv.agents.queue.network import QueueConstants
from matchenv.envs.one_player.simulator import observation_space
from matchenv.envs.queue.settings import QueueSettings
from matchenv.envs.queue.simulator import queue_observation_space
from matchenv.runtime.checks import as_choice, as_integer, as_number
from matchenv.settings import Settings

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "elu": nn.ELU,
    "leaky_relu": nn.LeakyReLU,
    "silu": nn.SiLU,
}

WIDEST_LAYER = 16_384
MOST_LAYERS = 32

SWITCHES = ("ortho_init", "share_features_extractor", "with_bias", "shared_lstm",
            "enable_critic_lstm")  # fmt: skip
SIZES = ("n_quantiles", "lstm_hidden_size", "n_lstm_layers")
KNOWN = ("net_arch", "activation_fn", "features_extractor_class", "optimizer_kwargs",
         *SWITCHES, *SIZES)  # fmt: skip


def resolved_policy_kwargs(
    algorithm: Algorithm,
    plain: dict[str, Any],
    settings: Settings | QueueSettings,
    policy: str = "MlpPolicy",
) -> dict[str, Any]:
    """Keyword arguments of a policy network for an environment.

    Args:
        algorithm: whose policy it is.
        plain: as ``checked_policy_kwargs``.
        settings: of the environment, for features that depend on it.
        policy: one of the algorithm's policy names.

    Raises:
        ValueError: for an unknown name or a bad value; it lists what is known.
    """
    kwargs = checked_policy_kwargs(algorithm, plain)
    if isinstance(settings, QueueSettings):
        if "features_extractor_class" in kwargs:
            raise ValueError("features_extractor_class must be left out in the queue")
        if policy == "PricePolicy":
            kwargs["constants"] = QueueConstants.of(settings)
        return kwargs
    if kwargs.get("features_extractor_class") is RelativeSkills:
        kwargs["features_extractor_kwargs"] = {"belief": settings.belief, "beta": settings.beta}
    if policy == "SharedPolicy":
        kwargs["belief"], kwargs["beta"] = settings.belief, settings.beta
    if policy == "EquivariantPolicy":
        # It builds its own network, and needs beta, its unit of skill.
        kwargs = {name: kwargs[name] for name in ("optimizer_kwargs",) if name in kwargs}
        kwargs["beta"] = settings.beta
    return kwargs


def checked_policy_kwargs(algorithm: Algorithm, plain: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments of a policy network, with classes for names.

    Args:
        algorithm: whose policy it is.
        plain: names, numbers, lists and mappings, as in a YAML file.

    Raises:
        ValueError: for an unknown name or a bad value; it lists what is known.
    """
    kwargs: dict[str, Any] = {}
    for name, value in plain.items():
        as_choice("a name in policy_kwargs", name, KNOWN)
        if name == "net_arch":
            kwargs[name] = _checked_layers(value)
        elif name == "activation_fn":
            kwargs[name] = ACTIVATIONS[as_choice(name, value, ACTIVATIONS)]
        elif name == "features_extractor_class":
            if not algorithm.features:
                raise ValueError(f"{name} must be left out: {algorithm.name} takes none")
            kwargs[name] = EXTRACTORS[as_choice(name, value, EXTRACTORS)]
        elif name == "optimizer_kwargs":
            kwargs[name] = _checked_numbers(name, value)
        elif name in SIZES:
            kwargs[name] = as_integer(name, value, 1, WIDEST_LAYER)
        elif isinstance(value, bool):
            kwargs[name] = value
        else:
            raise ValueError(f"{name} must be true or false, got {value!r}")
    return kwargs


def new_policy(
    algorithm: Algorithm,
    policy: str,
    plain_kwargs: dict[str, Any],
    settings: Settings | QueueSettings,
) -> BasePolicy:
    """A policy network with fresh weights.

    Args:
        algorithm: whose policy it is.
        policy: one of the algorithm's policy names.
        plain_kwargs: as ``resolved_policy_kwargs``.
        settings: of the environment that it is for.

    Raises:
        ValueError: for an unknown name or a bad value.
    """
    policy_class: Any = algorithm.load_policy_class(policy)
    kwargs = resolved_policy_kwargs(algorithm, plain_kwargs, settings, policy)
    if algorithm.name != "ars":
        kwargs["lr_schedule"] = _no_learning
    try:
        return policy_class(*_spaces(settings), **kwargs)
    except TypeError as error:
        raise ValueError(
            f"policy_kwargs must fit {policy} of {algorithm.name}, got {plain_kwargs!r}: {error}"
        ) from None


def check_size(
    policy: str, plain_kwargs: dict[str, Any], settings: Settings | QueueSettings, elements: int
) -> None:
    """See that a file has as many weights as its description has a use for, before any is made.

    Args:
        policy: the policy's name.
        plain_kwargs: as ``checked_policy_kwargs``.
        settings: of the environment.
        elements: weights in the file.

    Raises:
        ValueError: if the description asks for more; it says how many.
    """
    if policy == "EquivariantPolicy":  # its weights are the same for any number of opponents
        return
    # The shared networks have the same weights for all of them, too.
    known = settings.capacity if isinstance(settings, QueueSettings) else settings.num_opponents
    opponents = 1 if policy in ("SharedPolicy", "PricePolicy") else known
    layers = plain_kwargs.get("net_arch")
    # Every opponent has a number in the observation, and one in what a network of actions gives.
    if policy == "LinearPolicy":
        chains = [[opponents, opponents]]
    elif isinstance(layers, dict):
        chains = [[opponents, *widths] for widths in _checked_layers(layers).values()]
    else:
        chains = [[opponents, *([1] if layers is None else _checked_layers(layers)), opponents]]
    needed = max(sum(a * b for a, b in pairwise(chain)) for chain in chains)
    for name in SIZES:
        size = as_integer(name, plain_kwargs.get(name, 1), 1, WIDEST_LAYER)
        needed = max(needed, size * (opponents if name == "n_quantiles" else size))
    if needed > elements:
        raise ValueError(
            f"its description asks for {needed:,} weights at least, and it holds {elements:,}"
        )


def _spaces(settings: Settings | QueueSettings) -> tuple[spaces.Space[Any], spaces.Space[Any]]:
    """Of an observation and of an action."""
    if isinstance(settings, QueueSettings):
        return queue_observation_space(settings), spaces.Discrete(settings.capacity)
    return observation_space(settings), spaces.Discrete(settings.num_opponents)


def _no_learning(progress_remaining: float) -> float:
    del progress_remaining
    return 0.0


def _checked_layers(value: Any) -> Any:
    if isinstance(value, dict):
        if not value or not set(value) <= {"pi", "vf"}:
            raise ValueError(f"net_arch must have keys pi and vf, got {sorted(value)}")
        return {name: _checked_layers(layers) for name, layers in value.items()}
    if not isinstance(value, list) or len(value) > MOST_LAYERS:
        raise ValueError(f"net_arch must list at most {MOST_LAYERS} widths, got {value!r}")
    return [as_integer("a width in net_arch", width, 1, WIDEST_LAYER) for width in value]


def _checked_numbers(name: str, value: Any) -> dict[str, float]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} must be a mapping of numbers, got {value!r}")
    return {str(key): as_number(f"{name}.{key}", number) for key, number in value.items()}
