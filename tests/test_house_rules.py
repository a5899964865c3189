"""Who may import whom, and what an import may load."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = {"matchenv": 0, "baselines": 1, "agents": 2, "benchmarks": 3}
# These lie in folders of matchenv/. The service uses policies of all kinds, and is measured in the
# benchmarks; the commands stand above all rooms.
LEVELS = {**ROOMS, "service": 2.5, "commands": 4}


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
    """The room of one of our modules, None for another package's."""
    parts = module.split(".")
    if parts[0] != "matchenv":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in LEVELS else "matchenv"


def room_of_file(path: Path) -> str:
    """The room that a file lies in."""
    parts = path.relative_to(ROOT).parts
    if parts[:2] == ("matchenv", "__main__.py"):
        return "commands"
    return parts[1] if parts[0] == "matchenv" and parts[1] in LEVELS else parts[0]


@pytest.mark.parametrize("room", ROOMS)
def test_arrows_go_one_way(room: str) -> None:
    for path in (ROOT / room).rglob("*.py"):
        for name in imported_modules(path):
            other = room_of(name)
            allowed = LEVELS[room_of_file(path)]
            assert other is None or LEVELS[other] <= allowed, f"{path} imports {name}"


def test_evaluation_stands_on_top_of_the_core() -> None:
    evaluation = ROOT / "matchenv" / "evaluation"
    for path in (ROOT / "matchenv").rglob("*.py"):
        if evaluation in path.parents or (ROOT / "matchenv" / "commands") in path.parents:
            continue
        assert not any(name.startswith("matchenv.evaluation") for name in imported_modules(path))


def test_runtime_stands_below_all() -> None:
    for path in (ROOT / "matchenv" / "runtime").rglob("*.py"):
        for name in imported_modules(path):
            assert room_of(name) is None or name.startswith("matchenv.runtime"), f"{path}: {name}"


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


def test_no_room_keeps_odds_and_ends() -> None:
    forbidden = {"utils.py", "util.py", "helpers.py", "helper.py", "manager.py", "misc.py"}
    found = [p for room in ROOMS for p in (ROOT / room).rglob("*.py") if p.name in forbidden]
    assert found == []


def test_no_module_is_loaded_under_two_names() -> None:
    """Even with the repository as the working folder, where the rooms lie at the top."""
    code = (
        "import collections, pkgutil, sys\n"
        "from importlib.util import find_spec\n"
        "import matchenv.agents, matchenv.baselines, matchenv.benchmarks\n"
        "rooms = (matchenv, matchenv.baselines, matchenv.agents, matchenv.benchmarks)\n"
        "for room in rooms:\n"
        "    for found in pkgutil.walk_packages(room.__path__, room.__name__ + '.'):\n"
        "        ray = found.name.startswith('matchenv.agents.rllib') and not find_spec('ray')\n"
        "        if not found.name.endswith('__main__') and not ray:\n"
        "            __import__(found.name)\n"
        "files = [getattr(module, '__file__', None) for module in list(sys.modules.values())]\n"
        "ours = [f for f in files if f and sys.argv[1] in f and 'site-packages' not in f]\n"
        "counts = collections.Counter(ours)\n"
        "print(len(counts), [file for file, count in counts.items() if count > 1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded, twice = done.stdout.split(maxsplit=1)
    assert int(loaded) > 100
    assert twice.strip() == "[]"


def test_every_package_is_declared() -> None:
    """A wheel holds every package that the source tree has."""
    import tomllib

    declared = set(
        tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    )
    folders = [
        path.parent.relative_to(ROOT)
        for room in ROOMS
        for path in (ROOT / room).rglob("__init__.py")
    ]
    present = {
        ".".join(folder.parts if folder.parts[0] == "matchenv" else ("matchenv", *folder.parts))
        for folder in folders
    }
    assert present == declared


def test_one_place_compiles() -> None:
    """So that there is one cache, one lock and one message."""
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            if path.name not in ("compile.py", "single_precision.py"):
                assert "numba" not in imported_modules(path), path
