"""The help of commands, and what it imports."""

import re
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from matchenv.cli import COMMANDS, parser_of

ROOT = Path(__file__).resolve().parents[2]


def python(*arguments: str, folder: Path = ROOT) -> str:
    """Return the output of a new Python process."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_complete_and_its_examples_work(name: str, typed: Any) -> None:
    status, text, error = typed(f"{name} --help")
    assert (status, error) == (0, "")
    assert max(map(len, text.splitlines())) <= 80
    for mistake in ("---", "--no-", ": None", "False", "``", ". (default", "(default: )"):
        assert mistake not in text, text
    # Every option has a description, in a group with a title.
    for action in parser_of(name)._actions:
        assert len(action.help.split()) > 2, action
    assert re.findall(r"^\S.*:$", text, re.MULTILINE)[1:]
    examples = re.findall(rf"^    matchenv ({name}\b.*)$", text, re.MULTILINE)
    assert examples
    for example in examples:
        parser_of(name).given(shlex.split(example)[1:])


def test_the_first_help_fits_one_screen_and_no_help_imports_slow_packages() -> None:
    code = (
        "import sys; from matchenv.cli import COMMANDS, run_command; run_command(['--help'])\n"
        "print('loaded', [name for name in ('numba', 'torch', 'scipy') if name in sys.modules], "
        "[name for name in sys.modules if name.startswith('matchenv.cli.')])\n"
        "print([run_command([name, '--help']) for name in COMMANDS])\n"
        "print([name for name in ('torch', 'matplotlib', 'pygame') if name in sys.modules])"
    )
    first, _, rest = python("-c", code).partition("loaded ")
    assert rest.startswith("[] []\n")
    assert rest.endswith(f"\n{[0] * len(COMMANDS)}\n[]\n")
    lines = first.splitlines()
    assert len(lines) <= 23
    assert max(map(len, lines)) <= 80
    for name, summary in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(summary)}$", first, re.MULTILINE)
    assert python("-m", "matchenv") == first


def test_version(typed: Any) -> None:
    assert typed("--version") == (0, f"matchenv {version('matchenv')}\n", "")


def test_train_py_is_matchenv_train(tmp_path: Path, typed: Any) -> None:
    ours = typed("train --help").out
    assert python(str(ROOT / "train.py"), "--help", folder=tmp_path) == ours
