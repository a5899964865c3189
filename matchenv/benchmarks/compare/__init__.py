"""Comparison and tuning of policies in any environment: ``matchenv compare`` and ``tune``."""

from matchenv.benchmarks.compare.comparison import Comparison, run_comparison
from matchenv.benchmarks.compare.tuning import Tuning, run_tuning

__all__ = ["Comparison", "Tuning", "run_comparison", "run_tuning"]
