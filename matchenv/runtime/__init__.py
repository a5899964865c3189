"""Infrastructure of all programs: compilation, random numbers, files, processes."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

# The folder of this package's code.
PACKAGE = Path(__file__).resolve().parent.parent


def source_files() -> list[Path]:
    """Return the Python files of this package, sorted."""
    files = []
    for folder, _, names in os.walk(PACKAGE, followlinks=True):
        for name in names:
            if name.endswith(".py"):
                files.append(Path(folder, name))
    return sorted(files)


def cache_folder() -> Path:
    """Return ``MATCHENV_CACHE``, or matchenv/ in the user's cache folder or the temporary one."""
    if folder := os.environ.get("MATCHENV_CACHE"):
        return Path(folder)
    if sys.platform == "win32":
        variable = "LOCALAPPDATA"
    else:
        variable = "XDG_CACHE_HOME"
    parent = os.environ.get(variable) or os.path.expanduser("~/.cache")
    if parent.startswith("~"):  # there is no home
        parent = tempfile.gettempdir()
    return Path(parent) / "matchenv"
