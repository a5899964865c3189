"""Moved to ``matchenv.envs.one_player.settings``; this name goes when nothing imports it."""

from matchenv.envs.one_player.settings import *  # noqa: F403
