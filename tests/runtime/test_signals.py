"""Signals end a process soon, even where Python cannot raise an exception."""

import atexit
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fault_injection import Ended, child

from matchenv.runtime import signals
from matchenv.runtime.files import folder_lock
from matchenv.runtime.signals import Stopping

INT, TERM = signal.SIGINT, signal.SIGTERM
BEGUN, TIDY = Path("begun"), Path("tidy")
# Seconds of grace: short to save time, or so long that only something else ends the process.
SHORT, LONG = 0.5, 600.0


def catches_all() -> None:
    atexit.register(TIDY.touch)
    while True:
        try:
            with folder_lock(Path("locked")):
                BEGUN.touch()
                time.sleep(600.0)
        except BaseException:
            print("a traceback", file=sys.stderr)


def in_compiled_code() -> None:
    with folder_lock(Path("locked")):
        BEGUN.touch()
        hashlib.pbkdf2_hmac("sha512", b"", b"", 10**9)


def stopped(folder: Path, run: Callable[[], int], *numbers: int) -> Ended:
    """Send signals to a child process that works in a folder."""

    def in_folder() -> int:
        os.chdir(folder)
        return run()

    with child(in_folder) as running:
        process = running.process
        while not (folder / BEGUN).exists():
            process.join(0.01)
        process.join(0.1)
        for number in numbers:
            os.kill(process.pid, number)
        return running.ended()


@pytest.mark.parametrize(
    ("work", "numbers", "tidy", "grace"),
    [
        # The main thread ends the process; if it is busy, the second thread does.
        (catches_all, [INT], True, LONG),
        (catches_all, [TERM, INT], True, LONG),
        (in_compiled_code, [INT], False, SHORT),
    ],
)
def test_a_signal_ends_work_with_one_line(
    tmp_path: Path, work: Callable[[], None], numbers: list[int], tidy: bool, grace: float
) -> None:
    def run() -> int:
        signals.GRACE = grace
        stopping = Stopping()
        stopping.note = lambda: "go on"
        return stopping.run(lambda: work() or 0)

    ended = stopped(tmp_path, run, *numbers)
    words = {128 + INT: "interrupted; go on\n", 128 + TERM: "terminated; go on\n"}
    assert ended.error == words.get(ended.status)
    assert ended.status - 128 in numbers
    assert (tmp_path / TIDY).exists() == tidy
    assert [*tmp_path.rglob(".lock")] == []


def test_a_closed_terminal_changes_nothing(tmp_path: Path) -> None:
    def without_terminal() -> int:
        reading, writing = os.pipe()
        os.close(reading)
        os.dup2(writing, 2)
        return Stopping().run(lambda: catches_all() or 0)

    assert stopped(tmp_path, without_terminal, INT).status == 130


def test_work_keeps_its_status_and_ignored_signals_stay_ignored() -> None:
    def work() -> int:
        signal.signal(INT, signal.SIG_IGN)
        return Stopping().run(lambda: os.kill(os.getpid(), INT) or 7)

    with child(work) as running:
        assert running.ended().status == 7


def test_a_server_with_handlers_of_its_own_receives_a_signal_once() -> None:
    received = list[int]()

    def work() -> int:
        signal.signal(INT, lambda number, _: received.append(number))
        os.kill(os.getpid(), INT)
        time.sleep(4.0 * signals.UNSEEN)
        return len(received)

    with child(lambda: Stopping().run(work)) as running:
        assert running.ended().status == 1


@pytest.mark.parametrize("words", [("-m", "matchenv", "compare"), ("-c", "import matchenv")])
def test_during_import_a_command_ends_and_a_users_program_gets_the_exception(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    slow = "import time\nprint('loads', flush=True)\ntime.sleep(600.0)\n"
    (tmp_path / "gymnasium.py").write_text(slow)  # instead of our first dependency
    process = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "loads\n"
    process.send_signal(INT)
    _, error = process.communicate(timeout=120.0)
    assert process.returncode == -INT
    assert error == "" if words[0] == "-m" else error.endswith("\nKeyboardInterrupt\n")
