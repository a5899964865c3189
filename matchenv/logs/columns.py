"""The shape of a log and its columns by role, from the names in its header.

A log is long, with a row for each player in each game, or wide, with a row for each game and
columns for its two sides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from matchenv.logs.faults import BadLogError


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text."""
    return tuple(text.split())


# Usual names of the column of each role, in lower case without blanks and punctuation. Of several,
# the first name here counts.
NAMES: dict[str, tuple[str, ...]] = {
    "game": words(
        "game gameid gameuuid match matchid matchuuid matchguid replay replayid battle battleid "
        "race raceid fixture fixtureid event eventid heat"
    ),
    "player": words(
        "player playerid playername account accountid accountname user userid username driver "
        "driverid drivername competitor participant participantid contestant athlete runner rider "
        "horse login nick nickname puuid summonername bot agent model"
    ),
    "team": words("team teamid teamname side sideid allyteam allyteamid"),
    "at_home": words("athome ishome home homeaway color colour"),
    "neutral": words("neutral neutralground neutralvenue"),
    "time": words(
        "time endtime endedat endat finishedat playedat starttime startedat date datetime "
        "timestamp matchdate gamedate utcdate createdat"
    ),
    "weight": (),  # a column of that name could hold kilograms
    "unordered": ("unordered",),
    "partial_play": (),  # times of leavers do not follow the model
    "rank": words(
        "rank place position placement placing finish standing pos finalposition finishposition "
        "finishingposition"
    ),
    "result": words(
        "result outcome winloss wl win won victory iswin iswinner winner winningteam winningside "
        "gameresult matchresult res ftr"
    ),
    "team_score": words("teamscore teampoints sidescore"),
    "score": words("score points playerscore roundswon"),
}
# Columns that can hold the result, the most explicit role first.
RESULTS = ("rank", "result", "team_score", "score")
# Roles of the columns of the two sides of a wide log.
HOME_AND_AWAY = ("home", "away", "home_score", "away_score")
TWO_SIDES = ("side1", "side2", "side1_score", "side2_score")
WINNER_AND_LOSER = ("winner", "loser")
WIDE_ROLES = (*HOME_AND_AWAY, *TWO_SIDES, *WINNER_AND_LOSER)
ROLES = (*NAMES, *WIDE_ROLES)
LONG_ROLES = tuple(role for role in NAMES if role != "time" and role not in RESULTS)
# Beginnings of the names of the two columns of sides, and whether the first one is the side at
# home, with the white pieces, or shown first.
SIDES = (
    ("home", "away", True),
    ("white", "black", True),
    ("modela", "modelb", True),
    ("winner", "loser", False),
    ("winning", "losing", False),
    ("team1", "team2", False),
    ("player1", "player2", False),
    ("side1", "side2", False),
    ("p1", "p2", False),
    ("teama", "teamb", False),
    ("playera", "playerb", False),
    ("sidea", "sideb", False),
    ("bot1", "bot2", False),
    ("agent1", "agent2", False),
    ("model1", "model2", False),
    ("opponent1", "opponent2", False),
    ("name1", "name2", False),
    ("red", "blue", False),
    ("radiant", "dire", False),
    ("a", "b", False),
)
# Ends of such names, and words before them.
SIDE_ENDS = (
    "",
    *words("team teamname name player playername username user players members"),
    *words("id teamid playerid userid"),
)
SIDE_STARTS = ("", "team", "player", "players", "name")
SCORES = ("score", "goals", "points", "pts", "runs", "rounds", "roundswon")


WINS = ("win", "won", "wins")  # ends of names that say whether a side won


class ResultColumn(NamedTuple):
    """Columns that can hold the results of games."""

    role: str  # one of RESULTS
    names: tuple[str, ...]  # one column, or those of both sides

    def __str__(self) -> str:
        return " and ".join(map(repr, self.names))


class Sides(NamedTuple):
    """The two sides of each game of a wide log."""

    columns: tuple[tuple[str, ...], tuple[str, ...]]  # of each side, one for each member
    words: tuple[str, str]  # how cells name the sides, for example white and black
    is_first: bool  # whether the first one is at home, with the white pieces, or shown first

    @property
    def by_winner(self) -> bool:
        """Whether the columns hold the winner and the loser."""
        return self.words[0] in ("winner", "winning")


@dataclass(frozen=True)
class Layout:
    """The shape of a log and its columns.

    Attributes:
        columns: name of the column of each role, without times, results and the sides of a wide
            log.
        results: columns that can hold the results, the most explicit first; none for a wide log
            of winners and losers.
        chosen: roles that the user named.
        sides: the sides of a wide log; None for a long one.
        times: the column of times that the user named, or those with usual names.
        further: columns without a role.
    """

    columns: dict[str, str]
    results: list[ResultColumn]
    chosen: frozenset[str]
    sides: Sides | None
    times: list[str]
    further: list[str]


class Header:
    """The names of the columns of a log, and the columns that the user named.

    Args:
        names: names of the columns.
        chosen: ROLE=NAME for columns with other names.

    Raises:
        BadLogError: for an unknown role, a role named twice, or a missing column.
    """

    def __init__(self, names: Sequence[str], chosen: Iterable[str]) -> None:
        self.names = list(names)
        self.by_plain_name = {plain_name(name): name for name in reversed(self.names)}
        self.chosen: dict[str, str] = {}
        for choice in chosen:
            self._choose(choice)
        if "weight" in self.chosen and "partial_play" in self.chosen:
            raise BadLogError("columns: name at most one of weight and partial_play, got both")

    def __str__(self) -> str:
        return ", ".join(self.names)

    def _choose(self, choice: str) -> None:
        role, _, name = choice.partition("=")
        role = role.strip()
        name = name.strip()
        if not name or role not in ROLES or role in self.chosen:
            raise BadLogError(
                f"columns must be ROLE=NAME with each role at most once out of "
                f"{', '.join(ROLES)}, got {choice!r}"
            )
        if name not in self.names:
            raise BadLogError(f"columns: no column {name!r} for {role!r} in the header {self}")
        self.chosen[role] = name

    def usual(self, role: str) -> list[str]:
        """Return the columns with usual names of a role, the first of ``NAMES`` first."""
        columns = []
        for known in NAMES[role]:
            columns += [name for name in self.names if plain_name(name) == known]
        return columns

    def column_of(self, role: str) -> str | None:
        """Return the column that the user named for a role, or the first with a usual name."""
        if role in self.chosen:
            return self.chosen[role]
        return next(iter(self.usual(role)), None)

    def pair(self, names: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
        """Return the first pair of columns, by their plain names, of which both exist."""
        columns = self.by_plain_name
        for first, second in names:
            if first in columns and second in columns:
                return columns[first], columns[second]
        return None


def plain_name(name: str) -> str:
    """Return a name in lower case without blanks and punctuation."""
    return re.sub(r"[\W_]+", "", name).lower()


def find_layout(cells: Mapping[str, Sequence[str]], chosen: Iterable[str]) -> Layout:
    """Return the shape and the columns of a log.

    Args:
        cells: cells by column.
        chosen: ROLE=NAME for columns with other names.

    Raises:
        BadLogError: for an unknown role, a role named twice, or a missing column.
    """
    header = Header(list(cells), chosen)
    sides = _sides_of(header)
    game = header.column_of("game")
    if game is not None and header.column_of("player") is not None:
        # With columns for both shapes, a game on several rows has a row for each player.
        is_repeated = len(set(cells[game])) < len(cells[game])
        if is_repeated and header.chosen.keys().isdisjoint(WIDE_ROLES):
            sides = None
    if sides is None:
        roles: tuple[str, ...] = LONG_ROLES
        results = _long_results(header)
    else:
        roles = ("neutral",)
        results = _wide_results(header, sides)
    columns = {}
    for role in roles:
        column = header.column_of(role)
        if column is not None:
            columns[role] = column
    _check_complete(header, columns, results, sides)
    times = header.usual("time")
    if "time" in header.chosen:
        times = [header.chosen["time"]]
    used = {*columns.values(), *times}
    for result in results:
        used.update(result.names)
    if sides is not None:
        used.update(*sides.columns)
    further = [name for name in header.names if name not in used]
    return Layout(columns, results, frozenset(header.chosen), sides, times, further)


def _check_complete(
    header: Header, columns: dict[str, str], results: list[ResultColumn], sides: Sides | None
) -> None:
    """Refuse a header without the columns that a log needs."""
    if sides is None:
        missing = [role for role in ("game", "player") if role not in columns]
        if not results:
            missing.append("score, result or rank")
    else:
        missing = [] if results or sides.by_winner else ["result"]
    if missing:
        raise BadLogError(
            f"columns: nothing found for {', '.join(missing)} in the header {header}; name columns "
            "with --columns ROLE=NAME ... (for a game on each row home, away, home_score, "
            "away_score)"
        )


def _long_results(header: Header) -> list[ResultColumn]:
    """Return the columns that can hold the results; only the one that the user named, if any."""
    for role in RESULTS:
        if role in header.chosen:
            return [ResultColumn(role, (header.chosen[role],))]
    results = []
    for role in RESULTS:
        results += [ResultColumn(role, (name,)) for name in header.usual(role)]
    # Columns that say whether one of the sides won, for example radiant_win.
    for first, second, _ in SIDES:
        results += _wins_of_sides(header, (first, second))
    return results


def _wins_of_sides(header: Header, words: tuple[str, str]) -> list[ResultColumn]:
    """Return the columns that say whether one of two sides won, for example white_won."""
    results = []
    for word in words:
        names = [f"{word}{win}" for win in WINS if len(word) > 1]
        for name in header.by_plain_name.keys() & names:
            results.append(ResultColumn("result", (header.by_plain_name[name],)))
    return results


def _sides_of(header: Header) -> Sides | None:
    """Return the columns of the two sides of a wide log; None if no columns name them."""
    for roles, is_first in (
        (HOME_AND_AWAY[:2], True),
        (TWO_SIDES[:2], False),
        (WINNER_AND_LOSER, False),
    ):
        if roles[0] in header.chosen and roles[1] in header.chosen:
            columns = (header.chosen[roles[0]],), (header.chosen[roles[1]],)
            return Sides(columns, roles, is_first)
    for first, second, is_first in SIDES:
        pair = header.pair(_names_of_sides(first, second))
        if pair is not None:
            return Sides(((pair[0],), (pair[1],)), (first, second), is_first)
        members = _member_columns(header, first), _member_columns(header, second)
        if members[0] and members[1]:
            return Sides(members, (first, second), is_first)
    return None


def _names_of_sides(first: str, second: str) -> list[tuple[str, str]]:
    """Return names of the columns of both sides, for example whiteid and blackid."""
    names = []
    for end in SIDE_ENDS:
        names += [(f"{start}{first}{end}", f"{start}{second}{end}") for start in SIDE_STARTS]
    return names


def _member_columns(header: Header, side: str) -> tuple[str, ...]:
    """Return the columns of the members of a side, for example team1_player1 and team1_player2."""
    pattern = re.compile(rf"{side}(player|p|member|name)?\d+(name|id)?")
    return tuple(name for name in header.names if pattern.fullmatch(plain_name(name)))


def _wide_results(header: Header, sides: Sides) -> list[ResultColumn]:
    """Return the columns that can hold the results of a wide log."""
    for first, second in (HOME_AND_AWAY[2:], TWO_SIDES[2:]):
        if first in header.chosen and second in header.chosen:
            return [ResultColumn("score", (header.chosen[first], header.chosen[second]))]
    if "result" in header.chosen:
        return [ResultColumn("result", (header.chosen["result"],))]
    if "winner" in header.chosen:
        return []
    of_sides = {name for columns in sides.columns for name in columns}
    free = [name for name in header.usual("result") if name not in of_sides]
    results = [ResultColumn("result", (name,)) for name in free]
    results += _wins_of_sides(header, sides.words)
    scores = header.pair(_names_of_scores(*sides.words))
    if scores is not None:
        results.append(ResultColumn("score", scores))
    if not results:
        results = [ResultColumn("result", (name,)) for name in header.usual("score")]
    return results


def _names_of_scores(first: str, second: str) -> list[tuple[str, str]]:
    """Return names of the columns of both sides' scores, for example homegoals and awaygoals."""
    names = []
    for score in SCORES:
        names.append((f"{first}{score}", f"{second}{score}"))
        names.append((f"{first}team{score}", f"{second}team{score}"))
        names.append((f"{score}{first}", f"{score}{second}"))
        names.append((f"{score}{first[-1:]}", f"{score}{second[-1:]}"))
        if first == "home":
            names.append((f"h{score}", f"a{score}"))
    if first == "home":  # those of football-data
        names += [("fthg", "ftag"), ("hg", "ag")]
    return names
