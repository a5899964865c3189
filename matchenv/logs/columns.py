"""Columns of a match log by role, and what makes a log or one of its rows unreadable."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

# Usual names of the column of each role, in lower case without blanks and punctuation.
NAMES: dict[str, tuple[str, ...]] = {
    "game": ("game", "gameid", "gameuuid", "match", "matchid", "matchuuid", "matchguid"),
    "time": (
        "time", "endtime", "endedat", "endat", "finishedat", "playedat", "starttime", "startedat",
        "date", "datetime", "timestamp", "matchdate", "gamedate", "createdat",
    ),
    "team": ("team", "teamid", "teamname", "side", "sideid"),
    "player": (
        "player", "playerid", "playername", "account", "accountid", "accountname", "user",
        "userid", "username",
    ),
    "rank": ("rank", "place", "position", "placement", "finish", "standing"),
    "result": ("result", "outcome", "winloss", "wl"),
    "team_score": ("teamscore", "teampoints", "sidescore"),
    "score": ("score", "points", "playerscore", "roundswon"),
    "weight": (),  # a column of that name could hold kilograms
    "time_played": ("timeplayed",),
    "neutral": ("neutral", "neutralground", "neutralvenue"),
    "home": ("hometeam", "home"),
    "away": ("awayteam", "away"),
    "home_score": ("homescore", "homegoals"),
    "away_score": ("awayscore", "awaygoals"),
}  # fmt: skip
# A log is read by the first of these that it has, unless the user names another one.
RESULTS = ("rank", "result", "team_score", "score")
HOME_AND_AWAY = ("home", "away", "home_score", "away_score")
UNREADABLE = "unreadable"  # reason of a bad row, before the role


class BadLogError(ValueError):
    """A match log that cannot be read."""


class BadRow(NamedTuple):
    """A bad line, counted from 1 with the header, with its first fault and the value."""

    line: int
    reason: str
    detail: str = ""

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}" + (f" ({self.detail})" if self.detail else "")


def find_columns(header: list[str], chosen: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Return the column of each role, chosen by ``ROLE=NAME`` or by its usual names, and notes.

    Raises:
        BadLogError: for an unknown role, a role named twice, or a missing column.
    """
    named: dict[str, str] = {}
    for text in chosen:
        role, _, name = (part.strip() for part in text.partition("="))
        if not name or role not in NAMES or role in named:
            raise BadLogError(
                f"columns must be ROLE=NAME with each role at most once out of "
                f"{', '.join(NAMES)}, got {text!r}"
            )
        if name not in header:
            raise BadLogError(
                f"columns: no column {name!r} for {role!r} in the header {', '.join(header)}"
            )
        named[role] = name
    if "weight" in named and "time_played" in named:
        raise BadLogError("columns: name at most one of weight and time_played, got both")
    plain = {name: re.sub(r"[\W_]+", "", name).lower() for name in header}
    usual = {role: [name for known in names for name in header if plain[name] == known]
             for role, names in NAMES.items()}  # fmt: skip
    found = {role: [named[role]] if role in named else usual[role] for role in NAMES}
    results = [role for role in RESULTS if role in named] or [r for r in RESULTS if found[r]]
    notes = list[str]()
    if not found["player"] and all(found[role] for role in HOME_AND_AWAY):
        wanted = [*HOME_AND_AWAY, "time", "neutral"]
    else:
        missing = [role for role in ("game", "player") if not found[role]]
        missing += [] if results else ["score, result or rank"]
        if missing:
            raise BadLogError(
                f"columns: nothing found for {', '.join(missing)} in the header "
                f"{', '.join(header)}; name columns with --columns ROLE=NAME ... "
                "(or home, away, home_score, away_score for a game on each row)"
            )
        weight = "weight" if found["weight"] else "time_played"
        wanted = ["game", "time", "team", "player", results[0], "neutral", weight]
        column = found[results[0]][0]
        if others := [f"{r}={name}" for r in RESULTS for name in usual[r] if name != column]:
            others_text = " or ".join(others)
            notes.append(
                f"{results[0]} from the column {column!r}; another one: --columns {others_text}"
            )
    names = {role: found[role][0] for role in wanted if found[role]}
    optional = [role for role in ("weight", "time_played", "neutral") if role in names]
    return names, notes + [f"{role} from the column {names[role]!r}" for role in optional]
