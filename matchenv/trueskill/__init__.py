"""TrueSkill's mathematics: beliefs about skill, and what games say about them.

``two_player`` holds the public functions for games of two, ``game`` their scalar kernels,
``normal`` the standard normal in both tails, ``draw_margin`` margins and probabilities of
draws.
"""

from matchenv.trueskill.draw_margin import (
    draw_margin_from_probability,
    draw_probability_from_margin,
)
from matchenv.trueskill.two_player import (
    draw_correction,
    draw_density,
    draw_probability,
    log_draw_probability,
    log_win_probability,
    match_quality,
    true_draw_density,
    update,
    win_correction,
    win_probability,
)

__all__ = [
    "draw_correction",
    "draw_density",
    "draw_margin_from_probability",
    "draw_probability",
    "draw_probability_from_margin",
    "log_draw_probability",
    "log_win_probability",
    "match_quality",
    "true_draw_density",
    "update",
    "win_correction",
    "win_probability",
]
