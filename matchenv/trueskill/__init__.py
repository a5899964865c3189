"""TrueSkill: beliefs about skill and their update by games.

For games of two players, ``two_player`` has the public functions, ``game`` their scalar kernels,
``normal`` the standard normal and its truncations, and ``draw_margin`` the draw margins. For games
of any number of sides, ``rating`` rates, ``probabilities`` forecasts, ``teams`` checks arguments
and ``sides`` has the kernels. ``trueskill`` has the ``TrueSkill`` object, whose methods are these
functions.
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
    """Import a public name on first use, so that environments load only the kernels."""
    if name in __all__:
        for submodule in _MODULES:
            if hasattr(module := import_module(f"{__name__}.{submodule}"), name):
                return globals().setdefault(name, getattr(module, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
