"""Policies of any environment against each other: ``matchenv compare``, and their tuning."""

from matchenv.benchmarks.compare.comparison import run_comparison
from matchenv.benchmarks.compare.report import Comparison
from matchenv.benchmarks.compare.tuning import Tuning, run_tuning

__all__ = ["Comparison", "Tuning", "run_comparison", "run_tuning"]
