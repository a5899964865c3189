"""Ctrl-C, SIGTERM and workers that the system kills, in whole processes with workers."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from fault_injection import content_of, killed_after, with_fault
from long_commands import LONG_COMMANDS, LongCommand
from undisturbed import differing, undisturbed

from matchenv.commands import run_command
from matchenv.runtime.signals import Stopping

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks at Linux processes"),
]

WORKERS = 2
STUDY = ("study", "--policy", "kg", "pe", "--rank", "top", "--prior", "equal", "--num-opponents",
         "20", "--horizon", "400", "--episodes", "12500", "--out", "out", "--workers",
         str(WORKERS), "--quiet")  # fmt: skip
TIMES = 10


def started(words: tuple[str, ...], folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "matchenv", *words],
        cwd=folder, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip


def blocks(folder: Path) -> int:
    return len(list((folder / "out" / "blocks").glob("*.npz")))


def wait_for_blocks(process: subprocess.Popen[str], folder: Path, count: int) -> None:
    end = time.monotonic() + 120.0
    while blocks(folder) < count and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """The processes that play."""
    files = Path(f"/proc/{process.pid}/task").glob("*/children")
    children = [int(child) for file in files for child in file.read_text().split()]
    return [each for each in children if "spawn_main" in Path(f"/proc/{each}/cmdline").read_text()]


def said_of(said: str) -> list[str]:
    """The lines on the standard error, but for what a new machine says."""
    return [line for line in said.splitlines() if not line.startswith("matchenv: compiling")]


def test_ctrl_c_stops_a_study_of_100_blocks(tmp_path: Path, faults: Callable[..., None]) -> None:
    """After the signal no more blocks are finished than were being played."""
    process = started(STUDY, tmp_path)
    wait_for_blocks(process, tmp_path, 4)
    before = blocks(tmp_path)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60.0)
    after = blocks(tmp_path)
    held = process.returncode == 130 and after - before <= WORKERS and len(said_of(said)) == 1
    faults("Ctrl-C with workers", "study of 100 blocks", 1, int(held))
    assert process.returncode == 130
    assert len(said_of(said)) == 1
    assert 4 <= before <= after <= before + WORKERS < 100


def test_a_worker_that_the_system_kills(tmp_path: Path, faults: Callable[..., None]) -> None:
    """As when the memory is full: one line, status 1, and what was finished stays."""
    process = started(STUDY, tmp_path)
    wait_for_blocks(process, tmp_path, 3)
    before = set(content_of(tmp_path / "out" / "blocks"))
    os.kill(random.choice(workers_of(process)), signal.SIGKILL)
    _, said = process.communicate(timeout=60.0)
    lines = said_of(said)
    kept = before <= set(content_of(tmp_path / "out" / "blocks"))
    held = process.returncode == 1 and len(lines) == 1 and kept
    faults("SIGKILL of a worker", "study", 1, int(held))
    assert process.returncode == 1, said
    assert len(lines) == 1, said
    assert lines[0].startswith("error: a worker process was killed by SIGKILL (is there memory")
    assert "_policy" in lines[0]
    assert "what is finished is kept: the same command goes on from here" in lines[0]
    assert kept


def as_a_process(command: LongCommand, folder: Path) -> Callable[[], int]:
    """A command with what handles its signals, as ``python -m matchenv`` has it."""

    def work() -> int:
        os.chdir(folder)
        stopping = Stopping()
        return stopping.run(lambda: run_command(command.next_words(folder), stopping))

    return work


@pytest.mark.parametrize("command", LONG_COMMANDS, ids=lambda each: each.name)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_at_random_moments(
    command: LongCommand, number: signal.Signals, tmp_path: Path, faults: Callable[..., None]
) -> None:
    """One line and the status of the signal, nothing half written, and the same bytes then."""
    whole = undisturbed(command)
    word = "terminated" if number == signal.SIGTERM else "interrupted"
    wrong: list[str] = []
    for place in range(TIMES):
        folder = tmp_path / str(place)
        folder.mkdir()
        # Not in the first milliseconds, in which the process does not listen yet.
        seconds = random.uniform(0.1, max(0.2, whole.seconds))
        ended = killed_after(as_a_process(command, folder), seconds, number)
        said = command.beyond(ended.said)
        # In its first moments a command does not know yet how it goes on.
        one_line = said.count("\n") == 1 and (said == f"{word}\n" or said.startswith(f"{word}; "))
        if ended.status not in (0, 128 + number) or (ended.status and not one_line):
            wrong.append(f"after {seconds:.3f} s status {ended.status}: {ended.said}")
        left = [name for name in content_of(folder) if "unfinished" in name or ".lock" in name]
        ended = with_fault(command.work(folder), folder)
        well = (ended.status, command.beyond(ended.said)) == (0, "")
        if left or not well or differing(command, folder):
            wrong.append(f"after {seconds:.3f} s {left} {ended} {differing(command, folder)}")
    faults(f"{number.name} at a random moment", command.name, TIMES, max(0, TIMES - len(wrong)))
    assert wrong == []


def test_sigterm_of_a_training_writes_a_checkpoint(
    tmp_path: Path, faults: Callable[..., None]
) -> None:
    """One that would come to no checkpoint of its own for a long time goes on all the same."""
    (train,) = (each for each in LONG_COMMANDS if each.name == "train")
    words = list(train.words)
    words[words.index("--checkpoint-every") + 1] = "1000000"
    words[words.index("--timesteps") + 1] = "960"
    rare = replace(train, words=tuple(words), left_out=("tensorboard", "checkpoints"))
    whole = undisturbed(rare)
    held = 0
    for place in range(TIMES):
        folder = tmp_path / str(place)
        folder.mkdir()
        ended = killed_after(as_a_process(rare, folder), 0.5 * whole.seconds, signal.SIGTERM)
        kept = list((folder / "out" / "checkpoints").glob("step-*"))
        again = with_fault(rare.work(folder), folder)
        held += (ended.status, len(kept), again.status, differing(rare, folder)) == (143, 1, 0, [])
    faults("SIGTERM writes a checkpoint", "train", TIMES, held)
    assert held == TIMES
