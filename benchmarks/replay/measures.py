"""Measures of a replay: prediction error, draws found, and win ratios."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.logs.forecasts import draws_of_games
from matchenv.logs.match_log import MatchLog

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def pair_costs(gap: Floats, outcome: NDArray[np.int8]) -> Floats:
    """Return (pairs,) 0 for the right order, 1 for the wrong one or none, NaN for a draw.

    Args:
        gap: (pairs,) predicted strength of the first side minus that of the second.
        outcome: (pairs,) +1 if the first side came out ahead, -1 if the second, 0 for a draw.
    """
    return np.where(outcome == 0, np.nan, np.where(np.sign(gap) == outcome, 0.0, 1.0))


def prediction_error(gap: Floats, outcome: NDArray[np.int8], game: Integers) -> dict[str, float]:
    """Return the share of pairs predicted in the wrong order, and what it was counted on.

    Args:
        gap: as ``pair_costs``.
        outcome: as ``pair_costs``.
        game: (pairs,) the game in which each pair met.

    Returns:
        ``error`` and ``standard_error`` as ``mean_over_pairs``; ``pairs`` that did not draw;
        ``drawn`` ones; and ``predicted_draws``, those of ``pairs`` for which no order was
        predicted.

    Source: Herbrich, Minka, Graepel (2006), section 4.1.
    """
    drawn = outcome == 0
    error, standard_error = mean_over_pairs(pair_costs(gap, outcome), game)
    return {
        "error": error,
        "standard_error": standard_error,
        "pairs": int(np.count_nonzero(~drawn)),
        "drawn": int(np.count_nonzero(drawn)),
        "predicted_draws": int(np.count_nonzero((gap == 0.0) & ~drawn)),
    }


def mean_over_pairs(value: Floats, game: Integers) -> tuple[float, float]:
    """Return the mean of a value over pairs, and its standard error; NaN where none is counted.

    Pairs of one game share their players, so each game counts as one observation.

    Args:
        value: (pairs,) NaN for a pair that is left out.
        game: (pairs,) the game of each pair.
    """
    counted = ~np.isnan(value)
    if not counted.any():
        return math.nan, math.nan
    mean = float(value[counted].mean())
    by_game = np.bincount(game[counted], weights=value[counted] - mean)
    return mean, float(np.sqrt(np.sum(by_game**2)) / np.count_nonzero(counted))


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
        ``possible``, shares of all possible draws in the games taken so far; ``found``, shares of
        all draws found in them; the ``area`` under that curve, 0.5 for a quality without
        information and NaN without draws; and the number of ``draws``.

    Source: Herbrich, Minka, Graepel (2006), section 4.1, 'Match Quality'.
    """
    possible, found = log.game_size - 1, draws_of_games(log)
    draws = int(found.sum())
    x, y, area = np.array([0.0, 1.0]), np.full(2, np.nan), math.nan
    if draws:
        order = np.argsort(-quality, kind="stable")
        ends = np.append(np.flatnonzero(np.diff(quality[order])), len(order) - 1)
        x, y = (np.append(0.0, np.cumsum(each[order])[ends] / int(each.sum()))
                for each in (possible, found))  # fmt: skip
        area = float(np.trapezoid(y, x))
    return {"possible": x, "found": y, "area": area, "draws": draws}


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
        their ``deviation``; and the number of ``kept_games``.

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
        "kept_games": int(kept.sum()),
    }
