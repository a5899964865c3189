"""Compiled replays against one ``rate`` a game in plain Python, and the log's own checks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from matchenv.logs import games, ratings_table, replay_system, replay_trueskill
from matchenv.logs.match_log import MatchLog, ranks_from_scores
from matchenv.ratings.elo import Elo, rate_elo
from matchenv.trueskill import Rating, rate, team_match_quality

FORMS = [[1, 1], [1, 1, 1], [2, 2], [1, 3, 2], [1] * 8]
BETA, TAU = 25.0 / 6.0, 25.0 / 300.0


def random_log(seed: int, games: int, draws: bool = True) -> MatchLog:
    rng = np.random.default_rng(seed)
    names = [f"player {k}" for k in range(40)]
    played, scores = [], []
    for _ in range(games):
        sizes = FORMS[rng.integers(len(FORMS))]
        chosen = iter(rng.permutation(names).tolist())
        played.append([[next(chosen) for _ in range(size)] for size in sizes])
        low = rng.integers(0, 4, len(sizes)) if draws else rng.permutation(len(sizes))
        scores.append(low.astype(float).tolist())
    return MatchLog.from_games(played, scores)


def games_of(log: MatchLog):
    for game in range(log.num_games):
        teams = range(log.game_start[game], log.game_start[game + 1])
        members = [
            [log.players[p] for p in log.player[log.team_start[t] : log.team_start[t + 1]]]
            for t in teams
        ]
        yield members, [int(log.rank[t]) for t in teams], list(teams)


@pytest.fixture(scope="module")
def log() -> MatchLog:
    return random_log(0, 120)


def test_trueskill_replay_is_rate_game_by_game(log: MatchLog) -> None:
    keywords = {"draw_probability": 0.1}
    replay = replay_trueskill(log, keep_history=True, **keywords)
    board = {name: Rating(25.0, 25.0 / 3.0) for name in log.players}
    played = dict.fromkeys(log.players, 0)
    entry = 0
    for game, (members, ranks, teams) in enumerate(games_of(log)):
        before = [[board[name] for name in side] for side in members]
        drifted = [[(r.mu, math.hypot(r.sigma, TAU)) for r in side] for side in before]
        assert replay.quality[game] == pytest.approx(team_match_quality(drifted, BETA))
        for team, side in zip(teams, drifted, strict=True):
            assert replay.team_mean[team] == pytest.approx(sum(mu for mu, _ in side))
            variance = sum(sigma**2 + BETA**2 for _, sigma in side)
            assert replay.team_variance[team] == pytest.approx(variance)
        after = rate(before, ranks, beta=BETA, tau=TAU, **keywords)
        for side, rated in zip(members, after, strict=True):
            for name, rating in zip(side, rated, strict=True):
                board[name] = rating
                played[name] += 1
                expected = (replay.entry_mu[entry], replay.entry_sigma[entry])
                assert rating == pytest.approx(expected, rel=1e-12)
                entry += 1
    assert replay.mu == pytest.approx([board[name].mu for name in log.players], rel=1e-12)
    assert replay.sigma == pytest.approx([board[name].sigma for name in log.players], rel=1e-12)
    assert replay.games_played.tolist() == list(played.values())
    assert replay.unconverged.size == 0


@pytest.mark.parametrize("form", ["gaussian", "logistic"])
def test_elo_replay_is_rate_elo_game_by_game(log: MatchLog, form: str) -> None:
    replay = replay_system(log, Elo(form=form), keep_history=True)
    board = dict.fromkeys(log.players, 1200.0)
    entry = 0
    for members, ranks, teams in games_of(log):
        before = [[board[name] for name in side] for side in members]
        for team, side in zip(teams, before, strict=True):
            assert replay.team_mean[team] == pytest.approx(sum(side))
        for side, rated in zip(members, rate_elo(before, ranks, form=form), strict=True):
            for name, rating in zip(side, rated, strict=True):
                board[name] = rating
                assert rating == pytest.approx(replay.entry_mu[entry], rel=1e-13)
                entry += 1
    assert replay.mu == pytest.approx(list(board.values()), rel=1e-13)


def test_history_is_kept_only_if_asked_for(log: MatchLog) -> None:
    assert replay_trueskill(log).entry_mu.size == 0


def test_games_that_do_not_converge_are_listed(
    log: MatchLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(games, "MAX_ITERATIONS", 1)
    replay = replay_trueskill(log)
    assert set(replay.unconverged) == set(np.flatnonzero(log.game_size > 2))


def test_draws_are_refused_where_they_cannot_happen(log: MatchLog) -> None:
    with pytest.raises(ValueError, match="must be above 0 for a log with draws, for example game"):
        replay_trueskill(log, draw_probability=0.0)
    undrawn = random_log(3, 30, draws=False)
    assert np.isfinite(replay_trueskill(undrawn).mu).all()


def test_an_empty_log() -> None:
    empty = MatchLog.from_games([], [])
    assert replay_trueskill(empty).quality.size == 0


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"sigma": 0.0}, "sigma"),
        ({"mu": math.nan}, "mu"),
        ({"tau": -1.0}, "tau"),
        ({"draw_probability": 1.0}, "draw_probability"),
        ({"time_drift": -1.0}, "time_drift"),
    ],
)
def test_bad_settings_are_refused(log: MatchLog, keywords: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replay_trueskill(log, **keywords)


def test_ranks_from_scores() -> None:
    assert ranks_from_scores([3, 5, 3, 1, -1, -1], [0, 4, 6]).tolist() == [1, 0, 1, 3, 0, 0]


GOOD = {
    "players": ["a", "b", "c"],
    "player": [0, 1, 2, 0],
    "team_start": [0, 1, 2, 3, 4],
    "game_start": [0, 2, 4],
    "rank": [0, 1, 0, 0],
    "score": [2.0, 1.0, 0.0, 0.0],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"players": ["a", "b", "b"]}, "players"),
        ({"player": [0, 1, 2, 3]}, "index into the 3 players, got 3 at entry 3"),
        ({"player": [0, 1, 2, 2]}, "twice in one game, as in game 1"),
        ({"player": [0.5, 1, 2, 0]}, "player must be a row of integers"),
        ({"team_start": [0, 1, 2, 3, 5]}, "team_start"),
        ({"team_start": [0, 1, 1, 3, 4]}, "team_start must leave each part at least 1"),
        ({"team_start": [0, 2, 1, 3, 4]}, "team_start must leave"),
        ({"game_start": [0, 1, 4]}, "game_start must leave each part at least 2"),
        ({"game_start": [0, 2]}, "game_start"),
        ({"rank": [0, 1, 0, 1, 2]}, "rank must have shape"),
        ({"rank": [1, 2, 0, 0]}, "rank must be the number of teams"),
        ({"rank": [0, 2, 0, 0]}, "rank must be the number of teams"),
        ({"score": [2.0, 1.0, 0.0, math.nan]}, "score"),
        ({"time": [1, 2, 3]}, "time"),
    ],
)
def test_bad_logs_are_refused(change: dict, message: str) -> None:
    MatchLog(**GOOD)
    with pytest.raises(ValueError, match=message):
        MatchLog(**{**GOOD, **change})


def test_repr_says_how_much_a_log_holds() -> None:
    expected = "<MatchLog of 2 games, 4 teams and 3 players, without times>"
    assert repr(MatchLog(**GOOD)) == expected
    assert repr(MatchLog(**GOOD, time=[1, 2])) == expected.replace("without", "with")


def test_a_log_cannot_be_changed() -> None:
    log = MatchLog(**GOOD)
    with pytest.raises(ValueError, match="read-only"):
        log.player[0] = 100


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


def test_weights_of_a_log_are_those_of_rate() -> None:
    games = [
        ([["a", "b"], ["c"]], [0, 0], [[1.0, 0.5], [1.0]]),
        ([["d", "a"], ["b", "c"]], [0, 1], [[0.0, 1.0], [2.0, 0.25]]),
        ([["c"], ["d"]], [1, 0], [[1.0], [1.0]]),
    ]
    scores = [[-rank for rank in ranks] for _, ranks, _ in games]
    teams, weights = [each[0] for each in games], [each[2] for each in games]
    keywords = {"beta": BETA, "tau": TAU, "draw_probability": 0.1}
    replay = replay_trueskill(MatchLog.from_games(teams, scores, weights=weights), **keywords)
    known = dict.fromkeys("abcd", (25.0, 25.0 / 3.0))
    for names, ranks, factors in games:
        before = [[known[n] for n in side] for side in names]
        for side, ratings in zip(
            names, rate(before, ranks, weights=factors, **keywords), strict=True
        ):
            known.update(zip(side, ratings, strict=True))
    found = np.column_stack((replay.mu, replay.sigma))
    np.testing.assert_allclose(found, [known[name] for name in "abcd"], rtol=1e-12)
    plain = MatchLog.from_games(teams, scores)
    ones = [[[1.0] * len(side) for side in game] for game in teams]
    weighted = replay_trueskill(MatchLog.from_games(teams, scores, weights=ones), **keywords)
    for name in ("mu", "sigma", "quality", "team_mean", "team_variance"):
        expected = getattr(replay_trueskill(plain, **keywords), name)
        np.testing.assert_allclose(getattr(weighted, name), expected, rtol=1e-13)


@pytest.mark.parametrize("library", ["dict", "pandas", "polars"])
def test_ratings_are_a_table(log: MatchLog, library: str) -> None:
    maker = dict if library == "dict" else pytest.importorskip(library).DataFrame
    for replay in (replay_trueskill(log), replay_system(log, Elo())):
        table = ratings_table(log, replay, maker)
        assert list(getattr(table, "columns", table)) == ["player", "games", "mu", "sigma"]
        assert list(table["player"]) == log.players
        assert list(table["games"]) == replay.games_played.tolist()
    with pytest.raises(ValueError, match="replay must be of the log's"):
        ratings_table(log, replay_trueskill(MatchLog.from_games([], [])))
