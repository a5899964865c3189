"""Rating systems beside TrueSkill."""

from matchenv.ratings.elo import (
    Elo,
    elo_log_probabilities,
    k_factor_from_alpha,
)

__all__ = [
    "Elo",
    "elo_log_probabilities",
    "k_factor_from_alpha",
]
