"""Compiled code is cached; processes that compile at once, forks, read-only installations."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import matchenv
from matchenv.runtime.compile import NOTICE

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
        [sys.executable, "-c", code], env={**os.environ, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.slow
def test_compiled_code_is_cached(tmp_path: Path) -> None:
    """Two processes compile at once, and each says so in one line; a third one need not."""
    both = [started(PLAY, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    for out, error in [process.communicate(timeout=300) for process in both]:
        assert int(out) > 10, error
        assert error.strip() == NOTICE
    third = started(PLAY, NUMBA_CACHE_DIR=str(tmp_path))
    assert third.communicate(timeout=300) == ("0\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["", "cache"])
def test_code_of_changed_callees_is_forgotten(tmp_path: Path, cache: str) -> None:
    """In a copy of the package, as after ``git pull``; Numba looks at each function's own file."""
    source = Path(matchenv.__file__).parent
    shutil.copytree(source, tmp_path / "matchenv", ignore=shutil.ignore_patterns("__pycache__"))
    file = tmp_path / "matchenv" / "trueskill" / "game.py"
    text, result = (
        file.read_text(),
        "return win_probability_of(outcome * gap, variance, draw_margin)",
    )
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import numpy as np\n"
        "from matchenv.belief.belief import outcome_probabilities\n"
        "print(outcome_probabilities(np.zeros(1), np.ones(1), 1, 0.0)[0])"
    )
    for written, expected in ((text, "0.5"), (text.replace(result, "return 0.25"), "0.25"),
                              (text, "0.5")):  # fmt: skip
        file.write_text(written)
        place = cache and str(tmp_path / cache)
        out, error = started(code, NUMBA_CACHE_DIR=place).communicate(timeout=300)
        assert out.strip() == expected, error


@pytest.mark.slow
def test_without_a_cache_folder_code_runs_with_a_warning() -> None:
    code = """
import numba.core.caching
numba.core.caching.CacheImpl._locator_classes = []  # as with read-only folders and no home
from matchenv.trueskill.game import density_at_zero
print(density_at_zero(0.0, 1.0))
"""
    out, error = started(code).communicate(timeout=300)
    assert float(out) == pytest.approx(0.3989422804014327), error
    assert error.count("NUMBA_CACHE_DIR") == 1
    assert "UserWarning: matchenv finds no folder to keep compiled code in" in error


def test_the_working_folder_names_no_cache(tmp_path: Path) -> None:
    """Its files would be unpickled."""
    (tmp_path / ".numba_config.yaml").write_text("cache_dir: own\ncache_locator_classes: e.Own\n")
    code = f"""
import os
os.chdir({str(tmp_path)!r})
for name in ("NUMBA_CACHE_DIR", "NUMBA_CACHE_LOCATOR_CLASSES"):
    os.environ.pop(name, None)
from matchenv.trueskill.game import density_at_zero
density_at_zero(0.0, 1.0)
print(os.listdir())
"""
    out, error = started(code).communicate(timeout=300)
    assert out == "['.numba_config.yaml']\n", error


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
