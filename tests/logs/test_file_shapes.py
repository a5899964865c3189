"""What a log says is what is rated: a small file for each shape and each contradiction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulated_logs import games_of

from matchenv.logs import BadLogError, MatchLog, Reading, ReadingSettings, fit, read_log
from matchenv.logs.forecasts import share_of_draws
from matchenv.logs.reading import reading_text
from matchenv.logs.replay import replay_system, replay_trueskill
from matchenv.ratings.elo import Elo
from matchenv.trueskill import rate


def read(tmp_path: Path, content: str | bytes, name: str = "log.csv", **settings: Any) -> Reading:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_log(path, ReadingSettings(**settings))


def ranks(reading: Reading) -> list[dict[str, int]]:
    """Return the rank of each side by the names of its members, joined, for each game."""
    games = []
    for members, rank_of_side, _ in games_of(reading.log):
        names = ["+".join(side) for side in members]
        games.append(dict(zip(names, rank_of_side, strict=True)))
    return games


WON = {"a": 0, "b": 1}
DREW = {"a": 0, "b": 0}
LOST = {"a": 1, "b": 0}


def test_the_order_of_rows_is_no_evidence(tmp_path: Path) -> None:
    """Coin flips with the winner's row first: no side has an advantage, and the fit fails."""
    rng = np.random.default_rng(5)
    games = []
    for game in range(60):
        winner, loser = rng.choice(8, 2, replace=False)
        games.append([f"{game},p{winner},win\n", f"{game},p{loser},loss\n"])
    head = "game,player,result\n"
    winner_first = read(tmp_path, head + "".join(row for rows in games for row in rows))
    turned = read(tmp_path, head + "".join(row for rows in games for row in rows[::-1]))
    for name in ("player", "rank", "team_start", "game_start"):
        np.testing.assert_array_equal(getattr(winner_first.log, name), getattr(turned.log, name))
    assert winner_first.log.players == turned.log.players
    assert winner_first.log.neutral is None
    assert "no column says who was at home" in reading_text(winner_first)
    fitted = fit(winner_first.log)
    assert fitted.failed
    assert fitted.parameters["advantage"] == 0.0
    assert "advantage is not identified" in " ".join(fitted.notes)
    with pytest.raises(ValueError, match="advantage must be 0 for a log that does not say"):
        replay_trueskill(winner_first.log, advantage=1.0)
    scattered = [row for rows in games for row in rows]
    rng.shuffle(scattered)
    shuffled = read(tmp_path, head + "".join(scattered))
    assert shuffled.bad_rows == []
    assert shuffled.log.num_games == 60
    assert "rows of a game are not together" in reading_text(shuffled)


def test_a_fit_worse_than_the_constant_by_side_fails() -> None:
    """The home side wins 95 % of its games, but the skills change too fast to be known."""
    rng = np.random.default_rng(1)
    games = [[[f"p{k}"], [f"q{k}"]] for k in range(400)]
    home_wins = rng.random(400) < 0.95
    scores = [[1.0, 0.0] if won else [0.0, 1.0] for won in home_wins]
    log = MatchLog.from_games(games, scores, neutral=np.zeros(400, np.bool_))
    fitted = fit(log)
    gain = min(fitted.log_loss_constant, fitted.log_loss_by_side) - fitted.log_loss
    assert fitted.gain[0] == pytest.approx(gain)
    assert fitted.failed


def test_columns_of_results_must_agree(tmp_path: Path) -> None:
    """``place`` is a start position, as FAF exports it."""
    text = "game,player,place,result\n1,a,3,win\n1,b,1,loss\n2,a,1,win\n2,b,2,loss\n"
    message = (
        r"columns 'place' and 'result' disagree about the result of 1 of 2 games, for example in "
        r"line \d: choose with --columns rank=place or --columns result=result"
    )
    with pytest.raises(BadLogError, match=message):
        read(tmp_path, text)
    assert ranks(read(tmp_path, text, columns=["result=result"])) == [WON, WON]
    assert ranks(read(tmp_path, text, columns=["rank=place"])) == [LOST, WON]
    # Equal scores can be decided otherwise, for example by penalties.
    agreeing = "game,player,score,result\n1,a,2,win\n1,b,2,loss\n2,a,1,win\n2,b,0,loss\n"
    assert ranks(read(tmp_path, agreeing)) == [WON, WON]
    with pytest.raises(BadLogError, match="disagree about the result of 1 of 1 games"):
        read(tmp_path, "game,player,score,result\n1,a,2,draw\n1,b,1,draw\n")
    wide = "home,away,home_score,away_score,result\na,b,2,1,H\na,b,0,0,A\na,b,0,3,H\n"
    with pytest.raises(BadLogError, match="--columns side1_score=home_score side2_score=away"):
        read(tmp_path, wide)


def test_a_column_that_differs_within_sides_is_no_result(tmp_path: Path) -> None:
    text = "game,team,player,place,result\n"
    for game in range(5):
        text += f"{game},x,a,1,win\n{game},x,b,4,win\n{game},y,c,2,loss\n{game},y,d,3,loss\n"
    reading = read(tmp_path, text)
    assert ranks(reading) == [{"a+b": 0, "c+d": 1}] * 5
    assert "column 'place' is no result: members of one side have several" in reading.notes
    # In a race, teams are no sides.
    race = text.replace(",result", "").replace(",win", "").replace(",loss", "")
    assert ranks(read(tmp_path, race))[0] == {"a": 0, "c": 1, "d": 2, "b": 3}


FREE_FOR_ALL = "game,player,result\n1,a,win\n1,b,loss\n1,c,loss\n"


def test_losers_of_a_game_of_many_are_in_no_known_order(tmp_path: Path) -> None:
    reading = read(tmp_path, FREE_FOR_ALL)
    assert "1 game with sides in unknown order" in reading_text(reading)
    log = reading.log
    assert log.rank.tolist() == [0, 1, 1]
    assert log.unordered is not None
    assert log.unordered.tolist() == [False, True, True]
    pairs = log.pairs
    assert list(zip(pairs.first, pairs.second, pairs.outcome, strict=True)) == [
        (0, 1, 1),
        (0, 2, 1),
    ]
    prior = [[(25.0, 25.0 / 3.0)]] * 3
    options = {"beta": 25.0 / 6.0, "tau": 25.0 / 300.0}
    expected = rate(prior, [1, (2, 3), (2, 3)], draw_probability=0.1, **options)
    replayed = replay_trueskill(log, draw_probability=0.1, **options)
    np.testing.assert_allclose(replayed.mu, [side[0].mu for side in expected], rtol=1e-12)
    np.testing.assert_allclose(replayed.sigma, [side[0].sigma for side in expected], rtol=1e-12)
    assert replay_trueskill(log).mu[1] == pytest.approx(replay_trueskill(log).mu[2], rel=1e-9)
    elo = Elo()
    rated = elo.rate([[(1200.0, 0.0)]] * 3, [0, (1, 2), (1, 2)])
    assert replay_system(log, elo).mu.tolist() == [side[0][0] for side in rated]
    again = MatchLog.from_table(log.to_table())
    assert again.unordered is not None
    np.testing.assert_array_equal(again.unordered, log.unordered)


def test_free_for_alls_do_not_change_the_draws_of_duels(tmp_path: Path) -> None:
    duels = "".join(
        f"d{game},a,{'draw' if game < 2 else 'win'}\nd{game},b,{'draw' if game < 2 else 'loss'}\n"
        for game in range(10)
    )
    many = "".join(f"f{game},a,win\nf{game},b,loss\nf{game},c,loss\n" for game in range(30))
    alone = read(tmp_path, "game,player,result\n" + duels).log
    mixed = read(tmp_path, "game,player,result\n" + duels + many).log
    assert share_of_draws(alone) == share_of_draws(mixed) == 0.2
    first = replay_trueskill(alone)
    after = replay_trueskill(mixed)
    np.testing.assert_allclose(after.entry_mu[:20], first.entry_mu, rtol=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "form", "days"),
    [
        ("20240101", "20240301", "yyyymmdd", 60),
        ("2024-01-01", "2024-03-01", "iso", 60),
        ("2024.01.01", "2024.03.01", "iso", 60),
        ("01/02/24", "13/02/24", "day/month/year", 12),
        ("01.02.2024", "13.02.2024", "day/month/year", 12),
        ("1704067200", "1704153600", "numbers in seconds", 1),
        ("1704067200000", "1704153600000", "numbers in milliseconds", 1),
        ("1.7040672E+12", "1.7041536E+12", "numbers in milliseconds", 1),
    ],
)
def test_times_are_read_and_said(
    tmp_path: Path, first: str, second: str, form: str, days: int
) -> None:
    text = f"game,date,player,score\n1,{first},a,1\n1,{first},b,0\n2,{second},a,1\n2,{second},b,0\n"
    reading = read(tmp_path, text)
    assert reading.log.time is not None
    assert np.diff(reading.log.time).tolist() == [86_400 * days]
    (line,) = [note for note in reading.notes if note.startswith("time: ")]
    assert line.startswith(f"time: 'date', read as {form}, 2024-0")
    assert " to 2024-0" in line


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scoreTime", "2024-01-0{}T10:00:00Z"),
        ("tourney_date", "2024010{}"),
        ("EndedAt", "2024-01-0{} 10:00:00"),
        ("uploaded", "2024-01-0{}"),
    ],
)
def test_a_time_with_an_unusual_name_is_found(tmp_path: Path, name: str, value: str) -> None:
    """The games are listed in reverse."""
    rows = "".join(
        f"{day},{value.format(day)},{player},{score}\n"
        for day in (3, 2, 1)
        for player, score in (("a", day), ("b", 2))
    )
    reading = read(tmp_path, f"game,{name},player,score\n{rows}")
    assert ranks(reading) == [LOST, DREW, WON]
    assert f"time: '{name}', read as" in reading_text(reading)


def test_columns_that_could_be_the_time_are_named(tmp_path: Path) -> None:
    text = "game,x,y,player,score\n1,2024-01-02,2024-01-05,a,1\n1,2024-01-02,2024-01-05,b,0\n"
    text += "2,2024-01-01,2024-01-06,a,1\n2,2024-01-01,2024-01-06,b,0\n"
    said = reading_text(read(tmp_path, text))
    assert "time: no column; games are in the order of the file" in said
    assert "columns 'x' and 'y' look like times" in said
    assert "time: 'y'" in reading_text(read(tmp_path, text, columns=["time=y"]))


def test_date_and_clock_in_two_columns(tmp_path: Path) -> None:
    text = "Date,Time,Home,Away,FTHG,FTAG\n13/08/23,20:00,a,b,1,0\n13/08/23,15:30,b,a,1,0\n"
    reading = read(tmp_path, text)
    assert reading.log.time is not None
    assert np.diff(reading.log.time).tolist() == [4.5 * 3600]
    assert ranks(reading) == [LOST, WON]
    assert "time: 'Date' and 'Time', read as day/month/year" in reading_text(reading)


def test_partial_play_only_by_option(tmp_path: Path) -> None:
    text = "game,player,score,time_played\n1,a,1,30\n1,b,0,10\n"
    unasked = read(tmp_path, text)
    assert unasked.log.weight is None
    assert "--partial-play time_played weighs" in reading_text(unasked)
    weight = read(tmp_path, text, partial_play="time_played").log.weight
    np.testing.assert_allclose(weight, [1.0, 1.0 / 3.0])


WIDE = {
    "winner and loser": ("winner,loser\na,b\nb,a\n", [WON, LOST]),
    "winner_name and loser_name, with other columns": (
        "tourney_date,winner_name,winner_age,loser_name,loser_age,score\n"
        "20240101,a,20,b,21,6-3 6-4\n20240102,b,21,a,20,W/O\n", [WON, LOST],
    ),
    "white, black, result": (
        "White,Black,Result\na,b,1-0\na,b,0-1\na,b,1/2-1/2\na,b,½-½\nb,a,½\n",
        [WON, LOST, DREW, DREW, DREW],
    ),
    "white_id, black_id, winner": (
        "white_id,white_rating,black_id,winner\na,1500,b,white\na,1500,b,black\na,1500,b,draw\n",
        [WON, LOST, DREW],
    ),
    "model_a, model_b, winner": (
        "model_a,model_b,winner\na,b,model_a\na,b,model_b\na,b,tie\na,b,tie (bothbad)\n",
        [WON, LOST, DREW, DREW],
    ),
    "HomeTeam, AwayTeam, FTHG, FTAG, FTR": (
        "HomeTeam,AwayTeam,FTHG,FTAG,FTR\na,b,2,1,H\nb,a,1,1,D\na,b,0,3,A\n", [WON, DREW, LOST],
    ),
    "home, away, home score, away score": (
        "home,away,home score,away score\na,b,\"1,024\",999\n", [WON],
    ),
    "scores in one cell": ("player1,player2,score\na,b,2:1\na,b,0:2\n", [WON, LOST]),
    "the winner by number": ("player1,player2,winner\na,b,1\na,b,2\na,b,0\n", [WON, LOST, DREW]),
    "the winner by name": ("player1,player2,winner\na,b,b\nb,a,b\n", [LOST, LOST]),
    "lists of teams": (
        "team1,team2,score1,score2\na;c,b;d,3,1\n", [{"a+c": 0, "b+d": 1}],
    ),
    "lists as JSON": (
        'team1|team2|winner\n["a", "c"]|["b", "d"]|team2\n', [{"a+c": 1, "b+d": 0}],
    ),
    "a column for each member": (
        "team1_player1,team1_player2,team2_player1,team2_player2,winner\na,c,b,d,team1\n",
        [{"a+c": 0, "b+d": 1}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", WIDE)
def test_a_row_for_each_game(tmp_path: Path, shape: str) -> None:
    text, expected = WIDE[shape]
    reading = read(tmp_path, text)
    assert ranks(reading) == expected
    assert reading.bad_rows == []
    says_first = any(word in shape for word in ("white", "model", "home", "Home"))
    assert (reading.log.neutral is not None) == says_first
    assert bool(reading.first_side) == says_first


def test_the_column_of_the_first_side_decides(tmp_path: Path) -> None:
    text = "white,black,result\nb,a,1-0\na,b,1-0\n"
    reading = read(tmp_path, text)
    assert [members for members, *_ in games_of(reading.log)] == [[["b"], ["a"]], [["a"], ["b"]]]
    long = (
        "game,player,color,result\n1,a,black,win\n1,b,white,loss\n2,a,white,loss\n2,b,black,win\n"
    )
    reading = read(tmp_path, long)
    assert [members for members, *_ in games_of(reading.log)] == [[["b"], ["a"]], [["a"], ["b"]]]
    assert reading.first_side == "color"


def test_rows_of_players_that_name_the_winner(tmp_path: Path) -> None:
    by_player = "game,player,winner\n1,a,b\n1,b,b\n2,a,a\n2,b,a\n"
    assert ranks(read(tmp_path, by_player)) == [LOST, WON]
    by_team = "game,team,player,winner\n1,x,a,x\n1,y,b,x\n2,x,a,y\n2,y,b,y\n"
    assert ranks(read(tmp_path, by_team)) == [WON, LOST]


def test_both_shapes_in_one_header(tmp_path: Path) -> None:
    """Each game has one row, or one for each player."""
    votes = "match_id,user,model_a,model_b,winner\n1,x,a,b,model_a\n2,x,a,b,model_b\n"
    assert ranks(read(tmp_path, votes)) == [WON, LOST]
    statistics = "match_id,player,home_team,away_team,score\n1,a,x,y,5\n1,b,x,y,3\n"
    assert ranks(read(tmp_path, statistics)) == [WON]


OPEN_DOTA = [
    {
        "match_id": 7, "start_time": 1704067200, "radiant_win": False,
        "players": [{"account_id": name, "player_slot": slot}
                    for name, slot in (("a", 0), ("b", 1), ("c", 128), ("d", 129))],
    },
]  # fmt: skip
BAR = {
    "data": [
        {
            "id": "x", "startTime": "2024-01-01T10:00:00Z",
            "AllyTeams": [
                {"winningTeam": True, "Players": [{"name": "a"}, {"name": "b"}]},
                {"winningTeam": False, "Players": [{"name": "c"}, {"name": "d"}]},
            ],
        },
    ],
}  # fmt: skip
LICHESS = {
    "id": "q1", "createdAt": 1704067200000, "winner": "black",
    "players": {"white": {"user": {"name": "a"}}, "black": {"user": {"name": "b"}}},
}  # fmt: skip


RIOT: dict[str, Any] = {
    "metadata": {"matchId": "EUW_1"},
    "info": {
        "gameEndTimestamp": 1704067200000,
        "participants": [
            {"puuid": name, "teamId": 100 * (1 + side), "win": side == 1}
            for side, names in enumerate(("ab", "cd")) for name in names
        ],
    },
}  # fmt: skip


def test_lists_that_are_not_of_players(tmp_path: Path) -> None:
    """Fights of a match name its players, too."""
    fights = [{"start": 1, "players": [{"deaths": 1}, {"deaths": 2}]}] * 2
    dota = read(tmp_path, json.dumps([{"teamfights": fights, **OPEN_DOTA[0]}]), "parsed.json")
    assert ranks(dota) == [{"a+b": 1, "c+d": 0}]
    later = {**RIOT, "info": {**RIOT["info"], "gameEndTimestamp": 1704067260000}}
    riot = read(tmp_path, json.dumps([later, RIOT]), "riot.json")
    assert ranks(riot) == [{"a+b": 1, "c+d": 0}] * 2
    assert riot.log.time is not None
    assert riot.log.time.tolist() == [1704067200, 1704067260]


def test_times_of_players_are_no_times_of_games(tmp_path: Path) -> None:
    text = "raceId,date,driver,position,time\n1,2024-01-02,a,1,1:34:50.616\n1,2024-01-02,b,2,+5.4\n"
    text += "2,2024-01-01,a,1,81.5\n2,2024-01-01,b,2,82.5\n"
    reading = read(tmp_path, text)
    assert "time: 'date', read as iso, 2024-01-01 to 2024-01-02" in reading_text(reading)
    assert "column 'time' is not used: it has times of players" in reading_text(reading)


def test_nested_json(tmp_path: Path) -> None:
    dota = read(tmp_path, json.dumps(OPEN_DOTA), "matches.json")
    assert ranks(dota) == [{"a+b": 1, "c+d": 0}]
    assert dota.log.time is not None
    assert dota.log.time.tolist() == [1704067200]
    bar = read(tmp_path, json.dumps(BAR), "replays.json")
    assert ranks(bar) == [{"a+b": 0, "c+d": 1}]
    lines = json.dumps(LICHESS) + "\n" + json.dumps({**LICHESS, "winner": "white"}) + "\n"
    lichess = read(tmp_path, lines, "games.ndjson")
    assert ranks(lichess) == [LOST, WON]
    assert lichess.log.neutral is not None
    with pytest.raises(BadLogError, match="the log is no JSON"):
        read(tmp_path, '{"players": [', "cut.json")


def test_encodings(tmp_path: Path) -> None:
    text = "game,player,score\n1,Zoé,2\n1,Bär,1\n"
    old = read(tmp_path, text.encode("cp1252"))
    assert set(old.log.players) == {"Zoé", "Bär"}
    assert "encoding: cp1252" in reading_text(old)
    marked = read(tmp_path, b"\xef\xbb\xbf" + text.encode())
    assert marked.log.players == old.log.players
    assert "encoding" not in reading_text(marked)


RACE = "race,driver,position\n1,a,1\n1,b,2\n1,c,DNF\n1,d,DSQ\n2,a,oops\n2,b,1\n2,c,2\n2,d,DNF\n"


def test_races_with_drivers_who_did_not_finish(tmp_path: Path) -> None:
    reading = read(tmp_path, RACE)
    assert ranks(reading) == [{"a": 0, "b": 1, "c": 2, "d": 2}, {"b": 0, "c": 1, "d": 2}]
    assert reading.log.unordered is not None
    assert reading.log.unordered.tolist() == [False, False, True, True, False, False, False]
    assert [str(row) for row in reading.bad_rows] == ["line 6: unreadable rank ('oops')"]
    assert reading.games == 2


@pytest.mark.parametrize("word", ["W/O", "walkover", "ret.", "forfeit", "DNF", "DSQ"])
def test_a_side_that_gives_up_loses(tmp_path: Path, word: str) -> None:
    assert ranks(read(tmp_path, f"game,player,result\n1,a,win\n1,b,{word}\n")) == [WON]
    both = f"game,player,result\n1,a,{word}\n1,b,{word}\n2,a,win\n2,b,loss\n"
    reading = read(tmp_path, both)
    assert [row.reason for row in reading.bad_rows] == ["results of two sides that do not agree"]


def test_a_bye_is_no_game(tmp_path: Path) -> None:
    reading = read(tmp_path, "game,player,result\n1,a,bye\n2,a,1-0\n2,b,0-1\n3,b,bye\n4,c,bye\n")
    assert ranks(reading) == [WON]
    assert (reading.games, reading.bad_rows_by_reason) == (1, {"no game": 3})
    wide = read(tmp_path, "white,black,result\na,BYE,1-0\na,b,1-0\nb,a,*\n")
    assert ranks(wide) == [WON]
    assert wide.games == 1


def test_more_bad_rows_than_good(typed: Any) -> None:
    rows = [f"{game},a,{'x' if game % 2 else ''}\n{game},b,0\n" for game in range(40)]
    rows += [f"{game},a,1\n{game},a,0\n" for game in range(40, 50)]
    rows += [f"{game},a,1\n" for game in range(50, 55)]
    rows += ["60,a,1\n60,b,0\n"]
    Path("log.csv").write_text("game,player,score\n" + "".join(rows))
    refusal = typed("replay log.csv --out out").error
    for reason in ("missing score: 20", "unreadable score: 20", "player twice in a game: 10"):
        assert reason in refusal
    assert "and 1 other reason" in refusal
    assert len(refusal) < 600
    listed = Path("out/bad_rows.csv").read_text().splitlines()
    assert listed[0] == "line,reason,detail"
    assert len(listed) == 1 + 55
    assert "--out DIR writes all to bad_rows.csv" in typed("fit log.csv").error


def test_missing_packages_are_named_at_once(typed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchenv.cli.extras.is_installed", lambda package: False)
    Path("log.csv").write_text("game,player,score\n1,a,1\n1,b,0\n")
    said = typed("replay log.csv --out out").error
    assert "openskill, pandas, " in said
    assert said.count("pandas") == 1  # of both extras
    assert 'pip install "matchenv[logs,benchmarks]"' in said


def test_further_columns_of_each_game(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(
        "model_a,model_b,winner,prompt,tstamp\na,b,model_a,p2,1704067300\nc,a,tie,p1,1704067200\n"
    )
    reading = read_log(path, further=["prompt"])
    assert reading.header == ("model_a", "model_b", "winner", "prompt", "tstamp")
    assert ranks(reading) == [{"c": 0, "a": 0}, {"a": 0, "b": 1}]
    assert reading.further == {"prompt": ["p1", "p2"]}
    with pytest.raises(BadLogError, match="further: no column 'language'"):
        read_log(path, further=["language"])
