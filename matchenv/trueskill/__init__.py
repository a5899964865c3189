"""TrueSkill: beliefs about skill and their update by games.

Games of two: ``two_player`` has the public functions, ``game`` their scalar kernels, ``normal``
the standard normal and its truncations, ``draw_margin`` the margin and the probability of a draw.
Games of any number of sides of any size: ``rating`` rates them, ``probabilities`` forecasts them,
``teams`` checks their players, ``sides`` has the kernels. ``trueskill`` holds the constants in one
object with all of these as methods.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matchenv.trueskill.draw_margin import (
        draw_margin_from_probability,
        draw_probability_from_margin,
    )
    from matchenv.trueskill.probabilities import (
        first_place_probability,
        ranking_probability,
        team_draw_probability,
        team_match_quality,
        team_win_probability,
    )
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

_MODULES = ("two_player", "draw_margin", "rating", "probabilities", "trueskill")


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that environments load the kernels alone."""
    if name in __all__:
        for module in _MODULES:
            if hasattr(found := import_module(f"{__name__}.{module}"), name):
                return globals().setdefault(name, getattr(found, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
