"""What every long command stands: kills, full disks, signals, and itself at the same time.

After each fault the same command goes on, and ends with the bytes of an undisturbed run.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
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
from long_commands import LONG_COMMANDS, QUICK, LongCommand
from undisturbed import differing, undisturbed

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/fd"), reason="looks at files as Linux does"
)

# Parts of one command's operations, so that several processes of the tests can share them.
PARTS = 4
KILLS, STOPS, PAIRS = 100, 10, 10
# Nobody is killed more often in a row, so that slow machines come to an end too.
IN_A_ROW = 12
# Pages of 4 KiB; from nothing at all to enough.
ROOM = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)

Faults = Callable[..., None]
LONG = [pytest.param(each, marks=pytest.mark.faults, id=each.name) for each in LONG_COMMANDS]
# At all of their operations.
EVERY = [pytest.param(replace(each, tried=200), marks=pytest.mark.faults, id=f"all of {each.name}")
         for each in QUICK if each.call is not None]  # fmt: skip
by_command = pytest.mark.parametrize("command", LONG)


def going_on(command: LongCommand, folder: Path) -> str:
    """Go on with a folder; what is wrong then, nothing if it is as undisturbed."""
    ended = with_fault(command.work(folder), folder)
    if not command.is_well(ended):
        return f"then status {ended.status}: {ended.said}"
    return ", ".join(differing(command, folder))


def not_full(command: LongCommand, ended: Ended) -> str:
    """What is wrong with the end of a command that found the disk full."""
    said = command.beyond(ended.said)
    one_line = said.count("\n") == 1 and said.startswith("error: ")
    full = "No space left on device" in said or "disk is full" in said  # as SQLite says it
    return "" if ended.status == 1 and one_line and full else f"{ended.status}: {ended.said}"


def not_killed(command: LongCommand, ended: Ended) -> str:
    """What is wrong with the end of a command that was killed."""
    # In a thread of a library may be one operation more or less, so that nothing happened.
    return "" if ended.status in (-signal.SIGKILL, 0) else f"{ended.status}: {ended.said}"


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("command", [*LONG, *EVERY, *(pytest.param(x, id=x.name) for x in QUICK)])
@pytest.mark.parametrize("kind", [KILL, FULL])
def test_a_fault_at_every_operation(
    kind: str, command: LongCommand, part: int, tmp_path: Path, faults: Faults
) -> None:
    whole = undisturbed(command)
    operations = whole.operations if kind == KILL else whole.needing_room
    stride = -(-operations // command.tried)
    every = range(1 + part * stride, operations + 1, PARTS * stride)
    ended_badly = not_killed if kind == KILL else not_full
    wrong: dict[int, str] = {}
    for at in every:
        folder = tmp_path / str(at)
        folder.mkdir()
        ended = with_fault(command.work(folder), folder, Fault(kind, at))
        if found := ended_badly(command, ended) or going_on(command, folder):
            wrong[at] = found
        shutil.rmtree(folder)
    faults(f"{kind} at every operation on files", command.name, len(every),
           len(every) - len(wrong))  # fmt: skip
    assert wrong == {}


@pytest.mark.parametrize("part", range(PARTS))
@by_command
def test_killed_at_random_moments(
    command: LongCommand, part: int, tmp_path: Path, faults: Faults
) -> None:
    """Again and again in one folder, until it has come to its end."""
    whole, draw = undisturbed(command).seconds, random.Random(part)
    killed, wrong = 0, list[str]()
    for folder in (tmp_path / str(number) for number in range(KILLS)):
        folder.mkdir()
        left = KILLS // PARTS - killed
        for _ in range(min(IN_A_ROW, left)):
            ended = killed_after(command.work(folder), draw.uniform(0.0, whole), signal.SIGKILL)
            if ended.status == 0:
                break
            wrong += filter(None, [not_killed(command, ended)])
            killed += 1
        wrong += filter(None, [going_on(command, folder)])
        shutil.rmtree(folder)
        if killed >= KILLS // PARTS:
            break
    faults("kill at a random moment", command.name, killed, max(0, killed - len(wrong)))
    assert wrong == []


@by_command
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_at_random_moments(
    command: LongCommand, number: signal.Signals, tmp_path: Path, faults: Faults
) -> None:
    """One line and the status of the signal, and nothing half written."""
    whole = undisturbed(command)
    word = "terminated" if number == signal.SIGTERM else "interrupted"
    wrong: list[str] = []
    for place in range(STOPS):
        folder = tmp_path / str(place)
        folder.mkdir()
        # Not in the first milliseconds, in which the process does not listen yet.
        seconds = random.uniform(0.1, max(0.2, whole.seconds))
        ended = killed_after(as_a_process(command.next_words, folder), seconds, number)
        said = command.beyond(ended.said)
        # In its first moments a command does not know yet how it goes on.
        one_line = said.count("\n") == 1 and (said == f"{word}\n" or said.startswith(f"{word}; "))
        left = [name for name in content_of(folder) if "unfinished" in name or ".lock" in name]
        stopped = ended.status == 128 + number and one_line
        found = going_on(command, folder)
        if left or found or not (stopped or ended.status == 0):
            wrong.append(f"after {seconds:.3f} s {ended} {left} {found}")
    faults(f"{number.name} at a random moment", command.name, STOPS, STOPS - len(wrong))
    assert wrong == []


@by_command
def test_two_at_the_same_time(command: LongCommand, tmp_path: Path, faults: Faults) -> None:
    """One works, the other is refused or comes after it."""
    whole = undisturbed(command)
    wrong: list[str] = []
    for number in range(PAIRS):
        folder = tmp_path / str(number)
        folder.mkdir()
        with child(command.work(folder)) as first:
            first.process.join(random.uniform(0.0, whole.seconds) if number % 2 else 0.0)
            with child(command.work(folder)) as second:
                ended = [first.ended(), second.ended()]
        refused = [
            each.status == 2 and command.beyond(each.said).count("\n") == 1
            and (" is in use by " in each.said or "holds a run: go on with it" in each.said)
            for each in ended
        ]  # fmt: skip
        well = [command.is_well(each) for each in ended]
        found = differing(command, folder)
        if found or not any(well) or not all(map(max, well, refused)):
            wrong.append(f"{ended} {found}")
        shutil.rmtree(folder)
    faults("two processes in one folder", command.name, PAIRS, PAIRS - len(wrong))
    assert wrong == []


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
def test_a_disk_that_is_really_full(command: LongCommand, small_disk: Path, faults: Faults) -> None:
    """It grows a little, again and again, until there is room for all."""
    undisturbed(command)
    wrong: list[str] = []
    tried = 0
    for size in (*(f"{4 * pages}k" for pages in ROOM), "64m"):
        subprocess.run(["mount", "-o", f"remount,size={size}", str(small_disk)], check=True)
        ended = with_fault(command.work(small_disk), small_disk)
        if command.is_well(ended):
            break
        tried += 1
        wrong += filter(None, [not_full(command, ended)])
    # A file that is written again lies there twice for a moment.
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    wrong += filter(None, [going_on(command, small_disk)])
    faults("a real file system that is full", command.name, tried, max(0, tried - len(wrong)))
    assert wrong == []
