"""Reading match logs: what is found in them, and what is said about the rest."""

from __future__ import annotations

import gzip
import itertools
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from matchenv.logs import BadLogError, MatchLog, Reading, ReadingSettings, read_log
from matchenv.logs.reading import reading_text
from matchenv.logs.rows import read_times

LOGS = Path(__file__).parent / "data"


def read(tmp_path: Path, text: str | bytes, **settings: object) -> Reading:
    path = tmp_path / "log.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_log(path, ReadingSettings(**settings))  # type: ignore[arg-type]


def games(log: MatchLog) -> list[list[tuple[tuple[str, ...], float, int]]]:
    """Each game as a list of (names, score, rank), one for each side."""
    sides = [
        (
            tuple(log.players[k] for k in log.player[log.team_start[t] : log.team_start[t + 1]]),
            float(log.score[t]),
            int(log.rank[t]),
        )
        for t in range(log.num_teams)
    ]
    return [sides[a:b] for a, b in itertools.pairwise(log.game_start)]


def faults(reading: Reading) -> list[tuple[int, str]]:
    return [(row.line, str(row.reason)) for row in reading.bad_rows]


class TestForms:
    def test_everyone_alone(self, tmp_path: Path) -> None:
        reading = read(
            tmp_path,
            "game,time,team,player,score\n7,1,,x,5\n7,1,,y,-2\n7,1,,z,5\n8,2,,z,1\n8,2,,x,0\n",
        )
        assert games(reading.log) == [
            [(("x",), 5.0, 0), (("y",), -2.0, 2), (("z",), 5.0, 0)],
            [(("z",), 1.0, 0), (("x",), 0.0, 1)],
        ]
        assert reading.log.time is not None
        assert reading.log.time.tolist() == [1, 2]
        assert (reading.rows, reading.games, reading.bad_lines) == (5, 2, 0)

    def test_team_scores_are_sums_of_their_members(self, tmp_path: Path) -> None:
        text = "game,team,player,score\n1,r,a,1\n1,b,b,4\n1,r,c,2.5\n1,b,d,-1\n"
        reading = read(tmp_path, text)
        assert games(reading.log) == [[(("a", "c"), 3.5, 0), (("b", "d"), 3.0, 1)]]
        assert reading.log.time is None

    def test_ranks_low_is_good(self, tmp_path: Path) -> None:
        text = "game,team,player,rank\n1,r,a,2\n1,b,b,1\n1,r,c,2\n1,g,d,9\n"
        log = read(tmp_path, text).log
        assert [(names, rank) for names, _, rank in games(log)[0]] == [
            (("a", "c"), 1), (("b",), 0), (("d",), 2),
        ]  # fmt: skip

    def test_rank_goes_before_score_unless_the_score_is_named(self, tmp_path: Path) -> None:
        text = "game,player,score,rank\n1,a,5,2\n1,b,9,1\n2,a,5,1\n2,b,9,2\n"
        assert read(tmp_path, text).log.rank.tolist() == [1, 0, 0, 1]
        by_score = read(tmp_path, text, columns=("score=score",))
        assert by_score.log.rank.tolist() == [1, 0, 1, 0]

    def test_home_and_away(self) -> None:
        reading = read_log(LOGS / "league.csv")
        lines = (LOGS / "league.csv").read_text(encoding="utf-8").splitlines()
        assert reading.column_names["home"] == "home_team"
        assert reading.time_format == "iso"
        assert reading.log.num_games == 79
        for game, line in zip(games(reading.log), lines[1:], strict=False):
            _, home, away, home_score, away_score = line.split(",")[:5]
            assert [(names, score) for names, score, _ in game] == [
                ((home,), float(home_score)),
                ((away,), float(away_score)),
            ]
        # The last fixture has not been played yet.
        assert faults(reading) == [(81, "missing score")]

    def test_home_and_away_with_names_of_its_own(self, tmp_path: Path) -> None:
        text = "heim,gast,h,g\nA,B,1,0\nB,B,2,2\n,A,1,1\nB,A,0,0\n"
        columns = ("home=heim", "away = gast", "home_score=h", "away_score=g")
        reading = read(tmp_path, text, columns=columns)
        assert games(reading.log) == [
            [(("A",), 1.0, 0), (("B",), 0.0, 1)],
            [(("B",), 0.0, 0), (("A",), 0.0, 0)],
        ]
        assert faults(reading) == [(3, "player twice in a game"), (4, "missing player")]

    def test_columns_with_names_of_their_own(self) -> None:
        columns = ("game=match", "time=when", "team=side", "player=who", "score=points")
        reading = read_log(LOGS / "club.csv", ReadingSettings(columns=columns))
        assert reading.log.num_games == 150
        assert reading.log.num_players == 12
        assert "Jón" in reading.log.players
        assert reading.bad_rows == []

    def test_gzip_is_known_by_its_content(self, tmp_path: Path) -> None:
        plain = (LOGS / "league.csv").read_bytes()
        packed = tmp_path / "league.csv.gz"
        packed.write_bytes(gzip.compress(plain))
        misnamed = tmp_path / "league.csv"
        misnamed.write_bytes(gzip.compress(plain))
        expected = read_log(LOGS / "league.csv")
        for path in (packed, misnamed):
            reading = read_log(path)
            assert games(reading.log) == games(expected.log)
            assert reading.sha256 == expected.sha256

    def test_blanks_quotes_and_line_ends_do_not_matter(self, tmp_path: Path) -> None:
        plain = "game,player,score\n1,a,2\n1,b c,1\n"
        odd = '\ufeffGame , player,SCORE\r\n1, a,2\r\n"1","b c", 1 \r\n\r\n'
        assert games(read(tmp_path, odd).log) == games(read(tmp_path, plain).log)

    def test_names_may_hold_commas(self, tmp_path: Path) -> None:
        text = 'game,player,score\n1,"b, ""the"" c",2\n1,a,1\n'
        assert list(read(tmp_path, text).log.players) == ['b, "the" c', "a"]

    def test_scores_and_times_in_nanoseconds_keep_their_order(self, tmp_path: Path) -> None:
        t = 1_700_000_000_123_456_789
        text = f"game,time,player,rank\n1,{t},a,{t + 1}\n1,{t},b,{t}\n1,{t},c,{t + 2}\n"
        text += f"2,{t + 1},a,3.5\n2,{t + 1},b,{2**64}\n2,{t + 1},c,-{2**64}\n"
        log = read(tmp_path, text).log
        assert log.rank.tolist() == [1, 0, 2, 1, 2, 0]
        assert log.time is not None
        assert log.time.tolist() == [t, t + 1]
        scored = read(tmp_path, text.replace("rank", "score")).log
        assert scored.rank.tolist() == [1, 2, 0, 1, 0, 2]
        backwards = read(tmp_path, text.replace(f"2,{t + 1},", f"2,{t - 1},"))
        assert backwards.log.time is not None
        assert backwards.log.time.tolist() == [t - 1, t]

    def test_sums_of_scores_are_exact(self, tmp_path: Path) -> None:
        large = 2**53
        text = f"game,team,player,score\n1,x,a,{large}\n1,x,b,1\n1,y,c,{large}\n1,y,d,0\n"
        assert read(tmp_path, text).log.rank.tolist() == [0, 1]
        tenths = "game,team,player,score\n1,x,a,0.1\n1,x,b,0.2\n1,y,c,0.3\n"
        assert read(tmp_path, tenths).log.rank.tolist() == [0, 0]

    def test_weights_are_as_written_or_shares_of_the_longest_time(self, tmp_path: Path) -> None:
        rows = "1,r,a,1,30\n1,r,b,1,0\n1,b,c,4,15\n2,r,a,1,8\n2,b,c,2,8\n"
        text = f"game,team,player,score,time_played\n{rows}"
        timed = read(tmp_path, text).log
        assert timed.weight is not None
        assert timed.weight.tolist() == [1.0, 0.0, 0.5, 1.0, 1.0]
        named = read(tmp_path, text.replace("time_played", "kg"), columns=("weight=kg",))
        assert named.column_names["weight"] == "kg"
        assert named.log.weight is not None
        assert named.log.weight.tolist() == [30.0, 0.0, 15.0, 8.0, 8.0]
        # A column that happens to be called so is not taken for it.
        assert read(tmp_path, text.replace("time_played", "weight")).log.weight is None
        both = text.replace("time_played", "time_played,w").replace("\n", ",1\n")
        both = both.replace("w,1", "w", 1)
        log = read(tmp_path, both, columns=("weight=w",)).log
        assert log.weight is not None
        assert set(log.weight) == {1.0}
        with pytest.raises(BadLogError, match="one of weight and time_played"):
            read(tmp_path, both, columns=("weight=w", "time_played=time_played"))

    def test_neutral_ground_in_both_forms(self, tmp_path: Path) -> None:
        text = "game,player,score,neutral\n1,a,1,yes\n1,b,0,TRUE\n2,a,1,0\n2,b,0,\n"
        log = read(tmp_path, text).log
        assert log.neutral is not None
        assert log.neutral.tolist() == [True, False]
        text = "home,away,home_score,away_score,neutral_ground\nA,B,1,0,FALSE\nB,A,1,0,t\n"
        log = read(tmp_path, text).log
        assert log.neutral is not None
        assert log.neutral.tolist() == [False, True]

    def test_other_encodings(self, tmp_path: Path) -> None:
        text = "game,player,score\n1,Zoë,2\n1,Łukasz,1\n"
        for encoding in ("utf-8", "utf-16", "iso8859-2"):
            data = text.replace("Zoë", "Zoé").encode(encoding)
            reading = read(tmp_path, data, encoding=encoding)
            assert list(reading.log.players) == ["Zoé", "Łukasz"]


class TestBadRows:
    def test_every_fault_has_its_line(self) -> None:
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

    def test_a_game_with_a_bad_row_is_left_out_whole_and_all_rows_are_accounted_for(self) -> None:
        reading = read_log(LOGS / "every_fault.csv")
        assert [[names for names, _, _ in game] for game in games(reading.log)] == [
            [("ann",), ("bob",)],  # game 6, whose clock was wrong, comes first
            [("ann",), ("bob",)],  # game 10
            [("ann",), ("bob",)],  # game 13
            *[[("cat",), ("bob",)]] * 13,  # games 14 to 26
        ]
        rated = len(reading.log.player)
        assert reading.rows == 56
        assert reading.bad_lines == 13
        assert rated + reading.bad_lines + reading.rows_left_out == reading.rows
        assert len(reading.bad_rows) == 13

    def test_strict_makes_them_fatal_and_names_the_lines(self) -> None:
        with pytest.raises(BadLogError) as error:
            read_log(LOGS / "every_fault.csv", ReadingSettings(strict=True))
        for line in (4, 7, 10, 11, 15, 17, 18, 19, 21, 24, 26, 27, 31):
            assert f"line {line}: " in str(error.value)
        columns = ("game=match", "time=when", "team=side", "player=who", "score=points")
        assert read_log(LOGS / "club.csv", ReadingSettings(columns=columns, strict=True)).games

    def test_broken_encoding(self, tmp_path: Path) -> None:
        data = (
            b"game,player,score\n1,a,2\n1,b\xff,1\n2,a,3\n2,b,1\n3,a,\x001\n3,b,2\n4,a,1\n4,b,0\n"
        )
        reading = read(tmp_path, data)
        assert faults(reading) == [(3, "broken encoding"), (6, "broken encoding")]
        assert reading.log.num_games == 2
        assert reading.rows_left_out == 2

    def test_a_long_list_is_cut_and_says_what_to_do(self, tmp_path: Path) -> None:
        rows = "".join(f"{g},day {g + 1},{p},1\n" for g in range(500) for p in "ab")
        with pytest.raises(BadLogError) as error:
            read(tmp_path, "game,time,player,score\n" + rows)
        said = str(error.value).split("; ")
        assert len(said) < 10
        assert said[0] == "log.csv: no game to rate"
        assert said[1] == "unreadable time: 1000"
        assert said[2] == "line 2: unreadable time ('day 1')"
        assert said[-2] == "and 995 more"
        assert said[-1].startswith("--time-format says how times are written")
        settings = {"time_format": "day %d"}
        assert (
            read(
                tmp_path,
                "game,time,player,score\n" + "".join(rows.splitlines(True)[:4]),
                **settings,
            ).games
            == 2
        )

    def test_a_wide_encoding_that_does_not_fit_is_fatal(self, tmp_path: Path) -> None:
        with pytest.raises(BadLogError, match="utf-16"):
            read(tmp_path, b"game,player,score\n1", encoding="utf-16")
        with pytest.raises(BadLogError, match="encoding"):
            read(tmp_path, b"game,player,score\n1", encoding="morse")

    def test_a_team_with_two_ranks(self, tmp_path: Path) -> None:
        text = "game,team,player,rank\n1,r,a,1\n1,r,b,2\n1,b,c,2\n2,r,a,1\n2,b,b,2\n"
        reading = read(tmp_path, text)
        assert faults(reading) == [(3, "side with two values of rank")]
        assert reading.log.num_games == 1

    @pytest.mark.parametrize("score", ["inf", "-inf", "NaN", "1_0", "1e300", "x", "0x1", "1 2"])
    def test_scores_that_are_no_numbers(self, tmp_path: Path, score: str) -> None:
        text = f"game,player,score\n1,a,{score}\n1,b,1\n2,a,1\n2,b,1\n"
        assert faults(read(tmp_path, text)) == [(2, "unreadable score")]

    @pytest.mark.parametrize("score", ["", " ", "NA", "n/a", "null", "None"])
    def test_scores_that_are_missing(self, tmp_path: Path, score: str) -> None:
        text = f"game,player,score\n1,a,{score}\n1,b,1\n2,a,1\n2,b,1\n"
        assert faults(read(tmp_path, text)) == [(2, "missing score")]

    @pytest.mark.parametrize("weight", ["", "-1", "1e30", "nan", "x"])
    def test_weights_that_cannot_be_used(self, tmp_path: Path, weight: str) -> None:
        text = f"game,player,score,w\n1,a,1,{weight}\n1,b,0,1\n2,a,1,1\n2,b,0,1\n"
        reading = read(tmp_path, text, columns=("weight=w",))
        assert faults(reading) == [(2, "missing weight" if not weight else "unreadable weight")]
        assert (reading.log.num_games, reading.rows_left_out) == (1, 1)

    def test_sides_that_did_not_play_and_doubtful_ground(self, tmp_path: Path) -> None:
        text = "game,player,score,time_played,neutral\n1,a,1,0,1\n1,b,0,0,1\n2,a,1,0,1\n2,b,0,9,1\n"
        text += "3,a,1,2,1\n3,b,0,2,0\n4,a,1,2,maybe\n4,b,0,2,1\n"
        text += "5,a,1,x,1\n5,b,1,1,1\n"
        text += "".join(f"{g},{p},1,1,1\n" for g in range(6, 11) for p in "ab")
        reading = read(tmp_path, text)
        assert faults(reading) == [
            (2, "side whose weights are all 0"),
            (4, "side whose weights are all 0"),
            (6, "game both on neutral ground and not"),
            (8, "unreadable neutral"),
            (10, "unreadable time_played"),
        ]
        assert reading.log.num_games == 5

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "empty"),
            ("\n\n", "empty"),
            ("game,player,score\n", "no game to rate"),
            ("game,player,score\n1,a,1\n", "game of one side"),
            ("game,player\n1,a\n", "score, result or rank"),
            ("player,score\na,1\n", "nothing found for game"),
            ("game,player,score,score\n1,a,1,1\n", "'score' twice"),
            ('game,"player,score\n1,a,1\n', "quoting"),
            (b"g\xffme,player,score\n1,a,1\n", "encoding"),
            (b"\x1f\x8b\x08\x00broken", "gzip"),
        ],
    )
    def test_logs_that_cannot_be_read(
        self, tmp_path: Path, text: str | bytes, message: str
    ) -> None:
        with pytest.raises(BadLogError, match=message):
            read(tmp_path, text)

    def test_missing_file_and_cut_gzip(self, tmp_path: Path) -> None:
        with pytest.raises(BadLogError, match="nowhere"):
            read_log(tmp_path / "nowhere.csv")
        packed = gzip.compress((LOGS / "club.csv").read_bytes())
        with pytest.raises(BadLogError, match="gzip"):
            read(tmp_path, packed[: len(packed) // 2])

    @pytest.mark.parametrize(
        "columns", [["game"], ["referee=x"], ["game="], ["game=a", "game=b"], ["player=nobody"]]
    )
    def test_bad_mappings(self, tmp_path: Path, columns: list[str]) -> None:
        with pytest.raises(BadLogError, match="columns"):
            read(tmp_path, "game,player,score\n1,a,1\n1,b,1\n", columns=columns)

    @pytest.mark.parametrize("name", ["league", "every_fault"])
    def test_any_damage_is_accounted_for(self, tmp_path: Path, name: str) -> None:
        """Bytes changed, cut and inserted, lines swapped and doubled: all rows are told of."""
        rng = np.random.default_rng(17)
        source = (LOGS / f"{name}.csv").read_bytes()
        for _ in range(150):
            lines = source.split(b"\n")
            for _ in range(rng.integers(1, 4)):
                i, j = rng.integers(1, len(lines), 2)
                place = int(rng.integers(0, len(lines[i]) + 1))
                damage = rng.integers(4)
                if damage == 0:
                    junk = [b",", b'"', b"\xff", b"NA", b"1e999", b"\x1f", b"\x00", b"\r", b"\n"]
                    new = junk[rng.integers(len(junk))]
                    lines[i] = lines[i][:place] + new + lines[i][place:]
                elif damage == 1:
                    lines[i] = lines[i][:place] + lines[i][place + 2 :]
                elif damage == 2:
                    lines[i], lines[j] = lines[j], lines[i]
                else:
                    lines.insert(j, lines[i])
            try:
                reading = read(tmp_path, b"\n".join(lines))
            except BadLogError:
                # Only where no game was left.
                continue
            players = len(reading.log.player) // (2 if name == "league" else 1)
            assert players + reading.bad_lines + reading.rows_left_out == reading.rows
            assert reading.rows_left_out >= 0
            assert reading.log.time is not None
            assert np.all(np.diff(reading.log.time) >= 0)


class TestTimes:
    @pytest.mark.parametrize(
        ("texts", "name"),
        [
            (["1970-01-02", "1970-01-03T12:00:00+00:00"], "iso"),
            (["1970-01-02 00:00:00 UTC", "1970-01-03 12:00:00 UTC"], "iso"),
            (["1970-01-02T00:00:00Z", "1970-01-03T13:00:00.000+01:00"], "iso"),
            (["01/02/1970 00:00:00", "01/03/1970 12:00:00"], "month/day/year"),
            (["1/2/1970", "1/3/1970 12:00"], "month/day/year"),
            (["1/2/1970 12:00 AM", "1/3/1970 12:00:00 PM"], "month/day/year"),
            (["86400", "216000.0"], "number"),
        ],
    )
    def test_usual_forms(self, texts: list[str], name: str) -> None:
        times, used = read_times(pd.Series(texts))
        assert used == name
        assert times.tolist() == [86400.0, 86400.0 * 2.5]

    def test_day_first_is_found_by_a_day_above_twelve(self) -> None:
        times, used = read_times(pd.Series(["03/02/1970", "13/02/1970"]))
        assert used == "day/month/year"
        assert times.tolist() == [33 * 86400.0, 43 * 86400.0]
        times, _ = read_times(pd.Series(["03/02/1970"]), "day/month/year")
        assert times.tolist() == [33 * 86400.0]

    def test_formats_by_name(self) -> None:
        times, _ = read_times(pd.Series(["2. 1. 70", "x"]), "%d. %m. %y")
        assert times[0] == 86400
        assert pd.isna(times[1])
        with pytest.raises(BadLogError, match="time_format"):
            read_times(pd.Series(["1"]), "roman")


class TestExports:
    """Logs as services export them, without options."""

    def test_newest_first_is_sorted_by_time(self, tmp_path: Path) -> None:
        rows = [f"{g},2025-03-{1 + g // 3:02} 10:00:00 UTC,{p},{s}\n" for g in range(30)
                for p, s in (("a", g % 2), ("b", 1 - g % 2))]  # fmt: skip
        forth = read(tmp_path, "game,ended_at,player,score\n" + "".join(rows))
        games_back = [rows[k : k + 2] for k in range(0, 60, 2)][::-1]
        back = read(
            tmp_path,
            "game,ended_at,player,score\n" + "".join(row for game in games_back for row in game),
        )
        assert games(back.log) == games(forth.log)
        assert back.log.num_games == 30
        assert np.array_equal(back.log.time, forth.log.time)
        assert "newest" in reading_text(back)
        assert "sorted" not in reading_text(forth)

    def test_one_wrong_clock_moves_one_game(self, tmp_path: Path) -> None:
        times = [10, 20, 0, 30, 40]
        rows = "".join(f"{g},{t},p{g},1\n{g},{t},b,2\n" for g, t in enumerate(times))
        log = read(tmp_path, "game,time,player,score\n" + rows).log
        assert [names[0][0][0] for names in games(log)] == ["p2", "p0", "p1", "p3", "p4"]

    @pytest.mark.parametrize("columns", [(), ("team_score=Points",)])
    def test_a_score_that_is_repeated_for_each_member_is_the_sides(
        self, tmp_path: Path, columns: tuple[str, ...]
    ) -> None:
        text = "match,team,player,Points\n"
        for g in range(20):
            text += f"{g},x,a,10\n{g},y,b,7\n{g},y,c,7\n"
        text += "20,x,a,3\n20,y,b,0\n20,y,c,1\n"
        reading = read(tmp_path, text, columns=columns)
        assert {tuple(score for _, score, _ in game) for game in games(reading.log)} == {(10, 7)}
        assert faults(reading) == [
            (64, f"side with two values of {'team_score' if columns else 'score'}")
        ]
        assert ("equal scores" in reading_text(reading)) == (not columns)

    def test_scores_of_members_are_summed_where_they_differ_or_are_nothing(
        self, tmp_path: Path
    ) -> None:
        text = "match,team,player,Points\n"
        for g in range(20):
            text += f"{g},x,a,2\n{g},y,b,0\n{g},y,c,{g % 2}\n"
        assert [score for game in games(read(tmp_path, text).log) for _, score, _ in game] == [
            2.0, 0.0, 2.0, 1.0,
        ] * 10  # fmt: skip

    @pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
    @pytest.mark.parametrize("words", [("WIN", "LOSS", "DRAW"), ("W", "L", "T"), ("1", "0", "0.5")])
    def test_usual_columns_results_and_delimiters(
        self, tmp_path: Path, delimiter: str, words: tuple[str, str, str]
    ) -> None:
        win, loss, draw = words
        rows = [
            ["MatchUUID", "EndedAt", "AccountId", "Side", "Outcome", "RoundsWon"],
            ["m1", "2025-03-01 18:22:05 UTC", "ann", "red", win, "3"],
            ["m1", "2025-03-01 18:22:05 UTC", "bob", "red", win, "3"],
            ["m1", "2025-03-01 18:22:05 UTC", "cat", "blue", loss, "9"],
            ["m2", "2025-03-01 19:00:00 UTC", "ann", "red", draw, "1"],
            ["m2", "2025-03-01 19:00:00 UTC", "cat", "blue", draw, "1"],
        ]
        reading = read(tmp_path, "".join(delimiter.join(row) + "\n" for row in rows))
        assert games(reading.log) == [
            [(("ann", "bob"), 1.0, 0), (("cat",), 0.0, 1)],
            [(("ann",), 0.5, 0), (("cat",), 0.5, 0)],
        ]
        assert "--columns score=RoundsWon" in reading_text(reading)
        assert reading.log.time is not None
        assert np.diff(reading.log.time).tolist() == [2275]

    def test_decimal_commas(self, tmp_path: Path) -> None:
        text = "game;player;placement\n1;a;1,5\n1;b;1,25\n"
        assert read(tmp_path, text).log.rank.tolist() == [1, 0]
        thousands = 'game,player,score\n1,a,"1,500"\n1,b,2\n2,a,1\n2,b,2\n'
        assert faults(read(tmp_path, thousands)) == [(2, "unreadable score")]

    @pytest.mark.parametrize(("good", "warned"), [(95, False), (85, True), (45, None)])
    def test_many_games_left_out_are_said_first_and_more_than_half_are_an_error(
        self, tmp_path: Path, good: int, warned: bool | None
    ) -> None:
        rows = "".join(f"{g},a,{1 if g < good else ''}\n{g},b,0\n" for g in range(100))
        if warned is None:
            with pytest.raises(BadLogError, match="only 45 of 100 games can be rated; missing"):
                read(tmp_path, "game,player,score\n" + rows)
            return
        text = reading_text(read(tmp_path, "game,player,score\n" + rows))
        assert text.startswith("warning: 15 of 100 games are left out") == warned


def test_a_small_file_cannot_unpack_to_any_size(tmp_path: Path) -> None:
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(bytes(2_000_001)))
    with pytest.raises(BadLogError, match=r"more than 2 MB; --max-megabytes allows more"):
        read_log(path, ReadingSettings(max_megabytes=2))
    with pytest.raises(BadLogError, match="the header cannot be read: line too long"):
        read_log(path, ReadingSettings(max_megabytes=3))
    with pytest.raises(ValueError, match="max_megabytes must be an integer"):
        ReadingSettings(max_megabytes=0)


def test_headers_are_limited(tmp_path: Path) -> None:
    names = ",".join(f"column{k}" for k in range(9_997))
    reading = read(tmp_path, f"game,player,score,{names}\n1,a,1{',' * 9_997}\n1,b,0{',' * 9_997}\n")
    assert reading.log.num_games == 1
    with pytest.raises(BadLogError, match="more than 10,000 columns \\(10,001\\)"):
        read(tmp_path, f"game,player,score,{names},more\n")


def test_a_line_beyond_all_measure_costs_its_game_alone(tmp_path: Path) -> None:
    long = "x" * 1_000_001
    reading = read(tmp_path, f"game,player,score\n1,a,1\n1,b,0\n2,{long},1\n2,b,0\n")
    assert reading.log.num_games == 1
    assert str(reading.bad_rows[0]).startswith("line 4: line too long")


@pytest.mark.parametrize("number", ["1e-999999999", "0e999999999", "0." + "1" * 5000])
def test_numbers_that_no_memory_holds_are_none(tmp_path: Path, number: str) -> None:
    reading = read(tmp_path, f"game,player,score\n1,a,1\n1,b,0\n2,a,{number}\n2,b,0\n")
    assert reading.log.num_games == 1
    assert "unreadable score" in str(reading.bad_rows[0])


@pytest.mark.parametrize("encoding", ["rot13", "hex", "base64", "zlib", "undefined", "\x00"])
def test_encodings_of_something_else_than_text_are_refused(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(BadLogError, match=r"encoding|the log is not"):
        read(tmp_path, "game,player,score\n1,a..b,1\n", encoding=encoding)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-16-le", "shift_jis"])
def test_what_is_not_in_the_encoding_has_its_place_in_the_file(
    tmp_path: Path, encoding: str
) -> None:
    data = ("game,player,score\n" * 40).encode(encoding) + b"\x81"
    with pytest.raises(UnicodeDecodeError) as whole:
        data.decode(encoding)
    with pytest.raises(BadLogError, match=f"byte 0x81 in position {whole.value.start}: "):
        read(tmp_path, data, encoding=encoding)


@pytest.mark.parametrize(
    ("rows", "message"),
    [(b"\n", "no game to rate"), (b" ", "no game to rate"), (b"x", "line too long"),
     (b",\n", "more than 10,000,000 rows")],
    ids=["blank lines", "one blank line", "one line", "rows"],
)  # fmt: skip
def test_a_file_without_games_takes_little_more_memory_than_its_size(
    rows: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"game,player,score\n")
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


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="has no such device")
def test_what_has_no_end_meets_the_limit() -> None:
    with pytest.raises(BadLogError, match="more than 2 MB; --max-megabytes allows more"):
        read_log("/dev/zero", ReadingSettings(max_megabytes=2))
