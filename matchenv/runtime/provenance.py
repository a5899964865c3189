"""Provenance of results: versions, and digests of code and files."""

from __future__ import annotations

import ast
import hashlib
import platform
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

ROOMS = ("matchenv", "matchenv.baselines", "matchenv.agents", "matchenv.benchmarks")
# Folders that cannot change a number in a result.
NO_NUMBERS = {"cli", "rendering", "report"}


def provenance() -> dict[str, str]:
    """Return the versions that results depend on, and a digest of this package's code."""
    return {
        "python": platform.python_version(),
        **versions("gymnasium", "scipy"),
        "code of matchenv": code_digest(),
    }


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of this package, NumPy, Numba and further packages."""
    return {name: version(name) for name in ("matchenv", "numpy", "numba", *packages)}


@cache
def code_digest() -> str:
    """Return a digest of the package's code, read once in a process."""
    specs = [spec for room in ROOMS if (spec := find_spec(room)) is not None]
    folders = {Path(folder) for spec in specs for folder in spec.submodule_search_locations or ()}
    # A set, since an installed package has all rooms in one folder.
    files = {
        file
        for folder in folders
        for file in folder.rglob("*.py")
        if not NO_NUMBERS.intersection(file.relative_to(folder).parts)
    }
    # Sorted by content, so that the digest does not depend on where the package is installed.
    return digest_of(sorted(files, key=Path.read_bytes))[:16]


def digest_of(files: Iterable[Path]) -> str:
    """Return a digest of the contents of files, in the given order.

    Raises:
        OSError: if a file cannot be read.
    """
    # Of digests of equal length, so that moving bytes from one file to the next changes it.
    digests = (hashlib.sha256(file.read_bytes()).digest() for file in files)
    return hashlib.sha256(b"".join(digests)).hexdigest()


def module_digest(spec: str) -> str:
    """Return a digest of the files that define a third-party class, see ``module_files``.

    The digest of a class that no file defines, as in a notebook, never repeats.

    Raises:
        ValueError: if a file was changed since an earlier call, while its module was not reloaded.
    """
    module, files = spec.partition(":")[0], module_files(spec)
    loaded = sys.modules.get(module)
    if not files and loaded is not None and not _is_own(module):
        return uuid4().hex
    digest = digest_of(files)
    if loaded is not None:
        before = _digests.get(module)
        if before is not None and before[0] is loaded.__spec__ and before[1] != digest:
            raise ValueError(
                f"the files of {module} must stay as they are after its import, and one of "
                f"{', '.join(map(str, files))} was changed: restart Python"
            )
        _digests[module] = (loaded.__spec__, digest)
    return digest


# Specification of each third-party module, and the digest of its files at that time.
_digests: dict[str, tuple[Any, str]] = {}


def _is_own(module: str) -> bool:
    return module.partition(".")[0] == "matchenv"


def module_files(spec: str) -> list[Path]:
    """Return the source files that define a third-party class.

    These are its module and what that imports by statements from the same folder or from folders
    below, directly or not; of an installed package, only its own modules. A class of this package
    has no files.

    Args:
        spec: ``module:Class:key=value``; the module has been imported.
    """
    module = spec.partition(":")[0]
    file = Path(getattr(sys.modules.get(module), "__file__", None) or "")
    if not file.is_file() or _is_own(module):
        return []
    folder = file.parents[module.count(".") + (file.name == "__init__.py")]
    installed, top = any(folder.glob("*.dist-info")), module.partition(".")[0]
    files, seen, pending = {file}, set[str](), [module, *_imports(file, module.split(".")[:-1])]
    while pending:
        name = pending.pop()
        parts = name.split(".")
        if name in seen or (installed and parts[0] != top):
            continue
        seen.add(name)
        path, above = folder.joinpath(*parts), parts[:-1]
        pending += [".".join(above)] if above else []  # importing a module imports its packages
        for source, package in ((path / "__init__.py", parts), (path.with_suffix(".py"), above)):
            if source.is_file():
                files.add(source)
                pending += _imports(source, package)
    return sorted(files)


def _imports(file: Path, package: list[str]) -> Iterator[str]:
    """Yield the names of modules, perhaps of other things too, that a file of a package imports."""
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError:  # of a file that Python did not import
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*parts, *([node.module] if node.module else [])])
            yield from (base, *(f"{base}.{alias.name}".strip(".") for alias in node.names))
