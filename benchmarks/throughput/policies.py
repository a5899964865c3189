"""What a decision of each baseline costs, on one thread."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from baselines import POLICIES, policy_by_name
from benchmarks.throughput.timing import Contest, Reading, seconds
from matchenv import KnowledgeState, MatchmakingVectorEnv

SECTION = "policies"
NUM_OPPONENTS = 49
BATCH = 256
GAMES_BEFORE = 50
MANY_OPPONENTS = 1_000_000


def measure(turns: int) -> Iterator[Contest | Reading]:
    """Microseconds a decision, of every baseline and of the cheap ones at a million opponents.

    Args:
        turns: repetitions of each.
    """
    states, skills = mid_episode_states(NUM_OPPONENTS, BATCH)
    for name in POLICIES:
        values = decision_times(name, states, skills, turns)
        yield Reading(
            SECTION, f"{name}, {NUM_OPPONENTS} opponents, batches of {BATCH}",
            "microseconds a decision", values,
        )  # fmt: skip
    states, skills = mid_episode_states(MANY_OPPONENTS, 1)
    for name in ("pe", "drawchance"):
        values = decision_times(name, states, skills, turns)
        yield Reading(
            SECTION, f"{name}, {MANY_OPPONENTS:,} opponents", "microseconds a decision", values
        )


def mid_episode_states(num_opponents: int, count: int) -> tuple[KnowledgeState, np.ndarray]:
    """Beliefs as they are after some random games, and the true skills behind them.

    Returns:
        States of shape (count, M + 1), skills of the same shape.
    """
    env = MatchmakingVectorEnv(count, num_opponents=num_opponents)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(GAMES_BEFORE):
        env.step(rng.integers(0, num_opponents, count))
    return env.knowledge_state, env.true_skill


def decision_times(
    name: str, states: KnowledgeState, skills: np.ndarray, turns: int
) -> list[float]:
    """Microseconds a decision in each of ``turns`` calls, after one that is not counted."""
    policy = policy_by_name(name, true_skill=skills)
    rng = np.random.default_rng(0)

    def decide() -> None:
        policy.act(states, 500 - GAMES_BEFORE, rng)

    decide()
    return [1e6 * seconds(decide) / len(skills) for _ in range(turns)]
