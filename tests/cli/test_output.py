"""Output to a closed pipe, to a full disk, and of names with control characters."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from matchenv.runtime.checks import printable


def matchenv(words: str, folder: Path, output: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "matchenv", *words.split()]
    return subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.PIPE)


def test_a_closed_pipe_ends_a_command_quietly(tmp_path: Path) -> None:
    process = matchenv("--help", tmp_path, subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has /dev/full")
@pytest.mark.parametrize("words", ["--help", "limits optimum --horizon 2 --episodes 2 --workers 1"])
def test_a_full_disk_is_one_line(words: str, tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        process = matchenv(words, tmp_path, full)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 1
    line = b"error: [Errno 28] No space left on device: 'standard output'\n"
    assert error[error.index(b"error: ") :] == line  # after a progress bar


def test_names_cannot_control_the_terminal(typed: Any) -> None:
    Path("log.csv").write_text("game,player,score\n1,a\x1b[31m\x07,1\n1,b,0\n")
    assert "\na\\x1b[31m\\x07 " in typed("rank log.csv").out
    ended = typed("rank log.csv --columns player=\x1b]0;x\x07")
    assert (ended.status, ended.error.count("\n")) == (2, 1)
    assert ended.error.strip().isprintable()


@pytest.mark.parametrize(
    "text", ["a\x1b[2J", "\x07", "\x7f", "\x9b1m", "a\u202eb", "\u2028", "\ud800"]
)
def test_control_characters_are_escaped_and_letters_stay(text: str) -> None:
    assert printable(text).isprintable()
    assert printable(text).encode("ascii").decode("unicode_escape") == text
    for letters in ("Zoë", "李娜", "a b", "\U0001f469\u200d\U0001f52c", ""):
        assert printable(letters) == letters
