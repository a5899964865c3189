"""Games from the most to the least even: how many draws and fair win ratios a system finds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def most_even(quality: Floats, share: float) -> NDArray[np.bool_]:
    """The given share of games with the highest quality.

    Args:
        quality: (games,), high for a game that a system judges even.
        share: of the games to take, in [0, 1]; the number is rounded up.

    Returns:
        (games,), True for the chosen ones. Among equals the earlier game is taken.
    """
    # Rounded first, so that 0.2 of 5 games is 1 game although 0.2 * 5 may exceed 1.
    count = math.ceil(round(share * len(quality), 9))
    chosen = np.zeros(len(quality), dtype=np.bool_)
    chosen[np.argsort(-quality, kind="stable")[:count]] = True
    return chosen


@dataclass(frozen=True)
class DrawCurve:
    """Draws found as games are taken from the most to the least even.

    Attributes:
        possible: (points,), share of all possible draws in the games taken so far.
        found: (points,), share of all draws found in them.
        area: under the curve; 0.5 for a quality that says nothing, NaN without draws.
        draws: draws in all games.
    """

    possible: Floats
    found: Floats
    area: float
    draws: int


def draw_curve(quality: Floats, possible: Ints, found: Ints) -> DrawCurve:
    """Accumulate draws in order of falling quality; games of equal quality come as one.

    Args:
        quality: (games,), high for a game that a system judges even.
        possible: (games,), how many draws each game could have had.
        found: (games,), how many it had.

    Source: Herbrich, Minka, Graepel (2006), section 4.1, 'Match Quality'.
    """
    order = np.argsort(-quality, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(quality[order])), len(order) - 1)
    draws = int(found.sum())
    if draws == 0:
        return DrawCurve(np.array([0.0, 1.0]), np.full(2, np.nan), float("nan"), 0)
    x = np.concatenate([[0.0], np.cumsum(possible[order])[ends] / int(possible.sum())])
    y = np.concatenate([[0.0], np.cumsum(found[order])[ends] / draws])
    return DrawCurve(x, y, float(np.trapezoid(y, x)), draws)


@dataclass(frozen=True)
class Fairness:
    """Deviation of win ratios from 50 %, by the least number of games played.

    Attributes:
        games: (points,), least number of counted games.
        players: (points,), players with at least that many.
        deviation: (points,), mean over them of |win ratio - 0.5|.
        kept_games: games above the threshold.
    """

    games: Ints
    players: Ints
    deviation: Floats
    kept_games: int


def win_shares(game_start: Ints, rank: NDArray[np.signedinteger]) -> Floats:
    """(sides,), the share of the other sides that each side beat, a draw counting half.

    Args:
        game_start: (games + 1,), where each game's sides begin; two or more in each.
        rank: (sides,), low is good, equal is a draw.
    """
    sizes = np.diff(game_start)
    game = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((rank, game))
    # Sides of equal rank stand in a run: each has beaten all behind it, and drawn with the rest.
    new = np.diff(rank[order], prepend=np.nan) != 0
    new[game_start[:-1]] = True
    begin = np.flatnonzero(new)
    end = np.append(begin[1:], len(order))
    run = np.cumsum(new) - 1
    behind = game_start[1:][game[order]] - end[run]
    drawn = (end - begin)[run] - 1
    share = np.empty(len(rank))
    share[order] = (behind + 0.5 * drawn) / (sizes[game[order]] - 1)
    return share


def win_ratio_deviation(
    player: NDArray[np.signedinteger], game: Ints, win_share: Floats, kept: NDArray[np.bool_]
) -> Fairness:
    """Mean distance of players' win ratios from 50 % among the kept games.

    Args:
        player: (entries,), who played.
        game: (entries,), in which game.
        win_share: (entries,), what they won of it, 0 to 1.
        kept: (games,), the games above the threshold of quality.

    Source: Herbrich, Minka, Graepel (2006), section 4.1, 'Win Probability'.
    """
    entry = kept[game]
    played = np.bincount(player[entry])
    won = np.bincount(player[entry], weights=win_share[entry])
    some = played > 0
    played, deviation = played[some], np.abs(won[some] / played[some] - 0.5)
    order = np.argsort(played, kind="stable")
    # 1, 2, 3, 5, 7, 10, 20, 30, 50, 70, 100, ... up to the most games of a player.
    round_numbers = np.outer(10 ** np.arange(10), [1, 2, 3, 5, 7]).ravel()
    least = round_numbers[round_numbers <= played.max(initial=0)]
    begin = np.searchsorted(played[order], least)
    players = len(order) - begin
    total = np.append(np.cumsum(deviation[order][::-1])[::-1], 0.0)[begin]
    return Fairness(least, players, total / players, int(kept.sum()))
