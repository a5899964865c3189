"""The equivariant policy: one score for each opponent, with weights that all of them share.

``state`` reads the observation, ``network`` scores, ``policy`` is stable-baselines3's, and
``any_size`` what ``matchenv.agents.load`` gives. ``evolution`` searches, ``training`` plays the
games, ``folder`` keeps the files, ``selection`` trains from several seeds and chooses among them.
See docs/learning.md.
"""
