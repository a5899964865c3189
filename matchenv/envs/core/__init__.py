"""The simulator interface, and the scalar and vector environments over any simulator."""
