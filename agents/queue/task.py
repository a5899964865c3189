"""The queue as an environment that policies are trained in. Without torch."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchenv.agents.algorithms import ALGORITHMS, Algorithm
from matchenv.agents.queue_policies import queue_policy_named
from matchenv.agents.tasks import QUEUE, Task
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.estimates import estimate, paired_difference
from matchenv.evaluation.queue_rollout import queue_rollout
from matchenv.runtime.checks import as_integer

if TYPE_CHECKING:
    from stable_baselines3.common.policies import BasePolicy

    from matchenv.agents.queue.vec_env import MatchmakingQueueVecEnv

Floats = NDArray[np.float64]

# The policy that a training is compared with while it runs.
RIVAL = "matching"
# Networks that can read the observation.
NETWORKS = ("PricePolicy", "MlpPolicy")


class QueueTask(Task):
    """Everyone who waits; of a list of arrival rates the environments have each in turn."""

    environment: ClassVar[str] = QUEUE

    def settings(self, env_kwargs: dict[str, Any]) -> QueueSettings:
        """Those of the first arrival rate."""
        return settings_of_rates(env_kwargs)[0]

    def settings_of_file(self, env_kwargs: dict[str, Any]) -> QueueSettings:
        """As ``settings``: all options are numbers and texts."""
        return self.settings(env_kwargs)

    def check_algorithm(self, algorithm: Algorithm) -> None:
        """It must be told who may be chosen."""
        if not algorithm.masks:
            takers = ", ".join(name for name, each in ALGORITHMS.items() if each.masks)
            raise ValueError(
                f"algo must be {takers} in {QUEUE}, got {algorithm.name!r}, which cannot be told "
                "who may be chosen"
            )

    def check(self, algorithm: Algorithm, policy: str, env_kwargs: dict[str, Any]) -> None:
        """The network must read a queue."""
        self.check_algorithm(algorithm)
        if policy not in NETWORKS:
            raise ValueError(
                f"policy must be one of {', '.join(NETWORKS)} in {QUEUE}, got {policy!r}"
            )

    def vec_env(self, num_envs: int, env_kwargs: dict[str, Any]) -> MatchmakingQueueVecEnv:
        """As ``Task``."""
        from matchenv.agents.queue.vec_env import MatchmakingQueueVecEnv

        return MatchmakingQueueVecEnv(num_envs, settings_of_rates(env_kwargs))

    def learned(self, name: str, network: BasePolicy, settings: QueueSettings) -> Any:
        """As ``Task``."""
        from matchenv.agents.queue.actor_critic import MaskablePricePolicy
        from matchenv.agents.queue.learned import QueueLearnedPolicy, QueuePricePolicy

        if isinstance(network, MaskablePricePolicy):
            return QueuePricePolicy(name, network, settings)
        return QueueLearnedPolicy(name, network, settings)

    def rival_totals(self, env_kwargs: dict[str, Any], episodes: int, seed: int) -> Floats:
        """The true rewards of ``matching``, shape (rates, episodes)."""
        found = [
            _played(queue_policy_named(RIVAL, each), each, episodes, seed)[1]
            for each in settings_of_rates(env_kwargs)
        ]
        return np.array(found)

    def evaluate(
        self,
        policy: Any,
        env_kwargs: dict[str, Any],
        episodes: int,
        seed: int,
        rival: Floats,
    ) -> dict[str, float | int]:
        """Means over the rates, and for each rate the difference of true rewards to the rival's."""
        rates = settings_of_rates(env_kwargs)
        played = [_played(policy, each, episodes, seed) for each in rates]
        # Each load counts by the share of what the rival reaches there.
        returns = np.mean(
            [reward / other.mean() for (reward, _), other in zip(played, rival, strict=True)],
            axis=0,
        )
        found: dict[str, float | int] = {
            "episodes": episodes,
            "mean_return": float(returns.mean()),
            "standard_error": estimate(returns).standard_error,
        }
        for each, (_, true_reward), other in zip(rates, played, rival, strict=True):
            less, name = paired_difference(true_reward, other), f"rate_{each.arrival_rate:g}"
            found[f"true_reward_{name}"] = float(true_reward.mean())
            found[f"less_{RIVAL}_{name}"] = less.mean
            found[f"less_{RIVAL}_{name}_low"] = less.low
            found[f"less_{RIVAL}_{name}_high"] = less.high
        return found


def settings_of_rates(env_kwargs: dict[str, Any]) -> list[QueueSettings]:
    """The settings of each arrival rate.

    Args:
        env_kwargs: keyword arguments of ``MatchmakingQueueEnv``; ``arrival_rate`` may be a list.

    Raises:
        ValueError: for an unknown name (the known ones are listed), a bad value, one that a file
            cannot hold, or an empty list.
    """
    known = [each.name for each in fields(QueueSettings)]
    for given in env_kwargs:
        if given not in known:
            raise ValueError(f"env_kwargs must be among {', '.join(known)}; got {given!r}")
    population = env_kwargs.get("population", "normal")
    if not isinstance(population, str):
        raise ValueError(
            "population must be a text, which the folder of a training can keep, got "
            f"{population!r}"
        )
    others = dict(env_kwargs)
    rates = others.pop("arrival_rate", QueueSettings().arrival_rate)
    if rates == []:
        raise ValueError("arrival_rate must name at least one rate, got []")
    each = rates if isinstance(rates, list) else [rates]
    return [QueueSettings.checked(**others, arrival_rate=rate) for rate in each]


def _played(
    policy: Any, settings: QueueSettings, episodes: int, seed: int
) -> tuple[Floats, Floats]:
    """Rewards and true rewards of runs, shape (episodes,) each."""
    first = as_integer("seed", seed, 0)
    seeds = range(first, first + as_integer("episodes", episodes, 2))
    found = queue_rollout(lambda _: policy, settings, seeds)
    return found.reward, found.true_reward
