"""A trained equivariant policy, for any number of opponents."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from functools import cache
from multiprocessing import parent_process
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from stable_baselines3.common.policies import BasePolicy

from matchenv.agents.equivariant.inference import all_scores, choices
from matchenv.agents.equivariant.policy import OpponentRows, network_of
from matchenv.agents.equivariant.scores import weights_of
from matchenv.agents.equivariant.state import are_of_belief, state_of_observations, unit_of
from matchenv.agents.learned_policy import LearnedPolicy, masks_of
from matchenv.agents.masked_choice import chosen
from matchenv.knowledge import KnowledgeState
from matchenv.observations import mask_size, without_mask
from matchenv.settings import Settings

# States at a time: more would leave the processor's cache, and a million would not fit memory.
BLOCK = 1024


@cache
def _warn_of_draws(name: str, draw_margin: float) -> None:
    """Say once in a process what a policy ignores."""
    warnings.warn(
        f"the policy {name} was trained without draws; it ignores draw_margin={draw_margin!r} "
        "when it looks ahead",
        stacklevel=3,
    )


class AnySizePolicy(LearnedPolicy):
    """A trained equivariant policy for any number of opponents and any horizon.

    It estimates the number of games left from their share and from how much the belief has
    learnt so far.

    Attributes:
        beta: standard deviation of one performance around skill. The policy reads all skills
            in units of it.
    """

    def __init__(
        self, name: str, network: BasePolicy, belief: str, settings: Settings | None = None
    ) -> None:
        super().__init__(name, network, belief, settings)
        extractor = network.features_extractor
        assert isinstance(extractor, OpponentRows)
        self.beta = extractor.beta
        self._weights = weights_of(network_of(network))

    def for_settings(self, settings: Settings) -> Self:
        """The same policy with the beta of an environment, for any size and horizon.

        With all skills in units of beta, the beliefs and the best opponent are the same for every
        beta. The policy does not know of draws: with a draw margin it plays as if there were
        none, and a warning says so.

        Args:
            settings: of the environment.

        Raises:
            ValueError: if skills drift: the full belief has no drift.
        """
        if settings.tau > 0.0:
            raise ValueError(
                f"the policy {self.name} reads the full belief, which knows no drift of skills: "
                f"it cannot play with tau={settings.tau!r}"
            )
        if settings.draw_margin > 0.0 and parent_process() is None:
            # Workers say nothing: the process that started them has made the policy too.
            _warn_of_draws(self.name, settings.draw_margin)
        told = copy.copy(self)
        told.beta, told.settings = settings.beta, replace(settings, belief=self.belief)
        told.num_opponents = settings.num_opponents
        told.observation_shape = (told.settings.observation_size,)
        return told

    def predict(
        self,
        observation: Any,
        state: tuple[NDArray[Any], ...] | None = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: ArrayLike | None = None,
    ) -> tuple[NDArray[np.int64], tuple[NDArray[Any], ...] | None]:
        """Choose opponents, as stable-baselines3's models do.

        Args:
            observation: shape (3 M + 3,) or (n, 3 M + 3), with the full belief; M more numbers
                where the pool changes.
            state: returned as it is; the policy has no memory.
            episode_start: not used.
            deterministic: take the opponent with the highest score, the first of equals; else
                draw one from torch's generator.
            action_masks: as ``LearnedPolicy``.

        Returns:
            ``(actions, state)``, actions of shape () or (n,).

        Raises:
            ValueError: for observations that no environment with the full belief gives.
        """
        array = np.asarray(observation)
        if array.ndim not in (1, 2):
            raise ValueError(
                "observation must have shape (3 * num_opponents + 3,) or "
                f"(n, 3 * num_opponents + 3), got {array.shape}"
            )
        given = () if action_masks is None else np.shape(action_masks)
        known = given[-1] if given else self.num_opponents
        numbers, shown = self._checked(array, known)
        rows = np.ascontiguousarray(np.atleast_2d(numbers), dtype=np.float32)
        masks = masks_of(action_masks, shown, (*numbers.shape[:-1], numbers.shape[-1] // 3 - 1))
        if deterministic:
            actions = choices(rows, unit_of(self.beta), _allowed(rows, masks), self._weights)
            return actions.reshape(array.shape[:-1]), state
        actions = np.empty(rows.shape[0], dtype=np.int64)
        for first in range(0, rows.shape[0], BLOCK):
            block = slice(first, first + BLOCK)
            logits = self.logits(rows[block], None if masks is None else masks[block])
            actions[block] = chosen(torch.from_numpy(logits), deterministic)
        return actions.reshape(array.shape[:-1]), state

    def _checked(
        self, array: NDArray[Any], known: int | None
    ) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """The numbers of the belief and the masks that observations show, if they show any."""
        if (
            array.dtype == np.float32
            and array.shape[-1] % 3 == 0
            and array.shape[-1] > 3
            and mask_size(array, self.belief, known) == 0
            and are_of_belief(np.atleast_2d(array))
        ):
            return array, None
        numbers, shown = without_mask(array, self.belief, known)
        KnowledgeState.from_observation(numbers, self.belief)
        return numbers, shown

    def logits(
        self, observations: NDArray[Any], masks: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """The logit of each opponent, shape (n, M), -inf where the mask does not allow it.

        Games left are estimated from all opponents, all else from those who may be chosen.

        Args:
            observations: shape (n, 3 M + 3).
            masks: shape (n, M); None for everybody.
        """
        read = state_of_observations(observations, self.beta)
        allowed = _allowed(observations, masks)
        logits: NDArray[np.float64] = all_scores(read.opponents, read.state, allowed, self._weights)
        return logits * self._weights.sharpness


def _allowed(observations: NDArray[Any], masks: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Masks as compiled code takes them."""
    everybody = (observations.shape[0], 0)
    return np.ones(everybody, np.bool_) if masks is None else np.ascontiguousarray(masks)
