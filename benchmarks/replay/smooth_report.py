"""What ``matchenv smooth`` does: skills in hindsight as a table, a file and a figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import numpy as np

from matchenv.benchmarks.replay.fit_report import fitted_parameters
from matchenv.benchmarks.replay.settings import ModelSettings
from matchenv.benchmarks.replay.systems import draw_probability_of
from matchenv.csv_log.reader import Reading
from matchenv.evaluation.tables import Column, text_table
from matchenv.match_log import MatchLog
from matchenv.match_tables import curves_table
from matchenv.replay import SmoothedLog, smooth
from matchenv.replay.smoothing.checkpoint import CHECKPOINT
from matchenv.replay.smoothing.smooth import MAX_SWEEPS, SETTLED
from matchenv.runtime.files import (
    csv_bytes,
    folder_lock,
    json_bytes,
    npz_bytes,
    write_bytes,
    write_together,
)
from matchenv.runtime.provenance import provenance, versions

RESULT = "smooth.json"
# Players that are shown where none is named.
SHOWN = 4
# NumPy keeps every name as long as the longest: characters of all names together.
MOST_CHARACTERS = 100_000_000


@dataclass(frozen=True)
class SmoothSettings:
    """Settings of a smoothing.

    Attributes:
        model: parameters of TrueSkill.
        fitted: folder of ``matchenv fit`` whose parameters take the place of these.
        tolerance: stop when no posterior moves by more than this share of its deviation.
        max_iterations: stop here at the latest.
        players: whose curves are shown (default: the four of the highest last mu - 3 sigma).
        table: how the table of all curves is written.
    """

    model: ModelSettings = field(default_factory=ModelSettings)
    fitted: Path | None = None
    tolerance: float = SETTLED
    max_iterations: int = MAX_SWEEPS
    players: tuple[str, ...] = ()
    table: Literal["csv", "npz"] = "csv"


@dataclass(frozen=True)
class Smoothing:
    """What a smoothing gave.

    Attributes:
        reading: the log and what was left out of it.
        parameters: of the model, as they were used.
        smoothed: the posteriors.
        players: names of those who are shown.
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
    """Smooth a log that was read, and write what is asked for.

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
    parameters = _parameters(reading.log, settings)
    if out is None:
        found = _smoothed(reading, settings, parameters, None, quiet)
    else:
        with folder_lock(out):
            found = _smoothed(reading, settings, parameters, out / CHECKPOINT, quiet)
            write_together((out / name, content) for name, content in _files(found, settings))
    if plot is not None:
        from matchenv.benchmarks.replay.skill_curves import skill_curves_picture

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
    """See that players are in a log.

    Raises:
        ValueError: for one that is not; it names those that are written alike.
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
    """The players of the highest mu - 3 sigma at their last game, the first named among equals."""
    last = np.zeros(log.num_players, dtype=np.int64)
    last[log.player] = np.arange(len(log.player))
    played = np.unique(log.player)
    sure = smoothed.mu[last] - 3.0 * smoothed.sigma[last]
    order = played[np.argsort(-sure[played], kind="stable")]
    return [log.players[k] for k in order[:count].tolist()]


def smooth_text(found: Smoothing) -> str:
    """The curves of the players who are shown at their first, best and last game."""
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


def _parameters(log: MatchLog, settings: SmoothSettings) -> dict[str, float]:
    if settings.fitted is not None:
        given: Mapping[str, Any] = fitted_parameters(settings.fitted)
        names = {each.name for each in fields(ModelSettings)}
        model = ModelSettings(**{name: given[name] for name in names if name in given})
    else:
        model = settings.model
    return asdict(replace(model, draw_probability=draw_probability_of(log, model)))


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
    yield RESULT, json_bytes(content)
