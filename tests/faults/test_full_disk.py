"""No room at any operation: one line, status 1, and the same bytes once there is room again."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fault_injection import FULL, Ended, Fault, with_fault
from long_commands import LONG_COMMANDS, LongCommand
from undisturbed import differing, undisturbed

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="looks at files as Linux does"),
]

PARTS = 4
# Pages of 4 KiB; from nothing at all to enough.
ROOM = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)

by_command = pytest.mark.parametrize("command", LONG_COMMANDS, ids=lambda each: each.name)


def badly_said(command: LongCommand, ended: Ended) -> str:
    """What is wrong with the end of a command that found the disk full."""
    said = command.beyond(ended.said)
    one_line = said.count("\n") == 1 and said.startswith("error: ")
    full = "No space left on device" in said or "disk is full" in said  # as SQLite says it
    if ended.status == 1 and one_line and full:
        return ""
    return f"status {ended.status}: {ended.said}"


def went_on(command: LongCommand, folder: Path) -> str:
    """What is wrong after a command went on with a folder."""
    ended = with_fault(command.work(folder), folder)
    if (ended.status, command.beyond(ended.said)) != (0, ""):
        return f"then status {ended.status}: {ended.said}"
    return ", ".join(differing(command, folder))


@pytest.mark.parametrize("part", range(PARTS))
@by_command
def test_full_at_every_operation(
    command: LongCommand, part: int, tmp_path: Path, faults: Callable[..., None]
) -> None:
    every = command.part(part, PARTS, undisturbed(command).needing_room)
    wrong: dict[int, str] = {}
    for at in every:
        folder = tmp_path / str(at)
        folder.mkdir()
        ended = with_fault(command.work(folder), folder, Fault(FULL, at))
        found = badly_said(command, ended) or went_on(command, folder)
        if found:
            wrong[at] = found
        shutil.rmtree(folder)
    faults("full disk at every operation", command.name, len(every), len(every) - len(wrong))
    assert wrong == {}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "matchenv-faults", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only who may mount can make a disk that is really full")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@by_command
def test_a_disk_that_is_really_full(
    command: LongCommand, small_disk: Path, faults: Callable[..., None]
) -> None:
    """It grows a little, again and again, until there is room for all."""
    undisturbed(command)
    wrong: list[str] = []
    tried = 0
    for pages in ROOM:
        size = f"remount,size={4 * pages}k"
        subprocess.run(["mount", "-o", size, str(small_disk)], check=True)
        ended = with_fault(command.work(small_disk), small_disk)
        if (ended.status, command.beyond(ended.said)) == (0, ""):
            break
        tried += 1
        if found := badly_said(command, ended):
            wrong.append(found)
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    if found := went_on(command, small_disk):
        wrong.append(found)
    faults("a real file system that is full", command.name, tried, max(0, tried - len(wrong)))
    assert wrong == []
