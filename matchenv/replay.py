"""Rating systems walked over a log of matches in order of play, compiled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from matchenv.match_log import MatchLog

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TrueSkillReplay:
    """What TrueSkill believed before each game of a log, and after the last one.

    Attributes:
        team_mean: (teams,) mean of each team's performance before its game: the sum of its
            members' mu.
        team_variance: (teams,) its variance, the sum of sigma^2 + tau^2 + beta^2.
        quality: (games,) match quality of each game before it, in (0, 1].
        mu: (players,) means of the beliefs after the last game.
        sigma: (players,) their standard deviations.
        games_played: (players,) number of games of each player.
        unconverged: indices of the games whose expectation propagation met its cap before
            its tolerance.
        entry_mu: (entries,) mean of the belief about the entry's player right after the
            game, or an empty array if no history was asked for.
        entry_sigma: (entries,) its standard deviation, or empty.
    """

    team_mean: Floats
    team_variance: Floats
    quality: Floats
    mu: Floats
    sigma: Floats
    games_played: Integers
    unconverged: Integers
    entry_mu: Floats
    entry_sigma: Floats


@dataclass(frozen=True, eq=False)
class EloReplay:
    """What Elo said before each game of a log, and after the last one.

    Attributes:
        team_rating: (teams,) mean of the members' ratings before the game.
        quality: (games,) match quality of each game before it, in (0, 1]: that of known
            skills, one player a side who has the side's mean rating.
        rating: (players,) ratings after the last game.
        games_played: (players,) number of games of each player.
        entry_rating: (entries,) rating of the entry's player right after the game, or an
            empty array if no history was asked for.
    """

    team_rating: Floats
    quality: Floats
    rating: Floats
    games_played: Integers
    entry_rating: Floats


def replay_trueskill(
    log: MatchLog,
    *,
    mu: float = 25.0,
    sigma: float = 25.0 / 3.0,
    beta: float = 25.0 / 6.0,
    tau: float = 25.0 / 300.0,
    draw_probability: float | None = None,
    draw_margin: float | None = None,
    keep_history: bool = False,
) -> TrueSkillReplay:
    """Rate a log with TrueSkill (signature fixed, body to come)."""
    raise NotImplementedError


def replay_elo(
    log: MatchLog,
    *,
    rating: float = 1200.0,
    beta: float = 200.0,
    alpha: float | None = None,
    k_factor: float | None = None,
    form: str = "gaussian",
    keep_history: bool = False,
) -> EloReplay:
    """Rate a log with Elo (signature fixed, body to come)."""
    raise NotImplementedError
