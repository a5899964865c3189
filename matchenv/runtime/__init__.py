"""Infrastructure of all programs: compilation, random numbers, files, processes."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import chain
from pathlib import Path

ROOMS = ("matchenv", "matchenv.baselines", "matchenv.agents", "matchenv.benchmarks")


def source_folders() -> set[Path]:
    """Return the folders of this package's code; an installed package has all in one."""
    specs = [find_spec(room) for room in ROOMS]
    places = [spec.submodule_search_locations or () for spec in specs if spec is not None]
    return {Path(place) for place in chain(*places)}
