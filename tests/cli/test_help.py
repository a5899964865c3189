"""What the commands say of themselves, and what that costs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

from matchenv.cli import COMMANDS, run_command
from matchenv.cli.running import parsed

ROOT = Path(__file__).resolve().parents[2]


def python(*arguments: str, folder: Path = ROOT) -> str:
    """What a new Python prints."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout


def help_of(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run_command([name, "--help"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_an_example_that_works(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = help_of(name, capsys)
    examples = re.findall(rf"^    matchenv ({name}\b.*)$", text, re.MULTILINE)
    assert examples
    module, _, kind = COMMANDS[name].place.partition(":")
    command = getattr(import_module(f"matchenv.cli.{module}"), kind)
    for example in examples:
        parsed(name, command, shlex.split(example)[1:])


@pytest.mark.parametrize("name", COMMANDS)
def test_help_reads_plainly(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = help_of(name, capsys)
    assert max(map(len, text.splitlines())) <= 80
    for ugly in (
        "─",
        "---",
        "--no-",
        ": None",
        "{None",
        "False",
        "``",
        "[STR",
        "fixed to",
        ". (default",
    ):
        assert ugly not in text, text
    for option in re.findall(r"^  (--[\w-]+)", text, re.MULTILINE):
        described = re.search(rf"^  {option}\b.*?\n(?=  -|\n|\Z)", text + "\n", re.M | re.S)
        assert described is not None, option
        assert len(described[0].split()) > 2, f"{option} is not explained"


def test_the_first_help_names_every_command_and_imports_none() -> None:
    code = (
        "import sys; from matchenv.cli import run_command; run_command(['--help']); "
        "print([name for name in ('tyro', 'numba', 'torch', 'scipy') if name in sys.modules], "
        "[name for name in sys.modules if name.startswith('matchenv.cli.')])"
    )
    printed = python("-c", code)
    assert printed.splitlines()[-1] == "[] ['matchenv.cli.output']"
    for name, entry in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(entry.summary)}$", printed, re.MULTILINE)
    assert (
        python("-m", "matchenv", "--help")
        == python("-m", "matchenv")
        == printed.rpartition("[] [")[0]
    )


def test_no_help_imports_an_extra() -> None:
    code = (
        "import sys; from matchenv.cli import COMMANDS, run_command\n"
        "print([run_command([name, '--help']) for name in COMMANDS])\n"
        "print([n for n in ('torch', 'matplotlib', 'pygame') if n in sys.modules])"
    )
    *_, statuses, imported = python("-c", code).splitlines()
    assert statuses == str([0] * len(COMMANDS))
    assert imported == "[]"


def test_version() -> None:
    assert python("-m", "matchenv", "--version") == f"matchenv {version('matchenv')}\n"


def test_train_py_is_matchenv_train(tmp_path: Path) -> None:
    ours = python("-m", "matchenv", "train", "--help", folder=tmp_path)
    assert python(str(ROOT / "train.py"), "--help", folder=tmp_path) == ours
