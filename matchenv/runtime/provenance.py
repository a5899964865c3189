"""Provenance of results: versions, and digests of code and files."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

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


def module_files(spec: str) -> list[Path]:
    """Return the source files that define a third-party class.

    These are all modules in the folder from which its module is imported and in the folders below,
    as far as Python can import them; of an installed package, its own. A class of this package has
    no files.

    Args:
        spec: ``module:Class:key=value``; the module has been imported.
    """
    module = spec.partition(":")[0]
    source = getattr(sys.modules.get(module), "__file__", None)
    if source is None or module.partition(".")[0] == "matchenv":
        return []
    file = Path(source)
    folder = file.parents[module.count(".") + (file.name == "__init__.py")]
    top = folder / module.partition(".")[0]
    if any(folder.glob("*.dist-info")):
        return sorted({file, *top.rglob("*.py")})
    files = {file}
    for path, folders, names in os.walk(folder):
        # A folder is a package even without an __init__.py; a virtual environment is none.
        folders[:] = [name for name in folders if name.isidentifier()
                      and not Path(path, name, "pyvenv.cfg").exists()]  # fmt: skip
        files.update(Path(path, name) for name in names if name.endswith(".py"))
    return sorted(files)
