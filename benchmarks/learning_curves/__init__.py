"""Learning curves of training runs over their seeds: ``matchenv plot``."""

from matchenv.benchmarks.learning_curves.curves import LearningCurve, curves_of
from matchenv.benchmarks.learning_curves.levels import Level, levels_of
from matchenv.benchmarks.learning_curves.runs import Run, read_runs

__all__ = ["LearningCurve", "Level", "Run", "curves_of", "levels_of", "read_runs"]
