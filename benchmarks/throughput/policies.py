"""What a decision costs, of each baseline and of the learned policy, on one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv import MatchmakingVectorEnv
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
        envs: dict[str, MatchmakingVectorEnv] = {}
        for name in names:
            subject = f"{name}, {opponents:,} opponents{batches}"
            belief = POLICIES[name].preferred_belief(Settings.checked())
            if belief not in envs:
                envs[belief], _ = mid_episode(opponents, count, belief)
            values = decision_times(name, envs[belief], turns)
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
            belief: mid_episode(NUM_OPPONENTS, count, belief)[1]
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


def mid_episode(
    num_opponents: int, count: int, belief: str = DEFAULT_BELIEF
) -> tuple[MatchmakingVectorEnv, NDArray[np.float32]]:
    """Environments after some random games, the same for each belief.

    Returns:
        ``(env, observation)``, the observation of shape (count, K).
    """
    env = MatchmakingVectorEnv(count, num_opponents=num_opponents, belief=belief)
    seen, _ = env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(GAMES_BEFORE):
        seen, *_ = env.step(rng.integers(0, num_opponents, count))
    return env, seen


def decision_times(name: str, env: MatchmakingVectorEnv, turns: int) -> list[float]:
    """Microseconds a decision in each of ``turns`` calls, after one that is not counted."""
    states, skills, rng = env.knowledge_state, env.true_skill, np.random.default_rng(0)
    policy = policy_named(name, Settings.checked(), lambda: skills)

    def decide() -> None:
        policy.act(states, 500 - GAMES_BEFORE, rng)

    decide()
    return [1e6 * seconds(decide) / env.num_envs for _ in range(turns)]
