"""Pictures of an episode, against those of CartPole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import gymnasium as gym

import matchenv  # noqa: F401 (registers Matchmaking-v0)
from matchenv.benchmarks.throughput.timing import Contest, Measurement, contest, seconds

SECTION = "rendering"
SIZES = (9, 49, 1000)
PAPER_SIZE = 49
PICTURES = 30

# A window shows this many pictures in a second.
WANTED = 30.0


def measure(turns: int) -> Iterator[Contest | Measurement]:
    """Pictures in a second, and seconds for one picture; nothing where pygame is missing.

    Args:
        turns: turns of each side, and readings of each size.
    """
    if find_spec("pygame") is None:
        return
    yield contest(
        SECTION, f"pictures at {PAPER_SIZE} opponents, CartPole-v1's", "frames/s",
        pictures("Matchmaking-v0", num_opponents=PAPER_SIZE), pictures("CartPole-v1"),
        turns=turns,
    )  # fmt: skip
    for size in SIZES:
        _, turn, count = pictures("Matchmaking-v0", num_opponents=size)
        turn()
        yield Measurement(
            SECTION,
            f"one picture at {size} opponents",
            "s",
            [seconds(turn) / count for _ in range(turns)],
            target=1.0 / WANTED if size == PAPER_SIZE else None,
        )


def pictures(name: str, **arguments: Any) -> tuple[str, Callable[[], object], float]:
    """Games or steps, each with a picture.

    Args:
        name: of the environment.
        arguments: for its making.
    """
    env = gym.make(name, render_mode="rgb_array", **arguments)
    env.reset(seed=0)

    def turn() -> None:
        for place in range(PICTURES):
            _, _, terminated, truncated, _ = env.step(place % 2)
            env.render()
            if terminated or truncated:
                env.reset()

    return f"gym.make({name!r})", turn, float(PICTURES)
