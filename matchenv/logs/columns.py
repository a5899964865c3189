"""The shape of a log and its columns by role, from the names in its header.

A log is long, with a row for each player in each game, or wide, with a row for each game and
columns for its two sides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from matchenv.logs.faults import BadLogError

# Usual names of the column of each role, in lower case without blanks and punctuation. Of several,
# the first name here counts.
NAMES: dict[str, tuple[str, ...]] = {
    "game": (
        "game", "gameid", "gameuuid", "match", "matchid", "matchuuid", "matchguid", "replay",
        "replayid", "battle", "battleid", "race", "raceid", "fixture", "fixtureid", "event",
        "eventid", "heat",
    ),
    "player": (
        "player", "playerid", "playername", "account", "accountid", "accountname", "user",
        "userid", "username", "driver", "driverid", "drivername", "competitor", "participant",
        "participantid", "contestant", "athlete", "runner", "rider", "horse", "login", "nick",
        "nickname", "bot", "agent", "model",
    ),
    "team": ("team", "teamid", "teamname", "side", "sideid", "allyteam", "allyteamid"),
    "at_home": ("athome", "ishome", "home", "homeaway", "color", "colour"),
    "neutral": ("neutral", "neutralground", "neutralvenue"),
    "time": (
        "time", "endtime", "endedat", "endat", "finishedat", "playedat", "starttime", "startedat",
        "date", "datetime", "timestamp", "matchdate", "gamedate", "utcdate", "createdat",
    ),
    "weight": (),  # a column of that name could hold kilograms
    "unordered": ("unordered",),
    "partial_play": (),  # times of leavers do not follow the model
    "rank": (
        "rank", "place", "position", "placement", "placing", "finish", "standing", "pos",
        "finalposition", "finishposition", "finishingposition",
    ),
    "result": (
        "result", "outcome", "winloss", "wl", "win", "won", "victory", "iswin", "iswinner",
        "winner", "winningteam", "winningside", "gameresult", "matchresult", "res", "ftr",
    ),
    "team_score": ("teamscore", "teampoints", "sidescore"),
    "score": ("score", "points", "playerscore", "roundswon"),
}  # fmt: skip
# Columns that can hold the result, the most explicit role first.
RESULTS = ("rank", "result", "team_score", "score")
# Roles of the columns of the two sides of a wide log.
HOME_AND_AWAY = ("home", "away", "home_score", "away_score")
TWO_SIDES = ("side1", "side2", "side1_score", "side2_score")
WINNER_AND_LOSER = ("winner", "loser")
WIDE_ROLES = (*HOME_AND_AWAY, *TWO_SIDES, *WINNER_AND_LOSER)
ROLES = (*NAMES, *WIDE_ROLES)
# Beginnings of the names of the two columns of sides, and whether the first one is the side at
# home, with the white pieces, or shown first.
SIDES = (
    ("home", "away", True), ("white", "black", True), ("modela", "modelb", True),
    ("winner", "loser", False), ("winning", "losing", False), ("team1", "team2", False),
    ("player1", "player2", False), ("side1", "side2", False), ("p1", "p2", False),
    ("teama", "teamb", False), ("playera", "playerb", False), ("sidea", "sideb", False),
    ("bot1", "bot2", False), ("agent1", "agent2", False), ("model1", "model2", False),
    ("opponent1", "opponent2", False), ("name1", "name2", False), ("red", "blue", False),
    ("radiant", "dire", False), ("a", "b", False),
)  # fmt: skip
# Ends of such names, and words before them.
SIDE_ENDS = (
    "", "team", "teamname", "name", "player", "playername", "username", "user",
    "players", "members", "id", "teamid", "playerid", "userid",
)  # fmt: skip
SIDE_STARTS = ("", "team", "player", "players", "name")
SCORES = ("score", "goals", "points", "pts", "runs", "rounds", "roundswon")


class ResultColumn(NamedTuple):
    """Columns that can hold the results of games."""

    role: str  # one of RESULTS
    names: tuple[str, ...]  # one column, or those of both sides

    def __str__(self) -> str:
        return " and ".join(map(repr, self.names))


@dataclass(frozen=True)
class Layout:
    """The shape of a log and its columns.

    Attributes:
        shape: long, or wide.
        columns: name of the column of each role, except time and results; of a wide log with
            ``first`` and ``second``, which hold the two sides.
        members: columns of the members of both sides, if each has one of its own.
        results: columns that can hold the results, the most explicit first; none for a wide log
            of winners and losers.
        words: names of the two sides in a column of results, for example white and black.
        first_side: whether the first side is at home, white or shown first.
        chosen: roles that the user named.
        times: columns with usual names of times.
        further: columns without a role.
    """

    shape: Literal["long", "wide"]
    columns: dict[str, str]
    results: list[ResultColumn]
    chosen: frozenset[str]
    members: tuple[tuple[str, ...], ...] = ()
    words: tuple[str, str] = ("", "")
    first_side: bool = False
    times: list[str] = field(default_factory=list)
    further: list[str] = field(default_factory=list)


def plain_name(name: str) -> str:
    """Return a name in lower case without blanks and punctuation."""
    return re.sub(r"[\W_]+", "", name).lower()


def find_layout(header: Sequence[str], chosen: Iterable[str]) -> Layout:
    """Return the shape and the columns of a log.

    Args:
        header: names of its columns.
        chosen: ROLE=NAME for columns with other names.

    Raises:
        BadLogError: for an unknown role, a role named twice, or a missing column.
    """
    named = _chosen_columns(header, chosen)
    is_wide = any(role in named for role in WIDE_ROLES)
    usual = {role: _usual_columns(header, role) for role in NAMES}
    is_long = "player" in named or bool(usual["player"])
    has_game = "game" in named or bool(usual["game"])
    if not is_wide and is_long and has_game:
        return _long_layout(header, named, usual)
    wide = _wide_layout(header, named, usual)
    if wide is not None:
        return wide
    return _long_layout(header, named, usual)


def _chosen_columns(header: Sequence[str], chosen: Iterable[str]) -> dict[str, str]:
    """Return the columns that the user named, by role."""
    named: dict[str, str] = {}
    for choice in chosen:
        role, _, name = choice.partition("=")
        role = role.strip()
        name = name.strip()
        if not name or role not in ROLES or role in named:
            raise BadLogError(
                f"columns must be ROLE=NAME with each role at most once out of "
                f"{', '.join(ROLES)}, got {choice!r}"
            )
        if name not in header:
            raise BadLogError(
                f"columns: no column {name!r} for {role!r} in the header {', '.join(header)}"
            )
        named[role] = name
    if "weight" in named and "partial_play" in named:
        raise BadLogError("columns: name at most one of weight and partial_play, got both")
    return named


def _usual_columns(header: Sequence[str], role: str) -> list[str]:
    """Return the columns with usual names of a role, the first of ``NAMES`` first."""
    return [name for known in NAMES[role] for name in header if plain_name(name) == known]


def _long_layout(
    header: Sequence[str], named: dict[str, str], usual: dict[str, list[str]]
) -> Layout:
    """Return the layout of a log with a row for each player in each game."""
    columns: dict[str, str] = {}
    for role in NAMES:
        if role == "time" or role in RESULTS:
            continue
        if role in named:
            columns[role] = named[role]
        elif usual[role]:
            columns[role] = usual[role][0]
    results = _result_columns(named, usual)
    results += _wins_of_sides(header, named)
    missing = [role for role in ("game", "player") if role not in columns]
    if not results:
        missing.append("score, result or rank")
    if missing:
        raise BadLogError(
            f"columns: nothing found for {', '.join(missing)} in the header "
            f"{', '.join(header)}; name columns with --columns ROLE=NAME ... "
            "(or home, away, home_score, away_score for a game on each row)"
        )
    return _with_times(Layout("long", columns, results, frozenset(named)), header, named, usual)


def _result_columns(named: dict[str, str], usual: dict[str, list[str]]) -> list[ResultColumn]:
    """Return the columns that can hold the results; only those that the user named, if any."""
    chosen = [ResultColumn(role, (named[role],)) for role in RESULTS if role in named]
    if chosen:
        return chosen[:1]
    return [ResultColumn(role, (name,)) for role in RESULTS for name in usual[role]]


def _wins_of_sides(header: Sequence[str], named: dict[str, str]) -> list[ResultColumn]:
    """Return columns that say whether one of the two sides won, for example radiant_win."""
    if not named.keys().isdisjoint(RESULTS):
        return []
    sides = [side for first, second, _ in SIDES[:-1] for side in (first, second)]
    ends = [f"{side}{end}" for side in sides for end in ("win", "won")]
    return [ResultColumn("result", (name,)) for name in header if plain_name(name) in ends]


def _wide_layout(
    header: Sequence[str], named: dict[str, str], usual: dict[str, list[str]]
) -> Layout | None:
    """Return the layout of a log with a row for each game; None if no columns name two sides."""
    columns = {role: name for role, name in named.items() if role in NAMES and role not in RESULTS}
    columns.pop("time", None)
    plain = {plain_name(name): name for name in header}
    stems: tuple[str, str] = ("", "")
    members: tuple[tuple[str, ...], ...] = ()
    first_side = False
    for roles, is_first in (
        (HOME_AND_AWAY, True), (TWO_SIDES, False), (WINNER_AND_LOSER, False)
    ):  # fmt: skip
        if roles[0] in named and roles[1] in named:
            columns["first"] = named[roles[0]]
            columns["second"] = named[roles[1]]
            stems = (roles[0], roles[1])
            first_side = is_first
    if "first" not in columns:
        for first, second, is_first in SIDES:
            pair = _pair_of_columns(plain, first, second)
            groups = _member_columns(header, first), _member_columns(header, second)
            if pair is None and not (groups[0] and groups[1]):
                continue
            if pair is not None:
                columns["first"], columns["second"] = pair
            else:
                members = groups
            stems = (first, second)
            first_side = is_first
            break
    if "first" not in columns and not members:
        return None
    for role in ("game", "neutral"):
        if role not in columns and usual[role]:
            columns[role] = usual[role][0]
    results = _wide_results(plain, named, usual, stems)
    used = set(columns.values()).union(*members)
    results = [result for result in results if used.isdisjoint(result.names)]
    if not results and stems[0] not in ("winner", "winning"):
        raise BadLogError(
            f"columns: nothing found for result in the header {', '.join(header)}; name columns "
            "with --columns ROLE=NAME ..., for example home_score and away_score, or result"
        )
    layout = Layout(
        "wide", columns, results, frozenset(named), members, stems, first_side
    )  # fmt: skip
    return _with_times(layout, header, named, usual)


def _pair_of_columns(plain: dict[str, str], first: str, second: str) -> tuple[str, str] | None:
    """Return the two columns that name the sides, for example white_id and black_id."""
    for end in SIDE_ENDS:
        for start in SIDE_STARTS:
            if f"{start}{first}{end}" in plain and f"{start}{second}{end}" in plain:
                return plain[f"{start}{first}{end}"], plain[f"{start}{second}{end}"]
    return None


def _member_columns(header: Sequence[str], side: str) -> tuple[str, ...]:
    """Return the columns of the members of a side, for example team1_player1 and team1_player2."""
    pattern = re.compile(rf"{side}(player|p|member|name)?\d+(name|id)?")
    return tuple(name for name in header if pattern.fullmatch(plain_name(name)))


def _wide_results(
    plain: dict[str, str],
    named: dict[str, str],
    usual: dict[str, list[str]],
    stems: tuple[str, str],
) -> list[ResultColumn]:
    """Return the columns that can hold the results of a wide log."""
    for first, second in (HOME_AND_AWAY[2:], TWO_SIDES[2:]):
        if first in named and second in named:
            return [ResultColumn("score", (named[first], named[second]))]
    if "result" in named:
        return [ResultColumn("result", (named["result"],))]
    results = [ResultColumn("result", (name,)) for name in usual["result"]]
    for stem in stems:
        for end in ("win", "won", "wins"):
            if f"{stem}{end}" in plain:
                results.append(ResultColumn("result", (plain[f"{stem}{end}"],)))
    scores = _pair_of_scores(plain, *stems)
    if scores is not None:
        results.append(ResultColumn("score", scores))
    if not results:
        results = [ResultColumn("result", (name,)) for name in usual["score"]]
    return results


def _pair_of_scores(plain: dict[str, str], first: str, second: str) -> tuple[str, str] | None:
    """Return the columns of the scores of both sides, for example home_goals and away_goals."""
    tails = (first, second), (first[-1:], second[-1:])
    names = [("fthg", "ftag"), ("hg", "ag")] if first == "home" else []
    for score in SCORES:
        names.append((f"{first}{score}", f"{second}{score}"))
        names.append((f"{first}team{score}", f"{second}team{score}"))
        names += [(f"{score}{one}", f"{score}{other}") for one, other in tails]
    if first == "home":
        names += [(f"h{score}", f"a{score}") for score in SCORES]
    for one, other in names:
        if one in plain and other in plain:
            return plain[one], plain[other]
    return None


def _with_times(
    layout: Layout, header: Sequence[str], named: dict[str, str], usual: dict[str, list[str]]
) -> Layout:
    """Return a layout with the columns of times, and those without a role."""
    times = [named["time"]] if "time" in named else usual["time"]
    used = {*layout.columns.values(), *times}
    used.update(*layout.members)
    for result in layout.results:
        used.update(result.names)
    layout.times.extend(times)
    layout.further.extend(name for name in header if name not in used)
    return layout
