"""A replay of a log: rating systems and their measures, as data, text and files."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from matchenv.benchmarks.replay.fits import locked, table, with_fitted
from matchenv.benchmarks.replay.measure_text import Content, measure_rows
from matchenv.logs.forecasts import (
    calibrations,
    constant_log_loss,
    draws_of_games,
    gaussian_log_probabilities,
    log_losses,
    mean_over_pairs,
    pair_costs,
)
from matchenv.logs.match_log import MatchLog
from matchenv.logs.pairs import Pairs
from matchenv.logs.ranks import known_neighbours, sides_of_equal_rank
from matchenv.logs.reading import Reading, bad_rows_csv, reading_text
from matchenv.logs.replay import (
    BeliefReplay,
    Model,
    match_qualities,
    ratings_table,
    replay_system,
    replay_trueskill,
)
from matchenv.ratings.elo import LOGISTIC_RATE, Elo, elo_log_probabilities
from matchenv.ratings.openskill import OpenSkill
from matchenv.runtime.arrays import Floats, Masks
from matchenv.runtime.checks import as_choice, as_positive_share, errors_named
from matchenv.runtime.files import columns_csv, json_bytes, write_together
from matchenv.runtime.object_spec import build_object, class_from_spec, is_object_spec

TRUESKILL = "trueskill"
# Systems in Python: their class, and arguments that are set.
CLASSES: dict[str, tuple[Callable[..., Any], dict[str, str]]] = {
    "elo": (Elo, {"form": "gaussian"}),
    "elo-logistic": (Elo, {"form": "logistic"}),
    "weng-lin-bt": (OpenSkill, {"model": "BradleyTerryFull"}),
    "weng-lin-pl": (OpenSkill, {"model": "PlackettLuce"}),
}
SYSTEMS = (TRUESKILL, *CLASSES)

# Points of a curve in a file; one for each game would be too many.
CURVE = np.linspace(0.0, 1.0, 101)
# Players whose ratings are shown game by game.
TOP_PLAYERS = 4


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
    draws = model.draw_probability or 0.0
    players = log.team_size
    system = system_of(text, model)
    is_elo = isinstance(system, Elo)
    if text == TRUESKILL:
        replay = replay_trueskill(log, **asdict(model))
        variance = replay.team_variance
        quality = replay.quality
    else:
        with errors_named(f"system {text!r}"):
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
    system = build_object("system", text, *class_from_spec("system", text, SYSTEMS), given)
    missing = [key for key in (*given, "rate") if not hasattr(system, key)]
    if missing:
        raise ValueError(f"system {text!r} must have {', '.join(missing)}, as a RatingSystem has")
    return system


@dataclass(frozen=True)
class ReplaySettings:
    """Settings of a replay, checked on construction.

    Attributes:
        systems: rating systems: trueskill, elo, elo-logistic, weng-lin-bt, weng-lin-pl, these with
            options (elo:alpha=0.1), or your own module:Class; the first one picks the top players.
        fitted: folder of a fit, for its parameters in place of those of TrueSkill.
        parameters: parameters of TrueSkill.
        challenge_share: share of the games that each system puts forward as most even.
        fair_share: share of the games, the most even ones, in which win ratios are counted.

    Raises:
        ValueError: for an unknown system or a number out of range.
    """

    systems: tuple[str, ...] = ("trueskill", "elo")
    fitted: Path | None = None
    parameters: Model = field(default_factory=Model)
    challenge_share: float = 0.2
    fair_share: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", with_fitted(self.parameters, self.fitted))
        for name in self.systems:
            system_of(name, self.parameters)
        if not self.systems or len(set(self.systems)) != len(self.systems):
            raise ValueError(f"systems must name each system once, got {self.systems!r}")
        for share in ("challenge_share", "fair_share"):
            as_positive_share(share, getattr(self, share))


def run_replay(
    reading: Reading, settings: ReplaySettings, *, out: Path | None = None, quiet: bool = True
) -> dict[str, Any]:
    """Rate a log with each system, measure how well it forecast the games, and write the results.

    Args:
        reading: the log.
        settings: everything that affects the result.
        out: folder for the files, created if missing; None to write nothing. ``ratings.csv`` has
            the ratings of the first system with deviations.
        quiet: hide the progress bar.

    Returns:
        The content of ``report.json``, with the measures of each system in ``["systems"]``.

    Raises:
        ValueError: for parameters that a system refuses, or if another process works in the
            folder; nothing is written.
        OSError: if a file cannot be written; existing files are unchanged.
    """
    log = reading.log
    pairs = log.pairs
    parameters = settings.parameters.counted(log)
    with locked(out):
        # A small log takes less than a second, and its bar would flicker.
        names = tqdm(settings.systems, unit="system", disable=quiet, delay=1.0)
        judged = {name: judge(name, log, pairs, parameters) for name in names}
        found = measures(log, pairs, judged, settings)
        # The fit is read once: its parameters are the settings.
        fixed = asdict(replace(settings, parameters=parameters, fitted=None))
        content = {
            "log": _log_content(reading),
            "settings": fixed | {"fitted": settings.fitted and str(settings.fitted)},
            "constant_log_loss": constant_log_loss(pairs.outcome),
            "systems": found,
        }
        if out is not None:
            _write(out, reading, content, judged)
    return content


def _log_content(reading: Reading) -> dict[str, Any]:
    """Return what ``report.json`` says of the log."""
    return {
        **reading.source,
        "columns": reading.column_names,
        "time_format": reading.time_format,
        "rows": reading.rows,
        "bad_rows": len(reading.bad_rows),
        "bad_rows_by_reason": reading.bad_rows_by_reason,
        "good_rows_left_out_with_their_game": reading.rows_left_out,
        "games_named": reading.games,
        "games_rated": reading.log.num_games,
        "players": reading.log.num_players,
        "first_side": reading.first_side,
        "notes": reading.notes,
    }


def _write(
    out: Path, reading: Reading, content: dict[str, Any], judged: Mapping[str, Judgement]
) -> None:
    """Write the files of a replay together."""
    # These libraries are slow to load.
    import pandas as pd

    from matchenv.benchmarks.report.replay import replay_page

    ratings = None
    for judgement in judged.values():
        if ratings is None and (judgement.replay.sigma > 0.0).all():
            ratings = ratings_table(reading.log, judgement.replay)
    shown_ratings = None
    if ratings is not None:
        shown_ratings = pd.DataFrame(ratings)
    files = {
        "report.html": replay_page(content, reading.file_name, shown_ratings).encode(),
        "bad_rows.csv": bad_rows_csv(reading.bad_rows),
        "table.txt": f"{reading_text(reading)}\n\n{report_text(content)}\n".encode(),
        "report.json": json_bytes(content, checked=True),
    }
    if ratings is not None:
        files["ratings.csv"] = columns_csv(ratings)
    is_repeated = (out / "report.json").is_file()
    write_together((out / name, file) for name, file in files.items())
    if is_repeated and "ratings.csv" not in files:  # those of an earlier replay
        (out / "ratings.csv").unlink(missing_ok=True)


def measures(
    log: MatchLog, pairs: Pairs, judged: Mapping[str, Judgement], settings: ReplaySettings
) -> dict[str, dict[str, Any]]:
    """Return the measures of each system by name; docs/replay.md explains them."""
    first = judged[settings.systems[0]]
    bound = first.replay.mu - 3.0 * first.replay.sigma
    top = np.argsort(-bound, kind="stable")[:TOP_PLAYERS].tolist()
    first_costs = pair_costs(first.gap, pairs.outcome)
    even = {}
    for name, judgement in judged.items():
        even[name] = most_even(judgement.quality, settings.challenge_share)[pairs.game]
    found = {}
    for name, judgement in judged.items():
        costs = pair_costs(judgement.gap, pairs.outcome)
        challenged = {}
        for rival, is_even in even.items():
            challenged[rival] = _error(np.where(is_even, costs, np.nan), pairs)
        trajectories = []
        for player in top:
            rating = judgement.replay.entry_mu[log.player == player]
            trajectories.append({"player": log.players[player], "rating": rating})
        fair = most_even(judgement.quality, settings.fair_share)
        is_fair = judgement.quality >= judgement.quality[fair].min()
        calibrated = calibrations(judgement.log_probability, pairs.outcome)
        found[name] = {
            "error": _error(costs, pairs),
            "excess": mean_over_pairs(costs - first_costs, pairs.game),
            "challenged": challenged,
            "draws": draw_curve(log, judgement.quality),
            "fairness": win_ratio_deviation(log, is_fair),
            "log_loss": float(log_losses(judgement.log_probability, pairs.outcome).mean()),
            "wins": calibrated["wins"],
            "draw_forecasts": calibrated["draws"],
            "start": judgement.start,
            "trajectories": trajectories,
            "unconverged": len(judgement.replay.unconverged),
        }
    return found


def _error(costs: Floats, pairs: Pairs) -> dict[str, float]:
    """Return the mean of the costs of pairs, and its standard error."""
    error, standard_error = mean_over_pairs(costs, pairs.game)
    return {"error": error, "standard_error": standard_error}


def most_even(quality: Floats, share: float) -> Masks:
    """Return (games,) True for a share of the games, rounded up: those of the highest quality.

    The earlier of equal games is chosen.
    """
    # Rounded, so that 0.2 of 5 games is 1 game although 0.2 * 5 can exceed 1.
    count = math.ceil(round(share * len(quality), 9))
    chosen = np.zeros(len(quality), dtype=np.bool_)
    chosen[np.argsort(-quality, kind="stable")[:count]] = True
    return chosen


def draw_curve(log: MatchLog, quality: Floats) -> dict[str, Any]:
    """Accumulate draws in order of falling quality; games of equal quality are taken together.

    Returns:
        ``possible``, shares of all possible draws in the games taken so far, at ``CURVE``;
        ``found``, shares of all draws in them; and the ``area`` under that curve, 0.5 for a
        quality without information. The last two are NaN without draws.

    Source: Herbrich, Minka, Graepel (2006), section 4.1, 'Match Quality'.
    """
    possible = known_neighbours(log.rank, log.game_start, log.unordered)
    found = draws_of_games(log)
    order = np.argsort(-quality, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(quality[order])), len(order) - 1)
    with np.errstate(invalid="ignore"):
        x = np.append(0.0, np.cumsum(possible[order])[ends]) / possible.sum()
        y = np.append(0.0, np.cumsum(found[order])[ends]) / found.sum()
    found_at = np.interp(CURVE, x, y)
    return {"possible": CURVE, "found": found_at, "area": float(np.trapezoid(y, x))}


def win_shares(log: MatchLog) -> Floats:
    """Return (teams,) the share of the other sides that each side beat; a draw counts half.

    Sides in an unknown order to this one do not count.
    """
    equal = sides_of_equal_rank(log.rank, log.game_start)
    beaten = log.game_size[log.team_game] - log.rank - equal
    drawn = equal - 1
    if log.unordered is not None:
        drawn = np.where(log.unordered, 0, drawn)
    return (beaten + 0.5 * drawn) / (log.rank + beaten + drawn)


def win_ratio_deviation(log: MatchLog, kept: Masks) -> dict[str, Any]:
    """Return the mean distance of players' win ratios from 50 % in the kept games.

    For several least numbers of ``games`` played, it has the number of ``players`` and their mean
    ``deviation``.

    Source: Herbrich, Minka, Graepel (2006), section 4.1, 'Win Probability'.
    """
    entry = kept[log.entry_game]
    player = log.player[entry]
    share = win_shares(log)[log.entry_team[entry]]
    played = np.bincount(player)
    won = np.bincount(player, share)
    some = played > 0
    deviation = np.abs(won[some] / played[some] - 0.5)
    played = played[some]
    # 1, 2, 3, 5, 7, 10, 20, 30, 50, 70, 100, ... up to the most games of a player.
    round_numbers = np.outer(10 ** np.arange(10), [1, 2, 3, 5, 7]).ravel()
    least = round_numbers[round_numbers <= played.max(initial=0)]
    return {
        "games": least,
        "players": np.array([np.count_nonzero(played >= games) for games in least]),
        "deviation": np.array([deviation[played >= games].mean() for games in least]),
    }


def report_text(content: Content) -> str:
    """Return a table of the measures of all systems, from the result of ``run_replay``."""
    draws = content["settings"]["parameters"]["draw_probability"]
    rows = [(label, *cells) for label, cells in measure_rows(content).items()]
    note = (
        "±: standard error; pairs that drew are left out of the prediction error; "
        f"draw probability: {draws:.4f}"
    )
    return "\n".join([*table(("", *content["systems"]), rows, 12), note])
