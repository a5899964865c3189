"""What a long command gives that nobody disturbs; found once in each process of the tests."""

from __future__ import annotations

import os
import tempfile
import threading
from contextlib import chdir
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fault_injection import FULL, Fault, content_of, with_fault
from long_commands import LongCommand

# Where there are files without a disk; None for where temporary files usually are.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@dataclass(frozen=True)
class Undisturbed:
    """A command that ran in one go.

    Attributes:
        content: what it wrote.
        operations: on files.
        needing_room: of these, those that can find the disk full.
        seconds: that it took in a fork.
    """

    content: dict[str, bytes]
    operations: int
    needing_room: int
    seconds: float


@cache
def undisturbed(command: LongCommand) -> Undisturbed:
    """Run a command once in this process, so that its forks have all it needs, and twice in forks.

    All three write the same bytes.
    """
    import torch

    # A fork cannot use the threads of its parent.
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(dir=MEMORY) as warm, chdir(warm):
        assert command.work(Path(warm))() == 0
        first = content_of(Path(warm), command.left_out)
    assert all(each.daemon for each in threading.enumerate()[1:])
    ended = []
    for kind in (Fault(), Fault(FULL)):
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            ended.append(with_fault(command.work(Path(folder)), Path(folder), kind))
            assert (ended[-1].status, command.beyond(ended[-1].said)) == (0, "")
            assert content_of(Path(folder), command.left_out) == first
    counts = [each.operations for each in ended]
    return Undisturbed(first, *counts, min(each.seconds for each in ended))


def differing(command: LongCommand, folder: Path) -> list[str]:
    """Files that are not as those of the undisturbed command."""
    whole, found = undisturbed(command).content, content_of(folder, command.left_out)
    return sorted(
        name for name in whole.keys() | found.keys() if whole.get(name) != found.get(name)
    )
