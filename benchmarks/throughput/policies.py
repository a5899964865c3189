"""The time of a decision by each baseline and by the learned policy, on one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv import MatchmakingVectorEnv
from matchenv.agents.policies import policy_named
from matchenv.baselines import POLICIES
from matchenv.baselines.gittins import Gittins
from matchenv.belief import DEFAULT_BELIEF
from matchenv.benchmarks.throughput.timing import (
    Contest,
    Measurement,
    contest,
    processor_seconds,
)
from matchenv.evaluation.rollout import one_thread
from matchenv.settings import Settings

SECTION = "policies"
NUM_OPPONENTS = 49
BATCH = 256
GAMES_BEFORE = 50
MANY_OPPONENTS = 1_000_000
LEARNED, RIVAL = "ppo-gittins", "kg"
# (opponents, decisions in a call), and by policy the ratio to KG that its speed is to reach there.
MANY = 100_000
CALLS = ((NUM_OPPONENTS, 1024), (NUM_OPPONENTS, 1), (MANY, 1))
TARGETS = {LEARNED: (4.0, 1.0, None), Gittins.name: (1.0, 1.0, 1.0)}
TARGET_MILLISECONDS = 10.0


def measure(turns: int) -> Iterator[Contest | Measurement]:
    """Microseconds a decision, of every baseline and of the cheap ones at a million opponents.

    Then the index and, where torch is installed, the learned policy against KG.

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
    for name, targets in TARGETS.items():
        if name != LEARNED or find_spec("torch") is not None:
            for (opponents, count), target in zip(CALLS, targets, strict=True):
                yield from beside_kg(name, opponents, count, turns, target)


def beside_kg(
    name: str, num_opponents: int, count: int, turns: int, target: float | None
) -> Iterator[Contest | Measurement]:
    """Decisions a second of a policy and of KG, from observations, in turn.

    Args:
        name: of the policy.
        num_opponents: of each decision.
        count: decisions in a call.
        turns: of each.
        target: the ratio to reach.
    """
    policy, kg = (policy_named(each, Settings.checked()) for each in (name, RIVAL))
    calls = max(1, 12_000 // (count * num_opponents))
    ours, rivals = (
        _decide(each, mid_episode(num_opponents, count, each.belief)[1], calls)
        for each in (policy, kg)
    )
    with one_thread():
        found = contest(
            SECTION,
            f"{name}, {num_opponents:,} opponents, batches of {count:,}",
            "decisions/s",
            (name, ours, calls * count),
            (RIVAL, rivals, calls * count),
            turns=turns,
            target=target,
        )
    yield found
    if num_opponents == MANY:
        values = [1e3 / rate for rate in found.our_rates]
        subject = f"{name}, {MANY:,} opponents"
        yield Measurement(SECTION, subject, "milliseconds a decision", values, TARGET_MILLISECONDS)


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
    return [1e6 * processor_seconds(decide) / env.num_envs for _ in range(turns)]
