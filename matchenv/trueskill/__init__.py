"""TrueSkill: beliefs about skill and their update by games.

Games of two: ``two_player`` has the public functions, ``game`` their scalar kernels, ``normal``
the standard normal and its truncations, ``draw_margin`` the margin and the probability of a draw.
Games of any number of sides of any size: ``rating`` rates them, ``probabilities`` and ``ranking``
forecast them, ``teams`` checks their players, ``sides`` has the kernels. ``trueskill`` holds the
constants in one object with all of these as methods.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

# A module is imported when a name of it is first used, so that environments load the kernels alone.
_WHERE = {
    "ConvergenceWarning": "matchenv.trueskill.rating",
    "RankingProbability": "matchenv.trueskill.ranking",
    "Rating": "matchenv.trueskill.rating",
    "TrueSkill": "matchenv.trueskill.trueskill",
    "draw_density": "matchenv.trueskill.two_player",
    "draw_margin_from_probability": "matchenv.trueskill.draw_margin",
    "draw_probability": "matchenv.trueskill.two_player",
    "draw_probability_from_margin": "matchenv.trueskill.draw_margin",
    "expose": "matchenv.trueskill.rating",
    "first_place_probability": "matchenv.trueskill.probabilities",
    "match_quality": "matchenv.trueskill.two_player",
    "ranking_probability": "matchenv.trueskill.ranking",
    "rate": "matchenv.trueskill.rating",
    "team_draw_probability": "matchenv.trueskill.probabilities",
    "team_match_quality": "matchenv.trueskill.probabilities",
    "team_win_probability": "matchenv.trueskill.probabilities",
    "true_draw_density": "matchenv.trueskill.two_player",
    "update": "matchenv.trueskill.two_player",
    "win_probability": "matchenv.trueskill.two_player",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return __all__
