"""How far players' win ratios are from 50 % in the games that a system judges even."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


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
    deviation: NDArray[np.float64]
    kept_games: int


def win_shares(game_start: Ints, rank: NDArray[np.signedinteger]) -> NDArray[np.float64]:
    """(sides,), the share of the other sides that each side beat, a draw counting half.

    Args:
        game_start: (games + 1,), where each game's sides begin; two or more in each.
        rank: (sides,), low is good, equal is a draw.
    """
    sizes = np.diff(game_start)
    game = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((rank, game))
    # Runs of equal rank: who is in one has beaten all behind it and drawn with the rest.
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
    player: NDArray[np.signedinteger],
    game: Ints,
    win_share: NDArray[np.float64],
    kept: NDArray[np.bool_],
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
    least = _round_numbers(int(played.max(initial=0)))
    begin = np.searchsorted(played[order], least)
    players = len(order) - begin
    total = np.append(np.cumsum(deviation[order][::-1])[::-1], 0.0)[begin]
    return Fairness(least, players, total / players, int(kept.sum()))


def _round_numbers(largest: int) -> Ints:
    """1, 2, 3, 5, 7, 10, 20, 30, 50, 70, 100, ... up to the largest."""
    decades = [base * 10**power for power in range(10) for base in (1, 2, 3, 5, 7)]
    return np.array([number for number in decades if number <= largest], dtype=np.int64)
