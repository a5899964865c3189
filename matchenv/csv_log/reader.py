"""A match log from a file: the games to rate, what was left out, and why."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from matchenv.csv_log.bad_rows import BadLogError, BadRow, BadRows, listing
from matchenv.csv_log.columns import find_columns
from matchenv.csv_log.entries import Entries, read_entries
from matchenv.csv_log.games import Game, whole_games
from matchenv.csv_log.lines import read_pieces
from matchenv.csv_log.settings import ReadingSettings
from matchenv.csv_log.table import read_table
from matchenv.match_log import MatchLog, ranks_from_scores


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
            no game to rate, or, if ``settings.strict``, for any bad row; the message counts the
            bad rows of each reason and names the first ones with their line numbers.
    """
    settings = settings or ReadingSettings()
    bad_rows = BadRows()
    digest = hashlib.sha256()
    pieces = _counted(read_pieces(path, settings.max_megabytes), digest)
    table = read_table(pieces, settings.encoding, bad_rows)
    columns = find_columns(table.header, settings.columns)
    entries = read_entries(table, columns, settings.time_format, bad_rows)
    spoilt: set[str] = set()
    if not columns.home_and_away:
        place = columns.places["game"]
        spoilt = {fields[place].strip() for fields in table.spoilt if place < len(fields)}
    games, whole = whole_games(entries, spoilt, bad_rows)
    if (settings.strict and len(bad_rows)) or not whole:
        problem = f"{len(bad_rows)} bad rows" if whole else "no game to rate"
        said = [problem, *map(str.strip, listing(bad_rows.sorted()))]
        raise BadLogError(f"{path.name}: {'; '.join(said)}")
    rated_lines = {entries.line[k] for game in whole for k in game.entries}
    bad_lines = len(bad_rows.lines())
    return Reading(
        log=_match_log(entries, whole),
        file_name=path.name,
        sha256=digest.hexdigest(),
        column_names=columns.names,
        time_format=entries.time_format,
        bad_rows=bad_rows.sorted(),
        rows=table.num_rows,
        bad_lines=bad_lines,
        rows_left_out=table.num_rows - bad_lines - len(rated_lines),
        games=len(games),
    )


def _counted(pieces: Iterable[bytes], digest: hashlib._Hash) -> Iterator[bytes]:
    """The same pieces; each goes into the digest first."""
    for piece in pieces:
        digest.update(piece)
        yield piece


def _match_log(entries: Entries, games: list[Game]) -> MatchLog:
    played = [entries.player[k] for game in games for k in game.members]
    # In the order in which the file first names them, those alone who play in a whole game.
    present = set(played)
    players = [name for name in dict.fromkeys(entries.player) if name in present]
    number = {name: place for place, name in enumerate(players)}
    results = [result for game in games for result in game.results(entries)]
    game_start = np.cumsum([0, *(len(game.sizes) for game in games)])
    ranks = ranks_from_scores([-r for r in results] if entries.ranked else results, game_start)
    times = [round(game.time) for game in games if game.time is not None]
    weights = None
    if entries.weight is not None:
        weights = np.array([w for game in games for side in game.weights(entries) for w in side])
    neutral = None
    if entries.neutral is not None:
        neutral = np.array([bool(entries.neutral[game.entries[0]]) for game in games])
    return MatchLog(
        players=[str(name) for name in players],
        player=np.array([number[name] for name in played], dtype=np.int32),
        team_start=np.cumsum([0, *(size for game in games for size in game.sizes)]),
        game_start=game_start,
        rank=ranks,
        score=-ranks.astype(np.float64) if entries.ranked else np.array(results, np.float64),
        time=None if entries.time is None else np.array(times, dtype=np.int64),
        weight=weights,
        neutral=neutral,
    )
