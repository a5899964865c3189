"""Policies against each other on the same games: ``python -m benchmarks.compare``."""

from benchmarks.compare.comparison import run_comparison
from benchmarks.compare.report import Comparison

__all__ = ["Comparison", "run_comparison"]
