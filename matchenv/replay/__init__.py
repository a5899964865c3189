"""Rating systems over a log of matches: replayed in order of play, fitted, and smoothed."""

from matchenv.replay.elo import LOGISTIC_BETA, EloReplay, replay_elo
from matchenv.replay.fitting import Fit, fit
from matchenv.replay.glicko2 import Glicko2Replay, replay_glicko2
from matchenv.replay.smoothing import SmoothedLog, smooth
from matchenv.replay.trueskill import TrueSkillReplay, replay_trueskill
from matchenv.replay.weng_lin import WengLinReplay, replay_weng_lin

__all__ = [
    "LOGISTIC_BETA",
    "EloReplay",
    "Fit",
    "Glicko2Replay",
    "SmoothedLog",
    "TrueSkillReplay",
    "WengLinReplay",
    "fit",
    "replay_elo",
    "replay_glicko2",
    "replay_trueskill",
    "replay_weng_lin",
    "smooth",
]
