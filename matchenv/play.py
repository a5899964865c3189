"""Names of players' numbers and the outcome of a game, for the queue until it is a simulator."""

from __future__ import annotations

import math

from matchenv.belief.belief import MU as MU
from matchenv.belief.belief import SIGMA as SIGMA
from matchenv.belief.belief import TRUE_SKILL as TRUE_SKILL
from matchenv.runtime.compile import compiled


@compiled
def game_outcome(
    skill_0: float, skill_j: float, noise: float, beta: float, draw_margin: float
) -> int:
    """Return who wins: +1 player 0, -1 the opponent, 0 a draw.

    Args:
        skill_0: true skill of player 0.
        skill_j: true skill of the opponent.
        noise: a standard normal, the noise of the difference of the two performances.
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.
    """
    difference = skill_0 - skill_j + math.sqrt(2.0) * beta * noise
    if draw_margin > 0.0 and abs(difference) <= draw_margin:
        return 0
    return 1 if difference > 0.0 else -1
