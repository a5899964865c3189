"""Every public name of 0.1.0 is there, or the changelog names it."""

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from matchenv.cli import COMMANDS as PRESENT

ROOT = Path(__file__).resolve().parent.parent
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("## 0.1.0")[0]
SURFACE = (Path(__file__).parent / "surface_0.1.0.txt").read_text(encoding="utf-8")

# Modules that have moved, as the changelog says.
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


def sections() -> Iterator[tuple[str, str]]:
    """Title and lines of each section of the surface."""
    for section in re.split(r"^## ", SURFACE, flags=re.MULTILINE)[1:]:
        title, _, lines = section.partition("\n")
        yield title, lines


MODULES = [each for each in sections() if re.fullmatch(r"matchenv[\w.]*", each[0])]
COMMANDS = [
    (title.removeprefix("matchenv "), lines)
    for title, lines in sections()
    if title.startswith("matchenv ")
]


def named(word: str) -> bool:
    """Whether the changelog names it."""
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", CHANGELOG) is not None


@pytest.mark.parametrize(("title", "lines"), MODULES, ids=[title for title, _ in MODULES])
def test_every_name_is_there_or_in_the_changelog(title: str, lines: str) -> None:
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
    """Fields of a class, and what its constructor sets: what its instances have."""
    found = {name for each in owner.__mro__ for name in getattr(each, "__annotations__", {})}
    return found | set(re.findall(r"self\.(\w+) = ", inspect.getsource(owner)))


@pytest.mark.parametrize(("name", "lines"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_every_option_is_there_or_in_the_changelog(name: str, lines: str, typed: Any) -> None:
    if name not in PRESENT:
        assert named(f"matchenv {name}")
        return
    shown = set(re.findall(r"--[\w-]+", typed(f"{name} --help").out))
    options = set(re.findall(r"^--[\w-]+", lines, re.MULTILINE))
    missing = sorted(options - shown)
    families = tuple(re.findall(r"(--[\w-]+-)\*", CHANGELOG))
    assert [each for each in missing if not named(each) and not each.startswith(families)] == []
