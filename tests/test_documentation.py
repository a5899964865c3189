"""Every code block of README and docs does what the page says.

Python blocks are run, each alone, as a reader pastes them. Of shell blocks every command line is
parsed by the command that it calls; those that are marked are run. Comments of the page, which
readers do not see, stand before a block and say what the tests need::

    <!-- before the block:
    observation = ...                   (Python that is run before the block)
    -->
    <!-- smaller: 100_000 -> 2_048 -->  (replaced in the block before it is run)
    <!-- needs: ray.rllib -->           (skipped, saying so, where it cannot be imported)
    <!-- run -->                        (a shell block that is quick enough to be run)
    <!-- slow -->                       (a block of Python that takes seconds: for the slow tests)
"""

import dataclasses
import importlib
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
LANGUAGES = {"python", "sh", "yaml", "text"}
BLOCK = re.compile(
    r"(?P<comments>(?:^<!--(?:(?!-->).)*-->\s*^)*)^```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
COMMENT = re.compile(r"<!--\s*(?P<word>[a-z ]+?)\s*(?::(?P<text>.*?))?-->", re.DOTALL)


@dataclasses.dataclass
class Block:
    """A code block of a page and what its comments say."""

    place: str
    language: str
    code: str
    before: str
    needs: list[str]
    marks: set[str]

    def __str__(self) -> str:
        return self.place


def blocks_of(path: Path) -> Iterator[Block]:
    """All fenced blocks of a page, in order."""
    text = path.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("language")) + 1
        block = Block(
            f"{path.relative_to(ROOT)}:{line}", found["language"], found["code"], "", [], set()
        )
        for comment in COMMENT.finditer(found["comments"]):
            word, said = comment["word"], (comment["text"] or "").strip()
            if word == "before the block":
                block.before += said + "\n"
            elif word == "smaller":
                large, small = said.split(" -> ")
                assert large in block.code, f"{path.name}: nothing to make smaller: {large}"
                block.code = block.code.replace(large, small)
            elif word == "needs":
                block.needs += [name.strip() for name in said.split(",")]
            else:
                assert word in ("run", "slow"), f"{path.name}: unknown comment: {word}"
                block.marks.add(word)
        yield block


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def of_language(language: str) -> list[Block]:
    return [block for block in BLOCKS if block.language == language]


def skip_without(block: Block) -> None:
    for name in block.needs:
        pytest.importorskip(name)


@pytest.fixture(scope="module")
def run_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """Runs a block as a file of its own; returns what it printed and fails where it fails."""
    runner = subprocess.Popen(
        [sys.executable, "-W", "ignore", str(Path(__file__).with_name("documentation_runner.py"))],
        # Networks this small gain nothing from threads, which only wait for each other.
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert runner.stdin
    assert runner.stdout

    def run(code: str) -> str:
        folder = tmp_path_factory.mktemp("block")
        (folder / "examples").symlink_to(ROOT / "examples")
        print(json.dumps({"code": code, "folder": str(folder)}), file=runner.stdin, flush=True)
        answer = json.loads(runner.stdout.readline())
        assert answer["status"] == 0, answer["output"]
        return str(answer["output"])

    yield run
    runner.stdin.close()
    assert runner.wait(timeout=60) == 0


def test_pages_have_blocks_of_known_languages() -> None:
    assert len(BLOCKS) > 20
    unknown = [str(block) for block in BLOCKS if block.language not in LANGUAGES]
    assert unknown == [], f"a code block says what it is: {', '.join(sorted(LANGUAGES))}"


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, id=str(block), marks=[pytest.mark.slow] * ("slow" in block.marks))
        for block in of_language("python")
    ],
)
def test_python_runs_as_pasted(block: Block, run_alone: Callable[[str], str]) -> None:
    skip_without(block)
    run_alone(block.before + block.code)


# Commands of shell blocks that are not ours: nothing to check but that we meant them.
OTHERS = {"cd", "curl", "git", "pre-commit", "ray", "tensorboard"}


def command_lines(code: str) -> list[list[str]]:
    """The words of each command line, without comments and with continued lines joined."""
    joined = code.replace("\\\n", " ")
    split = (shlex.split(line, comments=True) for line in joined.splitlines())
    return [words for words in split if words]


def check_pip(words: list[str]) -> None:
    """``pip install "matchenv[extra]"`` names extras that we have."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    for word in words:
        for named in re.findall(r"^(?:matchenv|\.)\[(.*)\]$", word):
            assert set(named.split(",")) <= set(extras), word


def check_matchenv(words: list[str]) -> None:
    """The real parser takes the options; nothing is run."""
    from matchenv.cli import parser_of

    name, *options = words
    if name in ("--help", "--version"):
        assert not options
        return
    if "--help" not in options:
        parser_of(name).given(options)


def check_command_line(words: list[str]) -> None:
    """See that a command line is one that we have, with options that it takes."""
    match words:
        case ["make", *targets]:
            rules = (ROOT / "Makefile").read_text()
            for target in (word for word in targets if "=" not in word):
                assert re.search(rf"^{re.escape(target)}:", rules, re.MULTILINE), target
        case ["pip", "install", *rest] | ["python", "-m", "pip", "install", *rest]:
            check_pip(rest)
        case ["matchenv" | "./matchenv", *rest] | ["python", "-m", "matchenv", *rest]:
            check_matchenv(rest)
        case ["python", "train.py", *rest]:
            check_matchenv(["train", *rest])
        case ["python", "-m", "pytest", path, *_]:
            assert (ROOT / path).exists(), path
        case ["python", "-m", "rl_zoo3.train", *_]:
            assert importlib.import_module(words[words.index("--conf-file") + 1]).hyperparams
        case ["python", "-m", module, *_]:
            assert importlib.util.find_spec(module), module
        case ["python", script, *_]:
            assert (ROOT / script).exists(), script
        case [first, *_]:
            assert first in OTHERS, f"an unknown command: {shlex.join(words)}"


@pytest.mark.parametrize("block", of_language("sh"), ids=str)
def test_shell_lines_are_commands_that_we_have(block: Block) -> None:
    subprocess.run(["sh", "-n"], input=block.code, text=True, check=True)
    lines = command_lines(block.code)
    assert lines
    for words in lines:
        check_command_line(words)


@pytest.mark.slow
@pytest.mark.parametrize("block", [b for b in of_language("sh") if "run" in b.marks], ids=str)
def test_shell_blocks_run(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skip_without(block)
    # The programs of this environment, as where it was activated.
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    if block.before:
        subprocess.run([sys.executable, "-c", block.before], check=True)
    done = subprocess.run(
        ["sh", "-e"], input=block.code, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", of_language("yaml"), ids=str)
def test_yaml_can_be_read(block: Block) -> None:
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load(block.code)


LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
OURS = re.compile(r"https://(?:github|raw\.githubusercontent)\.com/matchenv/matchenv/(.*)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        ours = OURS.fullmatch(path)
        if ours:
            path = re.sub(r"^(?:(?:blob|tree|raw)/)?main/", "", ours[1])
            if path.split("/")[0] not in ("issues", "pulls"):
                assert (ROOT / path).exists(), target
        elif not path.startswith("https://"):
            there = page.parent / path if path else page
            assert there.exists(), target
            if anchor:
                titles = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.MULTILINE)
                assert anchor in {
                    re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles
                }, target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_are_whole(page: Path) -> None:
    """Every table has its line of dashes, and every line of it as many columns."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    for table in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        lines = table.rstrip("\n").split("\n")
        assert re.fullmatch(r"\|(?:\s*:?-+:?\s*\|)+", lines[1]), f"no table: {lines[0]}"
        columns = {len(re.sub(r"\\\||`[^`]*`", "", line).split("|")) for line in lines}
        assert len(columns) == 1, lines[0]


@pytest.mark.parametrize(
    "module",
    ["matchenv", "matchenv.agents", "matchenv.baselines", "matchenv.service", "matchenv.trueskill"],
)
def test_every_public_name_is_in_the_reference(module: str) -> None:
    reference = "".join(page.read_text() for page in (ROOT / "docs" / "api").glob("*.rst"))
    constants = {"POLICIES", "__version__"}
    names = set(importlib.import_module(module).__all__) - constants
    assert [name for name in sorted(names) if not re.search(rf"\b{name}\b", reference)] == []
