"""Environments under way as plain data and arrays, and back: no pickle, equal games after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.one_player.env import MatchmakingVectorEnv


def episode_state(env: MatchmakingVectorEnv) -> dict[str, Any]:
    """All that the next games of an environment depend on.

    Args:
        env: what a user's belief keeps elsewhere than in its memory is not in the state.

    Returns:
        Copies of all arrays by name, and under ``"generators"`` the states of the generators.
    """
    arrays = {name: array.copy() for name, array in _arrays(env).items()}
    return {**arrays, "generators": [each.bit_generator.state for each in env.generators]}


def restore_episodes(env: MatchmakingVectorEnv, state: Mapping[str, Any]) -> None:
    """Set an environment of the same settings and size to a state.

    Raises:
        ValueError: for a state of other sizes or types; nothing is changed then.
    """
    generators = [generator_of(each) for each in state["generators"]]
    if len(generators) not in (0, env.num_envs):
        raise ValueError(f"generators must be {env.num_envs}, got {len(generators)}")
    places = _arrays(env)
    for name, place in places.items():
        found = state[name]
        if found.shape != place.shape or found.dtype != place.dtype:
            raise ValueError(
                f"{name} must be {place.dtype} of shape {place.shape}, got {found.dtype} of "
                f"shape {found.shape}"
            )
    for name, place in places.items():
        place[...] = state[name]
    env.generators = generators
    env.know_who_waits()


def _arrays(env: MatchmakingVectorEnv) -> dict[str, NDArray[Any]]:
    """Every array that an environment changes, by the name of its owner and its own."""
    episodes = env._episodes
    owners = {
        "env": env,
        "episodes": episodes,
        "pool": episodes.pool,
        "opponent_noise": episodes.opponent_noise,
    }
    return {
        f"{owner}.{name}": value
        for owner, each in owners.items()
        if each is not None
        for name, value in vars(each).items()
        if isinstance(value, np.ndarray)
    }


def generator_of(state: Any) -> np.random.Generator:
    """The generator of a state of its bits, as ``default_rng`` makes it."""
    bits = np.random.PCG64()
    bits.state = state
    return np.random.Generator(bits)
