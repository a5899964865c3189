"""Who may import whom, and what an import may load."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("matchenv", "baselines", "agents", "benchmarks")
# A room imports rooms of its own level or below. The package's root imports lazily.
LEVELS = {
    "runtime": 0,
    "trueskill": 1,
    "belief": 2,
    "ratings": 2,
    "logs": 3,
    "envs": 4,
    "rendering": 4,
    "evaluation": 5,
    "baselines": 6,
    "agents": 7,
    "service": 8,
    "benchmarks": 8,
    "cli": 9,
}


@cache
def imported_modules(path: Path) -> set[str]:
    """Dotted names of all modules that a file imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def room_of(module: str) -> str | None:
    """The room of one of our modules, None for the root and for another package's."""
    parts = module.split(".")
    return parts[1] if parts[0] == "matchenv" and len(parts) > 1 and parts[1] in LEVELS else None


def room_of_file(path: Path) -> str | None:
    """The room that a file lies in, None for the package's root."""
    parts = path.relative_to(ROOT).parts
    if parts[0] != "matchenv":
        return parts[0]
    return parts[1] if len(parts) > 2 else None


def test_every_folder_is_a_room() -> None:
    folders = {path.parent.name for path in (ROOT / "matchenv").glob("*/__init__.py")}
    assert folders | set(ROOMS[1:]) == set(LEVELS)


@pytest.mark.parametrize("room", ROOMS)
def test_arrows_go_one_way(room: str) -> None:
    for path in (ROOT / room).rglob("*.py"):
        own = room_of_file(path)
        for name in imported_modules(path):
            other = room_of(name)
            if own is not None and other is not None:
                assert LEVELS[other] <= LEVELS[own], f"{path} imports {name}"


@pytest.mark.parametrize("call", ["os.replace(", "os.rename(", "signal.signal("])
@pytest.mark.parametrize("room", ROOMS)
def test_files_and_signals_are_the_runtimes(room: str, call: str) -> None:
    for path in (ROOT / room).rglob("*.py"):
        if (ROOT / "matchenv" / "runtime") not in path.parents:
            assert call not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_are_imported_under_one_name(room: str) -> None:
    for path in (ROOT / room).rglob("*.py"):
        for name in imported_modules(path):
            assert name.split(".")[0] not in set(ROOMS) - {"matchenv"}, f"{path} imports {name}"


@pytest.mark.parametrize(
    ("module", "only"),
    [
        ("torch", {"agents"}),
        ("stable_baselines3", {"agents"}),
        ("sb3_contrib", {"agents"}),
        ("matplotlib", {"benchmarks"}),
        ("yaml", {"agents", "benchmarks"}),
        ("trueskill", {"benchmarks"}),
        ("openskill", {"matchenv", "benchmarks"}),
    ],
)
def test_heavy_packages_stay_in_their_rooms(module: str, only: set[str]) -> None:
    for room in set(ROOMS) - only:
        for path in (ROOT / room).rglob("*.py"):
            roots = {name.split(".")[0] for name in imported_modules(path)}
            assert module not in roots, path.relative_to(ROOT)


def test_importing_matchenv_loads_neither_torch_nor_matplotlib() -> None:
    code = (
        "import sys, matchenv, matchenv.baselines; "
        "print(sorted({'torch', 'matplotlib', 'stable_baselines3', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_who_follows_a_step_reads_25_modules_at_most() -> None:
    code = (
        "import sys, gymnasium; env = gymnasium.make('matchenv:Matchmaking-v0'); "
        "env.reset(seed=0); env.step(0); "
        "print(sum(name.split('.')[0] == 'matchenv' for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 25


def test_no_room_keeps_odds_and_ends() -> None:
    forbidden = {"utils.py", "util.py", "helpers.py", "helper.py", "manager.py", "misc.py"}
    found = [p for room in ROOMS for p in (ROOT / room).rglob("*.py") if p.name in forbidden]
    assert found == []


def test_one_place_compiles() -> None:
    """So that there is one cache, one lock and one message."""
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            if path.name not in ("compile.py", "single_precision.py"):
                assert "numba" not in imported_modules(path), path
