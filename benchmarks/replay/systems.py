"""The rating systems of a replay, and their forecasts of a log's games."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
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
from matchenv.runtime.object_spec import build_object, is_object_spec, object_from_spec

Floats = NDArray[np.float64]

TRUESKILL = "trueskill"
# Those of Python: their class, and arguments that are set.
CLASSES: dict[str, tuple[Callable[..., Any], dict[str, str]]] = {
    "elo": (Elo, {"form": "gaussian"}),
    "elo-logistic": (Elo, {"form": "logistic"}),
    "weng-lin-bt": (OpenSkill, {"model": "BradleyTerryFull"}),
    "weng-lin-pl": (OpenSkill, {"model": "PlackettLuce"}),
}
SYSTEMS = (TRUESKILL, *CLASSES)


class Judgement(NamedTuple):
    """A system's statements about each game before it began, and its ratings."""

    replay: BeliefReplay  # beliefs before and after each game
    quality: Floats  # (games,), in (0, 1], high for an even game; see ``quality_per_comparison``
    log_probability: Floats  # (pairs, 3), of a win, a draw and a loss of a pair's first side
    start: float  # the rating of a newcomer
    gap: Floats  # (pairs,) predicted strength of the first side minus that of the second


def quality_per_comparison(quality: Floats, log: MatchLog) -> Floats:
    """Return match qualities of games with different numbers of sides on one scale.

    The match quality of k sides is a ratio of densities in k - 1 dimensions and falls with
    k even if all players are alike; its (k - 1)-th root does not. Two sides keep theirs.
    """
    return quality ** (1.0 / (log.game_size - 1))


def judge(text: str, log: MatchLog, pairs: Pairs, model: Model) -> Judgement:
    """Let a system rate a log.

    Args:
        text: one of ``SYSTEMS``, those of Python also with options, ``elo:alpha=0.1``; or
            ``module:Class:key=value`` of a ``matchenv.logs.RatingSystem``.
        log: the games in order of play.
        pairs: the log's pairs of sides.
        model: parameters, with a draw probability.

    Raises:
        ValueError: for parameters that the system refuses.
    """
    draws, players = model.draw_probability or 0.0, log.team_size
    system = system_of(text, model)
    is_elo = isinstance(system, Elo)
    if text == TRUESKILL:
        replay = replay_trueskill(log, **asdict(model))
        variance, quality = replay.team_variance, replay.quality
    else:
        replay = replay_system(log, system)
        # Elo's sides have the noise of all their members, those of Weng and Lin that of one.
        noise = system.beta**2 * (players if is_elo else np.ones(log.num_teams))
        variance = replay.team_variance + noise
        quality = match_qualities(log.game_start, replay.team_mean, variance, noise)
    gap = pairs.gap(replay.team_mean)
    if text == TRUESKILL or (is_elo and system.form == "gaussian"):
        stated = gaussian_log_probabilities(
            gap, pairs.sum(variance), pairs.sum(players), system.beta, draws
        )
    else:
        square = 0.5 * players if is_elo else LOGISTIC_RATE**2 * variance
        stated = elo_log_probabilities(gap / np.sqrt(pairs.sum(square)), draws)
    return Judgement(replay, quality_per_comparison(quality, log), stated, system.mu, gap)


def system_of(text: str, model: Model) -> Any:
    """Return a system that rates one game; for TrueSkill the model.

    Raises:
        ValueError: for a text that names no system, or one that cannot be made.
    """
    if text == TRUESKILL:
        return model
    name, _, options = text.partition(":")
    given = {each: getattr(model, each) for each in ("mu", "sigma", "beta", "tau")}
    if name in CLASSES:
        factory, defaults = CLASSES[name]
        if factory is OpenSkill:  # Elo has a scale of its own
            defaults = defaults | given
        return build_object("system", text, factory, options, defaults)
    if not is_object_spec(text):
        as_choice("systems", text, SYSTEMS)
    system = object_from_spec("system", text, given, SYSTEMS)
    missing = [each for each in (*given, "rate") if not hasattr(system, each)]
    if missing:
        raise ValueError(f"system {text!r} must have {', '.join(missing)}, as a RatingSystem has")
    return system
