"""Provenance of results: versions, and digests of code and files."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

ROOMS = ("matchenv", "matchenv.baselines", "matchenv.agents", "matchenv.benchmarks")
# No number of a result depends on these folders.
NO_NUMBERS = ("cli", "commands", "rendering", "csv_log", "watch", "report", "throughput")


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
