"""The rating systems of a replay: their settings, and their forecasts of a log's games."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.logs.forecasts import Pairs, gaussian_log_probabilities
from matchenv.logs.games import Model
from matchenv.logs.match_log import MatchLog
from matchenv.logs.replay import (
    BeliefReplay,
    match_qualities,
    replay_system,
    replay_trueskill,
)
from matchenv.ratings.elo import LOGISTIC_RATE, Elo, elo_log_probabilities
from matchenv.ratings.openskill import OpenSkill
from matchenv.runtime.checks import as_choice
from matchenv.runtime.object_spec import is_object_spec, object_from_spec

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SystemSettings(Model):
    """Parameters of the rating systems; the defaults are those of the TrueSkill paper.

    Attributes:
        elo_start: Elo's rating of a newcomer.
        elo_beta: standard deviation of one performance in Elo's points.
        elo_alpha: Elo's weight of a new game; K = alpha beta sqrt(pi).
    """

    elo_start: float = 1200.0
    elo_beta: float = 200.0
    elo_alpha: float = 0.07

    @property
    def model(self) -> dict[str, Any]:
        """TrueSkill's parameters by name."""
        return {each.name: getattr(self, each.name) for each in fields(Model)}


TRUESKILL = "trueskill"
# Forms of Elo, and models of openskill.
ELO = {"elo": "gaussian", "elo-logistic": "logistic"}
WENG_LIN = {"weng-lin-bt": "BradleyTerryFull", "weng-lin-pl": "PlackettLuce"}
SYSTEMS = (TRUESKILL, *ELO, *WENG_LIN)


class Judgement(NamedTuple):
    """A system's statements about each game before it began, and its ratings.

    Attributes:
        replay: beliefs before and after each game.
        quality: (games,), in (0, 1], high for an even game; see ``quality_per_comparison``.
        log_probability: (pairs, 3), of a win, a draw and a loss of a pair's first side.
        start: the rating of a newcomer.
    """

    replay: BeliefReplay
    quality: Floats
    log_probability: Floats
    start: float

    def gap(self, pairs: Pairs) -> Floats:
        """Return (pairs,) the predicted strength of the first side minus that of the second."""
        return self.replay.team_mean[pairs.first] - self.replay.team_mean[pairs.second]


def check_system(name: str) -> None:
    """Raise for a name that is neither a known system nor of the form ``module:Class``."""
    if not is_object_spec(name):
        as_choice("systems", name, SYSTEMS)


def quality_per_comparison(quality: Floats, log: MatchLog) -> Floats:
    """Return match qualities of games with different numbers of sides on one scale.

    The match quality of k sides is a ratio of densities in k - 1 dimensions and falls with
    k even if all players are alike; its (k - 1)-th root does not. Two sides keep theirs.
    """
    return quality ** (1.0 / (log.game_size - 1))


def judge(name: str, log: MatchLog, pairs: Pairs, settings: SystemSettings) -> Judgement:
    """Let a system rate a log.

    Args:
        name: one of ``SYSTEMS``, or ``module:Class:key=value`` of a
            ``matchenv.logs.RatingSystem``.
        log: the games in order of play.
        pairs: the log's pairs of sides.
        settings: parameters, with a draw probability.

    Raises:
        ValueError: for parameters that the system refuses.
    """
    draws, players = settings.draw_probability or 0.0, log.team_size
    if name == TRUESKILL:
        replay = replay_trueskill(log, **settings.model)
        mean, variance, quality = replay.team_mean, replay.team_variance, replay.quality
        stated = gaussian_log_probabilities(pairs, mean, variance, players, settings.beta, draws)
        start = settings.mu
    else:
        system = _system(name, settings)
        replay = replay_system(log, system)
        is_elo, mean, start = isinstance(system, Elo), replay.team_mean, system.mu
        # Elo's sides have the noise of all their members, those of Weng and Lin that of one.
        noise: Floats = system.beta**2 * (players if is_elo else np.ones(log.num_teams))
        variance = replay.team_variance + noise
        quality = match_qualities(log, mean, variance, noise)
        if is_elo and system.form == "gaussian":
            stated = gaussian_log_probabilities(pairs, mean, variance, players, system.beta, draws)
        else:
            square = 0.5 * players if is_elo else LOGISTIC_RATE**2 * variance
            gap = mean[pairs.first] - mean[pairs.second]
            scale = np.sqrt(square[pairs.first] + square[pairs.second])
            stated = elo_log_probabilities(gap / scale, draws)
    return Judgement(replay, quality_per_comparison(quality, log), stated, start)


def _system(name: str, settings: SystemSettings) -> Any:
    """Return a system that rates one game."""
    if name in ELO:
        beta, alpha = settings.elo_beta, settings.elo_alpha
        return Elo(settings.elo_start, beta=beta, alpha=alpha, form=ELO[name])
    given = {each: getattr(settings, each) for each in ("mu", "sigma", "beta", "tau")}
    if name in WENG_LIN:
        return OpenSkill(WENG_LIN[name], **given)
    system = object_from_spec("system", name, given, SYSTEMS)
    missing = [each for each in (*given, "rate") if not hasattr(system, each)]
    if missing:
        raise ValueError(f"system {name!r} must have {', '.join(missing)}, as a RatingSystem has")
    return system
