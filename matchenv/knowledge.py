"""Moved to ``matchenv.belief.knowledge``; this name goes when nothing imports it."""

from matchenv.belief.knowledge import *  # noqa: F403
