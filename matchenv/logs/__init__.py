"""Match logs: read from files and tables, rated in order of play, smoothed, and fitted.

``read_log`` needs pandas (``pip install "matchenv[logs]"``), and so does ``MatchLog.from_table``.
"""

from matchenv.logs.faults import BadLogError as BadLogError
from matchenv.logs.fitting import Fit as Fit
from matchenv.logs.fitting import fit as fit
from matchenv.logs.match_log import MatchLog as MatchLog
from matchenv.logs.ranks import ranks_from_scores as ranks_from_scores
from matchenv.logs.reading import GamesLeftOutError as GamesLeftOutError
from matchenv.logs.reading import Reading as Reading
from matchenv.logs.reading import ReadingSettings as ReadingSettings
from matchenv.logs.reading import read_log as read_log
from matchenv.logs.replay import BeliefReplay as BeliefReplay
from matchenv.logs.replay import Model as Model
from matchenv.logs.replay import RatingSystem as RatingSystem
from matchenv.logs.replay import TrueSkillReplay as TrueSkillReplay
from matchenv.logs.replay import ratings_table as ratings_table
from matchenv.logs.replay import replay_system as replay_system
from matchenv.logs.replay import replay_trueskill as replay_trueskill
from matchenv.logs.smoothing import SmoothedLog as SmoothedLog
from matchenv.logs.smoothing import curves_table as curves_table
from matchenv.logs.smoothing import smooth as smooth
