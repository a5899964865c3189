"""The simulator's contract, and the scalar and the vector environment over any simulator."""
