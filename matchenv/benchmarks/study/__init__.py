"""The simulation study of the 2011 paper: ``matchenv study``."""

from matchenv.benchmarks.study.results import Study, run_study

__all__ = ["Study", "run_study"]
