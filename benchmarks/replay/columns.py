"""Which column of a log plays which role."""

from __future__ import annotations

from dataclasses import dataclass

from matchenv.benchmarks.replay.bad_rows import BadLogError

# For each role, the names that it goes by when the user names none.
ROLES: dict[str, tuple[str, ...]] = {
    "game": ("game", "game_id", "match", "match_id"),
    "time": ("time", "end_time", "date", "timestamp"),
    "team": ("team", "team_id", "side"),
    "player": ("player", "player_id"),
    "score": ("score", "points"),
    "rank": ("rank", "place", "position"),
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


def parse_mapping(text: str) -> dict[str, str]:
    """``game=match,player=name`` as a dictionary of role to column.

    Raises:
        BadLogError: for an unknown role, a role named twice, or a part without ``=``.
    """
    mapping: dict[str, str] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        role, equals, name = (piece.strip() for piece in part.partition("="))
        if not equals or not name or role not in ROLES or role in mapping:
            raise BadLogError(
                f"columns must be ROLE=NAME with each role at most once out of "
                f"{', '.join(ROLES)}, got {part!r}"
            )
        mapping[role] = name
    return mapping


def find_columns(header: list[str], mapping: dict[str, str]) -> Columns:
    """Match roles with columns: the user's names first, then the usual ones.

    A log with both a rank and a score is read by its rank, unless the user names the
    score alone.

    Args:
        header: the names of the columns.
        mapping: role to name as the user gave it; may be empty.

    Raises:
        BadLogError: if a named column is not there, or a needed role has none.
    """
    places: dict[str, int] = {}
    lowered = [name.lower() for name in header]
    for role, usual in ROLES.items():
        if role in mapping:
            if mapping[role] not in header:
                raise BadLogError(
                    f"columns: no column {mapping[role]!r} for {role!r} in the header "
                    f"{', '.join(header)}"
                )
            places[role] = header.index(mapping[role])
        else:
            for name in usual:
                if name in lowered:
                    places[role] = lowered.index(name)
                    break
    if "score" in mapping and "rank" not in mapping:
        places.pop("rank", None)
    return _checked(places, header)


def _checked(places: dict[str, int], header: list[str]) -> Columns:
    home_and_away = "player" not in places and all(role in places for role in _HOME_AND_AWAY)
    if home_and_away:
        wanted = {role: places[role] for role in (*_HOME_AND_AWAY, "time") if role in places}
    else:
        if "rank" in places:
            places.pop("score", None)
        wanted = {r: k for r, k in places.items() if r not in _HOME_AND_AWAY}
        missing = [role for role in ("game", "player") if role not in wanted]
        if "score" not in wanted and "rank" not in wanted:
            missing.append("score or rank")
        if missing:
            raise BadLogError(
                f"columns: nothing found for {', '.join(missing)} in the header "
                f"{', '.join(header)}; name columns with --columns ROLE=NAME,... "
                f"(or home, away, home_score, away_score for a game on each row)"
            )
    return Columns(wanted, {role: header[k] for role, k in wanted.items()}, home_and_away)
