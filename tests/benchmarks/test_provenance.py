"""Folders of results refuse changed policies, code and versions."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchenv.runtime import jobs, provenance

POLICY = """
from {name}_rule import CHOICE

class Fixed:
    name = "fixed"
    belief = "factorised"

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        import numpy as np
        return np.full(len(observation), CHOICE), state
"""

SMALL = "--num-opponents 3 --horizon 4 --episodes 2 --rank top --workers 1 --quiet --out out"
COMMANDS = {
    "compare": f"compare {SMALL} --against pe",
    "study": f"study {SMALL} --prior equal",
    "limits": f"limits {SMALL} --prior equal",
    "limits optimum": f"limits optimum {SMALL}",
}


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: Any) -> str:
    """Write a third-party policy of a name unique to the test, since modules stay imported."""
    monkeypatch.chdir(tmp_path)
    name = f"own_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(POLICY.format(name=name))
    (tmp_path / f"{name}_rule.py").write_text(f"from {name}_parts.choice import CHOICE\n")
    (tmp_path / f"{name}_parts").mkdir()
    (tmp_path / f"{name}_parts" / "choice.py").write_text("CHOICE = 0\n")
    return name


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """Return inode and time of each file, which change if it is written again."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in files}


@pytest.mark.parametrize(
    ("command", "half", "changed"),
    [
        ("compare", False, ""),
        ("compare", True, "_rule"),
        ("study", True, ""),
        ("limits", False, "_rule"),
        ("compare", False, "_parts/choice"),
    ],
)
def test_a_changed_policy_is_refused(
    command: str, half: bool, changed: str, policy: str, tmp_path: Path, typed: Any
) -> None:
    """Change its module, or one that it imports; keep all blocks, or half of them."""
    words = f"{COMMANDS[command]} --policy {policy}:Fixed pe"
    assert typed(words).status == 0
    before = stamps(tmp_path / "out")
    assert typed(words).status == 0
    assert stamps(tmp_path / "out") == before  # nothing is played or written again
    if half:
        for block in sorted((tmp_path / "out" / "blocks").iterdir())[::2]:
            block.unlink()
    before = stamps(tmp_path / "out")
    with (tmp_path / f"{policy}{changed}.py").open("a") as file:
        file.write("# changed\n")
    assert f"{policy}{changed}.py must stay as it is after its import" in typed(words).refusal
    for name in list(sys.modules):
        if name.startswith(policy):
            sys.modules.pop(name)  # as in a new process
    refusal = typed(words).refusal
    assert f"policies: {policy}:Fixed was " in refusal
    assert "policies: pe" not in refusal
    assert stamps(tmp_path / "out") == before


@pytest.mark.parametrize("command", COMMANDS)
def test_files_do_not_depend_on_the_order_of_the_policies(command: str, typed: Any) -> None:
    for order, out in ("kg pe", "first"), ("pe kg", "first"), ("pe kg", "second"):
        assert typed(f"{COMMANDS[command]} --out {out} --policy {order}").status == 0
    for file in Path("second").rglob("*.*"):
        same = file.read_bytes() == Path("first", *file.parts[1:]).read_bytes()
        assert same or file.name == "settings.json", file


def test_a_policy_that_changes_while_it_plays_is_refused(
    policy: str, tmp_path: Path, typed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = jobs.write_bytes

    def save_and_replace(*arguments: Any) -> None:
        save(*arguments)
        (tmp_path / f"{policy}_rule.py").write_text("CHOICE = 1\n")

    monkeypatch.setattr(jobs, "write_bytes", save_and_replace)
    refusal = typed(f"{COMMANDS['compare']} --rank bottom --policy {policy}:Fixed pe").refusal
    assert f"files of policy '{policy}:Fixed' must stay as they are" in refusal


@pytest.mark.parametrize(
    ("name", "value", "difference"),
    [
        ("versions", lambda *_: {"numpy": "0.0.1"}, "numpy was '{}' and is '0.0.1'"),
        ("code_digest", lambda: "another", "code of matchenv was "),
    ],
)
def test_other_versions_and_code_are_refused(
    name: str, value: Any, difference: str, typed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = f"{COMMANDS['compare']} --policy pe"
    assert typed(words).status == 0
    monkeypatch.setattr(provenance, name, value)
    assert f"made_with: {difference.format(np.__version__)}" in typed(words).refusal


def test_digests_depend_on_the_content_of_each_file(tmp_path: Path, monkeypatch: Any) -> None:
    files = (tmp_path / "a", tmp_path / "b")
    digests = []
    for contents in (b"one", b"two"), (b"onet", b"wo"), (b"two", b"one"), (b"one", b"two"):
        for file, content in zip(files, contents, strict=True):
            file.write_bytes(content)
        digests.append(provenance.digest_of(files))
    assert digests[0] == digests[3]
    assert len(set(digests)) == 3
    names: list[str] = []

    def no_digest(files: Any) -> str:
        names.extend(map(str, files))
        return ""

    monkeypatch.setattr(provenance, "digest_of", no_digest)
    provenance.code_digest.__wrapped__()
    assert any(name.endswith("knowledge_gradient_rule.py") for name in names)
    assert not any("cli" in name for name in names)
