"""TrueSkill: beliefs about skill and their update by games.

Games of two: ``two_player`` has the public functions, ``game`` their scalar kernels, ``normal``
the standard normal and its truncations, ``draw_margin`` the margin and the probability of a draw.
Games of any number of sides of any size: ``rating`` rates them, ``probabilities`` and ``ranking``
forecast them, ``teams`` checks their players, ``sides`` has the kernels. ``trueskill`` holds the
constants in one object with all of these as methods.
"""

from matchenv.trueskill.draw_margin import (
    draw_margin_from_probability,
    draw_probability_from_margin,
)
from matchenv.trueskill.probabilities import (
    first_place_probability,
    team_draw_probability,
    team_match_quality,
    team_win_probability,
)
from matchenv.trueskill.ranking import RankingProbability, ranking_probability
from matchenv.trueskill.rating import ConvergenceWarning, Rating, expose, rate
from matchenv.trueskill.trueskill import TrueSkill
from matchenv.trueskill.two_player import (
    draw_density,
    draw_probability,
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
    "draw_density",
    "draw_margin_from_probability",
    "draw_probability",
    "draw_probability_from_margin",
    "expose",
    "first_place_probability",
    "match_quality",
    "ranking_probability",
    "rate",
    "team_draw_probability",
    "team_match_quality",
    "team_win_probability",
    "true_draw_density",
    "update",
    "win_probability",
]
