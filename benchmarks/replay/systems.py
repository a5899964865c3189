"""The rating systems of a replay: their settings, and their forecasts of a log's games."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from matchenv.logs.forecasts import (
    Pairs,
    gaussian_log_probabilities,
    logistic_log_probabilities,
    share_of_draws,
)
from matchenv.logs.match_log import MatchLog
from matchenv.logs.replay import (
    LOGISTIC_BETA,
    BeliefReplay,
    RatingSystem,
    known_qualities,
    replay_elo,
    replay_system,
    replay_trueskill,
)
from matchenv.ratings.elo import LOGISTIC_RATE, elo_log_probabilities, k_factor_from_alpha
from matchenv.ratings.openskill import OpenSkill
from matchenv.runtime.checks import as_choice, as_probability
from matchenv.runtime.object_spec import is_object_spec, object_from_spec
from matchenv.trueskill.rating import expose

Floats = NDArray[np.float64]
EloTeams = Literal["sum", "mean"]


@dataclass(frozen=True)
class ModelSettings:
    """Parameters of TrueSkill; the defaults are those of the paper.

    Attributes:
        mu: prior mean, in skill points; also of all systems but Elo.
        sigma: prior standard deviation.
        beta: standard deviation of one performance around skill.
        tau: standard deviation of the skill's drift between games.
        draw_probability: probability that two even sides draw (default: counted in the log).
        time_drift: standard deviation of the skill's drift over a day without a game.
        advantage: by how much the first side of a game is stronger, in skill points, except on
            neutral ground.
        team_exponent: a side is as strong as the sum of its members over their number to this
            power: 0 for the sum, 1 for the mean.
    """

    mu: float = 25.0
    sigma: float = 25.0 / 3.0
    beta: float = 25.0 / 6.0
    tau: float = 25.0 / 300.0
    draw_probability: float | None = None
    time_drift: float = 0.0
    advantage: float = 0.0
    team_exponent: float = 0.0

    def __post_init__(self) -> None:
        if self.draw_probability is not None:
            as_probability("draw_probability", self.draw_probability)


@dataclass(frozen=True)
class SystemSettings(ModelSettings):
    """Parameters of the rating systems; the defaults are those of the TrueSkill paper.

    Attributes:
        elo_start: Elo's rating of a newcomer.
        elo_beta: standard deviation of one performance in Elo's points.
        elo_alpha: Elo's weight of a new game; K = alpha beta sqrt(pi).
        elo_teams: whether a side is as strong as the sum of its members' ratings, as in TrueSkill
            and in the paper's figures, or as one player of their mean rating.
    """

    elo_start: float = 1200.0
    elo_beta: float = 200.0
    elo_alpha: float = 0.07
    elo_teams: EloTeams = "sum"

    def __post_init__(self) -> None:
        super().__post_init__()
        as_choice("elo_teams", self.elo_teams, get_args(EloTeams))


@dataclass(frozen=True)
class Judgement:
    """A system's statements about each game before it began, and its ratings.

    Attributes:
        strength: (teams,), predicted strength; the stronger of two sides is predicted to win.
        quality: (games,), in (0, 1], high for an even game; see ``quality_per_comparison``.
        log_probability: (pairs, 3), of a win, a draw and a loss of a pair's first side.
        final_rating: (players,), by which the system orders players after the last game.
        start: the rating of a newcomer.
        entry_rating: (entries,), each entry's player's rating right after the game.
        unconverged: games whose approximation reached its cap before its tolerance.
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


def check_system(name: str) -> None:
    """Raise for a name that is neither a known system nor of the form ``module:Class``."""
    if not is_object_spec(name):
        as_choice("systems", name, SYSTEMS)


def draw_probability_of(log: MatchLog, settings: ModelSettings) -> float:
    """Return the draw probability of the settings, or else that counted in the log.

    Raises:
        ValueError: for a log of draws alone, whose share no draw margin gives.
    """
    if settings.draw_probability is not None:
        return settings.draw_probability
    share = share_of_draws(log)
    if share == 1.0:
        raise ValueError("draw_probability must be given, below 1, for a log of draws alone")
    return share


def quality_per_comparison(quality: Floats, log: MatchLog) -> Floats:
    """Return match qualities of games with different numbers of sides on one scale.

    The match quality of k sides is a ratio of densities in k - 1 dimensions and falls with
    k even if all players are alike; its (k - 1)-th root does not. Two sides keep theirs.

    Args:
        quality: (games,), match quality, in (0, 1].
        log: the games.
    """
    return quality ** (1.0 / (log.game_size - 1))


def judge(name: str, log: MatchLog, pairs: Pairs, settings: SystemSettings) -> Judgement:
    """Let a system rate a log.

    Args:
        name: a key of ``SYSTEMS``, or ``module:Class:key=value`` of a
            ``matchenv.logs.RatingSystem``.
        log: the games in order of play.
        pairs: the log's pairs of sides.
        settings: parameters; a draw probability that is not given is counted in the log.

    Raises:
        ValueError: for parameters that the system refuses.
    """
    draws = draw_probability_of(log, settings)
    if name in SYSTEMS:
        return SYSTEMS[name](log, pairs, settings, draws)
    model = {each: getattr(settings, each) for each in ("mu", "sigma", "beta", "tau")}
    system = object_from_spec("system", name, model, SYSTEMS)
    missing = [each for each in (*model, "rate") if not hasattr(system, each)]
    if missing:
        raise ValueError(f"system {name!r} must have {', '.join(missing)}, as a RatingSystem has")
    return _any_system(log, pairs, system, draws)


def _judgement_of(
    replay: BeliefReplay, log: MatchLog, start: float, log_probability: Floats
) -> Judgement:
    """Return the judgement of a system with beliefs: the stronger side has the higher mean."""
    return Judgement(
        strength=replay.team_mean,
        quality=quality_per_comparison(replay.quality, log),
        log_probability=log_probability,
        final_rating=expose(replay.mu, replay.sigma),
        start=start,
        entry_rating=replay.entry_mu,
        unconverged=len(replay.unconverged),
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
    return _judgement_of(replay, log, settings.mu, log_probability)


def _any_system(
    log: MatchLog, pairs: Pairs, system: RatingSystem, draw_probability: float
) -> Judgement:
    replay = replay_system(log, system, keep_history=True)
    mean, variance = replay.team_mean, replay.team_variance
    spread = variance[pairs.first] + variance[pairs.second] + 2.0 * system.beta**2
    gap = (mean[pairs.first] - mean[pairs.second]) / (LOGISTIC_RATE * np.sqrt(spread))
    return _judgement_of(replay, log, system.mu, elo_log_probabilities(gap, draw_probability))


def _openskill(
    log: MatchLog, pairs: Pairs, settings: SystemSettings, draw_probability: float, model: str
) -> Judgement:
    system = OpenSkill(
        model, mu=settings.mu, sigma=settings.sigma, beta=settings.beta, tau=settings.tau
    )
    return _any_system(log, pairs, system, draw_probability)


def _elo(
    log: MatchLog, pairs: Pairs, settings: SystemSettings, draw_probability: float, form: str
) -> Judgement:
    replay = replay_elo(
        log,
        rating=settings.elo_start,
        k_factor=k_factor_from_alpha(settings.elo_alpha, settings.elo_beta),
        beta=settings.elo_beta,
        form=form,
        keep_history=True,
    )
    # Elo's model of a game is that of known skills. It has no draws, so it gets the draw
    # probability of TrueSkill.
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
        quality=quality_per_comparison(known_qualities(log, strength, variance), log),
        log_probability=log_probability,
        final_rating=replay.rating,
        start=settings.elo_start,
        entry_rating=replay.entry_rating,
    )


SYSTEMS: dict[str, Callable[[MatchLog, Pairs, SystemSettings, float], Judgement]] = {
    "trueskill": _trueskill,
    "elo": partial(_elo, form="gaussian"),
    "elo-logistic": partial(_elo, form="logistic"),
    "weng-lin-bt": partial(_openskill, model="BradleyTerryFull"),
    "weng-lin-pl": partial(_openskill, model="PlackettLuce"),
}
