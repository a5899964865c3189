"""TrueSkill's mathematics: beliefs about skill, and what games say about them.

Games of two: ``two_player`` and ``corrections`` are the public functions, ``game`` their scalar
kernels, ``normal`` the standard normal in both tails, ``draw_margin`` the margin and the
probability of a draw. Games of any number of sides of any size: ``rating`` rates them,
``quality`` says how even they are and who is likely to win, ``first_place`` how likely each side
is to come first, ``ranking`` how likely a whole ranking is; ``environment`` holds the constants
and offers all of these as methods; ``sides``, ``factor_graph`` and ``chain_integral`` are their
kernels.
"""

from matchenv.trueskill.corrections import draw_correction, win_correction
from matchenv.trueskill.draw_margin import (
    draw_margin_from_probability,
    draw_probability_from_margin,
)
from matchenv.trueskill.environment import TrueSkill
from matchenv.trueskill.first_place import first_place_probability
from matchenv.trueskill.quality import (
    team_draw_probability,
    team_match_quality,
    team_win_probability,
)
from matchenv.trueskill.ranking import RankingProbability, ranking_probability
from matchenv.trueskill.rating import ConvergenceWarning, Rating, expose, rate
from matchenv.trueskill.two_player import (
    draw_density,
    draw_probability,
    log_draw_probability,
    log_win_probability,
    match_quality,
    true_draw_density,
    update,
    win_probability,
)

__all__ = [
    "ConvergenceWarning",
    "RankingProbability",
    "Rating",
    "TrueSkill",
    "draw_correction",
    "draw_density",
    "draw_margin_from_probability",
    "draw_probability",
    "draw_probability_from_margin",
    "expose",
    "first_place_probability",
    "log_draw_probability",
    "log_win_probability",
    "match_quality",
    "ranking_probability",
    "rate",
    "team_draw_probability",
    "team_match_quality",
    "team_win_probability",
    "true_draw_density",
    "update",
    "win_correction",
    "win_probability",
]
