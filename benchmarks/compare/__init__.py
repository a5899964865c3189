"""Policies against each other on the same games: ``python -m benchmarks.compare``."""

from benchmarks.compare.comparison import Comparison, run_comparison

__all__ = ["Comparison", "run_comparison"]
