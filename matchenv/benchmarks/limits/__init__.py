"""Limits of all policies: an upper bound at full size, and the optimum of small problems."""
