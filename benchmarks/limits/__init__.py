"""What no policy can exceed: a bound at full size, and the optimum of small problems."""
