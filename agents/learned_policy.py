"""Trained policy networks, as ``matchenv.agents.load`` returns them."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.policies import BasePolicy

from matchenv.settings import Settings

# A network of fixed size plays only with the settings of these names that it was trained with.
GAMES = ("num_opponents", "horizon", "beta", "draw_margin", "tau")


class LearnedPolicy:
    """A trained policy network.

    Args:
        name: the name or path that it was loaded by.
        network: the network of stable-baselines3.
        belief: the belief whose observation it reads.
        settings: of the environment that it was trained in; None if that is not known.

    Attributes:
        name: the name or path that it was loaded by.
        belief: the belief whose observation it reads.
        num_opponents: M, of the environment that it was trained in.
        observation_shape: shape of one observation.
        network: the network of stable-baselines3.
        settings: of the environment that it plays in; None if that is not known.
        stochastic: False; ``predict`` draws only if it is asked to.
        needs_truth: False; it reads the observation alone.
    """

    stochastic: ClassVar[bool] = False
    needs_truth: ClassVar[bool] = False

    def __init__(
        self, name: str, network: BasePolicy, belief: str, settings: Settings | None = None
    ) -> None:
        self.settings = settings
        self.name = name
        self.network = network
        self.belief = belief
        self.num_opponents = int(network.action_space.n)  # type: ignore[attr-defined]
        self.observation_shape: tuple[int, ...] = tuple(network.observation_space.shape or ())

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}, {type(self.network).__name__}, "
            f"num_opponents={self.num_opponents}, belief={self.belief!r})"
        )

    def for_settings(self, settings: Settings) -> Self:
        """The policy for an environment; its prior, rank and reward may be any.

        The belief of the settings is ignored: the policy always reads the one of its attribute
        ``belief``.

        Args:
            settings: of the environment.

        Raises:
            ValueError: if the policy was trained with other settings; it names what differs. Of a
                zip file of stable-baselines3 only the number of opponents is known.
        """
        trained = {"num_opponents": self.num_opponents}
        if self.settings is not None:
            trained = {name: getattr(self.settings, name) for name in GAMES}
        others = {name: getattr(settings, name) for name in trained}
        differing = [name for name in trained if trained[name] != others[name]]
        if differing:
            raise ValueError(
                f"the policy {self.name} was trained with "
                f"{_listed(trained, differing)} and cannot play with {_listed(others, differing)}"
            )
        return self

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
            state: what the last call returned, for a policy with a memory.
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


def _listed(values: dict[str, Any], names: list[str]) -> str:
    return ", ".join(f"{name}={values[name]!r}" for name in names)
