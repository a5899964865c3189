"""Progress bars, as this package's processes have them."""

from __future__ import annotations

from threading import RLock

from tqdm import tqdm


def use_own_lock() -> None:
    """Let the progress bars of this process have a lock that no other process knows.

    The library's own is a semaphore of the system. A process that is killed while it holds it
    stops all that share it, and one that is killed at any moment leaves it behind.
    """
    tqdm.set_lock(RLock())
