"""Every public name of 0.1.0 still exists, or the changelog names it."""

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from matchenv.cli import COMMANDS as PRESENT

ROOT = Path(__file__).resolve().parent.parent
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("## 0.1.0")[0]
SURFACE = (Path(__file__).parent / "surface_0.1.0.txt").read_text(encoding="utf-8")

# Modules that have moved.
MOVED = {
    "matchenv.elo": "matchenv.ratings.elo",
    "matchenv.knowledge": "matchenv.belief.knowledge",
    "matchenv.leaderboard": "matchenv.service",
    "matchenv.match_log": "matchenv.logs.match_log",
    "matchenv.priors": "matchenv.envs.one_player.priors",
    "matchenv.queue": "matchenv.envs.queue",
    "matchenv.rating_models": "matchenv.ratings",
    "matchenv.replay": "matchenv.logs",
    "matchenv.rewards": "matchenv.envs.one_player.settings",
    "matchenv.settings": "matchenv.envs.one_player.settings",
}

SECTIONS = re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", SURFACE, re.MULTILINE)
MODULES = [section for section in SECTIONS if re.fullmatch(r"matchenv[\w.]*", section[0])]
COMMANDS = [(title[9:], lines) for title, lines in SECTIONS if title.startswith("matchenv ")]


def named(word: str) -> bool:
    """Return whether the changelog contains a word."""
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", CHANGELOG) is not None


@pytest.mark.parametrize(("title", "lines"), MODULES, ids=[title for title, _ in MODULES])
def test_every_name_exists_or_is_in_the_changelog(title: str, lines: str) -> None:
    assert title not in MOVED or named(title)
    module = importlib.import_module(MOVED.get(title, title))
    missing, owner = [], None
    for method, name in re.findall(r"^(    \.)?(\w+)", lines, re.MULTILINE):
        if method:
            if owner is not None and not hasattr(owner, name) and name not in instance_names(owner):
                missing.append(name)
        else:
            owner = getattr(module, name, None)
            if owner is None:
                missing.append(name)
            owner = owner if inspect.isclass(owner) else None
    assert [name for name in missing if not named(name)] == []


def instance_names(owner: type) -> set[str]:
    """Return the fields of a class, and the attributes that its methods set."""
    names = {name for base in owner.__mro__ for name in getattr(base, "__annotations__", {})}
    return names | set(re.findall(r"self\.(\w+) = ", inspect.getsource(owner)))


@pytest.mark.parametrize(("name", "lines"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_every_option_exists_or_is_in_the_changelog(name: str, lines: str, typed: Any) -> None:
    if name not in PRESENT:
        assert named(f"matchenv {name}")
        return
    shown = set(re.findall(r"--[\w-]+", typed(f"{name} --help").out))
    options = set(re.findall(r"^--[\w-]+", lines, re.MULTILINE))
    families = tuple(re.findall(r"(--[\w-]+-)\*", CHANGELOG))
    missing = [name for name in sorted(options - shown) if not name.startswith(families)]
    assert [name for name in missing if not named(name)] == []
