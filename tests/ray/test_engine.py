"""Jobs on a Ray cluster: the bytes of a local run, also when nodes fail."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fault_injection import content_of

from matchenv.cli import run_command
from matchenv.runtime import jobs, parallel

ray = pytest.importorskip("ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")

pytestmark = pytest.mark.ray

# Several seconds, in blocks of tenths of a second.
LONG = ["compare", "--policy", "kg", "kg:belief=full", "--rank", "top", "--prior", "equal",
        "--num-opponents", "20", "--horizon", "200", "--episodes", "1500", "--quiet"]  # fmt: skip


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Two nodes of one core each."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("PYTHONPATH", os.getcwd(), prepend=os.pathsep)
    made = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    made.add_node(num_cpus=1)
    yield made
    ray.shutdown()
    made.shutdown()


def test_a_node_is_killed(cluster: Any, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    assert run_command([*LONG, "--workers", "2", "--out", str(here)]) == 0
    second = next(node for node in cluster.worker_nodes)
    write, written = jobs.write_bytes, []

    def write_and_kill(path: Path, content: bytes) -> None:
        write(path, content)
        written.append(path)
        if len(written) == 5:
            cluster.remove_node(second, allow_graceful=False)

    monkeypatch.setattr(jobs, "write_bytes", write_and_kill)
    assert run_command([*LONG, "--engine", f"ray:{cluster.address}", "--out", str(there)]) == 0
    assert len(written) > 20
    assert content_of(here) == content_of(there)
    assert capsys.readouterr().err == ""


def test_a_node_with_other_code_is_refused(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {**parallel.provenance(), "numpy": "0.1"}
    monkeypatch.setattr(parallel, "provenance", lambda: wanted)
    with pytest.raises(ValueError, match=r"same versions and code, and .* not '0\.1'"):
        list(parallel.results_of(abs, [1, 2], None, f"ray:{cluster.address}"))


def test_remote_errors_are_raised(cluster: Any) -> None:
    where = (1, f"ray:{cluster.address}")
    with pytest.raises(ValueError, match="invalid literal for int") as failed:
        list(parallel.results_of(int, ["1", "x", "2", "3"], *where))
    assert "in _run" in str(failed.value.__cause__)
    with pytest.raises(OSError, match=r"ended 6 times at job 1 of 1"):
        list(parallel.results_of(os._exit, [3], *where))
    assert sorted(parallel.results_of(abs, [-7, 8], *where)) == [(0, 7), (1, 8)]
    assert not ray.is_initialized()


def test_a_missing_cluster_is_named(tmp_path: Path, capsys: Any) -> None:
    assert run_command([*LONG, "--out", str(tmp_path), "--engine", "ray:127.0.0.1:1"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: no Ray cluster answers at 127.0.0.1:1: ")
    assert said.count("\n") == 1


def descendants(process: int) -> set[int]:
    """Return all descendants of a process."""
    found: set[int] = set()
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, file.read_text().split()):
            found |= {child} | descendants(child)
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_remains(number: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C and SIGTERM print one line, SIGKILL none; no process remains."""
    process = subprocess.Popen(
        [sys.executable, "-m", "matchenv", *LONG, "--engine", "ray:local", "--out", "out",
         "--episodes", "20000"],  # so that it cannot end before the signal
        cwd=tmp_path, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    blocks = tmp_path / "out" / "blocks"
    end = time.monotonic() + 120.0
    while len(list(blocks.glob("*.npz"))) < 3 and process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.05)
    begun = descendants(process.pid)
    assert len(begun) > 3
    if number == signal.SIGKILL:
        process.kill()
    else:
        # A terminal signals all processes.
        os.killpg(process.pid, number)
    _, said = process.communicate(timeout=60.0)
    # Ray's own agents look for the cluster's head for a minute before they end.
    end = time.monotonic() + 240.0
    while alive := [each for each in begun if Path(f"/proc/{each}").exists()]:
        assert time.monotonic() < end, alive
        time.sleep(0.1)
    if number == signal.SIGKILL:
        return
    assert process.returncode == 128 + number, said
    lines = [line for line in said.splitlines() if not line.startswith("matchenv: compiling")]
    assert len(lines) == 1, said
    assert lines[0].endswith("; finished work is kept: run the same command to resume")
