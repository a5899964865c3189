"""Infrastructure of all programs: compilation, random numbers, files, processes."""

from __future__ import annotations

import os
from pathlib import Path

# The folder of this package's code.
PACKAGE = Path(__file__).resolve().parent.parent


def source_files() -> list[Path]:
    """Return the Python files of this package, sorted."""
    files = []
    for folder, _, names in os.walk(PACKAGE, followlinks=True):
        files += [Path(folder, name) for name in names if name.endswith(".py")]
    return sorted(files)
