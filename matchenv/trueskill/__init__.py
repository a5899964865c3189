"""TrueSkill: beliefs about skill and their update by games.

For games of two players, ``two_player`` has the public functions, ``game`` their scalar kernels,
``normal`` the standard normal and its truncations, and ``draw_margin`` the draw margins. For games
of any number of sides, ``rating`` rates, ``probabilities`` forecasts and ``teams`` checks
arguments; ``sides`` has the kernels of full orders, ``partial_order`` those of orders known only in
part. ``trueskill`` has the ``TrueSkill`` object, whose methods are these functions.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matchenv.trueskill.draw_margin import (
        draw_margin_from_probability as draw_margin_from_probability,
    )
    from matchenv.trueskill.draw_margin import (
        draw_probability_from_margin as draw_probability_from_margin,
    )
    from matchenv.trueskill.probabilities import first_place_probability as first_place_probability
    from matchenv.trueskill.probabilities import ranking_probability as ranking_probability
    from matchenv.trueskill.probabilities import team_draw_probability as team_draw_probability
    from matchenv.trueskill.probabilities import team_match_quality as team_match_quality
    from matchenv.trueskill.probabilities import team_win_probability as team_win_probability
    from matchenv.trueskill.rating import ConvergenceWarning as ConvergenceWarning
    from matchenv.trueskill.rating import Rating as Rating
    from matchenv.trueskill.rating import expose as expose
    from matchenv.trueskill.rating import rate as rate
    from matchenv.trueskill.trueskill import TrueSkill as TrueSkill
    from matchenv.trueskill.two_player import draw_density as draw_density
    from matchenv.trueskill.two_player import draw_probability as draw_probability
    from matchenv.trueskill.two_player import match_quality as match_quality
    from matchenv.trueskill.two_player import true_draw_density as true_draw_density
    from matchenv.trueskill.two_player import update as update
    from matchenv.trueskill.two_player import win_probability as win_probability

# The module of each public name.
_MODULES = {
    "ConvergenceWarning": "rating",
    "Rating": "rating",
    "TrueSkill": "trueskill",
    "draw_density": "two_player",
    "draw_margin_from_probability": "draw_margin",
    "draw_probability": "two_player",
    "draw_probability_from_margin": "draw_margin",
    "expose": "rating",
    "first_place_probability": "probabilities",
    "match_quality": "two_player",
    "ranking_probability": "probabilities",
    "rate": "rating",
    "team_draw_probability": "probabilities",
    "team_match_quality": "probabilities",
    "team_win_probability": "probabilities",
    "true_draw_density": "two_player",
    "update": "two_player",
    "win_probability": "two_player",
}
__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that environments load only the kernels."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULES[name]}")
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
