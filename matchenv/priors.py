"""Moved to ``matchenv.envs.one_player.priors``; this name goes when nothing imports it."""

from matchenv.envs.one_player.priors import *  # noqa: F403
