"""Every option of every command, taken from the parsers, with values that nobody should give."""

import os
import random
import signal
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from fault_injection import child
from long_commands import LOG, LONG_COMMANDS, LongCommand

from matchenv.cli import COMMANDS, parser_of, run_command

VALUES = (
    "", " ", "abc", "-1", "0", "1.5", "nan", "inf", "1e400", "9" * 30, "9" * 5000, "None", "true",
    "a\x1b[31m\x07b", "\x00", "..", "/dev/full", "/dev/null/x", "n" * 300, "{", "{a,b}", "[[[[",
    "[" * 3000, "&a [*a]", "kg:multiplier=", "kg:multiplier=nan", "kg:x=1", "pe:", ":", "os:system",
    "os:system:command=true", "rot13", "x=y", "rank=top", "=", "--", "--no-such", "\udcff", "🂡",
    "policy_kwargs={net_arch: [16384]}", "gamma=abc", "n_epochs=0", "gamma=&a [*a]",
)  # fmt: skip

# Stands for a positional argument.
POSITIONAL = "WORD"
# The smallest form of each command, so that a value that it accepts takes little time.
SMALL = {command.words.split()[0]: command for command in (
    *reversed(LONG_COMMANDS),
    LongCommand(f"rank {LOG} --out OUT", workers=False),
    LongCommand("serve --pool pool.db --port 0", out="nowhere", workers=False),
    LongCommand("warm-up", out="nowhere", workers=False),
)}  # fmt: skip

# Seconds after which a command has accepted a value, and works.
ENOUGH = 1


def options_of(name: str) -> Iterator[str]:
    """Yield the options of a command that take a value."""
    for action in parser_of(name)._actions:
        if action.nargs != 0:
            yield action.option_strings[0] if action.option_strings else POSITIONAL


CASES = [(n, option, value) for n in COMMANDS for option in options_of(n) for value in VALUES]
# Commands that need no torch.
LIGHT = ("compare", "study", "tune", "limits", "replay", "fit", "bench", "report",
         "judge")  # fmt: skip
QUICK = random.Random(0).sample([case for case in CASES if case[0] in LIGHT], 40)

# Cases that once printed more than a line, or left a folder behind.
FOUND = (
    ("bench", "--method", "\udcff"), ("train", "--tau", "9" * 30),
    ("train", "--seed", "9" * 30), ("train", "--device", "nan"), ("limits", "--truths", "9" * 30),
    ("serve", "--host", ".."), ("serve", "--host", "\x00"), ("serve", "--host", "n" * 300),
    ("train", "--workers", "-1"),
)  # fmt: skip


def check(name: str, option: str, value: str, folder: Path) -> None:
    words = SMALL[name].typed()
    if option != POSITIONAL:
        words = [*words, option, value]
    else:
        words = [name, value, *words[1 if words[1].startswith("--") else 2 :]]

    def work() -> int:
        os.chdir(folder)
        signal.alarm(ENOUGH)
        return run_command(words)

    with child(work) as running:
        ended = running.ended()
    if ended.status == -signal.SIGALRM:
        return
    shown = f"matchenv {' '.join(words)!a}: {ended.status}, {ended.error[-500:]}"
    assert ended.status in (0, 1, 2), shown
    assert "Traceback" not in ended.error, shown
    if ended.status:
        lines = [line for line in ended.error.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1, shown
        assert ended.error.endswith(f"{lines[0]}\n"), shown
        assert lines[0].isprintable(), shown
        assert len(lines[0]) < 2100, shown
        assert "(see --debug)" not in ended.error, shown  # an error of an unexpected type
    if ended.status == 2 and option != "--out":
        assert not (folder / SMALL[name].out).exists(), f"{shown}; a folder is left behind"


SAMPLE = "a sample"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [SAMPLE, *(pytest.param(name, marks=pytest.mark.slow) for name in COMMANDS)]
)
def test_hostile_words(name: str, tmp_path: Path) -> None:
    # Imported once, since no fork would have the time. Forks cannot use the threads of torch.
    import_module("torch").set_num_threads(1)
    for module in ("torch._dynamo", "torch.utils.tensorboard", "sb3_contrib", "matplotlib.pyplot",
                   "matplotlib.backends.backend_pdf", "pygame.freetype", "optuna.storages",
                   "sqlalchemy.dialects.sqlite", "plotly.graph_objects", "scipy.optimize",
                   "fastapi", "uvicorn", "scipy.stats", "matchenv.benchmarks.report",
                   "matchenv.benchmarks.judge.judging", "matchenv.benchmarks.study"):  # fmt: skip
        import_module(module)
    cases = [*QUICK, *FOUND] if name == SAMPLE else [case for case in CASES if case[0] == name]
    for number, case in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        check(*case, folder)
