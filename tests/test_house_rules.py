"""Who may import whom, and what an import may load."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = {"matchenv": 0, "baselines": 1, "agents": 2, "benchmarks": 3}


def imported_modules(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("room", ROOMS)
def test_arrows_go_one_way(room: str) -> None:
    for path in (ROOT / room).rglob("*.py"):
        for name in imported_modules(path) & set(ROOMS):
            assert ROOMS[name] <= ROOMS[room], f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize(
    ("module", "only"),
    [
        ("torch", {"agents"}),
        ("stable_baselines3", {"agents"}),
        ("sb3_contrib", {"agents"}),
        ("matplotlib", {"benchmarks"}),
        ("yaml", {"agents", "benchmarks"}),
        ("trueskill", {"benchmarks"}),
        ("openskill", {"benchmarks"}),
    ],
)
def test_heavy_packages_stay_in_their_rooms(module: str, only: set[str]) -> None:
    for room in set(ROOMS) - only:
        for path in (ROOT / room).rglob("*.py"):
            assert module not in imported_modules(path), path.relative_to(ROOT)


def test_importing_matchenv_loads_neither_torch_nor_matplotlib() -> None:
    code = (
        "import sys, matchenv, baselines; "
        "print(sorted({'torch', 'matplotlib', 'stable_baselines3'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_room_keeps_odds_and_ends() -> None:
    forbidden = {"utils.py", "util.py", "helpers.py", "helper.py", "manager.py", "misc.py"}
    found = [p for room in ROOMS for p in (ROOT / room).rglob("*.py") if p.name in forbidden]
    assert found == []


def test_every_package_is_declared() -> None:
    """A wheel holds every package that the source tree has."""
    import tomllib

    declared = set(
        tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    )
    present = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for room in ROOMS
        for path in (ROOT / room).rglob("__init__.py")
    }
    assert present == declared
