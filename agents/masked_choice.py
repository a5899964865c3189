"""Choices of trained networks among those who may be chosen, whatever algorithm trained them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy

Integers = NDArray[np.int64]
Masks = NDArray[np.bool_]
Memory = tuple[NDArray[Any], ...] | None


def masked_predictions(
    network: BasePolicy,
    observations: NDArray[np.float32],
    masks: Masks,
    state: Memory,
    episode_start: NDArray[np.bool_] | None,
    deterministic: bool,
) -> tuple[Integers, Memory]:
    """What a network chooses of those who may be chosen.

    The likeliest, or the one with the highest value; else one drawn with the probabilities that
    the network gives, made to add up to 1 among those.

    Args:
        network: of stable-baselines3 or sb3-contrib.
        observations: shape (n, K).
        masks: shape (n, M), at least one in each row.
        state: what the last call returned, for a network with a memory.
        episode_start: shape (n,), where a memory must start anew.
        deterministic: take the best; networks that give values always do.

    Returns:
        Actions of shape (n,), and the memory.
    """
    network.set_training_mode(False)
    with torch.no_grad():
        scores, state = _scores(network, observations, masks, state, episode_start)
        scores = scores.masked_fill(~torch.from_numpy(masks).to(scores.device), -torch.inf)
        return chosen(scores, deterministic or not is_stochastic(network)), state


def chosen(scores: torch.Tensor, deterministic: bool) -> Integers:
    """The first highest logit of each row, shape (n, M) to (n,), or one drawn."""
    if deterministic:
        best: Integers = scores.cpu().numpy().argmax(axis=1)
        return best
    drawn: Integers = torch.multinomial(torch.softmax(scores, dim=1), 1)[:, 0].cpu().numpy()
    return drawn


def is_stochastic(network: BasePolicy) -> bool:
    """Whether a network gives probabilities, and not values."""
    return isinstance(network, ActorCriticPolicy | MaskableActorCriticPolicy)


def _scores(
    network: Any,
    observations: NDArray[np.float32],
    masks: Masks,
    state: Memory,
    episode_start: NDArray[np.bool_] | None,
) -> tuple[torch.Tensor, Memory]:
    """Logits or values of the opponents, shape (n, M), and the memory."""
    rows, _ = network.obs_to_tensor(observations)
    if isinstance(network, RecurrentActorCriticPolicy):
        count = len(observations)
        if state is None:
            layers, _, units = network.lstm_hidden_state_shape
            state = (np.zeros((layers, count, units)),) * 2
        memory = tuple(
            torch.as_tensor(each, dtype=torch.float32, device=network.device) for each in state
        )
        starts = np.zeros(count, np.bool_) if episode_start is None else episode_start
        distribution, memory = network.get_distribution(
            rows,
            (memory[0], memory[1]),
            torch.as_tensor(starts, dtype=torch.float32, device=network.device),
        )
        return _logits(distribution), tuple(each.cpu().numpy() for each in memory)
    if isinstance(network, MaskableActorCriticPolicy):
        return _logits(network.get_distribution(rows, masks)), state
    if isinstance(network, ActorCriticPolicy):
        return _logits(network.get_distribution(rows)), state
    if hasattr(network, "quantile_net"):
        return network.quantile_net(rows).mean(dim=1), state
    if hasattr(network, "q_net"):
        return network.q_net(rows), state
    # ARS: the first of the highest outputs is its choice.
    features = network.extract_features(rows, network.features_extractor)
    return network.action_net(features), state


def _logits(distribution: Any) -> torch.Tensor:
    logits: torch.Tensor = distribution.distribution.logits
    return logits
