"""Training on many machines with RLlib: what is ours in it; needs the package ray with RLlib.

``env_runner`` plays in the native vector environment, ``module`` is the shared network.
"""
