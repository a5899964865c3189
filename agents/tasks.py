"""What a training must know of its environment; one task for each environment. Without torch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from matchenv.agents.algorithms import ALGORITHMS, Algorithm
from matchenv.agents.cells import OWN, as_texts, checked_env_kwargs
from matchenv.runtime.checks import as_choice
from matchenv.runtime.object_spec import is_object_spec
from matchenv.settings import Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from stable_baselines3.common.policies import BasePolicy

    from matchenv.agents.vec_env import MatchmakingVecEnv

ONE_PLAYER, QUEUE = "Matchmaking-v0", "MatchmakingQueue-v0"


class Task(ABC):
    """An environment that policies are trained in.

    Attributes:
        environment: its name in Gymnasium, and that of its section in a file of hyperparameters.
    """

    environment: ClassVar[str]

    def as_texts(self, env_kwargs: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments of the environment as a file can hold them."""
        return env_kwargs

    def check_algorithm(self, algorithm: Algorithm) -> None:  # noqa: B027
        """See that the algorithm can train here at all.

        Raises:
            ValueError: if not; it says which can.
        """

    @abstractmethod
    def settings(self, env_kwargs: dict[str, Any]) -> Any:
        """The checked settings of the environment.

        Raises:
            ValueError: for a bad argument, or one that a file cannot hold.
        """

    @abstractmethod
    def settings_of_file(self, env_kwargs: dict[str, Any]) -> Any:
        """The checked settings that a policy's file names; nothing that it names is imported."""

    @abstractmethod
    def check(self, algorithm: Algorithm, policy: str, env_kwargs: dict[str, Any]) -> None:
        """See that the algorithm can train such a network here.

        Raises:
            ValueError: if not; it says which can.
        """

    @abstractmethod
    def vec_env(self, num_envs: int, env_kwargs: dict[str, Any]) -> MatchmakingVecEnv:
        """The environment for stable-baselines3."""

    @abstractmethod
    def learned(self, name: str, network: BasePolicy, settings: Any) -> Any:
        """A policy of a network, as ``matchenv.agents.load`` gives it."""

    @abstractmethod
    def rival_totals(
        self, env_kwargs: dict[str, Any], episodes: int, seed: int
    ) -> NDArray[np.float64]:
        """What the policy reaches that a training is compared with, episode by episode."""

    @abstractmethod
    def evaluate(
        self,
        policy: Any,
        env_kwargs: dict[str, Any],
        episodes: int,
        seed: int,
        rival: NDArray[np.float64],
    ) -> dict[str, float | int]:
        """Means of the evaluation of a policy, ``mean_return`` among them.

        Args:
            policy: what ``learned`` gave.
            env_kwargs: keyword arguments of the environment.
            episodes: how many, >= 2.
            seed: of the first.
            rival: as ``rival_totals`` of the same arguments.
        """


class OnePlayerTask(Task):
    """One player and a pool."""

    environment: ClassVar[str] = ONE_PLAYER

    def as_texts(self, env_kwargs: dict[str, Any]) -> dict[str, Any]:
        """Priors and rewards as the texts that make them again."""
        return as_texts(env_kwargs)

    def settings(self, env_kwargs: dict[str, Any]) -> Settings:
        """As ``Task``."""
        return checked_env_kwargs(env_kwargs)

    def settings_of_file(self, env_kwargs: dict[str, Any]) -> Settings:
        """Priors and rewards of somebody's own are left out: a policy plays without them."""
        arguments = {
            key: each
            for key, each in env_kwargs.items()
            if key != "render_mode" and not (key in OWN and is_object_spec(each))
        }
        return Settings.checked(**arguments)

    def check(self, algorithm: Algorithm, policy: str, env_kwargs: dict[str, Any]) -> None:
        """Where opponents go offline, the algorithm must be told who is online."""
        availability = self.settings(env_kwargs).availability
        if availability < 1.0 and not algorithm.masks:
            raise ValueError(
                f"algo must be {_maskable()} where opponents go offline "
                f"(availability={availability!r}), got {algorithm.name!r}, which cannot "
                "be told who may be chosen"
            )
        if policy == "PricePolicy":
            raise ValueError(f"policy must not be {policy!r} in {ONE_PLAYER}: it reads a queue")

    def vec_env(self, num_envs: int, env_kwargs: dict[str, Any]) -> MatchmakingVecEnv:
        """As ``Task``."""
        from matchenv.agents.vec_env import MatchmakingVecEnv

        return MatchmakingVecEnv(num_envs, **env_kwargs)

    def learned(self, name: str, network: BasePolicy, settings: Settings) -> Any:
        """A policy of any size if the network is of one."""
        from matchenv.agents.equivariant.any_size import AnySizePolicy
        from matchenv.agents.equivariant.policy import OpponentRows
        from matchenv.agents.learned_policy import LearnedPolicy
        from matchenv.agents.shared.any_number import SharedLearnedPolicy, is_shared

        kind = LearnedPolicy
        if isinstance(getattr(network, "features_extractor", None), OpponentRows):
            kind = AnySizePolicy
        elif is_shared(network):
            kind = SharedLearnedPolicy
        return kind(name, network, settings.belief, settings)

    def rival_totals(
        self, env_kwargs: dict[str, Any], episodes: int, seed: int
    ) -> NDArray[np.float64]:
        """KG's sums of true draw densities."""
        from matchenv.agents.evaluation import kg_totals

        return kg_totals(env_kwargs, episodes, seed)

    def evaluate(
        self,
        policy: Any,
        env_kwargs: dict[str, Any],
        episodes: int,
        seed: int,
        rival: NDArray[np.float64],
    ) -> dict[str, float | int]:
        """As ``matchenv.agents.evaluation.evaluate``."""
        from matchenv.agents.evaluation import evaluate

        return evaluate(policy, env_kwargs, episodes, seed, rival)


def task_of(environment: str) -> Task:
    """The task of an environment.

    Raises:
        ValueError: for another name; the known ones are listed.
    """
    as_choice("environment", environment, (ONE_PLAYER, QUEUE))
    if environment == ONE_PLAYER:
        return OnePlayerTask()
    made: Task = import_module("matchenv.agents.queue.task").QueueTask()
    return made


def _maskable() -> str:
    return ", ".join(name for name, each in ALGORITHMS.items() if each.masks)
