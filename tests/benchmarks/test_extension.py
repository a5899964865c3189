"""Folders of results that take more policies, cells and episodes, and other code."""

import subprocess
import sys
from importlib import reload
from pathlib import Path
from typing import Any

import pytest
from fault_injection import content_of

from matchenv.runtime import jobs

POLICY = """
import numpy as np

class Fixed:
    name, belief = "fixed", "factorised"

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        return np.full(len(observation), {choice}), state
"""
SMALL = "--num-opponents 3 --horizon 4 --workers 1 --quiet"
COMMANDS = {
    "compare": f"compare {SMALL} --against pe",
    "study": f"study {SMALL} --prior equal",
    "tune": f"tune {SMALL} --prior equal",
    "limits": f"limits {SMALL} --prior equal",
    "limits optimum": f"limits optimum {SMALL}",
}


def times(folder: Path) -> dict[str, int]:
    """Return when each block of a folder was written."""
    return {file.name: file.stat().st_mtime_ns for file in (folder / "blocks").iterdir()}


def assert_kept(before: dict[str, int], folder: Path) -> None:
    """Check that no block was written again."""
    after = times(folder)
    assert {name: after.get(name) for name in before} == before


@pytest.mark.parametrize(
    ("command", "first", "more"),
    [
        ("compare", "--policy kg --rank top", "--policy kg random --rank top"),
        ("compare", "--policy kg --rank top", "--policy kg --rank bottom top"),
        ("study", "--policy kg --rank top", "--policy random kg --rank top"),
        ("tune", "--policy kg --rank top", "--policy kg kg:multiplier=3 --rank top"),
        ("limits", "--policy kg --rank top", "--policy kg --rank top bottom"),
    ],
)
def test_more_of_the_same_plays_only_what_is_missing(
    command: str, first: str, more: str, typed: Any
) -> None:
    words = f"{COMMANDS[command]} --episodes 2"
    assert typed(f"{words} {first} --out out").status == 0
    before = times(Path("out"))
    assert typed(f"{words} {more} --out out") == (0, "", "")
    assert_kept(before, Path("out"))
    assert typed(f"{words} {more} --out fresh").status == 0
    assert content_of(Path("out")) == content_of(Path("fresh"))


@pytest.mark.parametrize("env", ["Matchmaking-v0", "MatchmakingQueue-v0", "Ranking-v0"])
def test_more_episodes_give_the_bytes_of_a_fresh_run(env: str, typed: Any) -> None:
    words = f"compare --env {env} --horizon 6 --workers 1 --quiet"
    for episodes in ("2", "130"):
        assert typed(f"{words} --episodes {episodes} --out out") == (0, "", "")
    assert typed(f"{words} --episodes 130 --out fresh").status == 0
    assert content_of(Path("out")) == content_of(Path("fresh"))


def test_an_edited_policy_is_played_again_and_the_others_are_not(
    tmp_path: Path, typed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    words = f"{COMMANDS['compare']} --policy own_fixed:Fixed pe --episodes 2 --rank top --out out"
    file = tmp_path / "own_fixed.py"
    file.write_text(POLICY.format(choice="0"))
    assert typed(words) == (0, "", "")
    before, episodes = times(Path("out")), Path("out", "episodes.csv").read_bytes()
    file.write_text(POLICY.format(choice="1 + 0"))
    reload(sys.modules["own_fixed"])
    assert typed(words) == (0, "", "")
    assert_kept(before, Path("out"))
    assert len(times(Path("out"))) == len(before) + 1
    assert Path("out", "episodes.csv").read_bytes() != episodes
    sys.modules.pop("own_fixed")


def test_other_versions_are_used_with_one_line_or_played_again(
    typed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = f"{COMMANDS['compare']} --policy pe --episodes 2 --rank top --out out"
    assert typed(words).status == 0
    before = times(Path("out"))
    made_with = {**jobs.provenance(), "numpy": "99"}
    monkeypatch.setattr(jobs, "provenance", lambda: made_with)
    with pytest.warns(UserWarning, match="blocks in out were made with numpy .*--overwrite plays"):
        assert typed(words).status == 0
    assert_kept(before, Path("out"))
    assert typed(f"{words} --overwrite") == (0, "", "")
    assert before.keys() == times(Path("out")).keys()
    assert not set(before.items()) & set(times(Path("out")).items())


@pytest.mark.parametrize("command", COMMANDS)
def test_files_do_not_depend_on_the_order_of_the_policies(command: str, typed: Any) -> None:
    for order, out in ("kg pe", "first"), ("pe kg", "first"), ("pe kg", "second"):
        words = f"{COMMANDS[command]} --episodes 2 --out {out} --policy {order}"
        assert typed(words).status == 0
    assert content_of(Path("first")) == content_of(Path("second"))


# Without a main guard, with a policy of its own.
SCRIPT = """
import numpy as np
from matchenv.benchmarks.compare import run_comparison
from matchenv.runtime.jobs import RunOptions

class First:
    belief = "factorised"

    def act(self, view, rng):
        return np.argmax(view.action_mask, axis=-1)

comparison = run_comparison(
    [First(), "kg"], cells={"rank": ["top", "middle"]}, episodes=10,
    env_kwargs={"num_opponents": 3, "horizon": 4}, run=RunOptions(workers=2, quiet=True),
)
print(comparison.policies)
"""


def test_a_script_without_a_main_guard_compares_its_own_policy(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.stdout.startswith("('First', 'kg'"), done.stderr
