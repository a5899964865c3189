"""Reading match logs from files and tables: their games, and the reasons of bad rows."""

from __future__ import annotations

import gzip
import re
import tracemalloc
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pytest
from simulated_logs import games_of

from matchenv.logs import (
    BadLogError,
    MatchLog,
    Reading,
    ReadingSettings,
    read_log,
    replay_trueskill,
)
from matchenv.logs.reading import reading_text
from matchenv.logs.times import read_times

LOGS = Path(__file__).parent / "data"
CLUB = ("game=match", "time=when", "team=side", "player=who", "score=points")
Games = list[list[tuple[tuple[str, ...], int]]]


def read(tmp_path: Path, text: str | bytes, **settings: Any) -> Reading:
    path = tmp_path / "log.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_log(path, ReadingSettings(**settings))


def games(log: MatchLog) -> Games:
    """Return each game as a list of (names, rank), one for each side."""
    return [list(zip(map(tuple, sides), ranks, strict=True)) for sides, ranks, _ in games_of(log)]


def faults(reading: Reading) -> list[tuple[int, str]]:
    return [(row.line, row.reason) for row in reading.bad_rows]


A, B, AB = ("a",), ("b",), ("a", "b")
FORMS: dict[str, tuple[str, Games]] = {
    "everybody alone": (
        "game,time,team,player,score\n7,1,,a,5\n7,1,,b,-2\n7,1,,c,5\n8,2,,c,1\n8,2,,a,0\n",
        [[(A, 0), (B, 2), (("c",), 0)], [(A, 1), (("c",), 0)]],
    ),
    "sums of members' scores": (
        "game,team,player,score\n1,r,a,1\n1,x,c,4\n1,r,b,2.5\n1,x,d,-1\n",
        [[(AB, 0), (("c", "d"), 1)]],
    ),
    "ranks, low is good": (
        "game,team,player,rank\n1,r,a,2\n1,x,c,1\n1,r,b,2\n1,g,d,9\n",
        [[(AB, 1), (("c",), 0), (("d",), 2)]],
    ),
    "a broken line within a game, and a quote within a name": (
        'game,player,score\n1,c"d,2\nx,1\n1,a,1\n', [[(A, 1), (('c"d',), 0)]],
    ),
    "ranks that agree with scores": (
        "game,player,score,rank\n1,a,5,2\n1,b,9,1\n", [[(A, 1), (B, 0)]],
    ),
    "home and away, far in the future": (
        "date,home_team,away_team,home_goals,away_goals\n1/2/2900,a,b,2,2\n2/13/2901,b,a,0,1\n",
        [[(A, 0), (B, 0)], [(B, 1), (A, 0)]],
    ),
    "blanks, quotes and line ends": (
        '\ufeffGame , player,SCORE\r\n1, a,2\r\n"1","b, ""c""", 1 \r\n\r\n',
        [[(A, 0), (('b, "c"',), 1)]],
    ),
    "sums are exact": (
        "game,team,player,score\n1,x,a,0.1\n1,x,b,0.2\n1,y,c,0.3\n", [[(AB, 0), (("c",), 0)]],
    ),
    "cells that are empty at the end of a line": (
        "game\tplayer\tscore\tteam\n1\ta\t3\t\n1\tb\t2\t\n \n\n", [[(A, 0), (B, 1)]],
    ),
    "integers beyond 2^53 beside bad rows": (
        f"game,player,rank\n1,a,{2**60 + 1}\n1,b,{2**60}\n2,a,\n2,b,1\n3,a,x\n3,b,1\n"
        "4,a,1\n4,b,2\n5,a,1\n5,b,2\n", [[(A, 1), (B, 0)], *[[(A, 0), (B, 1)]] * 2],
    ),
    "decimal commas": ("game;player;placement\n1;a;1,5\n1;b;1,25\n", [[(A, 1), (B, 0)]]),
}  # fmt: skip


SERVICE = """MatchUUID,EndedAt,AccountId,Side,Outcome,RoundsWon
m1,2025-03-01 18:22:05 UTC,a,red,{win},9
m1,2025-03-01 18:22:05 UTC,b,red,{win},9
m1,2025-03-01 18:22:05 UTC,c,blue,{loss},3
m2,2025-03-01 19:00:00 UTC,a,red,{draw},1
m2,2025-03-01 19:00:00 UTC,c,blue,{draw},1
"""
for delimiter, win, loss, draw in (
    (",", "WIN", "LOSS", "DRAW"), (";", "W", "L", "T"), ("\t", "1", "0", "0.5"),
    ("|", "victory", "defeat", "tied"),
):  # fmt: skip
    FORMS[f"a service's, by {delimiter!r}"] = (
        SERVICE.format(win=win, loss=loss, draw=draw).replace(",", delimiter),
        [[(AB, 0), (("c",), 1)], [(A, 0), (("c",), 0)]],
    )


@pytest.mark.parametrize("form", FORMS)
def test_forms(tmp_path: Path, form: str) -> None:
    text, expected = FORMS[form]
    reading = read(tmp_path, text)
    assert games(reading.log) == expected
    said = reading_text(reading)
    assert ("'RoundsWon' agrees with 'Outcome'" in said) == ("a service" in form)
    assert not re.search(r"\b1 (row|game|player)s", said)


def test_example_files(tmp_path: Path) -> None:
    league = read_log(LOGS / "league.csv")
    assert (league.log.num_games, league.time_format) == (79, "iso")
    assert faults(league) == [(81, "missing score")]
    club = read_log(LOGS / "club.csv", ReadingSettings(columns=CLUB, strict=True))
    assert (club.log.num_games, club.log.num_players, club.bad_rows) == (150, 12, [])
    assert "Jón" in club.log.players
    for name in ("league.csv.gz", "league.csv"):  # the content decides, not the name
        (tmp_path / name).write_bytes(gzip.compress((LOGS / "league.csv").read_bytes()))
        packed = read_log(tmp_path / name)
        assert (games(packed.log), packed.sha256) == (games(league.log), league.sha256)


def test_ranks_and_times_in_nanoseconds_keep_their_order(tmp_path: Path) -> None:
    t = 1_700_000_000_123_456_789
    text = f"game,time,player,rank\n1,{t},a,{t + 1}\n1,{t},b,{t}\n1,{t},c,{t + 2}\n"
    text += f"2,{t - 1},a,3\n2,{t - 1},b,{2**62}\n2,{t - 1},c,-{2**62}\n"
    reading = read(tmp_path, text)
    assert reading.log.rank.tolist() == [1, 2, 0, 1, 0, 2]
    assert reading.log.time is not None
    assert reading.log.time.tolist() == [t // 10**9] * 2
    assert "numbers in nanoseconds" in reading_text(reading)
    milliseconds = MatchLog.from_games([[["a"], ["b"]]], [[1, 0]], [1_700_000_000_123])
    with pytest.raises(
        ValueError, match="time must be in seconds, at most 1e\\+11, got 1700000000"
    ):
        replay_trueskill(milliseconds, time_drift=1.0)


ROLES = "1,r,a,1,30\n1,r,b,1,0\n1,b,c,4,15\n2,r,a,1,8\n2,b,c,2,8\n"
WEIGHED = "game,team,player,score,{}\n" + ROLES
SIDES = "home,away,home_score,away_score,neutral_ground\nA,B,1,0,t\nB,A,1,0,FALSE\n"


@pytest.mark.parametrize(
    ("text", "settings", "name", "expected"),
    [
        (WEIGHED.format("time_played"), {}, "weight", None),
        (WEIGHED.format("time_played"), {"partial_play": "time_played"}, "weight",
         [1.0, 0.0, 0.5, 1.0, 1.0]),
        (WEIGHED.format("kg"), {"columns": ["weight=kg"]}, "weight", [30.0, 0.0, 15.0, 8.0, 8.0]),
        # A column named weight is not recognised without --columns.
        (WEIGHED.format("weight"), {}, "weight", None),
        # Neutral ground means nothing if no column says who was at home.
        ("game,player,score,neutral\n1,a,1,yes\n1,b,0,TRUE\n", {}, "neutral", None),
        ("game,player,score,neutral,home\n1,a,1,yes,1\n1,b,0,TRUE,0\n2,a,1,0,0\n2,b,0,,1\n", {},
         "neutral", [True, False]),
        (SIDES, {}, "neutral", [True, False]),
        *(("game,player,score\n1,Zoé,2\n1,Łukasz,1\n".encode(encoding), {"encoding": encoding},
           "players", ["Zoé", "Łukasz"]) for encoding in ("utf-8", "utf-16", "iso8859-2")),
    ],
)  # fmt: skip
def test_weights_neutral_ground_and_names_in_any_encoding(
    tmp_path: Path, text: str, settings: Any, name: str, expected: list[Any] | None
) -> None:
    found = getattr(read(tmp_path, text, **settings).log, name)
    assert expected == (None if found is None else list(found))


def test_every_fault_is_listed_and_every_row_counted() -> None:
    reading = read_log(LOGS / "every_fault.csv")
    assert faults(reading) == [
        (4, "missing score"),
        (7, "unknown team"),
        (10, "player twice in a game"),
        (11, "game of one side"),
        (15, "wrong number of columns"),
        (17, "unreadable score"),
        (18, "unreadable score"),
        (19, "unreadable time"),
        (21, "blank line"),
        (24, "broken quoting"),
        (26, "missing game"),
        (27, "missing player"),
        (31, "game comes back after another"),
    ]
    # Game 6, with a wrong clock, comes first; then 10, 13, and 14 to 26.
    sides = [[names for names, _ in game] for game in games(reading.log)]
    assert sides == [[("ann",), ("bob",)]] * 3 + [[("bob",), ("cat",)]] * 13
    # 16 games of two rows each are rated.
    assert (reading.rows, len(reading.bad_rows), reading.rows_left_out) == (56, 13, 11)
    with pytest.raises(BadLogError) as error:
        read_log(LOGS / "every_fault.csv", ReadingSettings(strict=True))
    assert error.value.bad_rows == reading.bad_rows
    assert "unreadable score: 2, first in line 17" in str(error.value)


GOOD = "".join(f"9{g},,{p},{s},5,1\n" for g in range(9) for p, s in (("a", 1), ("b", 0)))
FAULTS = {
    **{f"1,,a,{score},1,1\n1,,b,1,1,1\n": (2, "unreadable score")
       for score in ("inf", "NaN", "1_0", "1e300", "win", "0x1", "1 2")},
    **{f"1,,a,{score},1,1\n1,,b,1,1,1\n": (2, "missing score")
       for score in ("", " ", "NA", "n/a", "null", "None")},
    **{f"1,,a,1,{minutes},1\n1,,b,1,1,1\n": (2, "unreadable partial_play")
       for minutes in ("-1", "1e30", "nan", "x")},
    "1,,a,1,0,1\n1,,b,0,0,1\n": (2, "side whose weights are all 0"),
    "1,,a,1,2,1\n1,,b,0,2,0\n": (2, "game both on neutral ground and not"),
    "1,,a,1,2,maybe\n1,,b,0,2,1\n": (2, "unreadable neutral"),
    "1,,a,1,1,1\n1,,b\udc81,1,1,1\n": (3, "broken encoding"),
    "1,,a,\x001,1,1\n1,,b,1,1,1\n": (2, "broken encoding"),
    f"1,,{'x' * 100_001},1,1,1\n1,,b,1,1,1\n": (2, "line too long"),
}  # fmt: skip


@pytest.mark.parametrize("rows", FAULTS)
def test_a_bad_row_leaves_out_its_game_only(tmp_path: Path, rows: str) -> None:
    text = f"game,team,player,score,time_played,neutral\n{rows}{GOOD}"
    reading = read(tmp_path, text.encode(errors="surrogateescape"), partial_play="time_played")
    assert faults(reading) == [FAULTS[rows]]
    assert (reading.log.num_games, reading.games, reading.rows_left_out) == (9, 10, 1)


@pytest.mark.parametrize("kind", ["rank", "result", "team_score"])
def test_a_side_with_two_results(tmp_path: Path, kind: str) -> None:
    text = f"game,team,player,{kind}\n1,r,a,1\n1,r,b,0\n1,b,c,0\n2,r,a,1\n2,b,b,0\n"
    assert faults(read(tmp_path, text)) == [(3, f"side with two values of {kind}")]


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        ("win win,LOSS loss,W D,l t", "win loss,draw tie,False True"),
        ("win win,W D,1 1,-1 0,0 0.5,1 0.5", "win loss,1 0,1 -1,0.5 0.5,0 0,draw tie,W 0"),
    ],
)
def test_results_of_two_sides_must_agree(tmp_path: Path, bad: str, good: str) -> None:
    pairs = [*bad.split(","), *good.split(",") * 2]
    rows = [f"{g},{player},{result}" for g, pair in enumerate(pairs)
            for player, result in zip("ab", pair.split(), strict=True)]  # fmt: skip
    reading = read(tmp_path, "\n".join(["game,player,result", *rows]))
    reason = "results of two sides that do not agree"
    assert faults(reading) == [(2 * g + 2, reason) for g in range(len(bad.split(",")))]
    for value in ("2", "0.3", "-0.5", "x"):
        text = f"{HEAD.replace('score', 'result')}1,a,{value}\n1,b,0\n2,a,1\n2,b,0\n"
        assert faults(read(tmp_path, text)) == [(2, "unreadable result")]


HEAD = "game,player,score\n"


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("", {}, "empty"),
        ("\n\n", {}, "empty"),
        (HEAD, {}, "no game to rate"),
        (f"{HEAD}1,a,1\n", {}, "no game to rate; game of one side: 1, first in line 2"),
        ("game,player\n1,a\n", {}, "score, result or rank"),
        ("player,score\na,1\n", {}, "nothing found for game"),
        ("game,player,score,score\n1,a,1,1\n", {}, "names 'score' twice"),
        ('game,"player,score\n1,a,1\n', {}, "line 1: the header cannot be read: broken quoting"),
        *((HEAD, {"columns": columns}, "columns")
          for columns in (["game"], ["referee=x"], ["game="], ["player=nobody"],
                          ["game=game", "game=game"])),
        (f"{HEAD.strip()},w,m\n1,a,1,1,1\n", {"columns": ["weight=w", "partial_play=m"]},
         "at most one of weight and partial_play"),
        (f"{HEAD.strip()},time\n1,a,1,1\n", {"time_format": "roman"}, "time_format must be one of"),
        *((f"{HEAD.strip()},time\n1,a,1,1\n", {"time_format": form}, "time_format must be one of")
          for form in ("%d%d", "%Q", "%", 5)),
        (f"{HEAD.strip()},time\n1,a,1,now\n1,b,2,now\n", {}, "unreadable time: 2"),
        (b"game,player,score\n1", {"encoding": "utf-16"}, "utf-16"),
        (HEAD.encode("utf-16"), {}, "no game to rate"),
        (HEAD.encode("utf-16-le"), {}, "the header cannot be read: no text in utf-8"),
        *((HEAD.encode(name) + b"\x81", {"encoding": name}, "broken encoding: 1")
          for name in ("ascii", "cp1252")),
        *((HEAD, {"encoding": encoding}, "the log cannot be read with encoding")
          for encoding in ("morse", "rot13", "hex", "zlib", "undefined", "\x00")),
        (gzip.compress(b"x" * 9000, mtime=0)[:20], {}, "gzip"),
        (b"PK\x03\x04\x14", {}, "zip archive: unpack it"),
        (gzip.compress(bytes(2_000_001), mtime=0), {"max_megabytes": 2}, "more than 2 MB"),
    ],
)  # fmt: skip
def test_unreadable_logs(tmp_path: Path, text: str | bytes, settings: Any, message: str) -> None:
    with pytest.raises(BadLogError, match=message):
        read(tmp_path, text, **settings)


def test_missing_files_and_endless_devices(tmp_path: Path) -> None:
    with pytest.raises(BadLogError, match="nowhere"):
        read_log(tmp_path / "nowhere.csv")
    with pytest.raises(BadLogError, match="more than 2 MB"):
        read_log("/dev/zero", ReadingSettings(max_megabytes=2))
    with pytest.raises(ValueError, match="max_megabytes must be an integer"):
        ReadingSettings(max_megabytes=0)


@pytest.mark.parametrize(
    ("rows", "message"),
    [(b"\n", "no game to rate"), (b"x", "no game to rate"), (b",\n", "more than 10,000,000 rows")],
)
def test_memory_of_a_file_without_games(rows: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(HEAD.encode())
        for _ in range(25):
            file.write(rows * (1_000_000 // len(rows)))
    tracemalloc.start()
    try:
        with pytest.raises(BadLogError, match=message):
            read_log(path)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 150_000_000


def test_a_long_list_of_bad_rows_is_cut_and_ends_with_advice(tmp_path: Path) -> None:
    rows = [f"{g},day {g + 1},{p},1\n" for g in range(500) for p in "ab"]
    with pytest.raises(BadLogError) as error:
        read(tmp_path, "game,time,player,score\n" + "".join(rows))
    said = str(error.value).split("; ")
    assert len(said) < 10
    assert said[:2] == [
        "log.csv: no game to rate",
        "unreadable time: 1,000, first in line 2: unreadable time ('day 1')",
    ]
    assert said[-1].startswith("--time-format sets the format of times")
    few = "game,time,player,score\n" + "".join(rows[:4])
    assert read(tmp_path, few, time_format="day %d").games == 2


def test_random_damage_loses_no_row(tmp_path: Path) -> None:
    """Bytes are inserted and deleted; no row is lost or read twice."""
    rng = np.random.default_rng(17)
    head, source = (LOGS / "every_fault.csv").read_bytes().split(b"\n", 1)
    junk = (b",", b'"', b"\xff", b"NA", b"1e999", b"\x1f", b"\x00", b"\r", b"\n", b"")
    for _ in range(30):
        content = source
        for place in rng.integers(0, len(source), 2).tolist():
            more, cut = junk[rng.integers(len(junk))], int(rng.integers(0, 3))
            content = content[:place] + more + content[place + cut :]
        content = head + b"\n" + content
        reading = read(tmp_path, content)
        assert reading.rows == len(content.rstrip().splitlines()) - 1
        assert len({row.line for row in reading.bad_rows}) == len(reading.bad_rows)
        assert reading.rows_left_out >= 0
        assert np.all(np.diff(reading.log.time) >= 0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("texts", "name", "days"),
    [
        (["1970-01-02", "1970-01-03T12:00:00+00:00"], "iso", [1, 2.5]),
        (["1970-01-02 00:00:00 UTC", "1970-01-03 12:00:00 UTC"], "iso", [1, 2.5]),
        (["1970-01-02T00:00:00Z", "1970-01-03T13:00:00.000+01:00"], "iso", [1, 2.5]),
        (["1/2/1970", "01/03/1970 12:00"], "month/day/year", [1, 2.5]),
        (["1/2/1970 12:00 AM", "1/3/1970 12:00:00 PM"], "month/day/year", [1, 2.5]),
        (["03/02/1970", "13/02/1970"], "day/month/year", [33, 43]),
        (["86400", "216000.0"], "number", [1, 2.5]),
        (["2. 1. 70", "x"], "%d. %m. %y", [1, None]),
    ],
)
def test_times(texts: list[str], name: str, days: list[float | None]) -> None:
    for chosen in (name,) if "%" in name else (None, name):
        times, used = read_times(pd.Series(texts), chosen)
        assert used == name
        assert (times / 86400).astype(object).where(times.notna(), None).tolist() == days


def test_newest_first_is_sorted_by_time(tmp_path: Path) -> None:
    """Games of one day are reversed too; the first of three is won by b."""
    rows = [f"{g},2025-03-{1 + g // 3:02},a,{g % 3}\n{g},2025-03-{1 + g // 3:02},b,0.5\n"
            for g in range(30)]  # fmt: skip
    forth, back = (read(tmp_path, "game,ended_at,player,score\n" + "".join(each))
                   for each in (rows, rows[::-1]))  # fmt: skip
    assert len(games(forth.log)) == 30
    assert games(back.log) == games(forth.log)
    assert np.array_equal(back.log.time, forth.log.time)  # type: ignore[arg-type]
    assert "newest" in reading_text(back)
    assert "sorted" not in reading_text(forth)


@pytest.mark.parametrize("columns", [(), ("team_score=Points",)])
def test_scores_repeated_for_all_members_are_those_of_the_side(
    tmp_path: Path, columns: tuple[str, ...]
) -> None:
    text = "match,team,player,Points\n"
    text += "".join(f"{g},x,a,10\n{g},y,b,7\n{g},y,c,7\n" for g in range(20))
    reading = read(tmp_path, text + "20,x,a,3\n20,y,b,0\n20,y,c,1\n", columns=columns)
    assert {tuple(rank for _, rank in game) for game in games(reading.log)} == {(0, 1)}
    assert [line for line, _ in faults(reading)] == [64]
    assert ("equal scores" in reading_text(reading)) == (not columns)
    # Scores that differ, or are all 0, are those of the members.
    text = "match,team,player,Points\n"
    text += "".join(f"{g},x,a,1\n{g},y,b,0\n{g},y,c,{g % 2}\n" for g in range(20))
    ranks = [rank for game in games(read(tmp_path, text).log) for _, rank in game]
    assert ranks == [0, 1, 0, 0] * 10


ROWS: dict[str, list[Any]] = {
    "match": [7, 7, 7, 8, 8, 8, 8, 9, 9],
    "name": ["a", "b", "c", "d", "b", "a", "c", "c", "d"],
    "side": ["x", "x", "y", "p", "q", "p", "q", None, None],
    "points": [1, 2, 3, 10, 4, 1, 4, 5, 6],
    "share": [1.0, 0.5, 1.0, 0.0, 2.0, 1.0, 0.25, 1.0, 1.0],
    "minutes": [4, 2, 1, 0, 5, 5, 1, 3, 3],
    "first": [True, True, False] + [True, False] * 3,
    "ground": [True] * 3 + [False] * 4 + [True] * 2,
    "when": [datetime(2024, 1, day, 12) for day in (1, 1, 1, 2, 2, 2, 2, 3, 3)],
}
COLUMNS = {"game": "match", "player": "name", "team": "side", "score": "points", "time": "when"}


def assert_same(log: MatchLog, expected: MatchLog) -> None:
    assert log.players == expected.players
    for name in ("player", "team_start", "game_start", "rank", "time", "weight", "neutral"):
        np.testing.assert_array_equal(getattr(log, name), getattr(expected, name))


@pytest.mark.parametrize("maker", [pd.DataFrame, polars.DataFrame])
def test_logs_from_tables_and_back(maker: Any) -> None:
    day = int(datetime(2024, 1, 1, 12, tzinfo=UTC).timestamp())
    shares = [[[1.0, 0.5], [1.0]], [[1.0, 0.0], [2.0, 0.25]], [[1.0], [1.0]]]
    of_time = [[[1.0, 0.5], [0.25]], [[1.0, 0.0], [1.0, 0.2]], [[1.0], [1.0]]]
    for role, column, weights in (
        ("weight", "share", shares),
        ("partial_play", "minutes", of_time),
    ):
        columns = {**COLUMNS, "neutral": "ground", "at_home": "first", role: column}
        log = MatchLog.from_table(maker(ROWS), **columns)
        expected = MatchLog.from_games(
            [[["a", "b"], ["c"]], [["a", "d"], ["b", "c"]], [["c"], ["d"]]],
            [[3, 3], [11, 8], [5, 6]],
            time=[day, day + 86400, day + 2 * 86400],
            weights=weights,
            neutral=[True, False, True],
        )
        assert_same(log, expected)
        roles = {name: name for name in ("team", "rank", "time", "weight", "neutral", "at_home")}
        assert_same(MatchLog.from_table(maker(log.to_table()), **roles), expected)


@pytest.mark.parametrize(
    ("when", "seconds"),
    [(90, 90), (90.7, 91), (date(1970, 1, 2), 86400), (datetime(1970, 1, 2, tzinfo=UTC), 86400),
     (np.datetime64("1970-01-02"), 86400)],
)  # fmt: skip
def test_times_in_tables(when: Any, seconds: int) -> None:
    rows = {"game": [1, 1], " player ": ["a", "b"], 7: [1, 0], "time": [when, when]}
    assert MatchLog.from_table(rows, score="7").time == [seconds]


@pytest.mark.parametrize(
    ("change", "columns", "words"),
    [
        ({}, {"game": "game"}, "no column 'game' for 'game' in the header match, name"),
        (
            {},
            {"weight": "share", "partial_play": "share"},
            "at most one of weight and partial_play",
        ),
        ({}, {"referee": "name"}, "each role at most once out of game, .*, got 'referee=name'"),
        ({"name": [*ROWS["name"][:8], None]}, {}, "row 8: missing player"),
        ({"when": [*ROWS["when"][:8], None]}, {}, "row 8: missing time"),
        ({"share": [1.0] * 8 + [2e9]}, {"weight": "share"}, "row 8: unreadable weight"),
        ({}, {"neutral": "name"}, "row 0: unreadable neutral"),
        ({"name": ROWS["name"][:8]}, {}, "equal length"),
    ],
)
def test_bad_tables_are_refused(change: dict, columns: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        MatchLog.from_table({**ROWS, **change}, **{**COLUMNS, **columns})
    twice = pd.DataFrame([[1, "a", 1, 2]], columns=["game", "player", "score", "score"])
    for frame in (None, 5, twice):
        with pytest.raises(ValueError, match="frame must be a data frame or a dict of columns"):
            MatchLog.from_table(frame)
    empty = {name: [] for name in ROWS}
    assert MatchLog.from_table(empty, **COLUMNS).num_games == 0
