"""The optimum under a belief: every choice and every outcome, to the end.

The belief model is a decision problem of its own: a game with j gives the draw density under
the belief, the outcome has its probability under the belief, and the belief after the game is
the next state. Its optimum is found by recursion over all (opponent, outcome) sequences. The
last game needs no outcomes, so there are (outcomes * M)^(N - 1) sequences. They are not merged:
with the approximate updates of TrueSkill the order of games matters.

Source: the dynamic program of Ryzhov, Tariq, Powell (2011), eq. (7) and (12), solved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.belief import OUTCOMES as OUTCOMES_IN_ORDER
from matchenv.belief import GameConstants
from matchenv.belief.states import States
from matchenv.runtime.compile import compiled
from matchenv.trueskill.game import density_at_zero, outcome_probability_of, total_variance

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# The outcomes of a game, in the order of a node's children; the draw comes last.
OUTCOMES = np.array(OUTCOMES_IN_ORDER)

# So many states after a game are held at a time, at each depth.
MOST_STATES = 1 << 13


def choice_values(states: States, games_left: int, constants: GameConstants) -> Floats:
    """Expected sum of q for every first choice, with the best choices after it.

    Args:
        states: B states of the belief model.
        games_left: games to the end, >= 1.
        constants: of the games.

    Returns:
        Shape (B, M).
    """
    values = states.draw_density(constants.beta)
    if games_left == 1:
        return values
    count, opponents = values.shape
    batch = max(1, MOST_STATES // opponents)
    for first in range(0, count, batch):
        rows = slice(first, first + batch)
        some = states[rows]
        chosen = np.tile(np.arange(opponents), len(some))
        games = some.repeated(opponents)
        for outcome in constants.outcomes:
            after = games.after_games(chosen, outcome, constants)
            best = choice_values(after, games_left - 1, constants).max(axis=1)
            chance = some.outcome_probability(outcome, constants)
            values[rows] += chance * best.reshape(-1, opponents)
    return values


@compiled
def true_totals(
    actions: Integers, games: int, true_skill: Floats, beta: float, draw_margin: float
) -> Floats:
    """Expected sum of the true draw density, given the true skills, over all outcomes.

    Args:
        actions: shape (B, nodes), the tree of choices: level after level, the children of a
            node side by side in the order of ``OUTCOMES``.
        games: levels of the tree.
        true_skill: shape (B, T, M + 1).
        beta: standard deviation of one performance around skill.
        draw_margin: performances no further apart than this are a draw.

    Returns:
        Shape (B, T).
    """
    outcomes = 3 if draw_margin > 0.0 else 2
    variance = total_variance(0.0, 0.0, beta)
    totals = np.zeros(true_skill.shape[:2])
    reach = np.empty(actions.shape[1])
    for b in range(actions.shape[0]):
        for t in range(true_skill.shape[1]):
            reach[0] = 1.0
            start, width = 0, 1
            for level in range(games):
                for k in range(width):
                    gap = true_skill[b, t, 0] - true_skill[b, t, actions[b, start + k] + 1]
                    probability = reach[start + k]
                    totals[b, t] += probability * density_at_zero(gap, variance)
                    if level == games - 1:
                        continue
                    child = start + width + k * outcomes
                    for o in range(outcomes):
                        reach[child + o] = probability * outcome_probability_of(
                            gap, variance, OUTCOMES[o], draw_margin
                        )
                start += width
                width *= outcomes
    return totals
