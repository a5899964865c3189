"""Trained policy networks, as ``matchenv.agents.load`` returns them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy

from matchenv.agents.network import guessed_settings, reader_of, spaces_of
from matchenv.envs import env_id_of
from matchenv.envs.core.settings import Options
from matchenv.runtime.checks import as_action_masks

# Networks that give probabilities, and not values.
ACTORS = (ActorCriticPolicy, MaskableActorCriticPolicy)


class LearnedPolicy:
    """A trained policy network.

    A shared network plays any number of opponents (candidates, items), horizon and unit of skill:
    its weights are the same for every action. It does not know of draws or of a drift that the
    training did not have: there it plays by the belief as everywhere. Any other network plays where
    observations and actions are as many as in its training.

    Args:
        name: the name or path that it was loaded by.
        network: the network of stable-baselines3.
        belief: the belief whose observation it reads.
        settings: of the environment that it was trained in; None if only its spaces are known.
        training: algorithm, seed, games and environment of each training that it went through;
            empty if that is not known.

    The arguments are attributes too.

    Attributes:
        num_opponents: number of actions, of the environment that it plays in.
        observation_shape: shape of one observation.
        stochastic: False; ``predict`` draws only if it is asked to.
        needs_truth: False; it reads the observation alone.
    """

    stochastic: ClassVar[bool] = False
    needs_truth: ClassVar[bool] = False

    def __init__(
        self,
        name: str,
        network: BasePolicy,
        belief: str,
        settings: Options | None = None,
        training: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.name, self.network, self.belief = name, network, belief
        self.num_opponents = int(network.action_space.n)  # type: ignore[attr-defined]
        self.training = list(training)
        self.settings: Any = settings or guessed_settings(
            self.num_opponents, lambda space: space == network.observation_space
        )
        self._env_id = env_id_of(self.settings)
        self.observation_shape: tuple[int, ...] = tuple(network.observation_space.shape or ())
        network.set_training_mode(False)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}, {type(self.network).__name__}, "
            f"num_opponents={self.num_opponents}, belief={self.belief!r})"
        )

    @property
    def is_shared(self) -> bool:
        """True where the weights are the same for every action."""
        return bool(getattr(self.network, "shares_weights", False))

    def for_settings(self, settings: Options) -> Self:
        """Return the policy for an environment; its prior, rank and reward may be any.

        The belief of the settings is ignored: the policy always reads the one of its attribute
        ``belief``.

        Args:
            settings: of the environment.

        Raises:
            ValueError: if the policy cannot play with these settings; it says why.
        """
        if env_id_of(settings) != self._env_id:
            raise ValueError(f"the policy {self.name} only plays {self._env_id}")
        if hasattr(settings, "belief"):
            try:
                settings = replace(settings, belief=self.belief)  # type: ignore[call-arg]
            except ValueError as error:
                raise ValueError(
                    f"the policy {self.name} reads the {self.belief} belief and cannot play: "
                    f"{error}"
                ) from None
        if self.is_shared:
            return self if settings == self.settings else self._resized(settings)
        ours, theirs = (
            (space.shape[0], int(actions.n))
            for space, actions in (spaces_of(self.settings), spaces_of(settings))
        )
        if ours != theirs:
            raise ValueError(
                f"the policy {self.name} reads {ours[0]} numbers for {ours[1]} actions and cannot "
                f"play {self._env_id} with {settings.text_for(settings)}, which has {theirs[0]} "
                f"numbers for {theirs[1]} actions"
            )
        return self

    def _resized(self, settings: Options) -> Self:
        """Return the same weights for an environment of another size."""
        network: Any = self.network
        kwargs = {**network._get_constructor_parameters(), **reader_of(settings)}
        kwargs["observation_space"], kwargs["action_space"] = spaces_of(settings)
        # Weights are drawn before they are replaced; that must not change anybody's numbers.
        with torch.random.fork_rng(devices=[]):
            resized = type(network)(**kwargs)
        resized.load_state_dict(network.state_dict())
        return type(self)(
            self.name, resized.to(network.device), self.belief, settings, self.training
        )

    def predict(
        self,
        observation: Any,
        state: tuple[NDArray[Any], ...] | None = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: ArrayLike | None = None,
    ) -> tuple[NDArray[np.int64], tuple[NDArray[Any], ...] | None]:
        """Choose actions, as stable-baselines3's models do.

        Args:
            observation: shape (K,) or (n, K), of the policy's belief.
            state: returned as it is; the policy has no memory.
            episode_start: not used.
            deterministic: choose the likeliest action, else draw one from torch's generator.
            action_masks: which actions are allowed, shape (M,) or (n, M), as sb3-contrib gives it;
                None allows those that a shared network sees in the observation, or all.

        Returns:
            ``(actions, state)``, actions of shape () or (n,).

        Raises:
            ValueError: for observations of another size, NaN or infinity, and for masks of another
                shape or that allow nothing.
        """
        array = np.asarray(observation)
        (size,) = self.observation_shape
        if array.ndim not in (1, 2) or array.shape[-1] != size:
            raise ValueError(
                f"observation must have shape ({size},) or (n, {size}), got {array.shape}: the "
                f"policy {self.name} chooses among {self.num_opponents} actions; for_settings "
                "makes one for another environment"
            )
        if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
            raise ValueError("observation must hold finite numbers only")
        network: Any = self.network
        rows = torch.from_numpy(np.array(array, dtype=np.float32, ndmin=2)).to(network.device)
        with torch.no_grad():
            if isinstance(network, ACTORS):
                scores = network.get_distribution(rows).distribution.logits
            else:
                scores = network.q_net(rows)
            if action_masks is not None:
                masks = as_action_masks(action_masks, (*array.shape[:-1], self.num_opponents))
                allowed = torch.from_numpy(masks.reshape(-1, self.num_opponents)).to(scores.device)
                scores = scores.masked_fill(~allowed, -torch.inf)
            # Values are no probabilities to draw from.
            if deterministic or not isinstance(network, ACTORS):
                actions = scores.argmax(dim=1)
            else:
                actions = torch.multinomial(torch.softmax(scores, dim=1), 1)[:, 0]
        return actions.cpu().numpy().reshape(array.shape[:-1]), state
