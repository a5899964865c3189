"""Rating systems walked over a log of matches in order of play, compiled, and fitted to it."""

from matchenv.replay.elo import LOGISTIC_BETA, EloReplay, replay_elo
from matchenv.replay.fitting import Fit, fit
from matchenv.replay.trueskill import TrueSkillReplay, replay_trueskill

__all__ = [
    "LOGISTIC_BETA",
    "EloReplay",
    "Fit",
    "TrueSkillReplay",
    "fit",
    "replay_elo",
    "replay_trueskill",
]
