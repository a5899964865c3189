"""The environment against CartPole, and what it costs to start.

Everything runs on one thread and by processor time, but for the contest of threads, which goes by
the clock: the processor time of two threads is never less than that of one. Actions are drawn
before the clock starts; observations are taken and episodes restart within it, for both sides.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import gymnasium as gym
import numpy as np

import matchenv  # registers Matchmaking-v0
from matchenv.benchmarks.throughput.timing import Contest, Measurement, Side, contest, seconds
from matchenv.runtime.parallel import checked_workers

SECTION = "environment"
NUM_ENVS = 1024
MANY_ENVS = 4096
NUM_OPPONENTS = 49

# With the step that restarts, one whole episode of ours.
VECTOR_STEPS = 501
SCALAR_STEPS = 5010
# stable-baselines3 steps its environments one by one.
SLOW_VECTOR_STEPS = 20

CLOCK = """
import time
start = time.perf_counter()
%s
print(time.perf_counter() - start)
"""
IMPORT = CLOCK % "import matchenv"

# Both environments run the same compiled code, so the second finds it ready.
FIRST_USES = {
    "the environment": CLOCK
    % """
import gymnasium
env = gymnasium.make("matchenv:Matchmaking-v0")
env.reset(seed=0)
env.step(0)
many = gymnasium.make_vec("Matchmaking-v0", num_envs=4)
many.reset(seed=0)
many.step(many.action_space.sample())
""",
    "KG": CLOCK
    % """
import numpy
from matchenv.baselines import KnowledgeGradient
from matchenv import KnowledgeState
KnowledgeGradient().act(KnowledgeState(numpy.zeros(50), numpy.ones(50)), 500)
""",
}


def measure(turns: int) -> Iterator[Contest | Measurement]:
    """Contests with CartPole, then the times of import and first use.

    Args:
        turns: turns of each side in each contest.
    """
    vector, one = f"{NUM_ENVS} environments", "one environment from gym.make"
    ours = vector_matchmaking()
    for package, name, make, target in (
        ("gymnasium", "Gymnasium's native vector CartPole", vector_cartpole, 1.2),
        ("envpool", "envpool's CartPole", envpool_cartpole, 5.0),
        ("stable_baselines3", "stable_baselines3's CartPole", dummy_cartpole, 5.0),
    ):
        if find_spec(package) is not None:
            yield contest(
                SECTION, f"{vector}, {name}", "steps/s", ours, make(), turns=turns, target=target
            )
    if checked_workers(None) > 1:
        yield contest(
            SECTION, f"{MANY_ENVS} environments, two threads", "steps/s",
            vector_matchmaking(MANY_ENVS, 2), vector_matchmaking(MANY_ENVS), turns=turns,
            target=1.7, clock=seconds,
        )  # fmt: skip
    yield contest(
        SECTION, f"{one}, CartPole-v1", "steps/s", scalar("Matchmaking-v0"), scalar("CartPole-v1"),
        turns=turns, target=1.0,
    )  # fmt: skip
    yield Measurement(
        SECTION, "import matchenv", "s", [said_by(IMPORT, None) for _ in range(turns)], target=1.5
    )
    yield from first_uses(min(turns, 2))


def first_uses(repetitions: int) -> Iterator[Measurement]:
    """Import and first call, in a process that finds nothing compiled, then in another one."""
    for subject, code in FIRST_USES.items():
        cold, warm = [], []
        for _ in range(repetitions):
            with tempfile.TemporaryDirectory() as cache:
                cold.append(said_by(code, cache))
                warm.append(said_by(code, cache))
        yield Measurement(
            SECTION, f"first use of {subject}, nothing compiled yet", "s", cold, target=15.0
        )
        yield Measurement(SECTION, f"first use of {subject} in a later process", "s", warm)


def said_by(code: str, cache: str | None) -> float:
    """The number that a fresh Python process prints.

    Args:
        code: what it runs.
        cache: folder for Numba's compiled code; None for the usual place.
    """
    variables = {} if cache is None else {"NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | variables, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout)


def vector_matchmaking(num_envs: int | None = None, num_threads: int = 1) -> Side:
    """Our native vector environment.

    Args:
        num_envs: copies; None for as many as the rivals have.
        num_threads: that share a step.
    """
    count = NUM_ENVS if num_envs is None else num_envs
    env = matchenv.MatchmakingVectorEnv(count, num_opponents=NUM_OPPONENTS, num_threads=num_threads)
    label = "Matchmaking-v0" if num_threads == 1 else f"Matchmaking-v0, {num_threads} threads"
    return _vector_side(label, env, NUM_OPPONENTS, np.int64, VECTOR_STEPS, count)


def vector_cartpole() -> Side:
    """Gymnasium's native vector CartPole."""
    env = gym.make_vec("CartPole-v1", num_envs=NUM_ENVS, vectorization_mode="vector_entry_point")
    return _vector_side("Gymnasium's vector CartPole", env, 2, np.int64, VECTOR_STEPS)


def envpool_cartpole() -> Side:
    """EnvPool's CartPole on one thread."""
    envpool = import_module("envpool")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the precision of its spaces
        env = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=NUM_ENVS, num_threads=1)
        return _vector_side("EnvPool's CartPole", env, 2, np.int32, VECTOR_STEPS)


def dummy_cartpole() -> Side:
    """stable-baselines3's DummyVecEnv of CartPole."""
    dummy = import_module("stable_baselines3.common.vec_env").DummyVecEnv
    env = dummy([lambda: gym.make("CartPole-v1")] * NUM_ENVS)
    return _vector_side("DummyVecEnv of CartPole", env, 2, np.int64, SLOW_VECTOR_STEPS)


def scalar(name: str) -> Side:
    """One environment as ``gym.make`` gives it, wrappers and all."""
    env = gym.make(name)
    count = int(env.action_space.n)  # type: ignore[attr-defined]
    actions = np.random.default_rng(0).integers(0, count, SCALAR_STEPS).tolist()
    env.reset(seed=0)

    def turn() -> None:
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    turn()
    return f"gym.make({name!r})", turn, SCALAR_STEPS


def _vector_side(
    label: str,
    env: Any,
    num_actions: int,
    dtype: type[np.signedinteger[Any]],
    steps: int,
    num_envs: int | None = None,
) -> Side:
    count = NUM_ENVS if num_envs is None else num_envs
    actions = np.random.default_rng(0).integers(0, num_actions, (steps, count)).astype(dtype)
    env.reset()

    def turn() -> None:
        for row in actions:
            env.step(row)

    return label, turn, float(steps * count)
