"""TrueSkill Through Time: what a whole log says about every player at every time."""

from matchenv.replay.smoothing.smooth import SmoothedLog, smooth

__all__ = ["SmoothedLog", "smooth"]
