"""The rating systems of a replay, and their forecasts of the games of a log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from matchenv.logs.forecasts import Pairs, gaussian_log_probabilities
from matchenv.logs.games import Model
from matchenv.logs.match_log import Floats, MatchLog
from matchenv.logs.replay import BeliefReplay, match_qualities, replay_system, replay_trueskill
from matchenv.ratings.elo import LOGISTIC_RATE, Elo, elo_log_probabilities
from matchenv.ratings.openskill import OpenSkill
from matchenv.runtime.checks import as_choice
from matchenv.runtime.object_spec import build_object, is_object_spec, object_from_spec

TRUESKILL = "trueskill"
# Systems in Python: their class, and arguments that are set.
CLASSES: dict[str, tuple[Callable[..., Any], dict[str, str]]] = {
    "elo": (Elo, {"form": "gaussian"}),
    "elo-logistic": (Elo, {"form": "logistic"}),
    "weng-lin-bt": (OpenSkill, {"model": "BradleyTerryFull"}),
    "weng-lin-pl": (OpenSkill, {"model": "PlackettLuce"}),
}
SYSTEMS = (TRUESKILL, *CLASSES)


class Judgement(NamedTuple):
    """A system's ratings, and its forecast of each game before it."""

    replay: BeliefReplay  # beliefs before and after each game
    # (games,), in (0, 1], high for an even game. The match quality of k sides is a ratio of
    # densities in k - 1 dimensions; its (k - 1)-th root does not fall with k.
    quality: Floats
    log_probability: Floats  # (pairs, 3), of a win, a draw and a loss of a pair's first side
    start: float  # rating of a new player
    gap: Floats  # (pairs,) forecast strength of the first side minus that of the second


def judge(text: str, log: MatchLog, pairs: Pairs, model: Model) -> Judgement:
    """Rate a log with a system, see ``system_of``; the model has a draw probability.

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
        # A side of Elo has the noise of all its members, others that of one player.
        noise = system.beta**2 * (players if is_elo else np.ones(log.num_teams))
        variance = replay.team_variance + noise
        quality = match_qualities(log.game_start, replay.team_mean, variance, noise)
    gap = pairs.gap(replay.team_mean)
    if text == TRUESKILL or (is_elo and system.form == "gaussian"):
        log_probability = gaussian_log_probabilities(
            gap, pairs.sum(variance), pairs.sum(players), system.beta, draws
        )
    else:
        square = 0.5 * players if is_elo else LOGISTIC_RATE**2 * variance
        log_probability = elo_log_probabilities(gap / np.sqrt(pairs.sum(square)), draws)
    quality = quality ** (1.0 / (log.game_size - 1))
    return Judgement(replay, quality, log_probability, system.mu, gap)


def system_of(text: str, model: Model) -> Any:
    """Return a rating system; for TrueSkill the model.

    Its text is one of ``SYSTEMS``, those in Python also with options, ``elo:alpha=0.1``; or
    ``module:Class:key=value`` of a ``matchenv.logs.RatingSystem``.

    Raises:
        ValueError: for an unknown system, or options that it refuses.
    """
    if text == TRUESKILL:
        return model
    name, _, options = text.partition(":")
    given = {key: getattr(model, key) for key in ("mu", "sigma", "beta", "tau")}
    if name in CLASSES:
        factory, defaults = CLASSES[name]
        if factory is OpenSkill:  # Elo has a scale of its own
            defaults = defaults | given
        return build_object("system", text, factory, options, defaults)
    if not is_object_spec(text):
        as_choice("systems", text, SYSTEMS)
    system = object_from_spec("system", text, given, SYSTEMS)
    missing = [key for key in (*given, "rate") if not hasattr(system, key)]
    if missing:
        raise ValueError(f"system {text!r} must have {', '.join(missing)}, as a RatingSystem has")
    return system
