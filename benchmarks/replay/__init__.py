"""Rating systems judged on logs of real matches: ``python -m benchmarks.replay LOG.csv``."""
