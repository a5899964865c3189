"""Compiled code is cached; processes that compile at once, forks, read-only installations."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import matchenv
from matchenv.runtime.compile import KEPT_CACHES, NOTICE

# Plays a game, then prints how many functions were compiled.
PLAY = """
import numba.core.event as event

class Counted(event.Listener):
    names = []
    def on_start(self, happened):
        self.names.append(happened.data["dispatcher"].py_func.__module__)
    def on_end(self, happened):
        pass

event.register("numba:compile", Counted())
import matchenv
env = matchenv.MatchmakingEnv(num_opponents=3, horizon=4)
env.reset(seed=1)
env.step(0)
print(sum(name.startswith("matchenv") for name in Counted.names))
"""


def started(code: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_compiled_code_is_cached(tmp_path: Path) -> None:
    """Two processes compile at once, and each says so in one line; a third one need not."""
    both = [started(PLAY, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    for out, error in [process.communicate(timeout=300) for process in both]:
        assert int(out) > 10, error
        assert error.strip() == NOTICE
    third = started(PLAY, NUMBA_CACHE_DIR=str(tmp_path))
    assert third.communicate(timeout=300) == ("0\n", "")


CONSTANT = "SCALE = 2.0\n"
# Compiled with a constant of a file that holds no compiled functions.
KERNEL = """
from matchenv.runtime.compile import compiled
from matchenv.scale import SCALE

@compiled
def scaled(x):
    return SCALE * x
"""
SHOW = "from matchenv.kernel import scaled; print(scaled(1.0))"


@pytest.fixture
def copied_package(tmp_path: Path) -> Path:
    """Copy the package, and add a compiled function to the copy."""
    source = Path(matchenv.__file__).parent
    copy = tmp_path / "matchenv"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "scale.py").write_text(CONSTANT)
    (copy / "kernel.py").write_text(KERNEL)
    return copy


def output_with(package: Path, code: str, **environment: str) -> str:
    """Run code with a copy of the package, and return its output."""
    folder = str(package.parent)
    process = started(f"import sys; sys.path.insert(0, {folder!r})\n{code}", **environment)
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    return out.strip()


@pytest.mark.parametrize("cache", ["", "cache"])
def test_a_changed_constant_of_another_file_changes_compiled_code(
    copied_package: Path, cache: str
) -> None:
    """Numba itself looks at each function's own file only."""
    folder = str(copied_package.parent / cache) if cache else ""
    # Of other lengths, since Python itself compares only the size and the second of a file.
    for value in ("2.0", "30.0"):
        (copied_package / "scale.py").write_text(f"SCALE = {value}\n")
        assert output_with(copied_package, SHOW, NUMBA_CACHE_DIR=folder) == value


def test_caches_of_earlier_sources_are_removed(copied_package: Path) -> None:
    for value in range(KEPT_CACHES + 1):
        (copied_package / "scale.py").write_text(f"SCALE = {value}.0\n")
        output_with(copied_package, SHOW, NUMBA_CACHE_DIR="")
    caches = sorted((copied_package / "__pycache__").glob("matchenv-*"))
    assert len(caches) == KEPT_CACHES
    assert all(list(cache.rglob("kernel.scaled-*.nbc")) for cache in caches)


def test_the_cache_of_other_packages_stays_where_numba_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "own_kernel.py").write_text(
        "import numba\n"
        "import matchenv.trueskill.game\n"
        "@numba.njit(cache=True)\n"
        "def add(x):\n"
        "    return x + 1.0\n"
    )
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import own_kernel; own_kernel.add(1.0)"
    )
    _, error = started(code, NUMBA_CACHE_DIR="").communicate(timeout=300)
    assert list((tmp_path / "__pycache__").glob("own_kernel.add-*.nbc")), error


def test_without_a_cache_folder_code_runs_with_a_warning() -> None:
    code = "from matchenv.trueskill.game import density_at_zero; print(density_at_zero(0.0, 1.0))"
    out, error = started(code, NUMBA_CACHE_DIR="/dev/null/cache").communicate(timeout=300)
    assert float(out) == pytest.approx(0.3989422804014327), error
    assert error.count("NUMBA_CACHE_DIR") == 1
    assert "UserWarning: matchenv finds no folder to keep compiled code in" in error


def test_code_runs_as_plain_python() -> None:
    """For debuggers and coverage."""
    out, error = started(PLAY, NUMBA_DISABLE_JIT="1").communicate(timeout=300)
    assert out == "0\n", error


FORKED = """
import os, signal, threading
from numba.core.compiler_lock import global_compiler_lock
from matchenv.runtime.compile import compiled

begun, goes_on = threading.Event(), threading.Event()

def compile_long():
    with global_compiler_lock:
        begun.set()
        goes_on.wait(1.0)

threading.Thread(target=compile_long).start()
begun.wait()
child = os.fork()
if child == 0:
    signal.alarm(30)
    exec("def add(x): return x + 1.0", names := {"__name__": "own"})
    os._exit(int(compiled(names["add"])(1.0)) - 2)
assert os.waitpid(child, 0)[1] == 0, "the child waits forever"
"""


def test_a_fork_during_a_compilation_can_compile() -> None:
    process = started(FORKED, PYTHONWARNINGS="ignore")
    _, error = process.communicate()
    assert process.returncode == 0, error
