"""The rating systems under test, each as what it said of a log's games before they began."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from matchenv.benchmarks.replay.settings import ModelSettings, SystemName, SystemSettings
from matchenv.match_log import MatchLog
from matchenv.rating_models.glicko2 import SCALE, damping
from matchenv.ratings.elo import elo_log_probabilities, k_factor_from_alpha
from matchenv.replay import (
    LOGISTIC_BETA,
    replay_elo,
    replay_glicko2,
    replay_trueskill,
    replay_weng_lin,
)
from matchenv.replay.beliefs import BeliefReplay
from matchenv.replay.forecasts import (
    gaussian_log_probabilities,
    logistic_log_probabilities,
)
from matchenv.replay.pairs import Pairs, possible_and_found_draws
from matchenv.runtime.compile import compiled
from matchenv.trueskill.rating import expose
from matchenv.trueskill.sides import quality_of_sides

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Judgement:
    """What a system said of each game before it began, and where its ratings went.

    Attributes:
        strength: (teams,), predicted strength; the stronger of two sides is to win.
        quality: (games,), in (0, 1], high for an even game; see ``quality_per_comparison``.
        log_probability: (pairs, 3), of a win, a draw and a loss of a pair's first side.
        final_rating: (players,), by which the system orders players after the last game.
        start: the rating of a newcomer.
        entry_rating: (entries,), each entry's player's rating right after the game.
        unconverged: games whose approximation met its cap before its tolerance.
        final_belief: (players, 2), mean and deviation after the last game, of a system that has
            deviations.
    """

    strength: Floats
    quality: Floats
    log_probability: Floats
    final_rating: Floats
    start: float
    entry_rating: Floats
    unconverged: int = 0
    final_belief: Floats | None = None


def draw_probability_of(log: MatchLog, settings: ModelSettings) -> float:
    """What the settings say, else the share of all possible draws between neighbours in rank.

    Raises:
        ValueError: for a log of draws alone, whose share no draw margin gives.

    Source: Herbrich, Minka, Graepel (2006), section 4.1, 'empirical draw probability'.
    """
    if settings.draw_probability is not None:
        return settings.draw_probability
    possible, found = possible_and_found_draws(log.game_start, log.rank)
    share = float(found.sum() / possible.sum())
    if share == 1.0:
        raise ValueError("draw_probability must be given, below 1, for a log of draws alone")
    return share


def quality_per_comparison(quality: Floats, log: MatchLog) -> Floats:
    """Match qualities of games with different numbers of sides on one scale.

    The match quality of k sides is a ratio of densities in k - 1 dimensions and falls with
    k even if all players are alike; its (k - 1)-th root does not. Two sides keep theirs.

    Args:
        quality: (games,), match quality, in (0, 1].
        log: the games.
    """
    return quality ** (1.0 / (log.game_size - 1))


def judge(name: SystemName, log: MatchLog, pairs: Pairs, settings: SystemSettings) -> Judgement:
    """Let a system rate a log.

    Args:
        name: a key of ``SYSTEMS``.
        log: the games in order of play.
        pairs: the log's pairs of sides.
        settings: parameters; a draw probability that is not given is counted in the log.

    Raises:
        ValueError: for parameters that the system refuses.
    """
    return SYSTEMS[name](log, pairs, settings, draw_probability_of(log, settings))


def _judgement_of(
    replay: BeliefReplay, log: MatchLog, start: float, log_probability: Floats, unconverged: int = 0
) -> Judgement:
    """The judgement of a system with beliefs: the stronger side has the higher mean."""
    return Judgement(
        strength=replay.team_mean,
        quality=quality_per_comparison(replay.quality, log),
        log_probability=log_probability,
        final_rating=expose(replay.mu, replay.sigma),
        start=start,
        entry_rating=replay.entry_mu,
        unconverged=unconverged,
        final_belief=np.column_stack((replay.mu, replay.sigma)),
    )


def _trueskill(
    log: MatchLog, pairs: Pairs, settings: SystemSettings, draw_probability: float
) -> Judgement:
    replay = replay_trueskill(
        log,
        mu=settings.mu,
        sigma=settings.sigma,
        beta=settings.beta,
        tau=settings.tau,
        draw_probability=draw_probability,
        keep_history=True,
        time_drift=settings.time_drift,
        advantage=settings.advantage,
        team_exponent=settings.team_exponent,
    )
    log_probability = gaussian_log_probabilities(
        pairs, replay.team_mean, replay.team_variance, log.team_size, settings.beta,
        draw_probability,
    )  # fmt: skip
    unconverged = len(replay.unconverged)
    return _judgement_of(replay, log, settings.mu, log_probability, unconverged)


def _elo(
    log: MatchLog,
    pairs: Pairs,
    settings: SystemSettings,
    draw_probability: float,
    form: str = "gaussian",
) -> Judgement:
    replay = replay_elo(
        log,
        rating=settings.elo_start,
        k_factor=k_factor_from_alpha(settings.elo_alpha, settings.elo_beta),
        beta=settings.elo_beta,
        form=form,
        keep_history=True,
    )
    # Elo's model of a game is that of known skills. It says nothing of draws, so it gets
    # the draw probability that TrueSkill gets.
    players = log.team_size if settings.elo_teams == "sum" else np.ones_like(log.team_size)
    strength = replay.team_rating * players
    beta = settings.elo_beta if form == "gaussian" else LOGISTIC_BETA
    variance = players.astype(np.float64) * beta**2
    if form == "gaussian":
        log_probability = gaussian_log_probabilities(
            pairs, strength, variance, players, beta, draw_probability
        )
    else:
        log_probability = logistic_log_probabilities(pairs, strength, players, draw_probability)
    return Judgement(
        strength=strength,
        quality=quality_per_comparison(_qualities(log.game_start, strength, variance), log),
        log_probability=log_probability,
        final_rating=replay.rating,
        start=settings.elo_start,
        entry_rating=replay.entry_rating,
    )


def _weng_lin(
    log: MatchLog,
    pairs: Pairs,
    settings: SystemSettings,
    draw_probability: float,
    model: str = "bradley-terry",
) -> Judgement:
    replay = replay_weng_lin(
        log,
        model=model,
        mu=settings.mu,
        sigma=settings.sigma,
        beta=settings.beta,
        tau=settings.tau,
        keep_history=True,
    )
    # Of two sides, both models say the same before the game.
    mean, variance = replay.team_mean, replay.team_variance
    spread = variance[pairs.first] + variance[pairs.second] + 2.0 * settings.beta**2
    gap = SCALE * (mean[pairs.first] - mean[pairs.second]) / np.sqrt(spread)
    return _judgement_of(replay, log, settings.mu, elo_log_probabilities(gap, draw_probability))


def _glicko2(
    log: MatchLog, pairs: Pairs, settings: SystemSettings, draw_probability: float
) -> Judgement:
    replay = replay_glicko2(
        log,
        rating=settings.glicko_rating,
        deviation=settings.glicko_deviation,
        volatility=settings.glicko_volatility,
        tau=settings.glicko_tau,
        keep_history=True,
    )
    rating, deviation = replay.team_rating, replay.team_deviation
    both = np.hypot(deviation[pairs.first], deviation[pairs.second]) / SCALE
    gap = (rating[pairs.first] - rating[pairs.second]) * _dampings(both)
    return Judgement(
        strength=rating,
        quality=quality_per_comparison(replay.quality, log),
        log_probability=elo_log_probabilities(gap, draw_probability),
        final_rating=replay.rating,
        start=settings.glicko_rating,
        entry_rating=replay.entry_rating,
    )


SYSTEMS: dict[SystemName, Callable[[MatchLog, Pairs, SystemSettings, float], Judgement]] = {
    "trueskill": _trueskill,
    "elo": _elo,
    "elo-logistic": partial(_elo, form="logistic"),
    "weng-lin-bt": _weng_lin,
    "weng-lin-pl": partial(_weng_lin, model="plackett-luce"),
    "glicko2": _glicko2,
}


@compiled
def _dampings(phi: Floats) -> Floats:
    out = np.empty(phi.size)
    for k in range(phi.size):
        out[k] = damping(phi[k])
    return out


@compiled
def _qualities(game_start: Ints, mean: Floats, variance: Floats) -> Floats:
    """(games,), match qualities of known skills: all variance is that of performances."""
    out = np.empty(game_start.size - 1)
    for game in range(out.size):
        sides = slice(game_start[game], game_start[game + 1])
        out[game] = quality_of_sides(mean[sides], variance[sides], variance[sides])
    return out
