"""Every long command survives kills, full disks, signals, and itself at the same time.

After each fault the same command is resumed, and ends with the bytes of an undisturbed run.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
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
    with_fault,
)
from long_commands import LONG_COMMANDS, QUICK, LongCommand, differing, undisturbed

from matchenv.runtime.signals import WORDS

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/fd"), reason="looks at files as Linux does"
)

KILLS, STOPS, PAIRS = 12, 2, 2
# Most kills in a row in one folder, so that slow machines come to an end too.
IN_A_ROW = 12
# Sizes of a disk in pages of 4 KiB.
PAGES = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)

LONG = [pytest.param(long, marks=pytest.mark.faults, id=long.name) for long in LONG_COMMANDS]
# With faults at all operations.
EVERY = [pytest.param(replace(quick, tried=200), marks=pytest.mark.faults, id=f"all {quick.name}")
         for quick in QUICK if quick.call is not None]  # fmt: skip
by_command = pytest.mark.parametrize("command", LONG)


def assert_resumes(command: LongCommand, folder: Path) -> None:
    """Resume a command, and compare its files with those of the undisturbed one."""
    ended = with_fault(command.work(folder), folder)
    assert command.is_well(ended), ended
    assert differing(command, folder) == []


def assert_ended_by(kind: str, command: LongCommand, ended: Ended) -> None:
    """Check that a command was killed, or reported a full disk."""
    if kind == KILL:
        # The number of operations in threads of libraries varies, so the fault may not happen.
        assert ended.status in (-signal.SIGKILL, 0), ended
        return
    error = command.error_of(ended)
    assert (ended.status, error.count("\n"), error[:7]) == (1, 1, "error: "), ended
    assert "No space left on device" in error or "disk is full" in error  # from SQLite


@pytest.mark.parametrize("command", [*LONG, *EVERY, *(pytest.param(x, id=x.name) for x in QUICK)])
@pytest.mark.parametrize("kind", [KILL, FULL])
def test_a_fault_at_every_operation(kind: str, command: LongCommand, tmp_path: Path) -> None:
    operations = undisturbed(command).operations[kind]
    for at in range(1, operations + 1, -(-operations // command.tried)):
        folder = tmp_path / str(at)
        folder.mkdir()
        assert_ended_by(kind, command, with_fault(command.work(folder), folder, Fault(kind, at)))
        assert_resumes(command, folder)
        shutil.rmtree(folder)


@by_command
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_stopped_at_random_moments(
    command: LongCommand, number: signal.Signals, tmp_path: Path
) -> None:
    """Kill a command until it ends; or send a signal: one line, its status, no temporary files."""
    whole, killed = undisturbed(command), number == signal.SIGKILL
    for place in range(KILLS if killed else STOPS):
        folder = tmp_path / str(place // IN_A_ROW if killed else place)
        folder.mkdir(exist_ok=True)
        # A signal comes after the first milliseconds, when its handler is installed.
        least = 0.0 if killed else 0.1
        seconds = random.uniform(least, max(2.0 * least, whole.seconds))
        with child(as_a_process(command.typed(), folder)) as running:
            running.process.join(seconds)
            if running.process.is_alive():
                os.kill(running.process.pid, number)
            ended = running.ended()
        if killed:
            assert_ended_by(KILL, command, ended)
            if ended.status != 0 and (place + 1) % IN_A_ROW:
                continue
        elif ended.status != 0:
            error = command.error_of(ended)
            assert (ended.status, error.count("\n")) == (128 + number, 1), ended
            assert error.rstrip("\n").partition(";")[0] == WORDS[number]
        names = " ".join(content_of(folder))
        assert killed or ("unfinished" not in names and ".lock" not in names)
        assert_resumes(command, folder)
        shutil.rmtree(folder)


@by_command
def test_two_at_the_same_time(command: LongCommand, tmp_path: Path) -> None:
    """One works; the other is refused or works afterwards."""
    whole = undisturbed(command)
    for number in range(PAIRS):
        folder = tmp_path / str(number)
        folder.mkdir()
        with child(command.work(folder)) as first:
            first.process.join(random.uniform(0.0, whole.seconds) if number % 2 else 0.0)
            with child(command.work(folder)) as second:
                ended = [first.ended(), second.ended()]
        refused = [process for process in ended if not command.is_well(process)]
        assert len(refused) < 2, ended
        for process in refused:
            error = command.error_of(process)
            assert (process.status, error.count("\n")) == (2, 1), process
            assert " is in use by " in error
        assert differing(command, folder) == []
        shutil.rmtree(folder)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A separate file system."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "matchenv-faults", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs permission to mount a file system")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@by_command
def test_a_disk_that_is_really_full(command: LongCommand, small_disk: Path) -> None:
    """The disk grows step by step until there is enough space."""
    undisturbed(command)
    for size in (*(f"{4 * pages}k" for pages in PAGES), "64m"):
        subprocess.run(["mount", "-o", f"remount,size={size}", str(small_disk)], check=True)
        ended = with_fault(command.work(small_disk), small_disk)
        if command.is_well(ended):
            break
        assert_ended_by(FULL, command, ended)
    # A file that is replaced needs its space twice.
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    assert_resumes(command, small_disk)


WORKERS = 2
STUDY = (
    "study --policy kg pe --rank top --prior equal --num-opponents 20 --horizon 400 "
    f"--episodes 12500 --out out --workers {WORKERS} --quiet"
)


@pytest.mark.parametrize(
    ("number", "way"),
    [(signal.SIGINT, "group"),
     *(pytest.param(*case, marks=pytest.mark.faults)
       for case in ((signal.SIGTERM, "group"), (signal.SIGTERM, "one")))],
)  # fmt: skip
def test_a_signal_stops_a_study_of_100_blocks(
    number: signal.Signals, way: str, tmp_path: Path
) -> None:
    """One line, at most the running blocks are finished, and no process or file is left."""
    temporary, blocks = tmp_path / "tmp", tmp_path / "out" / "blocks"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "matchenv", *STUDY.split()],
        cwd=tmp_path, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        start_new_session=True, env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip
    end = time.monotonic() + 240.0
    while (before := len([*blocks.glob("*.npz")])) < 2 and process.poll() is None:
        if time.monotonic() > end:
            process.kill()
        time.sleep(0.01)
    if way == "group":
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    _, error = process.communicate(timeout=120.0)
    with suppress(ProcessLookupError):
        while time.monotonic() < end:
            os.killpg(process.pid, 0)
            time.sleep(0.01)
        pytest.fail("a process is left")
    lines = [line for line in error.splitlines() if not line.startswith("matchenv: compiling")]
    assert (process.returncode, len(lines)) == (128 + number, 1), lines
    assert lines[0].endswith("; finished work is kept: run the same command to resume")
    assert 2 <= before <= len([*blocks.glob("*.npz")]) <= before + WORKERS < 100
    # torch always keeps a folder of compiled code.
    assert [name for name in os.listdir(temporary) if not name.startswith("torchinductor")] == []
    assert list(tmp_path.rglob(".*")) == []
