"""Every option of every command, made from the parsers, with values that nobody should give."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from matchenv.cli import COMMANDS, parser_of, run_command

VALUES = (
    "", " ", "abc", "-1", "0", "1.5", "nan", "inf", "1e400", "9" * 30, "9" * 5000, "None", "true",
    "a\x1b[31m\x07b", "\x00", "..", "/dev/full", "/dev/null/x", "n" * 300, "{", "{a,b}", "[[[[",
    "[" * 3000, "&a [*a]", "kg:multiplier=", "kg:multiplier=nan", "kg:x=1", "pe:", ":", "os:system",
    "os:system:command=true", "rot13", "x=y", "rank=top", "=", "--", "--no-such", "\udcff", "🂡",
    "policy_kwargs={net_arch: [16384]}", "gamma=abc", "n_epochs=0", "gamma=&a [*a]",
)  # fmt: skip

# Folder of a training.
RUN = "run"
SMALL = ["--num-opponents", "3", "--horizon", "4"]
PLAY = ["--policy", "pe", "--workers", "1", "--episodes", "2", "--rank", "top", "--quiet"]

# What makes each command small, so that a value that it takes costs little. A word without a name
# stands first.
POSITIONAL = "WORD"
SIZES: dict[str, list[str]] = {
    "train": [*SMALL, "--timesteps", "16", "--num-envs", "2", "--evaluation-episodes", "2",
              "--comparison-episodes", "0", "--hyperparams", "n_steps=8", "--quiet"],
    "compare": [*SMALL, *PLAY, "--against", "pe"],
    "study": [*SMALL, *PLAY],
    "tune": [*SMALL, *PLAY[2:], "--policy", "kg"],
    "limits": ["optimum", "--num-opponents", "2", "--horizon", "2", *PLAY],
    "replay": ["log.csv", "--quiet"],
    "watch": [*SMALL, "--policy", "pe", "--quiet"],
    "fit": ["log.csv", "--quiet"],
    "judge": ["log.csv", "--policy", "fcfs", "--arrival-rate", "1", "--game-minutes", "5",
              "--episodes", "2", "--horizon", "5", "--workers", "1", "--quiet"],
    "bench": ["--policy", "pe", "--only", "top_informative_9_50", "--workers", "1", "--quiet"],
    "smooth": ["log.csv", "--quiet"],
    "rank": ["log.csv", "--quiet"],
    "report": [RUN, "--quiet"],
    "serve": ["--pool", "pool.db", "--port", "0", "--quiet"],
    "warm-up": ["--quiet"],
}  # fmt: skip
# Where it writes, if that is no folder; None: it has no --out.
OUT = {"watch": "out.gif", "report": "out.html", "serve": None, "warm-up": None}  # fmt: skip
LOG = "game,player,score\n" + "".join(
    f"{game},a,{game % 2}\n{game},{'bc'[game % 3 == 0]},{game % 3 % 2}\n" for game in range(30)
)

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


def load_all() -> None:
    """Import what an alarm must not interrupt: half imported extensions crash."""
    # torch imports its compiler, and sympy with it, when the first optimiser is made.
    for module in ("torch._dynamo", "torch.utils.tensorboard", "sb3_contrib", "matplotlib.pyplot",
                   "matplotlib.backends.backend_pdf", "pygame.freetype", "optuna.storages",
                   "sqlalchemy.dialects.sqlite", "plotly.graph_objects", "scipy.optimize",
                   "fastapi", "uvicorn", "scipy.stats", "matchenv.benchmarks.report",
                   "matchenv.benchmarks.judge.judging"):  # fmt: skip
        pytest.importorskip(module)


def words_of(name: str, option: str, value: str) -> list[str]:
    """What is typed; an option of ``""`` for the command as it should be."""
    sizes, out = SIZES[name], OUT.get(name, "out")
    writing = [] if out is None else ["--out", out]
    if option == POSITIONAL:
        return [name, *writing, *sizes[1:], value]
    return [name, *sizes, *writing, *([option, value] if option else [])]


def tried(name: str, option: str, value: str, folder: Path, capfd: Any) -> None:
    os.chdir(folder)
    (folder / "log.csv").write_text(LOG)
    out = folder / (OUT.get(name, "out") or "nowhere")
    words = words_of(name, option, value)
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
        assert not out.exists(), f"{shown}; a folder is left behind"


SAMPLE = "a sample"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs an alarm clock")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [SAMPLE, *(pytest.param(name, marks=pytest.mark.slow) for name in COMMANDS)]
)
def test_hostile_words(name: str, tmp_path: Path, capfd: Any, monkeypatch: Any) -> None:
    load_all()
    monkeypatch.chdir(tmp_path)
    with_run = RUN in SIZES.get(name, ())
    if with_run:
        assert run_command(["train", *SIZES["train"], "--out", RUN]) == 0
    cases = [*QUICK, *FOUND] if name == SAMPLE else [case for case in CASES if case[0] == name]
    for number, case in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        if with_run:
            shutil.copytree(tmp_path / RUN, folder / RUN)
        tried(*case, folder, capfd)
