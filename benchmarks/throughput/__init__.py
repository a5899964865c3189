"""Speed as ratios against rivals in the same run: ``python -m matchenv.benchmarks.throughput``."""
