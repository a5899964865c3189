"""KG's best multiplier in each cell of the study: ``python -m matchenv.benchmarks.tune``."""
