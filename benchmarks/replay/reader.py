"""A match log from a file: the games to rate, what was left out, and why."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from matchenv.benchmarks.replay.bad_rows import BadLogError, BadRow, BadRows
from matchenv.benchmarks.replay.columns import find_columns, parse_mapping
from matchenv.benchmarks.replay.games import (
    Mask,
    Sides,
    find_sides,
    results_of_sides,
    times_of_games,
    whole_games,
)
from matchenv.benchmarks.replay.rows import Rows, number_rows
from matchenv.benchmarks.replay.table import read_bytes, read_table
from matchenv.match_log import MatchLog, ranks_from_scores


@dataclass(frozen=True)
class ReadingSettings:
    """How to read a log.

    Attributes:
        columns: ``role=name`` for columns with unusual names, joined by commas.
        encoding: of the text.
        time_format: see ``times.parse_times``; None to find out.
        strict: whether a bad row is an error.
    """

    columns: str = ""
    encoding: str = "utf-8"
    time_format: str | None = None
    strict: bool = False


@dataclass(frozen=True)
class Reading:
    """A log as it was read.

    Attributes:
        log: the games to rate.
        file_name: name of the file, without its folder.
        sha256: of the file's bytes, unpacked.
        column_names: role to the name of its column.
        time_format: how times were written; None for a log without times.
        bad_rows: all that was wrong, by line.
        reasons: how many bad rows for each reason.
        rows: lines of the file that are not its header.
        bad_lines: lines with something wrong.
        rows_left_out: good lines that were left out since their game has a bad one.
        games: games that the file names.
    """

    log: MatchLog
    file_name: str
    sha256: str
    column_names: dict[str, str]
    time_format: str | None
    bad_rows: list[BadRow]
    reasons: dict[str, int]
    rows: int
    bad_lines: int
    rows_left_out: int
    games: int


def read_log(path: Path, settings: ReadingSettings | None = None) -> Reading:
    """Read a match log from a .csv or .csv.gz file.

    A game with a bad row is left out as a whole; nothing else is.

    Args:
        path: the file.
        settings: how to read it.

    Raises:
        BadLogError: for a file, header or encoding that cannot be read at all, a log with
            no game to rate, or, if ``settings.strict``, for any bad row; the message lists
            the bad rows with their line numbers.
    """
    settings = settings or ReadingSettings()
    bad_rows = BadRows()
    data = read_bytes(path)
    table = read_table(data, settings.encoding, bad_rows)
    columns = find_columns(table.header, parse_mapping(settings.columns))
    rows = number_rows(table, columns, settings.time_format, bad_rows)
    whole = whole_games(rows, bad_rows)
    if settings.strict and len(bad_rows):
        raise BadLogError(f"{path.name}: {len(bad_rows)} bad rows\n" + _listed(bad_rows))
    if not whole.any():
        raise BadLogError(f"{path.name}: no game to rate\n{_listed(bad_rows)}".rstrip())
    sides = find_sides(rows, whole)
    rated_lines = np.unique(rows.line[sides.row])
    bad_lines = len(bad_rows.lines())
    return Reading(
        log=_match_log(rows, sides, whole),
        file_name=path.name,
        sha256=hashlib.sha256(data).hexdigest(),
        column_names=columns.names,
        time_format=rows.time_format,
        bad_rows=bad_rows.sorted(),
        reasons=bad_rows.counts(),
        rows=table.num_rows,
        bad_lines=bad_lines,
        rows_left_out=table.num_rows - bad_lines - len(rated_lines),
        games=len(rows.games),
    )


def _match_log(rows: Rows, sides: Sides, whole: Mask) -> MatchLog:
    result = results_of_sides(rows, sides)
    score = -result if rows.ranked else result
    game_start = np.append(np.flatnonzero(np.diff(sides.game, prepend=-1)), len(sides.game))
    # Players are numbered anew: some of them may only occur in games that are left out.
    present, player = np.unique(rows.player[sides.row], return_inverse=True)
    time = None
    if rows.time is not None:
        time = np.rint(times_of_games(rows, np.flatnonzero(whole))).astype(np.int64)
    ranks = ranks_from_scores(score, game_start)
    return MatchLog(
        players=[rows.players[number] for number in present],
        player=player.astype(np.int32),
        team_start=sides.start,
        game_start=game_start,
        rank=ranks,
        score=-ranks.astype(np.float64) if rows.ranked else score,
        time=time,
    )


def _listed(bad_rows: BadRows) -> str:
    return "\n".join(map(str, bad_rows.sorted()))
