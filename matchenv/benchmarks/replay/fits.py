"""Fits and smoothings of a log: their settings, texts and files."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from operator import itemgetter
from pathlib import Path

import numpy as np

from matchenv.evaluation.estimates import Estimate
from matchenv.evaluation.tables import Column, shortened, text_table
from matchenv.logs.fitting import TRAIN_SHARE, Fit, fit
from matchenv.logs.match_log import MatchLog
from matchenv.logs.reading import Reading
from matchenv.logs.replay import Model
from matchenv.logs.smoothing import MAX_SWEEPS, SETTLED, SmoothedLog, curves_table, smooth
from matchenv.runtime.checks import as_integer, as_number, as_positive_number, counted
from matchenv.runtime.files import (
    columns_csv,
    folder_lock,
    json_bytes,
    read_json,
    write_bytes,
    write_together,
)
from matchenv.runtime.provenance import versions

FIT = "fit.json"
# Number of players to show if none is named.
SHOWN = 4


def locked(out: Path | None) -> AbstractContextManager[None]:
    """Return ``folder_lock`` of a folder of results, if there is one."""
    return nullcontext() if out is None else folder_lock(out)


def run_fit(
    reading: Reading,
    *,
    train_share: float = TRAIN_SHARE,
    out: Path | None = None,
    quiet: bool = True,
) -> Fit:
    """Fit a log, and write ``fit.json``.

    Args:
        reading: the log.
        train_share: see ``fit``.
        out: folder for the result; None to write nothing.
        quiet: hide the progress bar.

    Raises:
        ValueError: see ``fit``, and if another process works in the folder.
        OSError: if the file cannot be written.
    """
    settings = {"train_share": train_share}
    with locked(out):
        found = fit(reading.log, **settings, quiet=quiet)
        if out is not None:
            content = {"verdict": found.verdict, **asdict(found), "settings": settings}
            content |= {"log": reading.source, "versions": versions("scipy")}
            write_bytes(out / FIT, json_bytes(content, checked=True))
    return found


def fit_text(found: Fit) -> str:
    """Return the verdict, tables of the parameters and of the losses, and the notes."""
    lines = []
    if found.failed:
        lines.append(
            "the fit failed: it is not shown to forecast games better than a constant forecast"
        )
    cut = "" if found.converged else "; the search did not converge"
    lines.append(
        f"fitted to {found.train_games} of {found.games} games by the likelihood of games not yet "
        f"seen, {found.evaluations} replays{cut}"
    )
    lines += ["", *_parameter_lines(found), "", *_loss_lines(found), ""]
    gain, low, high = found.gain
    by_side = found.log_loss_by_side < found.log_loss_constant
    name = "constant forecast by side" if by_side else "constant forecast"
    interval = Estimate(gain, 0.0, low, high).times(1.0 if gain > 0.0 else -1.0)
    lines.append(f"{_better(gain)} than the {name} by {interval:.4f}")
    default = found.log_loss_default - found.log_loss
    lines.append(f"{_better(default)} than the default by {abs(default):.4f}")
    errors = [f"wins {100 * found.calibration_wins:.1f} points"]
    if found.calibration_draws is not None:
        errors.append(f"draws {100 * found.calibration_draws:.1f} points")
    lines.append(f"calibration error: {', '.join(errors)}")
    lines += [f"note: {note}" for note in found.notes]
    return "\n".join(lines)


def _better(gain: float) -> str:
    return "better" if gain > 0.0 else "worse"


def _parameter_lines(found: Fit) -> list[str]:
    """Return the table of the fitted parameters."""
    rows = []
    for name, value in found.parameters.items():
        rows.append((name, f"{value:.4g}", _interval(found.intervals.get(name))))
    return table(("parameter", "fitted", "95 % interval"), rows)


def _loss_lines(found: Fit) -> list[str]:
    """Return the table of the losses on the games held out."""
    constant = found.log_loss_constant
    losses = [
        ("fitted", found.log_loss, found.log_loss_interval, found.prediction_error),
        ("default", found.log_loss_default, None, found.prediction_error_default),
        ("constant", constant, found.log_loss_constant_interval, np.nan),
    ]
    if found.log_loss_by_side != constant:  # the log says which side was first
        losses.append(("constant by side", found.log_loss_by_side, None, np.nan))
    rows = []
    for name, loss, interval, error in losses:
        percent = "" if np.isnan(error) else f"{100 * error:.2f} %"
        rows.append((name, f"{loss:.4f}", _interval(interval), percent))
    return table(("on the games held out", "log loss", "95 % interval", "prediction error"), rows)


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int = 0) -> list[str]:
    """Return the lines of a table of texts; ``width`` is the least of a column."""
    columns = [Column(heading, itemgetter(k), width) for k, heading in enumerate(headings)]
    return text_table(columns, rows)


def _interval(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f"[{ends[0]:.4g}, {ends[1]:.4g}]"


def fitted_parameters(folder: Path) -> tuple[dict[str, float], bool]:
    """Return the parameters of a fit, from its folder or its file, and whether it failed.

    Warns if it failed.

    Raises:
        ValueError: for a path without a fit, or a damaged file.
    """
    file = folder / FIT if folder.is_dir() else folder
    try:
        if not file.is_file():  # a device can be endless
            raise FileNotFoundError(file)
        found = read_json(file)
        parameters = {name: as_number(name, x) for name, x in found["parameters"].items()}
        failed = found.get("verdict", "better") != "better"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"fitted must be a folder of matchenv fit, got {str(folder)!r}") from None
    if failed:
        warnings.warn(f"the fit in {folder} failed: its parameters mean little", stacklevel=3)
    return parameters, failed


def with_fitted(model: Model, folder: Path | None) -> Model:
    """Return a model with the parameters of a fit, if there is one.

    Raises:
        ValueError: see ``fitted_parameters``.
    """
    found, _ = ({}, False) if folder is None else fitted_parameters(folder)
    names = {parameter.name for parameter in fields(Model)}
    return replace(model, **{name: value for name, value in found.items() if name in names})


@dataclass(frozen=True)
class SmoothSettings:
    """Settings of a smoothing.

    Attributes:
        model: parameters of TrueSkill.
        fitted: folder of a fit, for its parameters in place of these.
        tolerance: stop when no posterior moves by more than this share of its deviation.
        max_iterations: limit on the number of iterations.
        players: players whose curves are shown (default: the four with the highest last
            mu - 3 sigma).
    """

    model: Model = field(default_factory=Model)
    fitted: Path | None = None
    tolerance: float = SETTLED
    max_iterations: int = MAX_SWEEPS
    players: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        as_positive_number("tolerance", self.tolerance)
        as_integer("max_iterations", self.max_iterations, 1)
        object.__setattr__(self, "model", with_fitted(self.model, self.fitted))


def run_smooth(
    reading: Reading,
    settings: SmoothSettings,
    *,
    out: Path | None = None,
    quiet: bool = True,
) -> tuple[SmoothedLog, list[str]]:
    """Smooth a log, and write its files.

    Args:
        reading: the log.
        settings: everything that affects the result.
        out: folder for ``curves.csv``, ``smooth.json`` and ``report.html``; None to write nothing.
        quiet: hide the progress bar.

    Returns:
        The posteriors, and the names of the players to show.

    Raises:
        ValueError: see ``smooth``, for an unknown player, and if another process works in the
            folder.
        OSError: if a file cannot be written.
    """
    log = reading.log
    for name in sorted(set(settings.players) - set(log.players)):
        near = ", ".join(get_close_matches(name, log.players, 3))
        hint = f"; near to it: {near}" if near else ""
        raise ValueError(
            f"players must be among the {log.num_players} of the log, got {name!r}{hint}"
        )
    model = settings.model.counted(log)
    limits = {"tolerance": settings.tolerance, "max_iterations": settings.max_iterations}
    with locked(out):
        smoothed = smooth(log, **limits, quiet=quiet, **asdict(model))  # type: ignore[arg-type]
        shown = list(settings.players) or strongest(log, smoothed)
        if out is not None:
            # The plotting library is slow to load.
            from matchenv.benchmarks.report.replay import skills_page

            content = {
                "log_evidence": smoothed.log_evidence,
                "iterations": smoothed.iterations,
                "settled": smoothed.settled,
                "log_probability": float(smoothed.log_probability.sum()),
                "games": log.num_games,
                "players": log.num_players,
                "parameters": asdict(model),
                "settings": limits,
                "log": reading.source,
                "versions": versions(),
            }
            files = {
                "curves.csv": columns_csv(curves_table(log, smoothed)),
                "smooth.json": json_bytes(content, checked=True),
                "report.html": skills_page(reading, smoothed, shown, content).encode(),
            }
            write_together((out / name, file) for name, file in files.items())
    return smoothed, shown


def strongest(log: MatchLog, smoothed: SmoothedLog, count: int = SHOWN) -> list[str]:
    """Return the players with the highest mu - 3 sigma at their last game, best first."""
    last = np.zeros(log.num_players, dtype=np.int64)
    last[log.player] = np.arange(len(log.player))
    bound = smoothed.mu[last] - 3.0 * smoothed.sigma[last]
    return [log.players[k] for k in np.argsort(-bound, kind="stable")[:count].tolist()]


def smooth_text(log: MatchLog, smoothed: SmoothedLog, players: Sequence[str]) -> str:
    """Return the players' skills at their first, best and last game, and the evidence."""
    rows = []
    for name in players:
        entries = np.flatnonzero(log.player == log.players.index(name))
        best = entries[np.argmax(smoothed.mu[entries])]
        beliefs = [
            f"{smoothed.mu[k]:.2f} ± {smoothed.sigma[k]:.2f}"
            for k in (entries[0], best, entries[-1])
        ]
        rows.append((shortened(name), str(entries.size), *beliefs))
    iterations = counted(smoothed.iterations, "iteration")
    lines = [
        *table(("player", "games", "first", "best", "last"), rows),
        "",
        "±: one standard deviation of the belief",
        f"{iterations}, {'settled' if smoothed.settled else 'not settled'}",
        f"log evidence {smoothed.log_evidence:.2f}, for each game "
        f"{smoothed.log_evidence / log.num_games:.4f}",
    ]
    return "\n".join(lines)
