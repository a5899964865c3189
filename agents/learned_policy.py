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

from matchenv.agents.network import reader_of, spaces_of
from matchenv.belief import BELIEFS
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.queue.settings import QUEUE_NUMBERS, QueueSettings
from matchenv.runtime.checks import as_action_masks

AnySettings = Settings | QueueSettings
Memory = tuple[NDArray[Any], ...] | None

# A network of fixed size plays only with the settings of these names that it was trained with.
FIXED: dict[type, tuple[str, ...]] = {
    Settings: ("num_opponents", "horizon", "beta", "draw_margin", "tau"),
    QueueSettings: ("capacity",),
}


# Networks that give probabilities, and not values.
ACTORS = (ActorCriticPolicy, MaskableActorCriticPolicy)


class LearnedPolicy:
    """A trained policy network, for ``Matchmaking-v0`` or ``MatchmakingQueue-v0``.

    A shared network plays any number of opponents (any capacity), horizon and unit of skill: its
    weights are the same for every opponent. It does not know of draws or of a drift that the
    training did not have: there it plays by the belief as everywhere. Any other network plays with
    the sizes that it was trained with.

    Args:
        name: the name or path that it was loaded by.
        network: the network of stable-baselines3.
        belief: the belief whose observation it reads.
        settings: of the environment that it was trained in; None if that is not known.
        training: algorithm, seed, games and environment of each training that it went through;
            empty if that is not known.

    The arguments are attributes too.

    Attributes:
        num_opponents: M, of the environment that it plays in.
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
        settings: AnySettings | None = None,
        training: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.name, self.network, self.belief = name, network, belief
        self.settings, self.training = settings, list(training)
        self.num_opponents = int(network.action_space.n)  # type: ignore[attr-defined]
        self.observation_shape: tuple[int, ...] = tuple(network.observation_space.shape or ())
        network.set_training_mode(False)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}, {type(self.network).__name__}, "
            f"num_opponents={self.num_opponents}, belief={self.belief!r})"
        )

    @property
    def is_shared(self) -> bool:
        """True where the weights are the same for every opponent."""
        return bool(getattr(self.network, "shares_weights", False))

    def for_settings(self, settings: AnySettings) -> Self:
        """Return the policy for an environment; its prior, rank and reward may be any.

        The belief of the settings is ignored: the policy always reads the one of its attribute
        ``belief``.

        Args:
            settings: of the environment.

        Raises:
            ValueError: if the policy cannot play with these settings; it names what differs. Of a
                zip file with a network of fixed size only the number of opponents is known.
        """
        kind = Settings if self.settings is None else type(self.settings)
        if not isinstance(settings, kind):
            env = "MatchmakingQueue-v0" if kind is QueueSettings else "Matchmaking-v0"
            raise ValueError(f"the policy {self.name} only plays {env}")
        trained = {"num_opponents": self.num_opponents}
        if self.settings is not None:
            trained = {name: getattr(self.settings, name) for name in FIXED[kind]}
        others = {name: getattr(settings, name) for name in trained}
        differing = [name for name in trained if trained[name] != others[name]]
        if self.settings is not None and self.is_shared:
            if differing or isinstance(settings, QueueSettings):
                return self._resized(settings, others)
        elif differing:
            theirs, ours = (", ".join(f"{name}={values[name]!r}" for name in differing)
                            for values in (trained, others))  # fmt: skip
            raise ValueError(
                f"the policy {self.name} was trained with {theirs} and cannot play with {ours}"
            )
        return self

    def _resized(self, settings: AnySettings, games: dict[str, Any]) -> Self:
        """Return the same weights for an environment of another size."""
        if isinstance(self.settings, Settings):
            try:
                # The rank of the training may be one that a smaller field does not have.
                settings = replace(self.settings, rank=None, **games)
            except ValueError as error:
                raise ValueError(
                    f"the policy {self.name} reads the {self.belief} belief and cannot play: "
                    f"{error}"
                ) from None
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
        in_queue = isinstance(self.settings, QueueSettings)
        size = self.observation_shape[0]
        if not in_queue:
            size = BELIEFS[self.belief].observation_size(self.num_opponents)
        sizes = (size,) if in_queue else (size, size + self.num_opponents)
        if array.ndim not in (1, 2) or array.shape[-1] not in sizes:
            count = f"{'capacity' if in_queue else 'num_opponents'}={self.num_opponents}"
            raise ValueError(
                f"observation must have shape {self.observation_shape} or "
                f"(n, {self.observation_shape[0]}), got {array.shape}: the policy {self.name} was "
                f"trained with {count}"
            )
        if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
            raise ValueError("observation must hold finite numbers only")
        array = array.astype(np.float32, copy=False)
        shape = (*array.shape[:-1], self.num_opponents)
        shown: Any = None
        if in_queue:
            shown = array[..., size - QUEUE_NUMBERS - self.num_opponents : -QUEUE_NUMBERS] > 0.5
            shown[..., 0] = True
        elif array.shape[-1] > size:
            shown = array[..., size:]
        given = shown if action_masks is None else action_masks
        masks = None if given is None else as_action_masks(given, shape)
        array = array[..., :size]
        if self.observation_shape != (size,):
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
