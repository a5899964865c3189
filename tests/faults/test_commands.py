"""What every long command stands: kills, full disks, signals, and itself at the same time.

After each fault the same command goes on, and ends with the bytes of an undisturbed run.
"""

import os
import random
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fault_injection import (
    FULL,
    KILL,
    Ended,
    Fault,
    as_a_process,
    child,
    content_of,
    killed_after,
    with_fault,
)
from long_commands import LONG_COMMANDS, QUICK, LongCommand, differing, undisturbed

from matchenv.runtime.signals import WORDS

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/fd"), reason="looks at files as Linux does"
)

KILLS, STOPS, PAIRS = 100, 10, 10
# Nobody is killed more often in a row, so that slow machines come to an end too.
IN_A_ROW = 12
# Pages of 4 KiB; from nothing at all to enough.
ROOM = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)

LONG = [pytest.param(each, marks=pytest.mark.faults, id=each.name) for each in LONG_COMMANDS]
# At all of their operations.
EVERY = [pytest.param(replace(each, tried=200), marks=pytest.mark.faults, id=f"all of {each.name}")
         for each in QUICK if each.call is not None]  # fmt: skip
by_command = pytest.mark.parametrize("command", LONG)


def goes_on(command: LongCommand, folder: Path) -> None:
    """Go on with a folder, to the bytes of the undisturbed command."""
    ended = with_fault(command.work(folder), folder)
    assert command.is_well(ended), ended
    assert differing(command, folder) == []


def ended_by(kind: str, command: LongCommand, ended: Ended) -> None:
    """Say whether a command ended as one that was killed, or that found the disk full."""
    if kind == KILL:
        # In a thread of a library may be one operation more or less, so that nothing happened.
        assert ended.status in (-signal.SIGKILL, 0), ended
        return
    said = command.said(ended)
    assert (ended.status, said.count("\n"), said[:7]) == (1, 1, "error: "), ended
    assert "No space left on device" in said or "disk is full" in said  # as SQLite says it


@pytest.mark.parametrize("command", [*LONG, *EVERY, *(pytest.param(x, id=x.name) for x in QUICK)])
@pytest.mark.parametrize("kind", [KILL, FULL])
def test_a_fault_at_every_operation(kind: str, command: LongCommand, tmp_path: Path) -> None:
    operations = undisturbed(command).operations[kind]
    for at in range(1, operations + 1, -(-operations // command.tried)):
        folder = tmp_path / str(at)
        folder.mkdir()
        ended_by(kind, command, with_fault(command.work(folder), folder, Fault(kind, at)))
        goes_on(command, folder)
        shutil.rmtree(folder)


@by_command
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_stopped_at_random_moments(
    command: LongCommand, number: signal.Signals, tmp_path: Path
) -> None:
    """A kill, again and again in one folder until it has come to its end; or a signal.

    A signal gets one line and its status, and leaves nothing half written.
    """
    whole, killed = undisturbed(command), number == signal.SIGKILL
    for place in range(KILLS if killed else STOPS):
        folder = tmp_path / str(place // IN_A_ROW if killed else place)
        folder.mkdir(exist_ok=True)
        # Not in the first milliseconds, in which the process does not listen yet.
        least = 0.0 if killed else 0.1
        seconds = random.uniform(least, max(2.0 * least, whole.seconds))
        ended = killed_after(as_a_process(command.typed(), folder), seconds, number)
        if killed:
            ended_by(KILL, command, ended)
            if ended.status != 0 and (place + 1) % IN_A_ROW:
                continue
        elif ended.status != 0:
            said = command.said(ended)
            assert (ended.status, said.count("\n")) == (128 + number, 1), ended
            # In its first moments a command does not know yet how it goes on.
            assert said.rstrip("\n").partition(";")[0] == WORDS[number]
        names = " ".join(content_of(folder))
        assert killed or ("unfinished" not in names and ".lock" not in names)
        goes_on(command, folder)
        shutil.rmtree(folder)


@by_command
def test_two_at_the_same_time(command: LongCommand, tmp_path: Path) -> None:
    """One works, the other is refused or comes after it."""
    whole = undisturbed(command)
    for number in range(PAIRS):
        folder = tmp_path / str(number)
        folder.mkdir()
        with child(command.work(folder)) as first:
            first.process.join(random.uniform(0.0, whole.seconds) if number % 2 else 0.0)
            with child(command.work(folder)) as second:
                ended = [first.ended(), second.ended()]
        refused = [each for each in ended if not command.is_well(each)]
        assert len(refused) < 2, ended
        for each in refused:
            said = command.said(each)
            assert (each.status, said.count("\n")) == (2, 1), each
            assert " is in use by " in said
        assert differing(command, folder) == []
        shutil.rmtree(folder)


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
def test_a_disk_that_is_really_full(command: LongCommand, small_disk: Path) -> None:
    """It grows a little, again and again, until there is room for all."""
    undisturbed(command)
    for size in (*(f"{4 * pages}k" for pages in ROOM), "64m"):
        subprocess.run(["mount", "-o", f"remount,size={size}", str(small_disk)], check=True)
        ended = with_fault(command.work(small_disk), small_disk)
        if command.is_well(ended):
            break
        ended_by(FULL, command, ended)
    # A file that is written again lies there twice for a moment.
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    goes_on(command, small_disk)
