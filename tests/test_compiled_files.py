"""A cache of compiled code that is damaged, full or read-only: it works, and warns once."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

# A file of its own, so that nothing else has to be compiled.
MODULE = """
from matchenv.runtime.compile import compiled

@compiled
def twice(x):
    return 2.0 * x

@compiled
def thrice(x):
    return 3.0 * x
"""
USE = "import tripled; print(tripled.twice(4.0), tripled.thrice(4.0))"


def used(folder: Path, before: str = "") -> tuple[str, str]:
    """What a process prints that uses the module, with its cache beside it."""
    (folder / "tripled.py").write_text(MODULE)
    os.utime(folder / "tripled.py", (1e9, 1e9))
    done = subprocess.run(
        [sys.executable, "-c", before + USE],
        cwd=folder,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


def cached(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("tripled*.nb[ic]"))


def test_damaged_files_are_compiled_anew_with_one_warning(tmp_path: Path) -> None:
    assert used(tmp_path)[0] == "8.0 12.0\n"
    files = cached(tmp_path)
    assert len(files) == 4
    assert used(tmp_path) == ("8.0 12.0\n", "")
    for path in files:
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
    out, error = used(tmp_path)
    assert out == "8.0 12.0\n"
    assert error.count("cannot use") == 1, error
    assert used(tmp_path) == ("8.0 12.0\n", ""), "they were replaced"
    for path in cached(tmp_path):
        flipped = bytearray(path.read_bytes())
        flipped[len(flipped) * 2 // 3] ^= 1
        path.write_bytes(flipped)
    out, error = used(tmp_path)
    assert out == "8.0 12.0\n"
    assert error.count("cannot use") == 1, error


@pytest.mark.parametrize("trouble", ["ENOSPC", pytest.param("EROFS", marks=pytest.mark.slow)])
def test_a_full_or_read_only_disk_costs_the_cache_alone(tmp_path: Path, trouble: str) -> None:
    broken = (
        "import errno, os\n"
        f"def fail(*paths): raise OSError(errno.{trouble}, os.strerror(errno.{trouble}))\n"
        "os.replace = fail\n"
    )
    out, error = used(tmp_path, broken)
    assert out == "8.0 12.0\n"
    assert error.count("cannot use") == 1, error
    assert os.strerror(getattr(errno, trouble)) in error
    assert not cached(tmp_path)
