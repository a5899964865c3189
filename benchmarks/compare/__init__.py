"""Policies against each other on the same games: ``matchenv compare``."""

from matchenv.benchmarks.compare.comparison import run_comparison
from matchenv.benchmarks.compare.report import Comparison

__all__ = ["Comparison", "run_comparison"]
