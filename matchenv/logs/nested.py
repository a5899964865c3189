"""Games as nested JSON, or as JSON lines: a table with a row for each player, or for each game."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from matchenv.logs.faults import BadLogError

# Players of Dota 2 with lower numbers of their slots play for the Radiant.
FIRST_DIRE_SLOT = 128

# Parts of the names of lists of players, and of sides that hold their players.
PLAYERS = ("player", "participant", "member", "competitor", "standing", "result")
SIDES_OF_PLAYERS = ("team", "side", "roster", "faction")

Row = dict[str, str]


def is_json(text: str) -> bool:
    """Return whether a text begins like JSON objects."""
    start = text[:1000].lstrip()
    return start.startswith("{") or (start.startswith("[") and start[1:].lstrip().startswith("{"))


def table_of_json(text: str) -> tuple[dict[str, list[str]], list[int]]:
    """Return the columns of games in JSON, and the number of the game of each row.

    A game is an object. If it holds a list of objects (its players), or a list of sides that each
    hold one, a row is a player: it has the values of the player, the side and the game. Otherwise a
    row is a game. Names of nested values are joined: ``{"white": {"name": "a"}}`` is white_name.

    Raises:
        BadLogError: for broken JSON, or JSON without objects.
    """
    rows: list[Row] = []
    numbers: list[int] = []
    for number, game in enumerate(_games_of(text), start=1):
        for row in _rows_of_game(game, number):
            rows.append(row)
            numbers.append(number)
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name, "") for row in rows] for name in names}
    return columns, numbers


def _games_of(text: str) -> list[Mapping[str, Any]]:
    """Return the objects of a JSON document or of JSON lines."""
    try:
        content = json.loads(text)
    except ValueError as whole:
        try:
            content = [json.loads(line) for line in text.split("\n") if line.strip()]
        except ValueError:
            raise BadLogError(f"the log is no JSON: {whole}") from None
    except RecursionError:
        raise BadLogError("the log is no JSON of games: it is nested too deeply") from None
    if isinstance(content, dict):
        content = _list_of_games(content)
    if not isinstance(content, list) or not content:
        raise BadLogError("the log is JSON without a list of games")
    for game in content:
        if not isinstance(game, dict):
            raise BadLogError(f"the log is JSON, but a game is no object: {str(game)[:60]!r}")
    return content


def _list_of_games(content: Mapping[str, Any]) -> Any:
    """Return the games of an object that holds them in a list, or the object as one game."""
    for name in ("matches", "games", "data", "results", "result", "rows", "battles"):
        value = content.get(name)
        if isinstance(value, dict):
            value = _list_of_games(value)
        if _is_list_of_objects(value):
            return value
    return [content]


def _rows_of_game(game: Mapping[str, Any], number: int) -> list[Row]:
    """Return a row for each player of a game, or one row for a game without a list of players."""
    common = _flat(game)
    _rename(common, "id", "match_id", ("match_id", "game_id", "game", "match"))
    members = _players_of(game)
    if not members:
        return [common]
    if not {"match_id", "game_id", "game", "match"}.intersection(common):
        common["match_id"] = str(number)
    rows = []
    for row in members:
        _rename(row, "id", "player_id", ("player_id", "account_id", "user_id"))
        _rename(row, "name", "player_name", ("player_name", "account_name", "user_name"))
        _add_side_of_dota(row)
        rows.append({**common, **row})
    return rows


def _players_of(game: Mapping[str, Any]) -> list[Row]:
    """Return the values of each player of a game and their side; none without a list of players.

    A list of players comes before one of sides that hold their players.
    """
    lists = _lists_of_objects(game)
    for name, items in lists:
        if len(items) > 1 and _is_named(name, PLAYERS) and not any(map(_nested_players, items)):
            return [_flat(player) for player in items]
    for name, items in lists:
        if len(items) > 1 and _is_named(name, PLAYERS + SIDES_OF_PLAYERS):
            if all(map(_nested_players, items)):
                return _players_of_sides(items)
            return [_flat(player) for player in items]
    return []


def _lists_of_objects(values: Mapping[str, Any]) -> list[tuple[str, list[Any]]]:
    """Return the lists of objects in an object, also in nested ones, with their names."""
    lists = []
    for name, value in values.items():
        if isinstance(value, dict):
            lists += _lists_of_objects(value)
        elif _is_list_of_objects(value):
            lists.append((name, value))
    return lists


def _is_named(name: str, words: Iterable[str]) -> bool:
    return any(word in name.lower() for word in words)


def _players_of_sides(sides: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return the values of each player of sides that hold their players."""
    rows = []
    for index, side in enumerate(sides):
        values = _flat(side)
        _rename(values, "score", "team_score", ("team_score",))
        label = str(index)
        for name in ("id", "team_id", "name", "team_name", "team", "allyTeamId"):
            label = values.pop(name, label)
        values["team"] = label
        rows += [{**values, **_flat(player)} for player in _nested_players(side)]
    return rows


def _nested_players(side: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the list of objects that a side holds, or an empty list."""
    for value in side.values():
        if _is_list_of_objects(value):
            return list(value)
    return []


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _flat(values: Mapping[str, Any], prefix: str = "") -> Row:
    """Return the plain values of an object by their joined names, and lists of plain values."""
    row: Row = {}
    for name, value in values.items():
        if isinstance(value, dict):
            row |= _flat(value, f"{prefix}{name}_")
        elif isinstance(value, list):
            if value and not any(isinstance(item, dict | list) for item in value):
                row[f"{prefix}{name}"] = json.dumps(value, ensure_ascii=False)
        else:
            row[f"{prefix}{name}"] = _text(value)
    return row


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _rename(row: Row, name: str, new: str, others: Iterable[str]) -> None:
    """Rename a value in place, unless the row has one of ``others``."""
    if name in row and not any(other in row for other in others):
        row[new] = row.pop(name)


def _add_side_of_dota(row: Row) -> None:
    """Name the side of a player of Dota 2 by the number of the player's slot."""
    slot = row.get("player_slot", "")
    if slot.isdecimal() and "team" not in row:
        row["team"] = "radiant" if int(slot) < FIRST_DIRE_SLOT else "dire"
