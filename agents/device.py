"""Where torch computes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from stable_baselines3.common.utils import get_device


def as_device(name: str) -> torch.device:
    """The device of that name; ``"cuda"`` without a graphics card is the processor.

    Args:
        name: such as ``"cpu"`` or ``"cuda:1"``; ``"auto"`` is a graphics card where torch has
            one, else the processor.

    Raises:
        ValueError: if torch knows no device of that name.
    """
    try:
        return get_device(name)
    except RuntimeError as error:
        raise ValueError(f"device must be auto, cpu, cuda or cuda:N, got {name!r}") from error


@contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """Let torch use so many threads of the processor, and as many as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
