"""KG's best multiplier in each cell of the study: ``matchenv tune``."""
