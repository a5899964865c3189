"""Provenance of results: versions, and digests of code and files."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

ROOMS = ("matchenv", "matchenv.baselines", "matchenv.agents", "matchenv.benchmarks")
# No number of a result depends on these folders.
NO_NUMBERS = {"cli", "rendering", "report"}


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
    specs = [spec for room in ROOMS if (spec := find_spec(room)) is not None]
    places = {Path(place) for spec in specs for place in spec.submodule_search_locations or ()}
    # An installed package has all rooms in one folder; each file counts once.
    files = {
        file
        for place in places
        for file in place.rglob("*.py")
        if not NO_NUMBERS.intersection(file.relative_to(place).parts)
    }
    # By content, so that the digest does not depend on where the package lies.
    return digest_of(sorted(files, key=Path.read_bytes))[:16]


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

    These are its module and the modules and packages that lie in the same folder. An installed
    module stands alone, since it and what it imports have versions; a class of this package has
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
    if any(folder.glob("*.dist-info")):
        return [file]
    packages = [each.parent.rglob("*.py") for each in folder.glob("*/__init__.py")]
    return sorted({file, *folder.glob("*.py"), *chain.from_iterable(packages)})
