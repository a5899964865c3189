"""Words for where work is done, and what they are refused for."""

from __future__ import annotations

from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from matchenv.commands import run_command
from matchenv.runtime import parallel
from matchenv.runtime.parallel import Engine, LocalPool, as_engine


def without_ray(name: str) -> ModuleSpec | None:
    assert name == "ray"
    return None


def test_numbers_are_processes_of_this_machine() -> None:
    assert as_engine(None) == Engine()
    assert as_engine(3) == Engine("local", 3)
    assert as_engine(Engine("local", 2)) == Engine("local", 2)
    assert isinstance(Engine("local", 2).pool(), LocalPool)


@pytest.mark.parametrize("name", ["", "dask", "local:2", "ray:", "Ray", ":auto", "rays"])
def test_a_bad_engine_is_named(name: str) -> None:
    with pytest.raises(ValueError, match="engine must be local, ray or ray:ADDRESS, got"):
        Engine(name)


@pytest.mark.parametrize("workers", [0, -1, 1.5, True])
def test_a_bad_number_of_workers(workers: Any) -> None:
    with pytest.raises(ValueError, match="workers must be"):
        Engine("local", workers)


@pytest.mark.parametrize("name", ["compare", "study", "tune", "bound", "search"])
def test_without_the_extra_nothing_is_begun(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(parallel, "find_spec", without_ray)
    out = tmp_path / "out"
    assert run_command([name, "--engine", "ray:auto", "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert said == 'error: engine ray needs the package ray: pip install "matchenv[ray]"\n'
    assert not out.exists()
