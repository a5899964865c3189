"""Which rooms and packages a module may import."""

import ast
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium
import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "matchenv"
FILES = sorted(
    Path(folder, name)
    for folder, _, names in os.walk(PACKAGE, followlinks=True)
    for name in names
    if name.endswith(".py")
)
STEP = "import gymnasium; env = gymnasium.make('matchenv:Matchmaking-v0'); env.reset(); env.step(0)"
# A room imports rooms of its own level or below. The root of the package imports lazily.
ORDER = (
    "runtime < trueskill < belief ratings < logs < envs rendering < evaluation < baselines < "
    "agents ranking < service benchmarks < cli"
)
LEVELS = {room: n for n, level in enumerate(ORDER.split(" < ")) for room in level.split()}


@cache
def imported_modules(path: Path) -> set[str]:
    """Return the dotted names of all modules that a file imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@cache
def modules_named_in_strings(path: Path) -> set[str]:
    """Return the modules of this package that strings of a file name, as ``"matchenv.x:Name"``.

    Docstrings and other texts are more than the name of a module.
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = re.fullmatch(r"(matchenv(?:\.\w+)+)(?::[\w.]*)?", node.value)
            if named is not None:
                names.add(named[1])
    return names


def room_of(module: str) -> str | None:
    """Return the room of a module; None for the root and for other packages."""
    parts = module.split(".")
    return parts[1] if parts[0] == "matchenv" and len(parts) > 1 and parts[1] in LEVELS else None


def test_every_folder_is_a_room_and_imports_go_one_way() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders == set(LEVELS)
    for path in FILES:
        own = room_of(".".join(path.relative_to(ROOT).parts))
        for name in imported_modules(path) | modules_named_in_strings(path):
            other = room_of(name)
            if own is not None and other is not None:
                assert LEVELS[other] <= LEVELS[own], f"{path} names {name}"


def test_files_do_not_import_each_other_in_a_circle() -> None:
    """Imports within functions and for type checkers count too."""
    files = {}
    for path in FILES:
        parts = path.relative_to(ROOT).with_suffix("").parts
        files[".".join(part for part in parts if part != "__init__")] = path
    imports = {
        name: {other for other in imported_modules(path) if other in files and other != name}
        for name, path in files.items()
        if path.name != "__init__.py"  # the front of a room, which lists what it contains
    }
    done: set[str] = set()

    def visit(name: str, chain: tuple[str, ...]) -> None:
        assert name not in chain, " -> ".join((*chain, name))
        if name in done or name not in imports:
            return
        for other in sorted(imports[name]):
            visit(other, (*chain, name))
        done.add(name)

    for name in sorted(imports):
        visit(name, ())


@pytest.mark.parametrize("call", ["os.replace(", "os.rename(", "signal.signal("])
def test_only_the_runtime_replaces_files_and_handles_signals(call: str) -> None:
    found = {path.parent for path in FILES if call in path.read_text(encoding="utf-8")}
    assert found <= {PACKAGE / "runtime"}


@pytest.mark.parametrize(
    ("module", "only"),
    [
        ("baselines", ()),  # imported as matchenv.baselines
        ("agents", ()),
        ("torch", ("agents",)),
        ("stable_baselines3", ("agents",)),
        ("sb3_contrib", ("agents",)),
        ("matplotlib", ("benchmarks",)),
        ("trueskill", ("benchmarks",)),
        ("yaml", ("runtime/yaml_values.py",)),
        ("openskill", ("ratings", "benchmarks")),
        ("numba", ("runtime/compile.py",)),
    ],
)
def test_packages_stay_in_their_rooms(module: str, only: tuple[str, ...]) -> None:
    for path in FILES:
        roots = {name.split(".")[0] for name in imported_modules(path)}
        assert module not in roots or str(path.relative_to(PACKAGE)).startswith(only), path


@pytest.mark.parametrize("code", ["import matchenv.baselines", STEP])
def test_an_import_is_light(code: str) -> None:
    code += "; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert loaded.isdisjoint({"torch", "matplotlib", "stable_baselines3", "pandas"})
    assert loaded.isdisjoint({"matchenv.evaluation", "matchenv.logs", "matchenv.rendering"}) or (
        code != STEP
    )


def test_a_step_runs_straight_down_through_eight_frames() -> None:
    env = gymnasium.make("matchenv:Matchmaking-v0").unwrapped
    env.reset(seed=0)
    env.step(0)
    depths = [0]
    depth = 0

    def record(frame: Any, event: str, argument: Any) -> None:
        nonlocal depth
        if str(PACKAGE) not in frame.f_code.co_filename:
            return
        if event == "call":
            depth += 1
            depths.append(depth)
        elif event == "return":
            depth -= 1

    sys.setprofile(record)
    try:
        env.step(1)
    finally:
        sys.setprofile(None)
    assert 3 <= max(depths) <= 8
