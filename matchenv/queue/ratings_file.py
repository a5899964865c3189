"""Ratings from a file: a table with columns mu and sigma, or a saved leaderboard."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from matchenv.csv_log.bad_rows import BadRows
from matchenv.csv_log.lines import read_pieces
from matchenv.csv_log.table import read_table
from matchenv.ratings.leaderboard import Leaderboard
from matchenv.runtime.checks import LARGEST_SKILL

Floats = NDArray[np.float64]

COLUMNS = ("mu", "sigma")

# Bad lines that a message names.
MOST_NAMED = 5


def read_ratings(path: str | os.PathLike[str]) -> tuple[Floats, Floats]:
    """Means and standard deviations of all players of a file.

    Args:
        path: a CSV file, plain or packed with gzip, with columns ``mu`` and ``sigma`` and any
            others, such as the ``ratings.csv`` of ``matchenv replay``; or the JSON file of
            ``Leaderboard.save``.

    Returns:
        Both of shape (K,), K >= 1.

    Raises:
        ValueError: if the file cannot be read, has no players or misses a column, and for numbers
            that are missing, NaN, infinite or, in sigma, not above 0; it names their lines.
    """
    file = Path(path)
    if file.suffix == ".json":
        return _of_leaderboard(file)
    bad_rows = BadRows()
    try:
        table = read_table(read_pieces(file), "utf-8", bad_rows)
    except ValueError as error:
        raise ValueError(f"population must be a readable file of ratings: {error}") from None
    header = [name.lower() for name in table.header]
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        raise ValueError(
            f"population must have columns mu and sigma: {file} has no {' and no '.join(missing)} "
            f"in line 1, {', '.join(table.header)}"
        )
    problems = {row.line: f"line {row.line}: {row.reason}" for row in bad_rows.sorted()}
    numbers = {name: [_number(text) for text in table.columns[header.index(name)]]
               for name in COLUMNS}  # fmt: skip
    for name in COLUMNS:
        texts = table.columns[header.index(name)]
        for line, text, value in zip(table.lines, texts, numbers[name], strict=True):
            if not abs(value) <= LARGEST_SKILL:
                problems.setdefault(line, f"line {line}: {name} is {text.strip()!r}")
            elif name == "sigma" and value < 1.0 / LARGEST_SKILL:
                problems.setdefault(line, f"line {line}: sigma is {text.strip()!r}, not above 0")
    if problems:
        named = [problems[line] for line in sorted(problems)[:MOST_NAMED]]
        more = f" and {len(problems) - MOST_NAMED} more" if len(problems) > MOST_NAMED else ""
        raise ValueError(
            f"population must hold finite numbers, sigma above 0: {file}: {'; '.join(named)}{more}"
        )
    if not table.lines:
        raise ValueError(f"population must hold at least one player, got none in {file}")
    return np.array(numbers["mu"]), np.array(numbers["sigma"])


def _number(text: str) -> float:
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


def _of_leaderboard(file: Path) -> tuple[Floats, Floats]:
    try:
        board = Leaderboard.load(file)
    except OSError as error:
        raise ValueError(
            f"population must be a readable file: {file}: {error.strerror or error}"
        ) from None
    except ValueError as error:
        raise ValueError(f"population must be a leaderboard's file: {error}") from None
    if len(board) == 0:
        raise ValueError(f"population must hold at least one player, got none in {file}")
    ratings = np.array([board[name] for name in board])
    return ratings[:, 0].copy(), ratings[:, 1].copy()
