"""Measures of a replay: prediction error, draws found, and win ratios."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.logs.forecasts import draws_of_games, mean_over_pairs, pair_costs
from matchenv.logs.match_log import MatchLog

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Points of a curve in a file: one for each game would be more than anyone can look at.
CURVE = np.linspace(0.0, 1.0, 101)


def prediction_error(gap: Floats, outcome: NDArray[np.int8], game: Integers) -> dict[str, float]:
    """Return the share of pairs predicted in the wrong order, and its standard error.

    Arguments as ``pair_costs`` and ``mean_over_pairs``.

    Source: Herbrich, Minka, Graepel (2006), section 4.1.
    """
    error, standard_error = mean_over_pairs(pair_costs(gap, outcome), game)
    return {"error": error, "standard_error": standard_error}


def most_even(quality: Floats, share: float) -> NDArray[np.bool_]:
    """Return (games,) True for the given share of games of the highest quality.

    Args:
        quality: (games,) high for a game that a system judges even.
        share: of the games, in [0, 1]; the number is rounded up. Earlier games go first.
    """
    # Rounded first, so that 0.2 of 5 games is 1 game although 0.2 * 5 may exceed 1.
    count = math.ceil(round(share * len(quality), 9))
    chosen = np.zeros(len(quality), dtype=np.bool_)
    chosen[np.argsort(-quality, kind="stable")[:count]] = True
    return chosen


def draw_curve(log: MatchLog, quality: Floats) -> dict[str, Any]:
    """Accumulate draws in order of falling quality; games of equal quality come as one.

    Args:
        log: the games.
        quality: (games,) high for a game that a system judges even.

    Returns:
        ``possible``, shares of all possible draws in the games taken so far, at ``CURVE``;
        ``found``, shares of all draws found in them; and the ``area`` under that curve, 0.5 for a
        quality without information. The last two are NaN without draws.

    Source: Herbrich, Minka, Graepel (2006), section 4.1, 'Match Quality'.
    """
    possible, found = log.game_size - 1, draws_of_games(log)
    order = np.argsort(-quality, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(quality[order])), len(order) - 1)
    with np.errstate(invalid="ignore"):
        x, y = (np.append(0.0, np.cumsum(each[order])[ends]) / each.sum()
                for each in (possible, found))  # fmt: skip
    found_at = np.interp(CURVE, x, y)
    return {"possible": CURVE, "found": found_at, "area": float(np.trapezoid(y, x))}


def win_shares(log: MatchLog) -> Floats:
    """Return (teams,) the share of the other sides that each side beat, a draw counting half."""
    # Sides of a rank, itself included; a rank is below the size of its game.
    place = log.game_start[log.team_game] + log.rank
    level = np.bincount(place)[place]
    others = log.game_size[log.team_game] - 1
    return (others + 1 - log.rank - level + 0.5 * (level - 1)) / others


def win_ratio_deviation(log: MatchLog, kept: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the mean distance of players' win ratios from 50 % among the kept games.

    Args:
        log: the games.
        kept: (games,) the games above the threshold of quality.

    Returns:
        For ``games``, least numbers of games played: ``players`` with so many and the mean of
        their ``deviation``.

    Source: Herbrich, Minka, Graepel (2006), section 4.1, 'Win Probability'.
    """
    entry = kept[log.entry_game]
    player, share = log.player[entry], win_shares(log)[log.entry_team[entry]]
    played, won = np.bincount(player), np.bincount(player, share)
    some = played > 0
    played, deviation = played[some], np.abs(won[some] / played[some] - 0.5)
    # 1, 2, 3, 5, 7, 10, 20, 30, 50, 70, 100, ... up to the most games of a player.
    round_numbers = np.outer(10 ** np.arange(10), [1, 2, 3, 5, 7]).ravel()
    least = round_numbers[round_numbers <= played.max(initial=0)]
    chosen = [deviation[played >= each] for each in least]
    return {
        "games": least,
        "players": np.array([each.size for each in chosen]),
        "deviation": np.array([each.mean() for each in chosen]),
    }
