"""Speed as ratios against rivals in the same run: ``matchenv throughput``."""
