"""What a decision costs, of each baseline and of the learned policy, on one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv import KnowledgeState, MatchmakingVectorEnv
from matchenv.agents.policies import policy_named
from matchenv.baselines import POLICIES
from matchenv.belief import DEFAULT_BELIEF
from matchenv.benchmarks.throughput.timing import Contest, Measurement, contest, seconds
from matchenv.evaluation.rollout import one_thread
from matchenv.settings import Settings

SECTION = "policies"
NUM_OPPONENTS = 49
BATCH = 256
GAMES_BEFORE = 50
MANY_OPPONENTS = 1_000_000
LEARNED, LEARNED_BATCH = "equivariant", 1024


def measure(turns: int) -> Iterator[Contest | Measurement]:
    """Microseconds a decision, of every baseline and of the cheap ones at a million opponents.

    Then the learned policy against KG, where torch is installed.

    Args:
        turns: repetitions of each.
    """
    for names, opponents, count, batches in (
        (tuple(POLICIES), NUM_OPPONENTS, BATCH, f", batches of {BATCH}"),
        (("pe", "drawchance"), MANY_OPPONENTS, 1, ""),
    ):
        states, skills = mid_episode_states(opponents, count)
        for name in names:
            subject = f"{name}, {opponents:,} opponents{batches}"
            values = decision_times(name, states, skills, turns)
            yield Measurement(SECTION, subject, "microseconds a decision", values)
    if find_spec("torch") is not None:
        yield from learned_beside_kg(turns)


def learned_beside_kg(turns: int) -> Iterator[Contest]:
    """Decisions a second of the policy that ships and of KG, from observations, in turn.

    Args:
        turns: of each.
    """
    learned, kg = (policy_named(name, Settings.checked()) for name in (LEARNED, "kg"))
    for count in (LEARNED_BATCH, 1):
        calls = max(1, LEARNED_BATCH // count // 4)
        seen = {
            belief: mid_episode_observations(NUM_OPPONENTS, count, belief)
            for belief in (learned.belief, kg.belief)
        }
        with one_thread():
            yield contest(
                SECTION, f"{NUM_OPPONENTS} opponents, batches of {count:,}", "decisions/s",
                (LEARNED, _decide(learned, seen[learned.belief], calls), calls * count),
                ("kg", _decide(kg, seen[kg.belief], calls), calls * count),
                turns=turns,
            )  # fmt: skip


def _decide(policy: Any, observations: NDArray[np.float32], calls: int) -> Callable[[], object]:
    return lambda: [policy.predict(observations) for _ in range(calls)]


def mid_episode_observations(num_opponents: int, count: int, belief: str) -> NDArray[np.float32]:
    """What a policy sees after some random games, shape (count, K), the same for each belief."""
    return _mid_episode(num_opponents, count, belief)[1]


def mid_episode_states(num_opponents: int, count: int) -> tuple[KnowledgeState, np.ndarray]:
    """Beliefs as they are after some random games, and the true skills behind them.

    Returns:
        States of shape (count, M + 1), skills of the same shape.
    """
    env, _ = _mid_episode(num_opponents, count, DEFAULT_BELIEF)
    return env.knowledge_state, env.true_skill


def _mid_episode(
    num_opponents: int, count: int, belief: str
) -> tuple[MatchmakingVectorEnv, NDArray[np.float32]]:
    env = MatchmakingVectorEnv(count, num_opponents=num_opponents, belief=belief)
    seen, _ = env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(GAMES_BEFORE):
        seen, *_ = env.step(rng.integers(0, num_opponents, count))
    return env, seen


def decision_times(
    name: str, states: KnowledgeState, skills: np.ndarray, turns: int
) -> list[float]:
    """Microseconds a decision in each of ``turns`` calls, after one that is not counted."""
    policy = policy_named(name, Settings.checked(), lambda: skills)
    rng = np.random.default_rng(0)

    def decide() -> None:
        policy.act(states, 500 - GAMES_BEFORE, rng)

    decide()
    return [1e6 * seconds(decide) / len(skills) for _ in range(turns)]
