"""Provenance of results: versions, the commit of the code, digests of files."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from matchenv.runtime import PACKAGE


def provenance() -> dict[str, str]:
    """Return the versions that made a result, and the commit of the code in a clone."""
    made_with = {"python": platform.python_version(), **versions("gymnasium", "scipy")}
    if commit():
        made_with["commit"] = commit()
    return made_with


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of this package, NumPy, Numba and further packages."""
    return {name: version(name) for name in ("matchenv", "numpy", "numba", *packages)}


@cache
def commit() -> str:
    """Return the commit of the clone that this package lies in; empty for an installed package."""
    clone = PACKAGE.parent
    if not (clone / ".git").exists():
        return ""
    try:
        described = subprocess.run(
            ["git", "-C", str(clone), "describe", "--always", "--dirty", "--exclude=*"],
            capture_output=True,
            text=True,
            check=True,
            timeout=10.0,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return described.stdout.strip()


def digest_of(files: Iterable[Path]) -> str:
    """Return a digest of the contents of files, in the given order.

    Raises:
        OSError: if a file cannot be read.
    """
    # Of digests of equal length, so that moving bytes from one file to the next changes it.
    digests = (hashlib.sha256(file.read_bytes()).digest() for file in files)
    return hashlib.sha256(b"".join(digests)).hexdigest()


# The specification of the module of each file, and the digest of the file when it was imported.
_digests: dict[Path, tuple[Any, str]] = {}


def module_digest(spec: str) -> str:
    """Return a digest of the file that defines a third-party class.

    It is the file at the first call after its import, since later changes do not run. It is empty
    for classes of ``__main__`` and of notebooks, whose code no later run can know.

    Args:
        spec: ``module:Class:key=value``; the module has been imported.
    """
    name = spec.partition(":")[0]
    files = module_files(spec)
    if _is_own(name):
        return digest_of([])
    if not files:
        return ""
    module = sys.modules[name]
    if module is sys.modules["__main__"]:
        return ""
    file = files[0]
    if file not in _digests or _digests[file][0] is not module.__spec__:
        _digests[file] = (module.__spec__, digest_of(files))
    return _digests[file][1]


def module_files(spec: str) -> list[Path]:
    """Return the file that defines a third-party class; none for a class of this package.

    Args:
        spec: ``module:Class:key=value``; the module has been imported.
    """
    name = spec.partition(":")[0]
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None or _is_own(name) or not Path(file).is_file():
        return []
    return [Path(file)]


def _is_own(module: str) -> bool:
    return module.partition(".")[0] == "matchenv"
