"""Ctrl-C and SIGTERM: ``finally`` blocks run, one line, the shell's exit status."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fault_injection import Ended, Running, as_a_process, child

from matchenv.__main__ import main

INT, TERM = signal.SIGINT, signal.SIGTERM
COMPARE = (
    "compare --policy own:Waits --num-opponents 2 --horizon 2 --episodes 2 --rank top --workers 1"
)

# A user's policy, which waits for a signal and cleans up behind itself.
WAITS = """
import time
from pathlib import Path
from matchenv.baselines import RandomOpponent

class Waits(RandomOpponent):
    def __init__(self):
        try:
            Path("begun").touch()
            time.sleep(600.0)
        finally:
            Path("tidy").touch()
            time.sleep({at_the_end})
"""


def send_after(file: Path, running: Running, number: int) -> None:
    """Send a signal to a process soon after it has made a file."""
    while not file.exists() and running.process.is_alive():
        running.process.join(0.01)
    running.process.join(0.1)
    assert running.process.is_alive(), running.ended()
    os.kill(running.process.pid, number)


def stopped(folder: Path, *numbers: int, at_the_end: float = 0.0) -> Ended:
    """Send signals to a command whose policy waits."""
    (folder / "own.py").write_text(WAITS.format(at_the_end=at_the_end))
    with child(as_a_process(COMPARE.split(), folder)) as running:
        for number, file in zip(numbers, ("begun", "tidy"), strict=False):
            send_after(folder / file, running, number)
        return running.ended()


@pytest.mark.parametrize(("number", "line"), [(INT, "interrupted"), (TERM, "terminated")])
def test_a_signal_ends_a_command_with_one_line(tmp_path: Path, number: int, line: str) -> None:
    ended = stopped(tmp_path, number)
    assert (ended.status, ended.error) == (128 + number, f"{line}; nothing was written\n")
    assert (tmp_path / "tidy").exists()


@pytest.mark.parametrize("second", [INT, TERM])
def test_a_second_signal_ends_it_at_once(tmp_path: Path, second: int) -> None:
    ended = stopped(tmp_path, INT, second, at_the_end=600.0)
    assert ended.status == -second
    assert ended.seconds < 60.0


def test_a_closed_terminal_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(WAITS.format(at_the_end=0.0))

    def without_terminal() -> int:
        reading, writing = os.pipe()
        os.close(reading)
        os.dup2(writing, 2)
        sys.stderr = os.fdopen(2, "w", closefd=False)
        return as_a_process(COMPARE.split(), tmp_path)()

    with child(without_terminal) as running:
        send_after(tmp_path / "begun", running, INT)
        assert running.ended().status == 130


def test_ignored_signals_stay_ignored() -> None:
    """As with ``nohup``."""

    def work() -> int:
        signal.signal(INT, signal.SIG_IGN)
        status = main(["--version"])
        os.kill(os.getpid(), INT)
        return status

    with child(work) as running:
        assert running.ended().status == 0


def test_a_signal_after_the_work_changes_nothing() -> None:
    def work() -> int:
        status = main(["--version"])
        os.kill(os.getpid(), TERM)
        return status

    with child(work) as running:
        ended = running.ended()
        assert (ended.status, ended.error) == (0, "")


@pytest.mark.parametrize("words", [("-m", "matchenv", "compare"), ("-c", "import matchenv")])
def test_during_import_a_command_ends_and_a_users_program_gets_the_exception(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    slow = "import time\nprint('loads', flush=True)\ntime.sleep(600.0)\n"
    (tmp_path / "gymnasium.py").write_text(slow)  # instead of our first dependency
    process = subprocess.Popen(
        [sys.executable, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "loads\n"
    process.send_signal(INT)
    _, error = process.communicate(timeout=120.0)
    assert process.returncode == -INT
    if words[0] == "-m":
        assert error == ""
    else:
        assert error.endswith("\nKeyboardInterrupt\n")
