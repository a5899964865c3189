"""The sections of the benchmark: every module of this package that has ``measure``."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable
from importlib import import_module

import matchenv.benchmarks.throughput as package
from matchenv.benchmarks.throughput.timing import Contest, Measurement

Measure = Callable[[int], Iterable[Contest | Measurement]]


def sections() -> dict[str, Measure]:
    """``measure(turns)`` of each section by the section's name, in alphabetical order."""
    found: dict[str, Measure] = {}
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda each: each.name):
        if module.name.startswith("__"):
            continue
        measure = getattr(import_module(f"{package.__name__}.{module.name}"), "measure", None)
        if measure is not None:
            found[module.name] = measure
    return found
