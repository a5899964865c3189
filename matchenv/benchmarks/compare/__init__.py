"""Comparison and tuning of policies in any environment: ``matchenv compare`` and ``tune``."""

from matchenv.benchmarks.compare.comparison import Comparison, compare, run_comparison
from matchenv.benchmarks.compare.tuning import Tuning, run_tuning

__all__ = ["Comparison", "Tuning", "compare", "run_comparison", "run_tuning"]
