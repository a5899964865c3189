"""The rows of a log as values: one entry for each player in each game, in file order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from matchenv.csv_log.bad_rows import BadRows, Reason
from matchenv.csv_log.columns import Columns
from matchenv.csv_log.table import Table
from matchenv.csv_log.times import Time, parse_times
from matchenv.trueskill.sides import LARGEST_WEIGHT

# What logs write where they have no value; compared in lower case.
_MISSING = frozenset({"", "na", "n/a", "null", "none"})
_TRUTH = dict.fromkeys(("true", "t", "yes", "y", "1"), True)
_TRUTH |= dict.fromkeys(("false", "f", "no", "n", "0", *_MISSING), False)
# Scores are counts or times; a number beyond this is a mishap.
_LARGEST_SCORE = 2.0**64
# Digits, before the exponent and that it stands for.
_LONGEST_NUMBER = 1000

Number = int | Fraction
Value = TypeVar("Value")


@dataclass(frozen=True)
class Entries:
    """One entry for each player in each game; None stands for what is missing or unreadable.

    Attributes:
        line: number of the line.
        game: name of the game.
        team: name of the team.
        player: name of the player.
        result: score or rank, exact.
        ranked: whether ``result`` is a rank (low is good) instead of a score.
        time: when the game was played; NaN where it cannot be read. None for a log without times.
        time_format: how times were written; None for a log without times.
        weight: what the performance counts, or how long the player took part; None for a log
            without either.
        weight_is_time: whether ``weight`` is a time, in any unit.
        neutral: whether on neutral ground; None for a log that does not say.
    """

    line: list[int]
    game: list[str | None]
    team: list[str | None]
    player: list[str | None]
    result: list[Number | None]
    ranked: bool
    time: list[Time] | None
    time_format: str | None
    weight: list[float | None] | None = None
    weight_is_time: bool = False
    neutral: list[bool | None] | None = None


def read_entries(
    table: Table, columns: Columns, time_format: str | None, bad_rows: BadRows
) -> Entries:
    """Read the strings of a table; what cannot be read goes to ``bad_rows``.

    Args:
        table: the split file.
        columns: which column plays which role.
        time_format: as ``times.parse_times`` takes it.
        bad_rows: takes missing or unreadable games, players, scores, ranks, times and weights.
    """
    text = {role: list(table.columns[place]) for role, place in columns.places.items()}
    line, time, used_format = table.lines, None, None
    if "time" in text:
        time, used_format = parse_times(text["time"], time_format)
        for number, written, value in zip(line, text["time"], time, strict=True):
            if math.isnan(value):
                bad_rows.add(number, Reason.BAD_TIME, repr(written))
    if columns.home_and_away:
        # Each row is a game of its own, with an entry for home and one for away.
        line = _in_turn(line, line)
        time = _in_turn(time, time) if time is not None else None
        text["game"] = list(map(str, line))
        text["player"] = _in_turn(text["home"], text["away"])
        text["score"] = _in_turn(text["home_score"], text["away_score"])
        if "neutral" in text:
            text["neutral"] = _in_turn(text["neutral"], text["neutral"])
    result = "rank" if "rank" in text else "score"
    game, player = _names(text["game"]), _names(text["player"])
    team = _names(text.get("team", [""] * len(line)))
    numbers = {written: _number(written) for written in set(text[result])}
    values = [numbers[written] for written in text[result]]
    for role, column in (("game", game), ("player", player), (result, values)):
        for k in [k for k, value in enumerate(column) if value is None]:
            written = text[role][k].strip()
            if written.lower() in _MISSING:
                bad_rows.add(line[k], Reason(f"missing {role}"))
            else:
                bad_rows.add(line[k], Reason(f"{role} is not a number"), ascii(written))
    counted = next((role for role in ("weight", "time_played") if role in text), None)
    return Entries(
        line, game, team, player, values, result == "rank", time, used_format,
        weight=None if counted is None else _weights(counted, text[counted], line, bad_rows),
        weight_is_time=counted == "time_played",
        neutral=_neutral(text["neutral"], line, bad_rows) if "neutral" in text else None,
    )  # fmt: skip


def _weights(role: str, texts: list[str], line: list[int], bad_rows: BadRows) -> list[float | None]:
    """Weights or times of play, None where there is none that can be used."""
    most = LARGEST_WEIGHT if role == "weight" else _LARGEST_SCORE
    numbers = {written: _number(written) for written in set(texts)}
    known = {
        written: None if number is None or not 0 <= number <= most else float(number)
        for written, number in numbers.items()
    }
    values = [known[written] for written in texts]
    for k in [k for k, value in enumerate(values) if value is None]:
        bad_rows.add(line[k], Reason(f"{role} is missing or out of range"), ascii(texts[k].strip()))
    return values


def _neutral(texts: list[str], line: list[int], bad_rows: BadRows) -> list[bool | None]:
    """Whether on neutral ground; what is missing counts as no."""
    known = {written: _TRUTH.get(written.strip().lower()) for written in set(texts)}
    values = [known[written] for written in texts]
    for k in [k for k, value in enumerate(values) if value is None]:
        bad_rows.add(line[k], Reason.BAD_NEUTRAL, ascii(texts[k].strip()))
    return values


def _in_turn(home: list[Value], away: list[Value]) -> list[Value]:
    return [value for pair in zip(home, away, strict=True) for value in pair]


def _names(texts: list[str]) -> list[str | None]:
    """Names without the blanks around them, None for missing ones."""
    known = {
        text: None if text.strip().lower() in _MISSING else text.strip() for text in set(texts)
    }
    return [known[text] for text in texts]


def _number(text: str) -> Number | None:
    """The number as it is written, without rounding; None if it is none."""
    try:
        # Python's own numbers may hold underscores; a score that does is a mishap. And 1e-99999999
        # is 0 as a float, but as a fraction more than any memory holds.
        if "_" in text or not abs(float(text)) <= _LARGEST_SCORE or len(text) > _LONGEST_NUMBER:
            return None
        _, _, exponent = text.lower().partition("e")
        if exponent and abs(int(exponent)) > _LONGEST_NUMBER:
            return None
        exact = Fraction(text)
    except ValueError:
        return None
    return exact.numerator if exact.denominator == 1 else exact
