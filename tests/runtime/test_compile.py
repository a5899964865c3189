"""What is compiled is kept; one process compiles while others wait; where nothing can be kept."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
def test_what_is_compiled_is_kept(tmp_path: Path) -> None:
    """Two processes at a time do not disturb each other; one line says that they compile."""
    both = [started(PLAY, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    ends = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], ends
    for out, error in ends:
        assert int(out) > 10
        assert error.strip() == NOTICE
    alone = started(PLAY, NUMBA_CACHE_DIR=str(tmp_path))
    assert alone.communicate(timeout=300) == ("0\n", ""), "nothing is said with a warm cache"


@pytest.mark.slow
def test_without_a_folder_for_results_it_works_and_says_so() -> None:
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


def test_it_can_be_run_as_plain_python() -> None:
    """As debuggers and coverage need it."""
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
assert os.waitpid(child, 0)[1] == 0, "the child waits for ever"
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_process_forked_while_a_thread_compiles_can_compile() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
