"""The shared network: one set of weights for all opponents, for every algorithm.

``rows`` are the numbers that are said of each opponent and of the state, ``network`` makes scores
and values of them, ``policies`` are the policies of stable-baselines3 and sb3-contrib around it.
"""
