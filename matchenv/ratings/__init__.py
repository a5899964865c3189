"""Rating systems beside TrueSkill."""

from matchenv.ratings.elo import Elo, elo_log_probabilities

__all__ = ["Elo", "elo_log_probabilities"]
