"""What no policy can exceed, at full size: ``python -m matchenv.benchmarks.bound``."""
