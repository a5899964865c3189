"""A fit as text and as a file."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from matchenv.csv_log.reader import Reading
from matchenv.evaluation.tables import Column, text_table
from matchenv.replay.fitting.fit import TRAIN_SHARE, Fit, fit
from matchenv.replay.fitting.journal import JOURNAL
from matchenv.replay.fitting.objectives import ObjectiveName
from matchenv.runtime.checks import as_number
from matchenv.runtime.files import folder_lock, json_bytes, write_bytes
from matchenv.runtime.provenance import provenance, versions

RESULT = "fit.json"
WHAT = {"predictive": "the likelihood of games not yet seen", "evidence": "the log's evidence"}


def fit_text(found: Fit) -> str:
    """Tables of the parameters and of the losses, and the notes."""
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
    lines = [
        f"fitted to {found.train_games} of {found.games} games by "
        f"{WHAT[found.objective]}, {found.evaluations} replays"
        + ("" if found.converged else "; the search was cut off before it settled"),
        "",
        *text_table(parameters, list(found.parameters)),
        "",
        *text_table(losses, rows),
        "",
        f"less than the constant forecast by {gain:.4f} [{low:.4f}, {high:.4f}]",
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
    if out is None:
        return fit(
            reading.log, objective=objective, train_share=train_share, seed=seed, quiet=quiet
        )
    with folder_lock(out):
        journal = out / JOURNAL
        found = fit(
            reading.log,
            objective=objective,
            train_share=train_share,
            seed=seed,
            journal=journal,
            made_with=provenance(),
            quiet=quiet,
        )
        content = {
            **asdict(found),
            "settings": {"objective": objective, "train_share": train_share, "seed": seed},
            "log": {"file": reading.file_name, "sha256": reading.sha256},
            "versions": versions("scipy"),
        }
        write_bytes(out / RESULT, json_bytes(content))
    return found


def fitted_parameters(folder: Path) -> dict[str, float]:
    """The parameters of a fit, from its folder or its file.

    Raises:
        ValueError: for a place without a fit, or a damaged file.
    """
    file = folder / RESULT if folder.is_dir() else folder
    try:
        if not file.is_file():  # a device may have no end
            raise FileNotFoundError(file)
        found = json.loads(file.read_bytes())["parameters"]
        return {name: as_number(name, value) for name, value in found.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"fitted must be a folder of matchenv fit, got {str(folder)!r}") from None


def _interval(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f"[{ends[0]:.4g}, {ends[1]:.4g}]"
