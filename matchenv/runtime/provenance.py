"""Provenance of results: versions, and digests of code and files."""

from __future__ import annotations

import ast
import hashlib
import platform
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

ROOMS = ("matchenv", "matchenv.baselines", "matchenv.agents", "matchenv.benchmarks")
# No number of a result depends on these folders.
NO_NUMBERS = ("cli", "rendering", "watch", "report")


def provenance() -> dict[str, str]:
    """Return versions of all that numbers depend on, and a digest of the package's own code."""
    return {
        "python": platform.python_version(),
        **versions("gymnasium", "scipy"),
        "code of matchenv": code_digest(),
    }


def versions(*packages: str) -> dict[str, str]:
    """Return versions of this package, NumPy, Numba and further packages."""
    return {name: version(name) for name in ("matchenv", "numpy", "numba", *packages)}


@cache
def code_digest() -> str:
    """Return a digest of the package's code, as it was when it was first asked for."""
    return digest_of(_code_files())[:16]


def _code_files() -> list[Path]:
    files: dict[str, Path] = {}
    for room in ROOMS:
        spec = find_spec(room)
        for place in (spec and spec.submodule_search_locations) or ():
            for file in Path(place).rglob("*.py"):
                # An installed package has all rooms in one folder; each file counts once.
                name = "/".join((*room.split(".")[1:], *file.relative_to(place).parts))
                if not set(name.split("/")[:-1]) & set(NO_NUMBERS):
                    files[name] = file
    return [files[name] for name in sorted(files)]


def digest_of(files: Iterable[Path]) -> str:
    """Return a digest of the content of files, in the order given.

    Raises:
        OSError: if one cannot be read.
    """
    found = hashlib.sha256()
    for file in files:
        # Digests of equal length, so that no part of one file passes for part of another.
        found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()


def module_files(spec: str) -> list[Path]:
    """Return the files that decide what a third-party class does.

    These are its module and what that imports from its own folder. An installed module stands
    alone, since it and what it imports have versions; a class of this package has no files.

    Args:
        spec: ``module:Class:key=value``; the module has been imported.
    """
    module = spec.partition(":")[0]
    source = getattr(sys.modules.get(module), "__file__", None)
    top = module.partition(".")[0]
    if source is None or top == "matchenv":
        return []
    file = Path(source)
    folder = file.parents[module.count(".") + (file.name == "__init__.py")]
    alone = any(folder.glob("*.dist-info"))
    wanted, found = [top], dict[str, list[Path]]()
    while wanted:
        name = wanted.pop()
        package = folder / name
        found[name] = [folder / f"{name}.py"] if (folder / f"{name}.py").is_file() else []
        if (package / "__init__.py").is_file():
            found[name] = list(package.rglob("*.py"))
        imported = set().union(*map(_imported, () if alone else found[name]))
        wanted += imported - found.keys() - {"matchenv", *wanted}
    return sorted({file, *(each for files in found.values() for each in files)})


def _imported(file: Path) -> set[str]:
    """Return the top-level modules that a file imports by their full names."""
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except SyntaxError:  # it was not imported then
        return set()
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes
              if isinstance(node, ast.ImportFrom) and node.module and node.level == 0}  # fmt: skip
    return {name.partition(".")[0] for name in names}
