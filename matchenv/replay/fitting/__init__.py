"""Parameters of TrueSkill fitted to a log of matches."""

from matchenv.replay.fitting.fit import Fit, fit

__all__ = ["Fit", "fit"]
