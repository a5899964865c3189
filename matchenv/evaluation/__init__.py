"""One way to play policies: cells, seeds, rollouts, jobs that resume, estimates, tables.

It takes policies and functions that make them, never names: whoever knows the names stands above.
"""
