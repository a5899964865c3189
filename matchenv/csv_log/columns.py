"""Which column of a log plays which role."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from matchenv.csv_log.bad_rows import BadLogError

# For each role, the names that it goes by when the user names none.
ROLES: dict[str, tuple[str, ...]] = {
    "game": ("game", "game_id", "match", "match_id"),
    "time": ("time", "end_time", "date", "timestamp"),
    "team": ("team", "team_id", "side"),
    "player": ("player", "player_id"),
    "score": ("score", "points"),
    "rank": ("rank", "place", "position"),
    # A column of that name may well be of something else, such as kilograms: it has to be named.
    "weight": (),
    "time_played": ("time_played",),
    "neutral": ("neutral", "neutral_ground"),
    "home": ("home_team", "home"),
    "away": ("away_team", "away"),
    "home_score": ("home_score", "home_goals"),
    "away_score": ("away_score", "away_goals"),
}
_HOME_AND_AWAY = ("home", "away", "home_score", "away_score")


@dataclass(frozen=True)
class Columns:
    """The column of each role, by its place in the header.

    Attributes:
        places: role to index, for the roles that the log has.
        names: role to the column's name as written in the header.
        home_and_away: whether each row is a whole game between a home and an away side.
    """

    places: dict[str, int]
    names: dict[str, str]
    home_and_away: bool


def find_columns(header: list[str], chosen: Iterable[str]) -> Columns:
    """Match roles with columns: the user's names first, then the usual ones.

    A log with both a rank and a score is read by its rank, unless the user names the
    score alone.

    Args:
        header: the names of the columns.
        chosen: ``ROLE=NAME`` as the user gave them; may be empty.

    Raises:
        BadLogError: for an unknown role, a role named twice, a column that is not there, or a
            needed role that has none.
    """
    named = _names_by_role(chosen)
    lowered = [name.lower() for name in header]
    places: dict[str, int] = {}
    for role, usual in ROLES.items():
        if role in named and named[role] not in header:
            raise BadLogError(
                f"columns: no column {named[role]!r} for {role!r} in the header {', '.join(header)}"
            )
        if role in named:
            places[role] = header.index(named[role])
        elif found := [name for name in usual if name in lowered]:
            places[role] = lowered.index(found[0])
    if "rank" in places and ("score" not in named or "rank" in named):
        places.pop("score", None)
    elif "score" in named:
        places.pop("rank", None)
    if "weight" in places:
        if "time_played" in named:
            raise BadLogError("columns: one of weight and time_played may be named, got both")
        places.pop("time_played", None)
    home_and_away = "player" not in places and all(role in places for role in _HOME_AND_AWAY)
    if home_and_away:
        wanted = [*_HOME_AND_AWAY, "time", "neutral"]
    else:
        wanted = ["game", "time", "team", "player", "score", "rank"]
        wanted += ["weight", "time_played", "neutral"]
        missing = [role for role in ("game", "player") if role not in places]
        missing += [] if "score" in places or "rank" in places else ["score or rank"]
        if missing:
            raise BadLogError(
                f"columns: nothing found for {', '.join(missing)} in the header "
                f"{', '.join(header)}; name columns with --columns ROLE=NAME ... "
                "(or home, away, home_score, away_score for a game on each row)"
            )
    places = {role: places[role] for role in wanted if role in places}
    return Columns(places, {role: header[k] for role, k in places.items()}, home_and_away)


def _names_by_role(chosen: Iterable[str]) -> dict[str, str]:
    named: dict[str, str] = {}
    for text in chosen:
        role, _, name = (part.strip() for part in text.partition("="))
        if not name or role not in ROLES or role in named:
            raise BadLogError(
                f"columns must be ROLE=NAME with each role at most once out of "
                f"{', '.join(ROLES)}, got {text!r}"
            )
        named[role] = name
    return named
