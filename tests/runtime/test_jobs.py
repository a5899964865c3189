"""Jobs that are stopped and resumed; folders that are damaged, or of something else."""

import io
import json
import platform
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchenv.runtime.files import Arrays, folder_lock
from matchenv.runtime.jobs import CLOCK, Job, RunOptions

SETTINGS = {"command": "test", "seed": 3, "names": ["a", "b"]}


# A temporary file of a killed process; no process has such an id.
LEFT = f".0.{2**22 + 1}@{platform.node()}.unfinished"
LASTING = dict.fromkeys(range(7), True)
VALUES = [number**2 for number in LASTING]


def squared(number: int) -> Arrays:
    return {"value": np.array(number**2), CLOCK: np.array([1.0, 2.0])}


def run(
    folder: Path | None,
    work: Any = squared,
    lasting: dict[int, bool] = LASTING,
    options: Any = (),
    **settings: Any,
) -> list[int]:
    """Square the numbers of ``lasting``, which holds whether their jobs are lasting."""
    jobs = [
        Job(f"square{number}", 2, partial(work, number), lasts) for number, lasts in lasting.items()
    ]
    run = RunOptions(folder, quiet=True, **{"workers": 1, **dict(options)})
    with run.store({**SETTINGS, **settings}) as store:
        return [int(arrays["value"]) for arrays in store.results(jobs)]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("done", [0, 3, 6])
def test_stopped_work_is_resumed(tmp_path: Path, stop: Any, done: int) -> None:
    worked: list[int] = []

    def until_stopped(number: int) -> Arrays:
        if len(worked) == done:
            raise stop
        worked.append(number)
        return squared(number)

    with pytest.raises(stop):
        run(tmp_path, until_stopped)
    assert len(list((tmp_path / "blocks").iterdir())) == done
    (tmp_path / "blocks" / LEFT).write_bytes(b"half")

    def the_rest(number: int) -> Arrays:
        assert number not in worked
        return squared(number)

    assert run(tmp_path, the_rest) == VALUES
    assert len(list((tmp_path / "blocks").iterdir())) == 7
    assert not (tmp_path / ".lock").exists()


def test_which_results_are_kept(tmp_path: Path) -> None:
    """Only with a folder, and only of lasting jobs; never times."""
    assert run(None) == VALUES
    worked: list[int] = []

    def counted(number: int) -> Arrays:
        worked.append(number)
        return squared(number)

    for _ in range(2):
        assert run(tmp_path, counted, {1: False, 2: True}) == [1, 4]
    assert worked == [1, 2, 1]
    with np.load(tmp_path / "blocks" / "square2.npz") as block:
        assert CLOCK not in block.files
    assert run(tmp_path, options={"workers": 2}) == VALUES


def test_a_damaged_or_foreign_block_is_named_and_computed_again(tmp_path: Path) -> None:
    for seed in (3, 4):
        run(tmp_path / str(seed), seed=seed)
    block = tmp_path / "3" / "blocks" / "square3.npz"
    whole = block.read_bytes()
    other = tmp_path / "4" / "blocks" / "square3.npz"
    with np.load(block) as file:
        kept = {name: file[name] for name in file.files}
    bad = [b"", b"not a block", b"PK\x03\x04 half a file", other.read_bytes()]
    for value in (np.array(np.nan), np.array([], np.int64)):
        changed = io.BytesIO()
        np.savez_compressed(changed, **{**kept, "value": value})
        bad.append(changed.getvalue())
    for content in bad:
        block.write_bytes(content)
        with pytest.warns(UserWarning, match=r"square3.npz is damaged.*; it is computed again"):
            assert run(tmp_path / "3") == VALUES
        assert block.read_bytes() == whole


def test_results_are_reported_even_if_they_cannot_be_written(tmp_path: Path) -> None:
    reported: list[str] = []
    options = RunOptions(tmp_path / "out", report=reported.append)
    with options.store(SETTINGS) as store:
        for word in ("old", "new"):
            store.finish(word, [("below/a.txt", word.encode())])
        assert (tmp_path / "out" / "below" / "a.txt").read_text() == "new"
        with pytest.raises(IsADirectoryError):
            store.finish("lost", [("below", b"a folder is none")])
    assert reported == ["old", "new", "lost"]


def test_other_settings_are_named_and_refused_or_replaced(tmp_path: Path) -> None:
    run(tmp_path)
    with pytest.raises(ValueError, match="seed was 3 and is 4") as error:
        run(tmp_path, seed=4, names=["a"])
    assert "names was ['a', 'b'] and is ['a']" in str(error.value)
    assert "command" not in str(error.value)
    assert len(list((tmp_path / "blocks").iterdir())) == 7
    with RunOptions(tmp_path).store(SETTINGS) as store:
        store.finish(None, [("below/old.csv", b"old")])
    outside = tmp_path.parent / "outside.txt"
    for path in (tmp_path / "notes.txt", outside):
        path.write_text("of the user")
    listed = tmp_path / "blocks" / "files.json"
    names = json.loads(listed.read_text())
    listed.write_text(json.dumps([*names, "../outside.txt", str(outside)]))
    assert run(tmp_path, lasting={}, options={"replace_out": True}, seed=4) == []
    assert len(list((tmp_path / "blocks").iterdir())) == 0
    assert not (tmp_path / "below" / "old.csv").exists()
    assert (tmp_path / "notes.txt").exists()
    assert outside.exists()  # a folder of another user's results lists what it likes
    assert run(tmp_path, seed=4) == VALUES


def test_a_foreign_folder_is_refused(tmp_path: Path) -> None:
    for content in (b"{", b"\xff"):
        run(tmp_path / "out")
        (tmp_path / "out" / "settings.json").write_bytes(content)
        with pytest.raises(ValueError, match=r"settings.json is damaged"):
            run(tmp_path / "out")
        shutil.rmtree(tmp_path / "out")
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="other files in it"):
        run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    with folder_lock(tmp_path), pytest.raises(ValueError, match="one process at a time"):
        run(tmp_path)
