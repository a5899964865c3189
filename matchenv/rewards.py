"""Moved to ``matchenv.envs.one_player.rewards``; this name goes when nothing imports it."""

from matchenv.envs.one_player.rewards import *  # noqa: F403
