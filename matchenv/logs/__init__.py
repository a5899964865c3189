"""Match logs: read from files and tables, rated in order of play, smoothed, and fitted.

``read_log`` needs pandas (``pip install "matchenv[logs]"``), and so does ``MatchLog.from_table``.
"""

from matchenv.logs.columns import BadLogError
from matchenv.logs.fitting import Fit, fit
from matchenv.logs.match_log import MatchLog, ranks_from_scores
from matchenv.logs.reading import GamesLeftOutError, Reading, ReadingSettings, read_log
from matchenv.logs.replay import (
    BeliefReplay,
    Model,
    RatingSystem,
    TrueSkillReplay,
    ratings_table,
    replay_system,
    replay_trueskill,
)
from matchenv.logs.smoothing import SmoothedLog, curves_table, smooth

__all__ = [
    "BadLogError",
    "BeliefReplay",
    "Fit",
    "GamesLeftOutError",
    "MatchLog",
    "Model",
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
    "replay_system",
    "replay_trueskill",
    "smooth",
]
