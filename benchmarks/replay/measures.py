"""Measures of a replay: prediction error, draws found, win ratios, and how soon ratings settle."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class PredictionError:
    """The share of pairs predicted in the wrong order, and what it was counted on.

    Attributes:
        error: share of the pairs that did not draw; predicted draws count as wrong. NaN if there
            are none.
        standard_error: of that share, the pairs of one game taken as one observation.
        pairs: pairs that did not draw.
        drawn: pairs that drew.
        predicted_draws: pairs that did not draw, but for which no order was predicted.
    """

    error: float
    standard_error: float
    pairs: int
    drawn: int
    predicted_draws: int


def pair_costs(gap: Floats, outcome: NDArray[np.int8]) -> Floats:
    """Return the cost of each pair: 0 for the right order, 1 for the wrong one or none.

    Args:
        gap: (pairs,), predicted strength of the first side minus that of the second.
        outcome: (pairs,), +1 if the first side came out ahead, -1 if the second, 0 for a draw.

    Returns:
        (pairs,), NaN for a pair that drew.
    """
    return np.where(outcome == 0, np.nan, np.where(np.sign(gap) == outcome, 0.0, 1.0))


def prediction_error(
    gap: Floats, outcome: NDArray[np.int8], game: NDArray[np.int64]
) -> PredictionError:
    """Return the share of pairs predicted in the wrong order.

    Args:
        gap: as ``pair_costs``.
        outcome: as ``pair_costs``.
        game: (pairs,), the game in which each pair met.

    Source: Herbrich, Minka, Graepel (2006), section 4.1.
    """
    drawn = outcome == 0
    return PredictionError(
        *mean_over_pairs(pair_costs(gap, outcome), game),
        pairs=int(np.count_nonzero(~drawn)),
        drawn=int(np.count_nonzero(drawn)),
        predicted_draws=int(np.count_nonzero((gap == 0.0) & ~drawn)),
    )


def mean_over_pairs(value: Floats, game: NDArray[np.int64]) -> tuple[float, float]:
    """Return the mean of a value over pairs, and its standard error.

    Pairs of one game share their players, so each game counts as one observation.

    Args:
        value: (pairs,), NaN for a pair that is left out.
        game: (pairs,), the game of each pair.

    Returns:
        ``(mean, standard_error)``, NaN where no pair is counted.
    """
    counted = ~np.isnan(value)
    if not counted.any():
        return float("nan"), float("nan")
    mean = float(value[counted].mean())
    by_game = np.bincount(game[counted], weights=value[counted] - mean)
    return mean, float(np.sqrt(np.sum(by_game**2)) / np.count_nonzero(counted))


def most_even(quality: Floats, share: float) -> NDArray[np.bool_]:
    """Return the given share of games with the highest quality.

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
        area: under the curve; 0.5 for a quality without information, NaN without draws.
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
    """Return (sides,) the share of the other sides that each side beat, a draw counting half.

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
    """Return the mean distance of players' win ratios from 50 % among the kept games.

    Args:
        player: (entries,), index of the player.
        game: (entries,), index of the game.
        win_share: (entries,), share of the other sides that was beaten, 0 to 1.
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


def games_to_settle(rating: NDArray[np.float64], start: float, closeness: float = 0.1) -> int:
    """Return the games until a rating has come close to its final level.

    The final level is the mean over the last quarter of the games (at least one).

    Args:
        rating: (games,), after each of the player's games; at least one.
        start: the rating before the first.
        closeness: the largest distance that counts as close, as a share of the way from
            the start to the final level.

    Returns:
        The number of the first game after which the rating is close.
    """
    last = max(1, len(rating) // 4)
    level = float(rating[-last:].mean())
    close = np.abs(rating - level) <= closeness * abs(level - start)
    # A rating may jump across its level and end without having been close to it.
    return int(np.argmax(close)) + 1 if close.any() else len(rating)
