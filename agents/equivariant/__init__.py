"""The equivariant policy: one score for each opponent, with weights that all of them share.

``state`` reads the observation and ``network`` scores the opponents. ``policy`` makes a policy of
stable-baselines3 of it, ``any_size`` the one that ``matchenv.agents.load`` returns. ``evolution``
is the search, ``training`` plays its games, ``folder`` keeps its files, and ``selection`` trains
from several seeds and keeps the best.
See docs/learning.md.
"""
