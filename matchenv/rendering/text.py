"""A knowledge state as text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchenv.knowledge import KnowledgeState
from matchenv.settings import Settings
from matchenv.trueskill.game import quality_per_density

SHOWN_OPPONENTS = 10
OUTCOMES = {1: "player 0 won", -1: "player 0 lost", 0: "a draw"}


def describe_state(
    state: KnowledgeState,
    games_played: int,
    settings: Settings,
    last_game: tuple[int, int] | None,
    online: NDArray[np.bool_] | None = None,
) -> str:
    """The beliefs, the most even opponents and the last game, a line each.

    Args:
        state: beliefs of shape (M + 1,).
        games_played: games played in the episode so far.
        settings: the environment's settings.
        last_game: the action and outcome of the last game, if there was one.
        online: which opponents are online, shape (M,); only these are listed. None for all.
    """
    mu, sigma = state.mu, state.sigma
    density = state.draw_density(settings.beta)
    quality = quality_per_density(settings.beta) * density
    win = state.outcome_probability(1, settings.constants)
    ranked = np.argsort(-density, kind="stable")
    if online is not None:
        ranked = ranked[online[ranked]]
    shown = ranked[:SHOWN_OPPONENTS]
    lines = [
        f"game {games_played} of {settings.horizon}, "
        f"player 0: mu {mu[0]:+.3f}, sigma {sigma[0]:.3f}",
    ]
    if last_game is not None:
        opponent, outcome = last_game
        lines.append(f"last game: against opponent {opponent + 1}, {OUTCOMES[outcome]}")
    lines.append(f"{'opponent':>8} {'mu':>8} {'sigma':>7} {'q':>8} {'quality':>8} {'win':>7}")
    lines += [
        f"{j + 1:>8} {mu[j + 1]:>+8.3f} {sigma[j + 1]:>7.3f} {density[j]:>8.5f} "
        f"{quality[j]:>8.4f} {win[j]:>7.1%}"
        for j in shown
    ]
    hidden = len(ranked) - len(shown)
    if hidden > 0:
        lines.append(f"and {hidden} more, each a less even game")
    offline = settings.num_opponents - len(ranked)
    if offline > 0:
        lines.append(f"offline: {offline}")
    return "\n".join(lines)
