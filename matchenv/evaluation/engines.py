"""What does independent blocks of work: processes of this machine, or a cluster of them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TypeAlias

from matchenv.runtime.parallel import Pool, WorkerPool, checked_workers

LOCAL, RAY = "local", "ray"


@dataclass(frozen=True)
class Engine:
    """Where blocks are done. No number depends on it.

    Attributes:
        name: ``"local"`` for processes of this machine; ``"ray"`` for the Ray cluster that
            ``ray.init()`` finds (it starts one on this machine if there is none);
            ``"ray:ADDRESS"`` for one at an address: ``"ray:auto"``, ``"ray:10.0.0.1:6379"``,
            ``"ray:ray://head:10001"``.
        workers: blocks that are done at the same time, >= 1; None for as many as there are cores.

    Raises:
        ValueError: for another name or number.
        ImportError: if Ray is asked for and not installed; says how to install it.
    """

    name: str = LOCAL
    workers: int | None = None

    def __post_init__(self) -> None:
        checked_workers(self.workers)
        kind, colon, address = self.name.partition(":")
        if kind not in (LOCAL, RAY) or (colon and (kind == LOCAL or not address)):
            raise ValueError(f"engine must be local, ray or ray:ADDRESS, got {self.name!r}")
        if kind == RAY and find_spec("ray") is None:
            raise ImportError('engine ray needs the package ray: pip install "matchenv[ray]"')

    @property
    def is_here(self) -> bool:
        """Whether all of it is on this machine, with its disk."""
        return self.name == LOCAL

    def pool(self) -> Pool:
        """What does the blocks, for the time of a ``with`` block."""
        kind, _, address = self.name.partition(":")
        if kind == LOCAL:
            return WorkerPool(checked_workers(self.workers))
        from matchenv.evaluation.ray_pool import RayPool

        return RayPool(address or None, self.workers)


# How functions are told who works: a number of processes of this machine, or an engine.
Workers: TypeAlias = int | Engine | None


def as_engine(workers: Workers) -> Engine:
    """The engine that is asked for.

    Args:
        workers: an engine, or processes of this machine; None for one on each core.

    Raises:
        ValueError: for a bad number.
    """
    return workers if isinstance(workers, Engine) else Engine(workers=workers)
