"""The learning algorithms that may be used, by name; without torch."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.policies import BasePolicy


@dataclass(frozen=True)
class Algorithm:
    """One algorithm of stable-baselines3 or sb3-contrib.

    Attributes:
        name: as on the command line, the names of rl-baselines3-zoo.
        where: module and class of the algorithm.
        policies: module and class of the policy network for each policy name.
        off_policy: whether it learns from a replay buffer.
        schedules: whether its rates may change over the training.
        features: whether its policy takes a features extractor.
        masks: whether it can be told who may be chosen.
    """

    name: str
    where: tuple[str, str]
    policies: dict[str, tuple[str, str]]
    off_policy: bool = False
    schedules: bool = True
    features: bool = True
    masks: bool = False

    def load_class(self) -> type[BaseAlgorithm]:
        """The class of the algorithm; imports torch."""
        return _imported(self.where)

    def load_policy_class(self, policy: str) -> type[BasePolicy]:
        """The class of the policy network of this name; imports torch.

        Raises:
            ValueError: for an unknown name.
        """
        if policy not in self.policies:
            known = ", ".join(repr(name) for name in self.policies)
            raise ValueError(f"policy must be one of {known} for {self.name}, got {policy!r}")
        return _imported(self.policies[policy])

    def arguments(self) -> set[str]:
        """Names of the hyperparameters that the constructor takes."""
        names = set(inspect.signature(self.load_class().__init__).parameters)
        return {name for name in names - NOT_HYPERPARAMETERS if not name.startswith("_")}


# Arguments of the constructors that the training sets itself.
NOT_HYPERPARAMETERS = {
    "self", "policy", "env", "verbose", "seed", "device", "tensorboard_log", "policy_kwargs",
    "replay_buffer_class", "replay_buffer_kwargs", "rollout_buffer_class",
    "rollout_buffer_kwargs",
}  # fmt: skip

ACTOR_CRITIC = {
    "MlpPolicy": ("stable_baselines3.common.policies", "ActorCriticPolicy"),
    "SharedPolicy": ("matchenv.agents.shared.actor_critic", "SharedPolicy"),
    "EquivariantPolicy": ("matchenv.agents.equivariant.policy", "EquivariantPolicy"),
}
VALUES = "matchenv.agents.shared.action_values"

MASKABLE_ACTOR_CRITIC = {
    "MlpPolicy": ("sb3_contrib.common.maskable.policies", "MaskableActorCriticPolicy"),
    "SharedPolicy": ("matchenv.agents.shared.actor_critic", "MaskableSharedPolicy"),
    "EquivariantPolicy": ("matchenv.agents.equivariant.policy", "MaskableEquivariantPolicy"),
    "PricePolicy": ("matchenv.agents.queue.actor_critic", "MaskablePricePolicy"),
}

ALGORITHMS: dict[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm("a2c", ("stable_baselines3", "A2C"), ACTOR_CRITIC),
        Algorithm(
            "ars",
            ("matchenv.agents.counted_ars", "CountedARS"),
            {
                "MlpPolicy": ("sb3_contrib.ars.policies", "ARSPolicy"),
                "LinearPolicy": ("sb3_contrib.ars.policies", "ARSLinearPolicy"),
                "SharedPolicy": (VALUES, "SharedARSPolicy"),
            },
            # It counts progress within one call of learn(), so a schedule would start again
            # after a resumption.
            schedules=False,
            features=False,
        ),
        Algorithm(
            "dqn",
            ("stable_baselines3", "DQN"),
            {
                "MlpPolicy": ("stable_baselines3.dqn.policies", "DQNPolicy"),
                "SharedPolicy": (VALUES, "SharedDQNPolicy"),
            },
            off_policy=True,
        ),
        Algorithm(
            "maskable_ppo", ("sb3_contrib", "MaskablePPO"), MASKABLE_ACTOR_CRITIC, masks=True
        ),
        Algorithm("ppo", ("stable_baselines3", "PPO"), ACTOR_CRITIC),
        Algorithm(
            "ppo_lstm",
            ("sb3_contrib", "RecurrentPPO"),
            {
                "MlpLstmPolicy": (
                    "sb3_contrib.common.recurrent.policies",
                    "RecurrentActorCriticPolicy",
                )
            },
        ),
        Algorithm(
            "qrdqn",
            ("sb3_contrib", "QRDQN"),
            {
                "MlpPolicy": ("sb3_contrib.qrdqn.policies", "QRDQNPolicy"),
                "SharedPolicy": (VALUES, "SharedQRDQNPolicy"),
            },
            off_policy=True,
        ),
        Algorithm("trpo", ("sb3_contrib", "TRPO"), ACTOR_CRITIC),
    )
}

ALIASES = {"recurrent_ppo": "ppo_lstm"}
CONTINUOUS = ("crossq", "ddpg", "sac", "td3", "tqc")


def algorithm_by_name(name: Any) -> Algorithm:
    """The algorithm of this name.

    Raises:
        ValueError: for an unknown name, or one that does not fit this environment; the
            message lists those that do.
    """
    known = ", ".join(ALGORITHMS)
    key = ALIASES.get(name, name) if isinstance(name, str) else name
    if isinstance(key, str) and key in ALGORITHMS:
        return ALGORITHMS[key]
    if key in CONTINUOUS:
        why = "needs continuous actions, and an opponent is a discrete choice"
    else:
        why = "is not known"
    raise ValueError(f"algo must be one of {known}; {name!r} {why}")


def _imported(where: tuple[str, str]) -> Any:
    return getattr(import_module(where[0]), where[1])
