"""Match logs from tables and back, with pandas, polars and plain dicts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest

from matchenv.logs import MatchLog, ratings_table, replay_system, replay_trueskill
from matchenv.trueskill import TrueSkill, rate

ROWS = {
    "match": [7, 7, 7, 8, 8, 8, 8, 9, 9],
    "name": ["a", "b", "c", "d", "b", "a", "c", "c", "d"],
    "side": ["x", "x", "y", "p", "q", "p", "q", None, None],
    "points": [1, 2, 3, 10, 4, 1, 4, 5, 6],
    "share": [1.0, 0.5, 1.0, 0.0, 2.0, 1.0, 0.25, 1.0, 1.0],
    "when": [datetime(2024, 1, day, 12) for day in (1, 1, 1, 2, 2, 2, 2, 3, 3)],
}
COLUMNS = {"game": "match", "player": "name", "team": "side", "score": "points", "time": "when"}


def makers() -> list[Any]:
    names = ("pandas", "polars")
    return [dict, *(pytest.param(name, id=name) for name in names)]


def maker(name: Any) -> Callable[[dict[str, Any]], Any]:
    return name if name is dict else pytest.importorskip(name).DataFrame


@pytest.mark.parametrize("library", makers())
def test_a_table_is_the_log_that_its_rows_say(library: Any) -> None:
    log = MatchLog.from_table(maker(library)(ROWS), **COLUMNS, weight="share")
    day = int(datetime(2024, 1, 1, 12, tzinfo=UTC).timestamp())
    expected = MatchLog.from_games(
        [[["a", "b"], ["c"]], [["d", "a"], ["b", "c"]], [["c"], ["d"]]],
        [[3, 3], [11, 8], [5, 6]],
        time=[day, day + 86400, day + 2 * 86400],
        weights=[[[1.0, 0.5], [1.0]], [[0.0, 1.0], [2.0, 0.25]], [[1.0], [1.0]]],
    )
    assert log.players == expected.players
    for name in ("player", "team_start", "game_start", "rank", "score", "time", "weight"):
        np.testing.assert_array_equal(getattr(log, name), getattr(expected, name))


@pytest.mark.parametrize("library", makers())
def test_a_log_comes_back_from_its_own_table(library: Any) -> None:
    log = MatchLog.from_table(ROWS, **COLUMNS, weight="share")
    table = log.to_table(maker(library))
    again = MatchLog.from_table(table, team="team", rank="rank", time="time", weight="weight")
    for name in ("player", "team_start", "game_start", "rank", "time", "weight"):
        np.testing.assert_array_equal(getattr(log, name), getattr(again, name))
    assert log.players == again.players


@pytest.mark.parametrize("library", makers())
def test_time_played_and_neutral_ground(library: Any) -> None:
    ground = [True] * 3 + [False] * 4 + [True] * 2
    table = maker(library)({**ROWS, "minutes": [4, 2, 1, 0, 5, 5, 1, 3, 3], "ground": ground})
    log = MatchLog.from_table(table, **COLUMNS, time_played="minutes", neutral="ground")
    assert log.weight is not None
    assert log.neutral is not None
    # The sides of the second game are d and a, then b and c.
    assert log.weight.tolist() == [1.0, 0.5, 0.25, 0.0, 1.0, 1.0, 0.2, 1.0, 1.0]
    assert log.neutral.tolist() == [True, False, True]
    again = MatchLog.from_table(
        log.to_table(maker(library)), team="team", rank="rank", weight="weight", neutral="neutral"
    )
    for name in ("player", "rank", "weight", "neutral"):
        np.testing.assert_array_equal(getattr(log, name), getattr(again, name))


def test_no_advantage_on_neutral_ground() -> None:
    games = [[["a"], ["b"]], [["c"], ["d"]], [["e", "f"], ["g"]], [["h", "i"], ["j"]]]
    scores, neutral = [[1, 0]] * 4, [True, False, True, False]
    log = MatchLog.from_games(games, scores, neutral=neutral)
    mixed = replay_trueskill(log, advantage=3.0)
    for chosen, advantage in ((0, 0.0), (1, 3.0), (2, 0.0), (3, 3.0)):
        alone = MatchLog.from_games([games[chosen]], [[1, 0]])
        expected = replay_trueskill(alone, advantage=advantage)
        numbers = [log.players.index(name) for name in alone.players]
        np.testing.assert_array_equal(mixed.mu[numbers], expected.mu)
        np.testing.assert_array_equal(
            mixed.team_mean[2 * chosen : 2 * chosen + 2], expected.team_mean
        )


@pytest.mark.parametrize("library", makers())
def test_ratings_are_a_table_of_every_system(library: Any) -> None:
    log = MatchLog.from_table(ROWS, **COLUMNS)
    for replay, columns in (
        (replay_trueskill(log), {"mu", "sigma"}),
        (replay_system(log, TrueSkill()), {"mu", "sigma"}),
    ):
        table = ratings_table(log, replay, maker(library))
        assert set(getattr(table, "columns", table)) - {"player", "games"} == columns
        assert list(table["player"]) == log.players
        assert list(table["games"]) == [2, 2, 3, 2]


def test_weights_of_a_log_are_those_of_rate() -> None:
    log = MatchLog.from_table(ROWS, **COLUMNS, weight="share")
    replay = replay_trueskill(log, draw_probability=0.1)
    new = (25.0, 25.0 / 3.0)
    known = dict.fromkeys("abcd", new)
    keywords: dict[str, float] = {"beta": 25.0 / 6.0, "tau": 25.0 / 300.0, "draw_probability": 0.1}
    for names, ranks, weights in (
        ([["a", "b"], ["c"]], [0, 0], [[1.0, 0.5], [1.0]]),
        ([["d", "a"], ["b", "c"]], [0, 1], [[0.0, 1.0], [2.0, 0.25]]),
        ([["c"], ["d"]], [1, 0], [[1.0], [1.0]]),
    ):
        rated = rate(
            [[known[n] for n in side] for side in names], ranks, weights=weights, **keywords
        )
        for side, ratings in zip(names, rated, strict=True):
            known.update(zip(side, ratings, strict=True))
    found = np.column_stack((replay.mu, replay.sigma))
    np.testing.assert_allclose(found, [known[name] for name in log.players], rtol=1e-12)
    ones = MatchLog.from_table({**ROWS, "share": [1.0] * 9}, **COLUMNS, weight="share")
    plain = replay_trueskill(MatchLog.from_table(ROWS, **COLUMNS), draw_probability=0.1)
    weighted = replay_trueskill(ones, draw_probability=0.1)
    for name in ("mu", "sigma", "quality", "team_mean", "team_variance"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(plain, name), rtol=1e-13)


def test_times_may_be_numbers_dates_or_moments_with_a_zone() -> None:
    rows = {"game": [1, 1], "player": ["a", "b"], "score": [1, 0]}
    for when, seconds in (
        (90, 90),
        (90.7, 91),
        (date(1970, 1, 2), 86400),
        (datetime(1970, 1, 2, tzinfo=UTC), 86400),
        (np.datetime64("1970-01-02"), 86400),
    ):
        log = MatchLog.from_table({**rows, "time": [when, when]}, score="score", time="time")
        assert log.time is not None
        assert log.time.tolist() == [seconds]


@pytest.mark.parametrize(
    ("change", "columns", "words"),
    [
        ({}, {"game": "game"}, "game must be one of the columns match, name"),
        ({}, {"rank": "points"}, "one of rank, result, team_score, score"),
        ({"name": [*ROWS["name"][:8], None]}, {}, "row 8: missing player"),
        ({"points": [1.0] * 8 + [np.nan]}, {}, "row 8: missing score"),
        ({"points": [1.0] * 8 + [np.inf]}, {}, "row 8: unreadable score"),
        ({"side": [*"xxy", None, *"qqq", *"xy"]}, {}, "row 3: unknown team"),
        ({"when": [*ROWS["when"][:8], None]}, {}, "row 8: missing time"),
        ({"share": [1.0] * 8 + [-1.0]}, {"weight": "share"}, "row 8: unreadable weight"),
        ({"share": [1.0] * 8 + [2e9]}, {"weight": "share"}, "row 8: unreadable weight"),
        ({"share": [0.0] * 9}, {"weight": "share"}, "row 0: side whose weights are all 0"),
        ({}, {"rank": "points", "score": None}, "row 1: side with two values of rank"),
        ({}, {"team_score": "points", "score": None}, "row 1: side with two values of team_score"),
        ({"name": ["a"] * 9}, {}, "row 1: player twice in a game"),
        ({"match": [7, 8] * 4 + [9]}, {"time": None}, "game comes back after another"),
        ({}, {"weight": "share", "time_played": "share"}, "one of weight, time_played"),
        ({"share": [-1.0] * 9}, {"time_played": "share"}, "row 0: unreadable time_played"),
        ({"share": [0.0] * 9}, {"time_played": "share"}, "row 0: side whose weights are all 0"),
        ({"share": [True] * 8 + [False]}, {"neutral": "share"}, "both on neutral ground and not"),
        ({}, {"neutral": "name"}, "row 0: unreadable neutral"),
    ],
)
def test_bad_tables_are_refused(change: dict, columns: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        MatchLog.from_table({**ROWS, **change}, **{**COLUMNS, **columns})


def test_what_is_not_of_the_log_or_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="replay"):
        ratings_table(
            MatchLog.from_table(ROWS, **COLUMNS), replay_trueskill(MatchLog.from_games([], []))
        )
    with pytest.raises(TypeError, match="referee"):
        MatchLog.from_table(ROWS, **COLUMNS, referee="name")
    assert (
        MatchLog.from_table({"game": [], "player": [], "score": []}, score="score").num_games == 0
    )
