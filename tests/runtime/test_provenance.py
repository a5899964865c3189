"""The files that decide what a third-party class does."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from matchenv.runtime.provenance import module_files

# Imports of the module ``mine``: beside it, from the library, from nowhere.
MINE = """
import json, mine_rules, mine_package.part
try:
    import no_such_module
except ImportError:
    pass
class Policy: pass
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "mine_rules.py").write_text("import mine_numbers, mine")
    (tmp_path / "mine_numbers.py").write_text("")
    (tmp_path / "not_imported.py").write_text("")
    (tmp_path / "mine_package").mkdir()
    for name in ("__init__", "part", "other"):
        (tmp_path / "mine_package" / f"{name}.py").write_text("from . import other")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("mine", "mine_rules", "mine_numbers", "mine_package", "mine_package.part"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import_module("mine")
    return tmp_path


def test_a_module_and_what_it_imports_from_its_folder(folder: Path) -> None:
    names = ["mine.py", "mine_numbers.py", *(f"mine_package/{name}.py" for name in
             ("__init__", "other", "part")), "mine_rules.py"]  # fmt: skip
    assert module_files("mine:Policy:size=3") == [folder / name for name in sorted(names)]
    assert module_files("mine_package.part:Policy") == [
        folder / name for name in names if "package" in name
    ]


def test_an_installed_module_stands_alone(folder: Path) -> None:
    """Beside it lies what is installed, such as torch with thousands of files."""
    (folder / "mine-1.0.dist-info").mkdir()
    assert module_files("mine:Policy") == [folder / "mine.py"]


def test_this_package_and_what_was_never_imported_have_no_files() -> None:
    import matchenv.runtime.checks

    assert module_files(f"{matchenv.runtime.checks.__name__}:Policy") == []
    assert module_files("never_imported:Policy") == []
