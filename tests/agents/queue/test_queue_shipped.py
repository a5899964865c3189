"""The learned policy that comes with the package."""

from __future__ import annotations

import numpy as np
import pytest

from matchenv import MatchmakingQueueEnv, agents
from matchenv.agents.policies import SHIPPED_FOR_QUEUE
from matchenv.agents.queue.learned import QueuePricePolicy
from matchenv.agents.queue_policies import queue_policy_named
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.estimates import paired_difference
from matchenv.evaluation.queue_rollout import queue_rollout


def test_it_is_small_and_loads_by_name() -> None:
    assert SHIPPED_FOR_QUEUE["queue"].stat().st_size < 1_000_000
    settings = QueueSettings(capacity=5, beta=4.0, population="normal")
    policy = queue_policy_named("queue", settings)
    assert isinstance(policy, QueuePricePolicy)
    assert policy.settings == settings
    with pytest.raises(ValueError, match="algorithm"):
        queue_policy_named("queue:reservation=1", settings)


def test_it_plays_from_observations_and_from_all_who_wait() -> None:
    env = MatchmakingQueueEnv(horizon=60, arrival_rate=0.6)
    policy, rng = agents.load("queue"), np.random.default_rng(0)
    observation, _ = env.reset(seed=1)
    truncated, choices, equal = False, 0, 0
    while not truncated:
        action, _ = policy.predict(observation, action_masks=env.action_masks())
        # Few wait, so that both see the same; a tie or a price at another time may differ.
        equal += int(policy.choose(env.waiting_players(), rng) == action)
        choices += 1
        observation, _, _, truncated, _ = env.step(int(action))
    assert equal > 0.9 * choices


def test_it_is_ahead_of_first_come_first_served() -> None:
    settings = QueueSettings(arrival_rate=0.5, horizon=200)
    ours, theirs = (
        queue_rollout(lambda _, name=name: queue_policy_named(name, settings), settings, range(24))
        for name in ("queue", "fcfs")
    )
    assert paired_difference(ours.true_reward, theirs.true_reward).low > 0.0
