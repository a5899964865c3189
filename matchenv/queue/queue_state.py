"""Queues under way as plain data and arrays, and back: no pickle, equal choices after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matchenv.episode_state import generator_of
from matchenv.queue.state import Batch
from matchenv.queue.vector_env import MatchmakingQueueVectorEnv

# What a reset or an ending episode changes of the environment itself.
OWN = ("_over", "_started", "_steps")

# Axes of the arrays of a batch that grow: room for players, noise that was fixed, visits kept.
GROWING = ("belief", "players", "by_mean", "free", "games", "noise", "visits")


def queue_state(env: MatchmakingQueueVectorEnv) -> dict[str, Any]:
    """All that the next choices of an environment depend on.

    Returns:
        Copies of all arrays by name, and under ``"generators"`` the states of the generators.
    """
    batch = env._queues.batch
    return {
        **{f"batch.{name}": array.copy() for name, array in batch._asdict().items()},
        **{name: getattr(env, name).copy() for name in OWN},
        "generators": [each.bit_generator.state for each in env.generators],
    }


def restore_queues(env: MatchmakingQueueVectorEnv, state: Mapping[str, Any]) -> None:
    """Set an environment of the same settings and size to a state.

    Raises:
        ValueError: for a state of other sizes or types; nothing is changed then.
    """
    generators = [generator_of(each) for each in state["generators"]]
    if len(generators) not in (0, env.num_envs):
        raise ValueError(f"generators must be {env.num_envs}, got {len(generators)}")
    batch = {name: state[f"batch.{name}"] for name in Batch._fields}
    places = {**env._queues.batch._asdict(), **{name: getattr(env, name) for name in OWN}}
    for name, place in places.items():
        found = batch[name] if name in batch else state[name]
        grows = name in GROWING and found.ndim == place.ndim
        if found.dtype != place.dtype or not (grows or found.shape == place.shape):
            raise ValueError(
                f"{name} must be {place.dtype} of shape {place.shape}, got {found.dtype} of "
                f"shape {found.shape}"
            )
    env._queues.batch = Batch(**{name: array.copy() for name, array in batch.items()})
    for name in OWN:
        getattr(env, name)[...] = state[name]
    env.generators = generators
    env.know_who_waits()
