"""Trained policies of the queue, as ``matchenv.agents.load`` returns them."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from stable_baselines3.common.policies import BasePolicy

from matchenv.agents.masked_choice import chosen, masked_predictions
from matchenv.agents.queue.actor_critic import MaskablePricePolicy
from matchenv.agents.queue.network import QueueConstants
from matchenv.baselines.queue.planned import PlannedPolicy, best_pairs
from matchenv.envs.queue.settings import QUEUE_NUMBERS, QueueSettings
from matchenv.envs.queue.view import NOBODY, WaitingPlayers
from matchenv.runtime.checks import as_action_masks

Integers = NDArray[np.int64]


class QueueLearnedPolicy:
    """A trained policy of ``MatchmakingQueue-v0``.

    Args:
        name: the name or path that it was loaded by.
        network: the network of stable-baselines3.
        settings: of the environment that it plays in.

    Attributes:
        name: as given.
        network: as given.
        settings: as given.
        stochastic: False; ``predict`` draws only if it is asked to.
        needs_truth: False; it reads the observation alone.
    """

    stochastic: ClassVar[bool] = False
    needs_truth: ClassVar[bool] = False

    def __init__(self, name: str, network: BasePolicy, settings: QueueSettings) -> None:
        self.name, self.network, self.settings = name, network, settings

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}, {type(self.network).__name__}, "
            f"capacity={self.settings.capacity})"
        )

    def for_settings(self, settings: Any) -> Self:
        """The policy for an environment.

        Args:
            settings: of ``MatchmakingQueue-v0``.

        Raises:
            ValueError: for settings of ``Matchmaking-v0``, or another capacity than it was
                trained with.
        """
        _check_queue(self.name, settings)
        told = copy.copy(self)
        told.settings = settings
        if settings.capacity != self.settings.capacity:
            raise ValueError(
                f"the policy {self.name} was trained with capacity={self.settings.capacity} and "
                f"cannot play with capacity={settings.capacity}"
            )
        return told

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: ArrayLike | None = None,
    ) -> tuple[NDArray[np.int64], Any]:
        """Choose who plays, as sb3-contrib's models do.

        Args:
            observation: shape (4 C + 3,) or (n, 4 C + 3).
            state: returned as it is; the policy has no memory.
            episode_start: not used.
            deterministic: take the likeliest choice, else draw one from torch's generator.
            action_masks: which choices are allowed, shape (C,) or (n, C); None takes all
                candidates that the observation shows.

        Returns:
            ``(actions, state)``, actions of shape () or (n,).

        Raises:
            ValueError: for observations of another size, NaN or infinity, and for masks of another
                shape or that allow nothing.
        """
        capacity = self.settings.capacity
        array, size = np.asarray(observation), self.settings.observation_size
        if array.ndim not in (1, 2) or array.shape[-1] != size:
            raise ValueError(
                f"observation must have shape ({size},) or (n, {size}) with capacity={capacity}, "
                f"got {array.shape}"
            )
        if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
            raise ValueError("observation must hold finite numbers only")
        rows = np.atleast_2d(array).astype(np.float32, copy=False)
        if action_masks is None:
            masks = rows[:, 3 * capacity : size - QUEUE_NUMBERS] > 0.5
            masks[:, 0] = True
        else:
            shape = (*array.shape[:-1], capacity)
            masks = as_action_masks(action_masks, shape).reshape(-1, capacity)
        return self._chosen(rows, masks, deterministic).reshape(array.shape[:-1]), state

    def _chosen(
        self, rows: NDArray[np.float32], masks: NDArray[np.bool_], deterministic: bool
    ) -> Integers:
        """Choices of rows of observations, shape (n,)."""
        return masked_predictions(self.network, rows, masks, None, None, deterministic)[0]


class QueuePricePolicy(QueueLearnedPolicy, PlannedPolicy):
    """Learned prices: the maximum-weight matching of all who wait at the prices of a network.

    ``plan`` and ``choose`` see all who wait, as ``MaximumWeightMatching`` does, which has one
    price for all; ``predict`` sees what the observation shows. It plays with any capacity and
    any options. Arguments as ``QueueLearnedPolicy``, with a ``PricePolicy``.
    """

    network: MaskablePricePolicy

    def __init__(self, name: str, network: MaskablePricePolicy, settings: QueueSettings) -> None:
        QueueLearnedPolicy.__init__(self, name, network, settings)
        PlannedPolicy.__init__(self)

    def for_settings(self, settings: Any) -> Self:
        """As ``QueueLearnedPolicy``, for any settings of the queue."""
        _check_queue(self.name, settings)
        return type(self)(self.name, self.network.told(QueueConstants.of(settings)), settings)

    def plan(self, waiting: WaitingPlayers) -> Integers:
        """The best pairing at the network's prices; as ``PlannedPolicy``."""
        order = np.argsort(waiting.mu, kind="stable")
        mu, sigma, waited = waiting.mu[order], waiting.sigma[order], waiting.waited[order]
        prices = self.network.prices(mu, sigma, waited, waiting.playing)
        in_order = best_pairs(mu, sigma, prices, 0.0, *waiting.settings.constants)
        partners = np.empty(order.size, dtype=np.int64)
        partners[order] = np.where(in_order == NOBODY, NOBODY, order[in_order])
        return partners

    def _chosen(
        self, rows: NDArray[np.float32], masks: NDArray[np.bool_], deterministic: bool
    ) -> Integers:
        with torch.no_grad():
            scores = self.network.scores(rows)
            scores = scores.masked_fill(~torch.from_numpy(masks).to(scores.device), -torch.inf)
        return chosen(scores, deterministic)


def _check_queue(name: str, settings: Any) -> None:
    if not isinstance(settings, QueueSettings):
        raise ValueError(f"the policy {name} plays MatchmakingQueue-v0 alone")
