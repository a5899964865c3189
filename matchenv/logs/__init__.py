"""Match logs: read from files and tables, rated in order of play, smoothed, and fitted.

``read_log`` needs pandas (``pip install "matchenv[logs]"``), and so does ``MatchLog.from_table``.
"""

from matchenv.logs.bad_rows import BadLogError
from matchenv.logs.fitting import Fit, fit
from matchenv.logs.match_log import MatchLog, ranks_from_scores
from matchenv.logs.reading import Reading, ReadingSettings, read_log
from matchenv.logs.replay import (
    LOGISTIC_BETA,
    BeliefReplay,
    EloReplay,
    RatingSystem,
    TrueSkillReplay,
    replay_elo,
    replay_system,
    replay_trueskill,
)
from matchenv.logs.smoothing import SmoothedLog, smooth
from matchenv.logs.tables import curves_table, ratings_table

__all__ = [
    "LOGISTIC_BETA",
    "BadLogError",
    "BeliefReplay",
    "EloReplay",
    "Fit",
    "MatchLog",
    "RatingSystem",
    "Reading",
    "ReadingSettings",
    "SmoothedLog",
    "TrueSkillReplay",
    "curves_table",
    "fit",
    "ranks_from_scores",
    "ratings_table",
    "read_log",
    "replay_elo",
    "replay_system",
    "replay_trueskill",
    "smooth",
]
