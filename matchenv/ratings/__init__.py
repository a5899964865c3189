"""Rating systems beside TrueSkill, and ratings of named players kept in a file."""

from matchenv.ratings.elo import (
    Elo,
    elo_log_probabilities,
    k_factor_from_alpha,
)
from matchenv.ratings.leaderboard import Leaderboard, RankedPlayer

__all__ = [
    "Elo",
    "Leaderboard",
    "RankedPlayer",
    "elo_log_probabilities",
    "k_factor_from_alpha",
]
