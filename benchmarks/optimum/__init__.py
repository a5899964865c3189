"""The best there is, on instances small enough: ``python -m matchenv.benchmarks.optimum``."""
