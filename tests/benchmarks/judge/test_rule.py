"""The present matcher, from a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from matchenv.benchmarks.judge.rule import Window, read_rule, rule_candidate
from matchenv.envs.queue.settings import QueueSettings

NEAREST = """
class Nearest:
    def __init__(self, gap=3.0):
        self.gap = gap

    def choose(self, waiting, rng):
        return 1 if waiting.filled.size else 0
"""


@pytest.fixture(autouse=True)
def _same_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a rule adds to Python's path and modules does not stay."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("rule_of_"):
            del sys.modules[name]


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


@pytest.mark.parametrize(
    ("name", "text", "window"),
    [
        ("rule.yml", "window: 3\ngrowth: 0.5\n", Window(3.0, 0.5)),
        ("rule.json", '{"width": 2.5, "growth": 1}', Window(2.5, 1.0)),
        ("rule.yaml", "window: 4", Window(4.0, 0.0)),
    ],
)
def test_a_window(tmp_path: Path, name: str, text: str, window: Window) -> None:
    found = read_rule(written(tmp_path, name, text))
    assert found == window
    assert isinstance(found, Window)
    # Half a minute is a tick.
    expected = f"window:width={window.width:g},growth={window.growth / 2:g}"
    assert found.text(0.5) == expected
    assert rule_candidate(expected, QueueSettings.checked()).label == expected


def test_a_class(tmp_path: Path) -> None:
    file = written(tmp_path, "rule_of_one.py", NEAREST)
    assert read_rule(file) == "rule_of_one:Nearest"
    assert read_rule(f"{file}:Nearest:gap=2") == "rule_of_one:Nearest:gap=2"
    found = rule_candidate("rule_of_one:Nearest", QueueSettings.checked())
    assert found.identity is not None
    assert found.identity.startswith("rule_of_one:Nearest ")
    two = written(tmp_path, "rule_of_two.py", NEAREST + NEAREST.replace("Nearest", "Other"))
    with pytest.raises(ValueError, match=r"one class with choose or predict.*Nearest, Other"):
        read_rule(two)
    assert read_rule(f"{two}:Other") == "rule_of_two:Other"
    assert read_rule("fcfs") == "fcfs"
    assert read_rule("some.module:Class") == "some.module:Class"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must hold the numbers window and growth"),
        ("[1, 2]", "must hold the numbers"),
        ("{", "must be YAML"),
        ("growth: 1", "must hold a number window"),
        ("window: -1", "rule window"),
        ("window: .nan", "rule window"),
        ("window: wide", "rule window"),
        ("window: 1\nwait: 2", "must hold the numbers"),
    ],
)
def test_no_window(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_rule(written(tmp_path, "rule.yml", text))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("rule_of_words.py", "a b", "cannot be read: SyntaxError"),
        ("rule_of_zero.py", "1 / 0", "cannot be read: ZeroDivisionError"),
        ("rule_of_exit.py", "raise SystemExit(3)", "cannot be read: SystemExit"),
        ("rule_of_none.py", "class Empty: pass", "one class with choose or predict"),
        ("queue.py", NEAREST, "a name that no other module has"),
    ],
)
def test_no_class(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_rule(written(tmp_path, name, text))


def test_no_file(tmp_path: Path) -> None:
    for text in ("no_such.yml", "no_such.py", "/dev/full", "", "\x00", str(tmp_path)):
        with pytest.raises(ValueError, match="rule must be a"):
            read_rule(text)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise KeyError('mmr')", "cannot play: 'mmr'"),
        ("return 1 / 0 if waiting.filled.size > 3 else 0", "raised ZeroDivisionError"),
        ("return 10**6", "cannot play: actions must be in"),
    ],
)
def test_a_rule_that_raises_is_named(tmp_path: Path, body: str, said: str) -> None:
    name = f"rule_of_{abs(hash(body))}"
    text = f"class Wrong:\n    def choose(self, waiting, rng):\n        {body}\n"
    rule = read_rule(written(tmp_path, f"{name}.py", text))
    assert isinstance(rule, str)
    with pytest.raises(ValueError, match=said):
        rule_candidate(rule, QueueSettings.checked())
