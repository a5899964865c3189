"""Rating systems beside TrueSkill and Elo: those of Weng and Lin, and Glicko-2."""

from matchenv.rating_models.glicko2 import Glicko2Rating, rate_glicko2
from matchenv.rating_models.weng_lin import rate_weng_lin

__all__ = ["Glicko2Rating", "rate_glicko2", "rate_weng_lin"]
