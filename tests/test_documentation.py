"""All code blocks, links and tables of the README and the docs work.

Every Python block runs in a process of its own. Every command line of a shell block is parsed by
its command; marked blocks are run. Comments before a block, which readers do not see, are options
of these tests::

    <!-- before the block:
    observation = ...                   (Python code to run before the block)
    -->
    <!-- smaller: 100_000 -> 2_048 -->  (replacement before the block is run)
    <!-- needs: ray.rllib -->           (skip the block if the module cannot be imported)
    <!-- run -->                        (run this shell block)
    <!-- slow -->                       (run this Python block with the slow tests)
"""

import dataclasses
import importlib
import importlib.util
import multiprocessing
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from matchenv.cli import parser_of

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
SECONDS = 300
LANGUAGES = {"python", "sh", "yaml", "text"}
BLOCK = re.compile(
    r"(?P<comments>(?:^<!--(?:(?!-->).)*-->\s*^)*)^```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
COMMENT = re.compile(r"<!--\s*(?P<word>[a-z ]+?)\s*(?::(?P<text>.*?))?-->", re.DOTALL)


@dataclasses.dataclass
class Block:
    """A code block of a page with its options."""

    place: str
    language: str
    code: str
    before: str
    needs: list[str]
    marks: set[str]

    def __str__(self) -> str:
        return self.place


def blocks_of(path: Path) -> Iterator[Block]:
    """Yield all fenced blocks of a page, in order."""
    text = path.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("language")) + 1
        place = f"{path.relative_to(ROOT)}:{line}"
        block = Block(place, match["language"], match["code"], "", [], set())
        for comment in COMMENT.finditer(match["comments"]):
            option, value = comment["word"], (comment["text"] or "").strip()
            if option == "before the block":
                block.before += value + "\n"
            elif option == "smaller":
                large, small = value.split(" -> ")
                assert large in block.code, f"{place}: the block does not contain {large}"
                block.code = block.code.replace(large, small)
            elif option == "needs":
                block.needs += [name.strip() for name in value.split(",")]
            else:
                assert option in ("run", "slow"), f"{place}: unknown option {option}"
                block.marks.add(option)
        yield block


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def of_language(language: str) -> list[Block]:
    return [block for block in BLOCKS if block.language == language]


def skip_without(block: Block) -> None:
    for name in block.needs:
        pytest.importorskip(name)


def run_alone(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a block in a fork of a process that has imported the slow packages.

    It starts ten times as fast as in a fresh interpreter.
    """
    path = folder / "block.py"
    path.write_text(code, encoding="utf-8")
    (folder / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", [str(path)])
    # The first block starts that process, in which small networks are slower with several threads.
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["documentation_preload"])
    block = server.Process(target=runpy.run_path, args=(str(path), None, "__main__"))
    block.start()
    block.join(SECONDS)
    block.kill()
    assert block.exitcode == 0


def test_blocks_have_known_languages_and_yaml_blocks_parse() -> None:
    assert len(BLOCKS) > 20
    assert [str(block) for block in BLOCKS if block.language not in LANGUAGES] == []
    assert all(yaml.safe_load(block.code) for block in of_language("yaml"))


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, id=str(block), marks=[pytest.mark.slow] * ("slow" in block.marks))
        for block in of_language("python")
    ],
)
def test_python_blocks_run(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skip_without(block)
    run_alone(block.before + block.code, tmp_path, monkeypatch)


# Other programs in shell blocks, whose arguments are not checked.
OTHERS = {".", "cd", "curl", "git", "pre-commit", "ray", "tensorboard"}


def check_matchenv(words: list[str]) -> None:
    """Parse the options of a command without running it."""
    name, *options = words
    if name in ("--help", "--version"):
        assert not options
        return
    if "--help" not in options:
        parser_of(name).parse(options)


def check_command_line(words: list[str]) -> None:
    """Check that a command exists and supports its options."""
    match words:
        case ["make", *targets]:
            rules = (ROOT / "Makefile").read_text()
            for target in (word for word in targets if "=" not in word):
                assert re.search(rf"^{re.escape(target)}:", rules, re.MULTILINE), target
        case ["pip", "install", *rest] | ["python", "-m", "pip", "install", *rest]:
            extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
                "optional-dependencies"
            ]
            for named in re.findall(r"(?<!\S)(?:matchenv|\.)\[(.*?)\]", " ".join(rest)):
                assert set(named.split(",")) <= set(extras), named
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
            assert first in OTHERS, f"unknown command: {shlex.join(words)}"


@pytest.mark.parametrize("block", of_language("sh"), ids=str)
def test_shell_blocks_parse(block: Block) -> None:
    subprocess.run(["sh", "-n"], input=block.code, text=True, check=True)
    lines = block.code.replace("\\\n", " ").splitlines()
    commands = [words for line in lines if (words := shlex.split(line, comments=True))]
    assert commands
    for words in commands:
        check_command_line(words)


@pytest.mark.slow
@pytest.mark.parametrize("block", [b for b in of_language("sh") if "run" in b.marks], ids=str)
def test_shell_blocks_run(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skip_without(block)
    # As in an activated environment.
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    if block.before:
        subprocess.run([sys.executable, "-c", block.before], check=True)
    done = subprocess.run(
        ["sh", "-e"], input=block.code, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # A block of text that follows is its output, or a part of it.
    place = BLOCKS.index(block) + 1
    for following in BLOCKS[place : place + 1]:
        if following.language == "text":
            shown = {*(done.stdout + done.stderr).splitlines(), "..."}
            assert set(following.code.splitlines()) <= shown


LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
OURS = re.compile(r"https://(?:github|raw\.githubusercontent)\.com/matchenv/matchenv/(.*)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_link_targets_exist(page: Path) -> None:
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
def test_tables_are_well_formed(page: Path) -> None:
    """Every table has a delimiter row, and the same number of columns in all rows."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    for table in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        lines = table.rstrip("\n").split("\n")
        assert re.fullmatch(r"\|(?:\s*:?-+:?\s*\|)+", lines[1]), f"no delimiter row: {lines[0]}"
        columns = {len(re.sub(r"\\\||`[^`]*`", "", line).split("|")) for line in lines}
        assert len(columns) == 1, lines[0]


def test_generated_text_is_current() -> None:
    """``python docs/generate.py`` writes it."""
    generate = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    for page, text in generate["generated_texts"]().items():
        content = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        assert content == generate["page_with"](page, text), f"docs/{page}.md is not current"


def test_the_gallery_has_every_picture() -> None:
    gallery = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"!\[[^\]]+\]\(figures/(\S+?)\)", gallery))
    figures = {path.name for path in (ROOT / "docs" / "figures").iterdir()}
    assert figures - {"watch_dark.gif"} == shown


@pytest.mark.parametrize(
    "module",
    ["matchenv", "matchenv.agents", "matchenv.baselines", "matchenv.service", "matchenv.trueskill"],
)
def test_every_public_name_is_in_the_reference(module: str) -> None:
    reference = "".join(page.read_text() for page in (ROOT / "docs" / "api").glob("*.rst"))
    found = importlib.import_module(module)
    public = [name for name, value in vars(found).items() if isinstance(value, type)]
    names = {*getattr(found, "__all__", public)} - {"POLICIES", "__version__"}
    assert [name for name in sorted(names) if not re.search(rf"\b{name}\b", reference)] == []
