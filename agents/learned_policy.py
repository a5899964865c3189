"""Trained policy networks, as ``matchenv.agents.load`` returns them."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from stable_baselines3.common.policies import BasePolicy

from matchenv.agents.masked_choice import masked_predictions
from matchenv.belief import BELIEFS
from matchenv.observations import with_mask
from matchenv.runtime.checks import as_action_masks
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
        action_masks: ArrayLike | None = None,
    ) -> tuple[NDArray[np.int64], tuple[NDArray[Any], ...] | None]:
        """Choose opponents, as stable-baselines3's models do.

        A policy plays where the pool changes and where it does not, wherever it was trained.

        Args:
            observation: shape (K,) or (n, K), of the policy's belief; M more numbers where the
                pool changes.
            state: what the last call returned, for a policy with a memory.
            episode_start: shape (n,), where a memory must start anew.
            deterministic: take the likeliest opponent, else draw one from torch's generator.
            action_masks: who may be chosen, shape (M,) or (n, M), as sb3-contrib gives it; None
                takes the mask that the observation ends with, or everybody where it has none.

        Returns:
            ``(actions, state)``, actions of shape () or (n,).

        Raises:
            ValueError: for observations of another size, NaN or infinity, and for masks of another
                shape or that allow nobody.
        """
        array, masks = self._read(observation, action_masks)
        if masks is None or masks.all():
            return self.network.predict(array, state, episode_start, deterministic)
        actions, memory = masked_predictions(
            self.network, np.atleast_2d(array), masks, state, episode_start, deterministic
        )
        return actions.reshape(array.shape[:-1]), memory

    def _read(
        self, observation: Any, action_masks: ArrayLike | None
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_] | None]:
        """Observations as the network reads them, and masks of shape (n, M) where there are any."""
        array = np.asarray(observation)
        size = BELIEFS[self.belief].observation_size(self.num_opponents)
        sizes = (size, size + self.num_opponents)
        if array.ndim not in (1, 2) or array.shape[-1] not in sizes:
            raise ValueError(
                f"observation must have shape {self.observation_shape} or "
                f"(n, {self.observation_shape[0]}), got {array.shape}: the policy {self.name} was "
                f"trained with num_opponents={self.num_opponents}"
            )
        if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
            raise ValueError("observation must hold finite numbers only")
        array = array.astype(np.float32, copy=False)
        shown = array[..., size:] if array.shape[-1] > size else None
        masks = masks_of(action_masks, shown, (*array.shape[:-1], self.num_opponents))
        array = array[..., :size]
        if self.observation_shape != (size,):
            everybody = np.ones((*array.shape[:-1], self.num_opponents), dtype=np.bool_)
            array = with_mask(array, everybody if masks is None else masks.reshape(everybody.shape))
        return array, masks


def masks_of(
    given: ArrayLike | None, shown: Any, shape: tuple[int, ...]
) -> NDArray[np.bool_] | None:
    """Who may be chosen, shape (n, M): what was given, or else what the observation shows.

    Args:
        given: as ``LearnedPolicy.predict``.
        shown: the end of the observation; None where it has no mask.
        shape: (M,) or (n, M).

    Raises:
        ValueError: for masks of another shape or that allow nobody.
    """
    masks = shown if given is None else given
    return None if masks is None else as_action_masks(masks, shape).reshape(-1, shape[-1])


def _listed(values: dict[str, Any], names: list[str]) -> str:
    return ", ".join(f"{name}={values[name]!r}" for name in names)
