"""The learning algorithms by name; without torch."""

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
        masks: whether it supports action masks.
    """

    name: str
    where: tuple[str, str]
    policies: dict[str, tuple[str, str]]
    masks: bool = False

    def load_class(self) -> type[BaseAlgorithm]:
        """Return the class of the algorithm; imports torch."""
        return _imported(self.where)

    def load_policy_class(self, policy: str) -> type[BasePolicy]:
        """Return the class of the policy network of this name; imports torch.

        Raises:
            ValueError: for an unknown name.
        """
        if policy not in self.policies:
            known = ", ".join(repr(name) for name in self.policies)
            raise ValueError(f"policy must be one of {known} for {self.name}, got {policy!r}")
        return _imported(self.policies[policy])

    def arguments(self) -> set[str]:
        """Return the names of the hyperparameters that the constructor takes."""
        kind: Any = self.load_class()
        names = {*inspect.signature(kind.__init__).parameters, *getattr(kind, "others", ())}
        return names - NOT_HYPERPARAMETERS


# Arguments of the constructors that the training sets itself.
NOT_HYPERPARAMETERS = {
    "self", "policy", "env", "verbose", "seed", "device", "tensorboard_log", "policy_kwargs",
    "replay_buffer_class", "replay_buffer_kwargs", "rollout_buffer_class",
    "rollout_buffer_kwargs", "_init_setup_model", "others",
}  # fmt: skip

SHARED = "matchenv.agents.sb3_policies"
ACTOR_CRITIC = {
    "SharedPolicy": (SHARED, "SharedPolicy"),
    "MlpPolicy": ("stable_baselines3.common.policies", "ActorCriticPolicy"),
}

ALGORITHMS: dict[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm("a2c", ("stable_baselines3", "A2C"), ACTOR_CRITIC),
        Algorithm(
            "dqn",
            ("stable_baselines3", "DQN"),
            {
                "SharedPolicy": (SHARED, "SharedDQNPolicy"),
                "MlpPolicy": ("stable_baselines3.dqn.policies", "DQNPolicy"),
            },
        ),
        Algorithm("imitation", ("matchenv.agents.imitation", "Imitation"), ACTOR_CRITIC),
        Algorithm(
            "maskable_ppo",
            ("sb3_contrib", "MaskablePPO"),
            {
                "SharedPolicy": (SHARED, "MaskableSharedPolicy"),
                "MlpPolicy": (
                    "sb3_contrib.common.maskable.policies",
                    "MaskableActorCriticPolicy",
                ),
            },
            masks=True,
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
                "SharedPolicy": (SHARED, "SharedQRDQNPolicy"),
                "MlpPolicy": ("sb3_contrib.qrdqn.policies", "QRDQNPolicy"),
            },
        ),
        Algorithm("trpo", ("sb3_contrib", "TRPO"), ACTOR_CRITIC),
    )
}

ALIASES = {"recurrent_ppo": "ppo_lstm"}
CONTINUOUS = ("crossq", "ddpg", "sac", "td3", "tqc")


def algorithm_by_name(name: Any) -> Algorithm:
    """Return the algorithm of this name.

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
