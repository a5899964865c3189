"""Fits and smoothings of a log: their settings, texts and files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from matchenv.benchmarks.replay.systems import ModelSettings, draw_probability_of
from matchenv.evaluation.tables import Column, text_table
from matchenv.logs.fitting import EVALUATIONS, TRAIN_SHARE, Fit, ObjectiveName, fit
from matchenv.logs.match_log import MatchLog
from matchenv.logs.reading import Reading
from matchenv.logs.smoothing import CHECKPOINT, MAX_SWEEPS, SETTLED, SmoothedLog, smooth
from matchenv.logs.tables import curves_table
from matchenv.runtime.checks import as_number
from matchenv.runtime.files import (
    csv_bytes,
    folder_lock,
    json_bytes,
    npz_bytes,
    read_json,
    write_bytes,
    write_together,
)
from matchenv.runtime.provenance import provenance, versions

Model = TypeVar("Model", bound=ModelSettings)

FIT, SMOOTHING = "fit.json", "smooth.json"
WHAT = {"predictive": "the likelihood of games not yet seen", "evidence": "the log's evidence"}
# Players that are shown where none is named.
SHOWN = 4
# NumPy keeps every name as long as the longest: characters of all names together.
MOST_CHARACTERS = 100_000_000


def fit_text(found: Fit) -> str:
    """Return the verdict, tables of the parameters and of the losses, and the notes."""
    parameters = [
        Column("parameter", lambda name: name),
        Column("fitted", lambda name: f"{found.parameters[name]:.4g}"),
        Column("95 % interval", lambda name: _interval(found.intervals.get(name))),
    ]
    rows = [
        ("fitted", found.log_loss, found.log_loss_interval, found.prediction_error),
        ("default", found.log_loss_default, None, found.prediction_error_default),
        ("constant", found.log_loss_constant, found.log_loss_constant_interval, None),
        ("constant by side", found.log_loss_by_side, None, None),
    ]
    losses = [
        Column("on the games held out", lambda row: row[0]),
        Column("log loss", lambda row: f"{row[1]:.4f}"),
        Column("95 % interval", lambda row: _interval(row[2])),
        Column("prediction error", lambda row: "" if row[3] is None else f"{100 * row[3]:.2f} %"),
    ]
    draws = found.calibration_draws
    calibration = f"calibration error: wins {100 * found.calibration_wins:.1f} points"
    if draws is not None:
        calibration += f", draws {100 * draws:.1f} points"
    gain, low, high = found.gain
    failed = "the fit failed: it does not forecast games better than a constant forecast does"
    lines = [
        *([failed] if found.failed else []),
        f"fitted to {found.train_games} of {found.games} games by "
        f"{WHAT[found.objective]}, {found.evaluations} replays"
        + ("" if found.converged else "; the search was cut off before it settled"),
        "",
        *text_table(parameters, list(found.parameters)),
        "",
        *text_table(losses, rows),
        "",
        f"{'better' if gain > 0.0 else 'worse'} than the constant forecast by {abs(gain):.4f} "
        f"(gain {gain:.4f} [{low:.4f}, {high:.4f}])",
        calibration,
        *(f"note: {note}" for note in found.notes),
    ]
    return "\n".join(lines)


def run_fit(
    reading: Reading,
    *,
    objective: ObjectiveName = "predictive",
    train_share: float = TRAIN_SHARE,
    seed: int = 0,
    out: Path | None = None,
    quiet: bool = True,
) -> Fit:
    """Fit a log that was read, and write ``fit.json``.

    Args:
        reading: the log.
        objective: as ``fit``.
        train_share: as there.
        seed: as there.
        out: folder for the result, in which a stopped fit goes on; None to write nothing.
        quiet: no progress bar.

    Raises:
        ValueError: as ``fit``, and where another process works in the folder.
        OSError: if a file cannot be written.
    """
    settings: dict[str, Any] = {"objective": objective, "train_share": train_share, "seed": seed}
    if out is None:
        return fit(reading.log, **settings, quiet=quiet)
    with folder_lock(out):
        kept: dict[str, Any] = {"journal": out / EVALUATIONS, "made_with": provenance()}
        found = fit(reading.log, **settings, **kept, quiet=quiet)
        content = {
            **asdict(found),
            "settings": settings,
            "log": {"file": reading.file_name, "sha256": reading.sha256},
            "versions": versions("scipy"),
        }
        write_bytes(out / FIT, json_bytes(content))
    return found


def fitted_parameters(folder: Path) -> dict[str, float]:
    """Return the parameters of a fit, from its folder or its file.

    Raises:
        ValueError: for a path without a fit, or a damaged file.
    """
    file = folder / FIT if folder.is_dir() else folder
    try:
        if not file.is_file():  # a device may have no end
            raise FileNotFoundError(file)
        found = read_json(file)["parameters"]
        return {name: as_number(name, value) for name, value in found.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"fitted must be a folder of matchenv fit, got {str(folder)!r}") from None


def with_fitted(model: Model, folder: Path | None) -> Model:
    """Return the settings with the parameters of a fit; as they are without one.

    Raises:
        ValueError: as ``fitted_parameters``.
    """
    if folder is None:
        return model
    found = fitted_parameters(folder)
    names = {each.name for each in fields(ModelSettings)} & set(found)
    return replace(model, **{name: found[name] for name in names})


def refuse_both(fitted: Path | None, given: set[str]) -> None:
    """Raise for parameters of the model that were given beside those of a fit."""
    twice = sorted(given & {each.name for each in fields(ModelSettings)})
    if fitted is not None and twice:
        raise ValueError(f"{', '.join(twice)} must not be given with fitted, which has its own")


def _interval(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f"[{ends[0]:.4g}, {ends[1]:.4g}]"


@dataclass(frozen=True)
class SmoothSettings:
    """Settings of a smoothing.

    Attributes:
        model: parameters of TrueSkill.
        fitted: folder of a fit whose parameters override these.
        tolerance: stop when no posterior moves by more than this share of its deviation.
        max_iterations: stop here at the latest.
        players: players whose curves are shown (default: the four of the highest last
            mu - 3 sigma).
        table: format of the table of all curves.
    """

    model: ModelSettings = field(default_factory=ModelSettings)
    fitted: Path | None = None
    tolerance: float = SETTLED
    max_iterations: int = MAX_SWEEPS
    players: tuple[str, ...] = ()
    table: Literal["csv", "npz"] = "csv"


@dataclass(frozen=True)
class Smoothing:
    """The result of a smoothing.

    Attributes:
        reading: the log and what was left out of it.
        parameters: of the model.
        smoothed: the posteriors.
        players: names of the players that are shown.
    """

    reading: Reading
    parameters: dict[str, float]
    smoothed: SmoothedLog
    players: list[str]


def run_smooth(
    reading: Reading,
    settings: SmoothSettings,
    *,
    out: Path | None = None,
    plot: Path | None = None,
    quiet: bool = True,
) -> Smoothing:
    """Smooth a log, and write the table and the figure.

    Args:
        reading: the log.
        settings: all that decides the result.
        out: folder for the table and ``smooth.json``, in which a stopped smoothing goes on; None
            to write neither.
        plot: file of the figure, .png, .svg or .pdf; None for none.
        quiet: no progress bar.

    Raises:
        ValueError: as ``smooth``, for an unknown player, a folder without a fit, and where
            another process works in the folder.
        OSError: if a file cannot be written.
    """
    if plot is not None:
        # Plotting is slow to load.
        from matchenv.benchmarks.figures import kind_of_picture

        kind_of_picture("plot", plot)
    check_players(reading.log, settings.players)
    model = with_fitted(settings.model, settings.fitted)
    draws = draw_probability_of(reading.log, model)
    parameters = asdict(replace(model, draw_probability=draws))
    if out is None:
        found = _smoothed(reading, settings, parameters, None, quiet)
    else:
        with folder_lock(out):
            found = _smoothed(reading, settings, parameters, out / CHECKPOINT, quiet)
            write_together((out / name, content) for name, content in _files(found, settings))
    if plot is not None:
        from matchenv.benchmarks.replay.figures import skill_curves_picture

        plot.parent.mkdir(parents=True, exist_ok=True)
        content = skill_curves_picture(
            reading.log,
            found.smoothed,
            found.players,
            kind_of_picture("plot", plot),
            dates=reading.time_format not in (None, "number"),
        )
        write_bytes(plot, content)
    return found


def check_players(log: MatchLog, players: Sequence[str]) -> None:
    """Check that players are in a log.

    Raises:
        ValueError: for one that is not; it names similar ones.
    """
    known = set(log.players)
    for name in players:
        if name not in known:
            near = get_close_matches(name, log.players, 3)
            hint = f"; near to it: {', '.join(near)}" if near else ""
            raise ValueError(
                f"players must be among the {log.num_players} of the log, got {name!r}{hint}"
            )


def strongest(log: MatchLog, smoothed: SmoothedLog, count: int = SHOWN) -> list[str]:
    """Return the players of the highest mu - 3 sigma at their last game, in that order."""
    last = np.zeros(log.num_players, dtype=np.int64)
    last[log.player] = np.arange(len(log.player))
    played = np.unique(log.player)
    sure = smoothed.mu[last] - 3.0 * smoothed.sigma[last]
    order = played[np.argsort(-sure[played], kind="stable")]
    return [log.players[k] for k in order[:count].tolist()]


def smooth_text(found: Smoothing) -> str:
    """Return the skills of the shown players at their first, best and last game."""
    log, smoothed = found.reading.log, found.smoothed
    rows = []
    for name in found.players:
        entries = np.flatnonzero(log.player == log.players.index(name))
        best = entries[np.argmax(smoothed.mu[entries])]
        rows.append((name, entries.size, entries[0], best, entries[-1]))

    def belief(entry: int) -> str:
        return f"{smoothed.mu[entry]:.2f} ± {smoothed.sigma[entry]:.2f}"

    columns = [
        Column("player", lambda row: row[0]),
        Column("games", lambda row: str(row[1])),
        Column("first", lambda row: belief(row[2])),
        Column("best", lambda row: belief(row[3])),
        Column("last", lambda row: belief(row[4])),
    ]
    end = "settled" if smoothed.settled else "cut off before it settled"
    return "\n".join(
        [
            *text_table(columns, rows),
            "",
            f"{smoothed.iterations} iterations, {end}",
            f"log evidence {smoothed.log_evidence:.2f}, for each game "
            f"{smoothed.log_evidence / log.num_games:.4f}",
        ]
    )


def _smoothed(
    reading: Reading,
    settings: SmoothSettings,
    parameters: Mapping[str, float],
    checkpoint: Path | None,
    quiet: bool,
) -> Smoothing:
    model: dict[str, Any] = dict(parameters)
    smoothed = smooth(
        reading.log,
        **model,
        tolerance=settings.tolerance,
        max_iterations=settings.max_iterations,
        checkpoint=checkpoint,
        made_with=provenance(),
        quiet=quiet,
    )
    players = list(settings.players) or strongest(reading.log, smoothed)
    return Smoothing(reading, model, smoothed, players)


def _files(found: Smoothing, settings: SmoothSettings) -> Iterator[tuple[str, bytes]]:
    log, smoothed, reading = found.reading.log, found.smoothed, found.reading
    table = curves_table(log, smoothed)
    if settings.table == "csv":
        columns = [each if isinstance(each, list) else each.tolist() for each in table.values()]
        yield "curves.csv", csv_bytes(list(table), zip(*columns, strict=True))
    else:
        characters = max(map(len, log.players)) * len(log.players)
        if characters > MOST_CHARACTERS:
            raise ValueError(
                f"table must be csv for names as long as these: {characters:,} characters in .npz"
            )
        numbers = {name: array for name, array in table.items() if name != "player"}
        player = np.sort(log.player, kind="stable")
        yield (
            "curves.npz",
            npz_bytes({"players": np.array(log.players), "player": player} | numbers),
        )
    content = {
        "parameters": found.parameters,
        "log_evidence": smoothed.log_evidence,
        "log_probability": float(smoothed.log_probability.sum()),
        "iterations": smoothed.iterations,
        "settled": smoothed.settled,
        "games": log.num_games,
        "players": log.num_players,
        "settings": {
            "tolerance": settings.tolerance,
            "max_iterations": settings.max_iterations,
            "table": settings.table,
        },
        "log": {"file": reading.file_name, "sha256": reading.sha256},
        "versions": versions(),
    }
    yield SMOOTHING, json_bytes(content)
