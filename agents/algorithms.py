"""The learning algorithms by name; without torch."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

from matchenv.runtime.checks import as_choice

# The library's own policy, and the shared network.
PLAIN, SHARED = "MlpPolicy", "SharedPolicy"


@dataclass(frozen=True)
class Algorithm:
    """One algorithm of stable-baselines3 or sb3-contrib.

    Attributes:
        name: as on the command line, the names of rl-baselines3-zoo.
        where: ``module:class`` of the algorithm.
        shared: class of ``SharedPolicy`` in ``matchenv.agents.sb3_policies``.
        masks: whether it learns where some actions are not allowed, which the shared network never
            chooses; an algorithm that also plays at random does not.
    """

    name: str
    where: str
    shared: str = SHARED
    masks: bool = True

    def load_class(self) -> Any:
        """Return the class of the algorithm; imports torch."""
        return resolve_name(self.where)

    @property
    def policies(self) -> dict[str, Any]:
        """Return the classes of the policy networks by name; imports torch."""
        shared = resolve_name(f"matchenv.agents.sb3_policies:{self.shared}")
        return {PLAIN: self.load_class().policy_aliases[PLAIN], SHARED: shared}

    def policy_class(self, policy: str) -> Any:
        """Return the class of the policy network of this name; imports torch."""
        return self.policies[as_choice("policy", policy, self.policies)]

    def arguments(self) -> set[str]:
        """Return the names of the hyperparameters that the constructor takes."""
        kind = self.load_class()
        names = {*inspect.signature(kind.__init__).parameters, *getattr(kind, "others", ())}
        return names - NOT_HYPERPARAMETERS


# Arguments of the constructors that the training sets itself.
NOT_HYPERPARAMETERS = {
    "self", "policy", "env", "verbose", "seed", "device", "tensorboard_log", "policy_kwargs",
    "replay_buffer_class", "replay_buffer_kwargs", "rollout_buffer_class",
    "rollout_buffer_kwargs", "_init_setup_model", "others",
}  # fmt: skip

ALGORITHMS: dict[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm("a2c", "stable_baselines3:A2C"),
        Algorithm("dqn", "stable_baselines3:DQN", "SharedDQNPolicy", masks=False),
        Algorithm("imitation", "matchenv.agents.imitation:Imitation"),
        Algorithm("ppo", "stable_baselines3:PPO"),
        Algorithm("trpo", "sb3_contrib:TRPO"),
    )
}


def algorithm_by_name(name: Any) -> Algorithm:
    """Return the algorithm of this name.

    Raises:
        ValueError: for an unknown name; the message lists the known ones.
    """
    return ALGORITHMS[as_choice("algo", name, ALGORITHMS)]
