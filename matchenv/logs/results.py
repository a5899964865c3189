"""Results of rows and of games: words, places, scores, and what is no result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from matchenv.logs.columns import WINS, plain_name, words
from matchenv.logs.numbers import MISSING, numbers_of
from matchenv.runtime.arrays import Masks

WIN = 1.0
DRAW = 0.5
LOSS = -1.0
WORDS: dict[str, float] = {}
WORDS |= dict.fromkeys(("win", "won", "w", "victory", "winner", "true", "1-0"), WIN)
WORDS |= dict.fromkeys(("loss", "lost", "lose", "l", "defeat", "loser", "false", "0-1"), LOSS)
WORDS |= dict.fromkeys(("draw", "drawn", "d", "tie", "tied", "t", "mutual draw", "½", "1/2"), DRAW)
WORDS |= dict.fromkeys(("1/2-1/2", "½-½", "0.5-0.5", "both bad", "bothbad", "both good"), DRAW)
# Sides that did not finish are last, in an unknown order.
UNFINISHED = [
    *words("dnf dsq dq disqualified ret ret. retired retirement w/o wo walkover"),
    *words("forfeit forfeited ff withdrawn withdrew wd"),
    "did not finish",
]
# Words for games that were not played.
UNPLAYED = [
    *words("bye * dns cancelled canceled postponed unplayed void"),
    "did not start",
    "not played",
    "no contest",
]
NUMBERS = (-1.0, 0.0, 0.5, 1.0)
# Results of two sides that agree, the smaller one first. 0 twice is a draw where -1 is a loss.
AGREEING = {(0.0, 1.0), (0.5, 0.5), (-1.0, 1.0), (0.0, 0.0)}
# A place with an ordinal or a sign of a tie: 1st, T3, =3.
ORDINAL = re.compile(r"[t=]?(\d+)(st|nd|rd|th|\.)?=?")
POINTS = r"(\d+(?:\.\d+)?|½|1/2)"
SCORE_LINE = re.compile(rf"{POINTS}\s*[-–—:]\s*{POINTS}")


class Outcomes(NamedTuple):
    """What a column says of the result of each row."""

    value: pd.Series[Any]  # number, the higher the better; NA for missing or unreadable ones
    unfinished: Masks  # whether the side did not finish: it is last
    unplayed: Masks  # whether the cell says that there was no game
    missing: Masks  # whether the cell is empty
    cells: NDArray[np.object_]  # the text of the cell


def outcomes_of(cells: Sequence[str], role: str) -> Outcomes:
    """Return what a column of a long log says of each row's own side.

    Args:
        cells: the column.
        role: rank, result, team_score or score.
    """
    codes, distinct = pd.factorize(pd.Series(cells, dtype=object))  # each text is read once
    texts = pd.Series(distinct, dtype=object).str.strip().str.lower().str.replace("_", " ")
    if role == "result":
        values = texts.map(WORDS).astype(float)
        numbers = numbers_of(texts, "score").astype("Float64").astype(float)
        values = values.fillna(numbers.where(numbers.isin(NUMBERS)))
        values = values.mask(texts.isin(UNFINISHED), LOSS)
    elif role == "rank":
        values = -numbers_of(texts.str.replace(ORDINAL, r"\1", regex=True), role)
    else:
        values = numbers_of(texts, role)
    return Outcomes(
        values.take(codes).reset_index(drop=True),
        _flags(texts.isin(UNFINISHED), codes),
        _flags(texts.isin(UNPLAYED), codes),
        _flags(texts.isin(MISSING), codes),
        np.asarray(cells, dtype=object),
    )


def _flags(flags: pd.Series[bool], codes: Any) -> Masks:
    return flags.to_numpy(np.bool_)[codes]


def outcomes_of_sides(
    cells: Sequence[str], name: str, sides: Sequence[Sequence[str]], names: tuple[str, str]
) -> tuple[Outcomes, Outcomes]:
    """Return what a column of a wide log says of both sides of each game.

    Args:
        cells: the column.
        name: its name.
        sides: names of the first and of the second side of each game.
        names: names of the two sides in the header, for example white and black.
    """
    codes, distinct = pd.factorize(pd.Series(cells, dtype=object))
    texts = pd.Series(distinct, dtype=object).str.strip().str.lower().str.replace("_", " ")
    values = texts.map(lambda cell: _first_value(cell, name, names)).astype(float)
    numbers = numbers_of(texts, "score").astype("Float64").astype(float)
    meaning = _value_of_number(name, numbers.dropna().unique())
    if names[1] and plain_name(name).startswith(names[1]):  # whether the second side won
        meaning = {number: -value for number, value in meaning.items() if value != DRAW}
    values = values.fillna(numbers.map(meaning).astype(float))
    first = values.take(codes).reset_index(drop=True)
    plain = pd.Series(cells, dtype=object).str.strip()
    for side, value in zip(sides, (WIN, LOSS), strict=True):
        is_name = (plain == pd.Series(side, dtype=object).str.strip()) & (plain != "")
        first = first.mask(is_name, value)
    nobody = np.zeros(len(codes), np.bool_)
    unplayed = _flags(texts.isin(UNPLAYED), codes)
    missing = _flags(texts.isin(MISSING), codes)
    flags = nobody, unplayed, missing, np.asarray(cells, dtype=object)
    second = first.where(first == DRAW, -first)
    return Outcomes(first, *flags), Outcomes(second, *flags)


def _first_value(cell: str, name: str, names: tuple[str, str]) -> float | None:
    """Return the result of the first side, from a cell in lower case; None if it is no word."""
    column = plain_name(name)
    for word, value in zip(names, (WIN, LOSS), strict=True):
        if plain_name(cell) in _names_of_side(word):
            return value
        if column in [f"{word}{win}" for win in WINS] and cell in WORDS:
            # The column says whether this side won.
            return value if WORDS[cell] == WIN else -value
    if re.match(r"(tie|draw)\b", cell) or cell == "x":
        return DRAW
    if cell in WORDS:
        return WORDS[cell]
    line = SCORE_LINE.fullmatch(cell)
    if line is not None:
        return _compared(_points(line[1]), _points(line[2]))
    return None


def _names_of_side(word: str) -> set[str]:
    """Return how a cell can name a side, for example white, white wins, or H for home."""
    if not word:
        return set()
    names = {word, *(f"{word}{win}" for win in WINS)}
    if word in ("home", "away"):
        names.add(word[0])
    elif word in ("modela", "modelb", "teama", "teamb", "playera", "playerb"):
        names.add(word[-1])
    return names


def _points(score: str) -> float:
    return 0.5 if score in ("½", "1/2") else float(score)


def _compared(first: float, second: float) -> float:
    """Return the result of a side with more, as many, or fewer points than the other one."""
    if first == second:
        return DRAW
    return WIN if first > second else LOSS


def _value_of_number(name: str, values: Iterable[float]) -> dict[float, float]:
    """Return the result of the first side for each number of a column.

    1 and 2 are the number of the winning side, and 0 beside 2 a draw. Otherwise 1 is a win of the
    first side, 0.5 a draw, and 0 or -1 a loss; where -1 occurs, 0 is a draw. In a column named
    after the winner, 0 and 1 could be either.
    """
    numbers = set(values)
    if numbers <= {0.0, 1.0, 2.0} and 2.0 in numbers:
        return {1.0: WIN, 2.0: LOSS, 0.0: DRAW}
    if "winner" in plain_name(name) and 0.0 in numbers:
        return {}
    if -1.0 in numbers:
        return {1.0: WIN, 0.0: DRAW, 0.5: DRAW, -1.0: LOSS}
    return {1.0: WIN, 0.5: DRAW, 0.0: LOSS}
