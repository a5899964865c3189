"""KG on any belief, by the belief's own update after every outcome of every game."""

from __future__ import annotations

import numpy as np

from matchenv.baselines.policy import Floats
from matchenv.belief import GameConstants
from matchenv.knowledge import KnowledgeState

# So many states after a game are held at a time.
MOST_STATES = 1 << 14


def look_ahead_scores(
    state: KnowledgeState, multipliers: Floats, constants: GameConstants
) -> Floats:
    """q_0j + multiplier F_j for every opponent of every state.

    Each state is updated by every outcome of a game with every opponent: 2 M^2 draw densities
    a state. The package's own beliefs have a faster, compiled rule.

    Args:
        state: beliefs of shape (B,).
        multipliers: shape (B,), what a unit of future draw density is worth.
        constants: of the games.

    Returns:
        Scores of shape (B, M).

    Source: Ryzhov, Tariq, Powell (2011), eq. (13).
    """
    opponents = state.num_opponents
    batch = max(1, MOST_STATES // opponents)
    parts = [
        _scores(state[first : first + batch], multipliers[first : first + batch], constants)
        for first in range(0, len(state.mu), batch)
    ]
    return np.concatenate(parts) if parts else np.empty((0, opponents))


def _scores(state: KnowledgeState, multipliers: Floats, constants: GameConstants) -> Floats:
    count, opponents = len(state.mu), state.num_opponents
    games = state[np.repeat(np.arange(count), opponents)]
    chosen = np.tile(np.arange(opponents), count)
    future = np.zeros((count, opponents))
    for outcome in constants.outcomes:
        after = games.after_games(chosen, np.full(chosen.size, outcome), constants)
        best = after.draw_density(constants.beta).max(axis=1).reshape(count, opponents)
        future += state.outcome_probability(outcome, constants) * best
    return state.draw_density(constants.beta) + multipliers[:, None] * future
