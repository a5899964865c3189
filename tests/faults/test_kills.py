"""SIGKILL at every operation on files and at random moments: the same bytes after going on."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from fault_injection import KILL, Fault, killed_after, with_fault
from long_commands import LONG_COMMANDS, LongCommand
from undisturbed import differing, undisturbed

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="looks at files as Linux does"),
]

# Parts of one command's operations, so that several processes of the tests can share them.
PARTS = 4
KILLS, OF_A_PART = 100, 25
# Nobody is killed more often in a row, so that slow machines come to an end too.
IN_A_ROW = 12

by_command = pytest.mark.parametrize("command", LONG_COMMANDS, ids=lambda each: each.name)
by_part = pytest.mark.parametrize("part", range(PARTS))


def went_on(command: LongCommand, folder: Path) -> str:
    """What is wrong after a command went on with a folder, nothing if it is as undisturbed."""
    ended = with_fault(command.work(folder), folder)
    if (ended.status, command.beyond(ended.said)) != (0, ""):
        return f"status {ended.status}: {ended.said}"
    return ", ".join(differing(command, folder))


@by_part
@by_command
def test_killed_at_every_operation(
    command: LongCommand, part: int, tmp_path: Path, faults: Callable[..., None]
) -> None:
    every = command.part(part, PARTS, undisturbed(command).operations)
    wrong: dict[int, str] = {}
    for at in every:
        folder = tmp_path / str(at)
        folder.mkdir()
        ended = with_fault(command.work(folder), folder, Fault(KILL, at))
        # A library's thread may have one operation more or less.
        assert ended.status in (-signal.SIGKILL, 0)
        if found := went_on(command, folder):
            wrong[at] = found
        shutil.rmtree(folder)
    faults("SIGKILL at every operation on files", command.name, len(every), len(every) - len(wrong))
    assert wrong == {}


@by_part
@by_command
def test_killed_at_random_moments(
    command: LongCommand, part: int, tmp_path: Path, faults: Callable[..., None]
) -> None:
    """Again and again in one folder, until it has come to its end."""
    seed = random.randrange(10**6)
    draw = random.Random(seed)
    whole = undisturbed(command).seconds
    killed, folders, wrong = 0, 0, list[str]()
    while killed < OF_A_PART:
        folder = tmp_path / str(folders)
        folder.mkdir()
        folders += 1
        row = 0
        while row < min(IN_A_ROW, OF_A_PART - killed):
            ended = killed_after(command.work(folder), draw.uniform(0.0, whole), signal.SIGKILL)
            if ended.status == 0:
                break
            if ended.status != -signal.SIGKILL:
                wrong.append(f"status {ended.status}: {ended.said}")
            row += 1
        killed += row
        if found := went_on(command, folder):
            wrong.append(found)
        shutil.rmtree(folder)
    faults("SIGKILL at a random moment", command.name, killed, max(0, killed - len(wrong)))
    assert wrong == [], f"seed {seed}"
