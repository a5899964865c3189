"""The files that decide what a third-party class does."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from matchenv.runtime.provenance import module_files


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module, others beside it, a package, and a folder that is none."""
    for name in ("mine", "mine_rules", "package/__init__", "package/below/part", "venv/other"):
        (tmp_path / f"{name}.py").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("mine", "package.below.part"):
        import_module(name)
    yield tmp_path
    for name in ("mine", "package", "package.below", "package.below.part"):
        sys.modules.pop(name)


def test_a_module_and_what_lies_in_its_folder(folder: Path) -> None:
    names = ["mine.py", "mine_rules.py", "package/__init__.py", "package/below/part.py"]
    for spec in ("mine:Policy:size=3", "package.below.part:Policy"):
        assert module_files(spec) == [folder / name for name in names]


def test_an_installed_module_stands_alone(folder: Path) -> None:
    """Beside it lies what is installed, such as torch with thousands of files."""
    (folder / "mine-1.0.dist-info").mkdir()
    assert module_files("mine:Policy") == [folder / "mine.py"]


def test_this_package_and_what_was_never_imported_have_no_files() -> None:
    assert module_files("matchenv.runtime.provenance:Policy") == []
    assert module_files("never_imported:Policy") == []
