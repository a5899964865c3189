"""Every option of every command, made from the parsers, with values that nobody should give."""

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from long_commands import LOG, LONG_COMMANDS, LongCommand

from matchenv.cli import COMMANDS, parser_of, run_command

VALUES = (
    "", " ", "abc", "-1", "0", "1.5", "nan", "inf", "1e400", "9" * 30, "9" * 5000, "None", "true",
    "a\x1b[31m\x07b", "\x00", "..", "/dev/full", "/dev/null/x", "n" * 300, "{", "{a,b}", "[[[[",
    "[" * 3000, "&a [*a]", "kg:multiplier=", "kg:multiplier=nan", "kg:x=1", "pe:", ":", "os:system",
    "os:system:command=true", "rot13", "x=y", "rank=top", "=", "--", "--no-such", "\udcff", "🂡",
    "policy_kwargs={net_arch: [16384]}", "gamma=abc", "n_epochs=0", "gamma=&a [*a]",
)  # fmt: skip

# A word without an option's name, which stands first.
POSITIONAL = "WORD"
# Each command as small as can be, so that a value that it takes costs little.
SMALL = {command.words.split()[0]: command for command in (
    *reversed(LONG_COMMANDS),
    LongCommand(f"rank {LOG} --out OUT", workers=False),
    LongCommand("serve --pool pool.db --port 0", out="nowhere", workers=False),
    LongCommand("warm-up", out="nowhere", workers=False),
)}  # fmt: skip

# An exception in the middle of these can crash the process later.
UNSAFE = ("numba", "llvmlite")

# Seconds after which a command has taken a value, and works.
ENOUGH = 1.0


class EnoughError(BaseException):
    """The command works; that is all we want to know."""


@contextmanager
def at_most(seconds: float) -> Iterator[list[bool]]:
    """Interrupt a block; what it gives is not empty once that has happened."""
    came: list[bool] = []

    def stop(_: int, frame: FrameType | None) -> None:
        while frame is not None:  # an exception in the middle of a compilation crashes later
            if frame.f_globals.get("__name__", "").partition(".")[0] in UNSAFE:
                return
            frame = frame.f_back
        came.append(True)
        raise EnoughError

    before = signal.signal(signal.SIGALRM, stop)
    # Again and again: a library may have caught the first one, or it came too early.
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    try:
        yield came
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def options_of(name: str) -> Iterator[str]:
    """Its options that take a value; ``POSITIONAL`` for what has no name."""
    for action in parser_of(name)._actions:
        if action.nargs != 0:
            yield action.option_strings[0] if action.option_strings else POSITIONAL


CASES = [(n, option, value) for n in COMMANDS for option in options_of(n) for value in VALUES]
# What needs torch or measures time takes long, and is among the slow ones.
LIGHT = ("compare", "study", "tune", "limits", "replay", "fit", "bench", "report",
         "judge")  # fmt: skip
QUICK = random.Random(0).sample([case for case in CASES if case[0] in LIGHT], 40)

# What was once answered in more than a line, or left a folder behind.
FOUND = (
    ("bench", "--method", "\udcff"), ("train", "--tau", "9" * 30),
    ("train", "--seed", "9" * 30), ("train", "--device", "nan"), ("limits", "--truths", "9" * 30),
    ("serve", "--host", ".."), ("serve", "--host", "\x00"), ("serve", "--host", "n" * 300),
)  # fmt: skip


def tried(name: str, option: str, value: str, capfd: Any) -> None:
    words = SMALL[name].typed()
    if option != POSITIONAL:
        words = [*words, option, value]
    else:
        words = [name, value, *words[1 if words[1].startswith("--") else 2 :]]
    try:
        with at_most(ENOUGH) as came:
            status = run_command(words)
    except EnoughError:
        pass
    said = capfd.readouterr().err
    if came:  # what libraries make of it says nothing of the command
        return
    shown = f"matchenv {' '.join(words)!a}: {status}, {said[-500:]}"
    assert status in (0, 1, 2), shown
    assert "Traceback" not in said, shown
    if status:
        lines = [line for line in said.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1, shown
        assert said.endswith(f"{lines[0]}\n"), shown
        assert lines[0].isprintable(), shown
        assert len(lines[0]) < 2100, shown
        # What we did not think of says so.
        assert "(see --debug)" not in said, shown
    if status == 2 and option != "--out":
        assert not Path(SMALL[name].out).exists(), f"{shown}; a folder is left behind"


SAMPLE = "a sample"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs an alarm clock")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [SAMPLE, *(pytest.param(name, marks=pytest.mark.slow) for name in COMMANDS)]
)
def test_hostile_words(name: str, tmp_path: Path, capfd: Any, monkeypatch: Any) -> None:
    # What an alarm must not interrupt: half imported extensions crash.
    # torch imports its compiler, and sympy with it, when the first optimiser is made.
    for module in ("torch._dynamo", "torch.utils.tensorboard", "sb3_contrib", "matplotlib.pyplot",
                   "matplotlib.backends.backend_pdf", "pygame.freetype", "optuna.storages",
                   "sqlalchemy.dialects.sqlite", "plotly.graph_objects", "scipy.optimize",
                   "fastapi", "uvicorn", "scipy.stats", "matchenv.benchmarks.report",
                   "matchenv.benchmarks.judge.judging"):  # fmt: skip
        pytest.importorskip(module)
    cases = [*QUICK, *FOUND] if name == SAMPLE else [case for case in CASES if case[0] == name]
    for number, case in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        tried(*case, capfd)
