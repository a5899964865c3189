"""Rating systems walked over a log of matches, compiled, fitted to it, and seen in hindsight."""

from matchenv.replay.elo import LOGISTIC_BETA, EloReplay, replay_elo
from matchenv.replay.fitting import Fit, fit
from matchenv.replay.smoothing import SmoothedLog, smooth
from matchenv.replay.trueskill import TrueSkillReplay, replay_trueskill

__all__ = [
    "LOGISTIC_BETA",
    "EloReplay",
    "Fit",
    "SmoothedLog",
    "TrueSkillReplay",
    "fit",
    "replay_elo",
    "replay_trueskill",
    "smooth",
]
