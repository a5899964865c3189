"""Rating systems walked over a log of matches in order of play, compiled."""

from matchenv.replay.elo import LOGISTIC_BETA, EloReplay, replay_elo
from matchenv.replay.trueskill import TrueSkillReplay, replay_trueskill

__all__ = ["LOGISTIC_BETA", "EloReplay", "TrueSkillReplay", "replay_elo", "replay_trueskill"]
