"""What ``matchenv.agents.load`` gives: a policy network with the ``predict`` of all policies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.policies import BasePolicy


class LearnedPolicy:
    """A trained policy network.

    Attributes:
        name: what it was loaded by.
        belief: the belief whose observation it reads.
        num_opponents: M, of the environment that it was trained in.
        observation_shape: shape of one observation.
        network: the network of stable-baselines3.
    """

    def __init__(self, name: str, network: BasePolicy, belief: str) -> None:
        self.name = name
        self.network = network
        self.belief = belief
        self.num_opponents = int(network.action_space.n)  # type: ignore[attr-defined]
        self.observation_shape: tuple[int, ...] = tuple(network.observation_space.shape or ())

    def predict(
        self,
        observation: Any,
        state: tuple[NDArray[Any], ...] | None = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.int64], tuple[NDArray[Any], ...] | None]:
        """Choose opponents, as stable-baselines3's models do.

        Args:
            observation: shape (K,) or (n, K), with K as ``observation_shape`` says.
            state: what the last call gave, for a policy with a memory.
            episode_start: shape (n,), where a memory must start anew.
            deterministic: take the likeliest opponent, else draw one from torch's generator.

        Returns:
            ``(actions, state)``, actions of shape () or (n,).

        Raises:
            ValueError: for observations of another size, NaN or infinity.
        """
        array = np.asarray(observation)
        if array.ndim not in (1, 2) or array.shape[-1:] != self.observation_shape:
            raise ValueError(
                f"observation must have shape {self.observation_shape} or "
                f"(n, {self.observation_shape[0]}), got {array.shape}: the policy {self.name} was "
                f"trained with num_opponents={self.num_opponents}"
            )
        if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
            raise ValueError("observation must hold finite numbers only")
        actions, memory = self.network.predict(
            array.astype(np.float32, copy=False), state, episode_start, deterministic
        )
        return actions, memory
