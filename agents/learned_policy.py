"""Trained policy networks, as ``matchenv.agents.load`` returns them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy

from matchenv.agents.environments import PROBLEMS
from matchenv.agents.network import READERS, guessed_settings, reader_of, shows_mask, spaces_of
from matchenv.envs import env_id_of
from matchenv.envs.core.settings import Options
from matchenv.runtime.checks import as_action_masks

Memory = tuple[NDArray[Any], ...] | None

# Networks that give probabilities, and not values.
ACTORS = (ActorCriticPolicy, MaskableActorCriticPolicy)


class LearnedPolicy:
    """A trained policy network.

    A shared network plays any number of opponents (candidates, items), horizon and unit of skill:
    its weights are the same for every action. It does not know of draws or of a drift that the
    training did not have: there it plays by the belief as everywhere. Any other network plays with
    the sizes that it was trained with.

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
        self._knows_sizes_only, self.training = settings is None, list(training)
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
            ValueError: if the policy cannot play with these settings; it names what differs. Of a
                zip file with a network of fixed size only the number of actions is known.
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
        names = PROBLEMS[self._env_id].fixed[: 1 if self._knows_sizes_only else None]
        trained, others = ({name: getattr(each, name) for name in names}
                           for each in (self.settings, settings))  # fmt: skip
        if self.is_shared:
            same = trained == others and reader_of(settings) == reader_of(self.settings)
            return self if same else self._resized(settings)
        differing = [name for name in names if trained[name] != others[name]]
        if differing:
            theirs, ours = (", ".join(f"{name}={values[name]!r}" for name in differing)
                            for values in (trained, others))  # fmt: skip
            raise ValueError(
                f"the policy {self.name} was trained with {theirs} and cannot play with {ours}"
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
        state: Memory = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: ArrayLike | None = None,
    ) -> tuple[NDArray[np.int64], Memory]:
        """Choose actions, as stable-baselines3's models do.

        A policy plays where the pool changes and where it does not, wherever it was trained.

        Args:
            observation: shape (K,) or (n, K), of the policy's belief; M more numbers where the
                pool changes.
            state: what the last call returned, for a policy with a memory.
            episode_start: shape (n,), where a memory must start anew.
            deterministic: choose the likeliest action, else draw one from torch's generator.
            action_masks: which actions are allowed, shape (M,) or (n, M), as sb3-contrib gives it;
                None uses the mask that the observation shows, or allows all where it has none.

        Returns:
            ``(actions, state)``, actions of shape () or (n,).

        Raises:
            ValueError: for observations of another size, NaN or infinity, and for masks of another
                shape or that allow nothing.
        """
        array, masks = self._read(observation, action_masks)
        rows = torch.from_numpy(np.ascontiguousarray(np.atleast_2d(array)))
        with torch.no_grad():
            scores, state = _scores(self.network, rows, state, episode_start)
            if masks is not None:
                allowed = torch.from_numpy(masks).to(scores.device)
                scores = scores.masked_fill(~allowed, -torch.inf)
            # Values are no probabilities to draw from.
            if deterministic or not isinstance(self.network, ACTORS):
                actions = scores.cpu().numpy().argmax(axis=1)
            else:
                actions = torch.multinomial(torch.softmax(scores, dim=1), 1)[:, 0].cpu().numpy()
        return actions.reshape(array.shape[:-1]), state

    def _read(
        self, observation: Any, action_masks: ArrayLike | None
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_] | None]:
        """Return observations as the network reads them, and masks of shape (n, M) if any."""
        array = np.asarray(observation)
        space: Any = self.network.observation_space
        place = READERS[self._env_id].mask_place(self.num_opponents)
        at_end = place is None and shows_mask(space, self.num_opponents)
        size = self.observation_shape[0] - (self.num_opponents if at_end else 0)
        sizes = (size, size + self.num_opponents) if place is None else (size,)
        if array.ndim not in (1, 2) or array.shape[-1] not in sizes:
            name = PROBLEMS[self._env_id].fixed[0]
            raise ValueError(
                f"observation must have shape {self.observation_shape} or "
                f"(n, {self.observation_shape[0]}), got {array.shape}: the policy {self.name} was "
                f"trained with {name}={getattr(self.settings, name)}"
            )
        if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
            raise ValueError("observation must hold finite numbers only")
        array = array.astype(np.float32, copy=False)
        shape = (*array.shape[:-1], self.num_opponents)
        given: Any = action_masks
        if given is None and place is not None:
            given = array[..., place] > 0.5
        elif given is None and array.shape[-1] > size:
            given = array[..., size:]
        masks = None if given is None else as_action_masks(given, shape)
        array = array[..., :size]
        if at_end:
            masked = np.ones(shape, dtype=np.float32) if masks is None else masks
            array = np.concatenate((array, masked), axis=-1, dtype=np.float32)
        return array, None if masks is None else masks.reshape(-1, shape[-1])


def _scores(
    network: Any,
    observations: torch.Tensor,
    state: Memory,
    episode_start: NDArray[np.bool_] | None,
) -> tuple[torch.Tensor, Memory]:
    """Return logits or values of the actions, shape (n, M), and the memory."""
    rows = observations.to(network.device)
    if isinstance(network, RecurrentActorCriticPolicy):
        count = len(rows)
        layers, _, units = network.lstm_hidden_state_shape
        first, second, starts = (
            torch.as_tensor(each, dtype=torch.float32, device=network.device)
            for each in (
                *(state or (np.zeros((layers, count, units)),) * 2),
                np.zeros(count) if episode_start is None else episode_start,
            )
        )
        found: Any
        found, memory = network.get_distribution(rows, (first, second), starts)
        return found.distribution.logits, tuple(each.cpu().numpy() for each in memory)
    if isinstance(network, ACTORS):
        found = network.get_distribution(rows)
        return found.distribution.logits, state
    if hasattr(network, "quantile_net"):
        return network.quantile_net(rows).mean(dim=1), state
    return network.q_net(rows), state
