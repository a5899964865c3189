"""KG's best multiplier in each cell of the study: ``matchenv tune``."""

from matchenv.benchmarks.tune.tuning import Tuning, run_tuning

__all__ = ["Tuning", "run_tuning"]
