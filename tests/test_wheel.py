"""The installed package: its files, its command, its dependencies."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("matchenv", "baselines", "agents")
FILES = ("pyproject.toml", "README.md", "LICENSE", "CITATION.cff")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a command that must succeed, and return the output of both streams."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    clean["NUMBA_DISABLE_JIT"] = "1"  # compiling everything again would take a minute
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean | environment,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def build(kind: str, source: Path, out: Path) -> Path:
    """Build the ``sdist`` or the ``wheel`` of a source tree as pip does, without network."""
    code = f"import sys; from setuptools import build_meta; build_meta.build_{kind}(sys.argv[1])"
    out.mkdir()
    run(sys.executable, "-c", code, out, cwd=source)
    (built,) = out.iterdir()
    return built


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from the sdist, as for PyPI, and the sdist in a copy of the source tree."""
    copy = tmp_path_factory.mktemp("source") / "matchenv"
    copy.mkdir()
    for name in SOURCES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=ignored)
    for name in FILES:
        shutil.copy(ROOT / name, copy / name)
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(build("sdist", copy, copy.parent / "dist")) as archive:
        archive.extractall(unpacked, filter="data")
    (source,) = unpacked.iterdir()
    return build("wheel", source, copy.parent / "wheel")


@pytest.fixture(scope="session")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheel, and links to the required dependencies alone."""
    links = tmp_path_factory.mktemp("bare")
    wanted, seen = list(PROJECT["dependencies"]), set()
    while wanted:
        requirement = wanted.pop()
        name = re.match(r"[\w.-]+", requirement)[0].lower()
        if name in seen or "extra ==" in requirement:
            continue
        seen.add(name)
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            assert ";" in requirement  # for another system or version of Python
            continue
        for top in {file.parts[0] for file in found.files or [] if ".." not in file.parts}:
            if not (links / top).exists():
                (links / top).symlink_to(found.locate_file(top))
        wanted += found.requires or []
    pip = (sys.executable, "-m", "pip", "install", "--no-deps", "--quiet", "--no-index")
    run(*pip, "--target", links, wheel, cwd=links)
    return links


def test_the_wheel_holds_every_file_of_the_source_its_command_and_extras(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    held = {name for name in archive.namelist() if ".dist-info/" not in name}
    present = {
        str(Path(*(() if room == "matchenv" else ("matchenv",)), path.relative_to(ROOT)))
        for room in SOURCES
        for path in (ROOT / room).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert held == present
    info = f"matchenv-{PROJECT['version']}.dist-info"
    scripts = archive.read(f"{info}/entry_points.txt").decode()
    assert scripts.split() == ["[console_scripts]", "matchenv", "=", "matchenv.__main__:main"]
    metadata = archive.read(f"{info}/METADATA").decode()
    extras = set(re.findall(r"^Provides-Extra: (.*)$", metadata, re.MULTILINE))
    assert extras == {"agents", "benchmarks", "logs", "render", "serve", "ray", "all"}


def test_the_lock_covers_every_dependency() -> None:
    """Except torch, whose file differs between machines."""
    locked = {
        re.sub(r"[-_.]+", "-", name).lower()
        for name in re.findall(
            r"^([\w.-]+)==",
            (ROOT / "requirements.txt").read_text() + (ROOT / "requirements-ray.txt").read_text(),
            re.MULTILINE,
        )
    }
    extras = PROJECT["optional-dependencies"].values()
    wanted = [*PROJECT["dependencies"], *(requirement for extra in extras for requirement in extra)]
    names = {re.match(r"[\w.-]+", requirement)[0].lower() for requirement in wanted}
    assert names - {"torch", "matchenv"} <= locked
    assert "torch" not in locked
    assert (ROOT / "requirements-torch.txt").read_text().startswith("torch==")


def test_a_bare_install_compares_baselines_and_names_missing_extras(
    bare: Path, tmp_path: Path
) -> None:
    """In one process, since imports take longest; in a folder with packages of our names."""
    for name in SOURCES[1:]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("MINE = True\n")
    missing = {
        "train --timesteps 64 --out made": "agents",
        "train --imitate gittins --out made": "agents",
        "compare --policy ppo-gittins --out made": "agents",
        "study --episodes 2 --out made": "benchmarks",
        "watch --policy kg --out made/film.gif": "render",
    }
    small = "--episodes 2 --num-opponents 3 --horizon 4 --rank top --workers 1 --quiet --out made"
    code = (
        "import gymnasium, matchenv, pathlib, sys; from matchenv.cli import run_command\n"
        "gymnasium.make('Matchmaking-v0', num_opponents=3).reset(seed=1)\n"
        "*others, last = [words.split() for words in sys.argv[1:]]\n"
        "print([run_command(words) for words in others], pathlib.Path('made').exists())\n"
        "sys.exit(run_command(last))"
    )
    words = (
        *missing,
        f"compare --policy pe {small} --env-kwargs beta=1.5",
    )  # -S: without the other packages here
    said = run(sys.executable, "-S", "-c", code, *words, cwd=tmp_path, PYTHONPATH=str(bare))
    assert f"{[2] * len(missing)} False\n" in said
    hints = re.findall(r'pip install "matchenv\[(\w+)\]"', said)
    assert hints == list(missing.values())
    assert (tmp_path / "made" / "comparison.txt").exists()
