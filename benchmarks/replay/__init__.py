"""Rating systems judged on logs of real matches: ``matchenv replay LOG.csv``."""
