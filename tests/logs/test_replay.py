"""Compiled replays against one ``rate`` for each game, and the checks of a log."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusals import refusals
from simulated_logs import games_of

from matchenv.logs import replay_system, replay_trueskill
from matchenv.logs.match_log import MatchLog
from matchenv.logs.ranks import ranks_from_scores
from matchenv.ratings.elo import Elo
from matchenv.ratings.openskill import MODELS, OpenSkill
from matchenv.trueskill import TrueSkill, team_match_quality

FORMS = [[1, 1], [1, 1, 1], [2, 2], [1, 3, 2], [1] * 8]
BETA = 25.0 / 6.0


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


@pytest.fixture(scope="module")
def log() -> MatchLog:
    return random_log(0, 80)


SYSTEMS = [TrueSkill(draw_probability=0.1), Elo(), Elo(form="logistic"),
           *(OpenSkill(model, tau=0.3) for model in MODELS)]  # fmt: skip


@pytest.mark.parametrize("system", [None, *SYSTEMS], ids=lambda each: type(each).__name__)
def test_a_replay_rates_game_after_game(log: MatchLog, system: Any) -> None:
    """None is the compiled replay of TrueSkill, whose variances are those of performances."""
    rules, noise = system or SYSTEMS[0], 0.0 if system else BETA**2
    replay: Any = (
        replay_system(log, rules) if system else replay_trueskill(log, draw_probability=0.1)
    )
    known = dict.fromkeys(log.players, (rules.mu, rules.sigma))
    history = zip(replay.entry_mu, replay.entry_sigma, strict=True)
    for game, (members, ranks, teams) in enumerate(games_of(log)):
        before = [[known[name] for name in side] for side in members]
        drifted = [[(mu, math.hypot(sigma, rules.tau)) for mu, sigma in side] for side in before]
        for team, side in zip(teams, drifted, strict=True):
            assert replay.team_mean[team] == pytest.approx(sum(mu for mu, _ in side), rel=1e-9)
            variance = sum(sigma**2 + noise for _, sigma in side)
            assert replay.team_variance[team] == pytest.approx(variance, rel=1e-9)
        after = itertools.chain(*rules.rate(before, ranks))
        for name, belief in zip(itertools.chain(*members), after, strict=True):
            known[name] = belief
            assert next(history) == pytest.approx(belief, rel=1e-9)
        if system is None:
            assert replay.quality[game] == pytest.approx(team_match_quality(drifted, BETA))
    last = np.array([known[name] for name in log.players])
    found = np.column_stack((replay.mu, replay.sigma))
    assert_allclose(found, last, rtol=1e-12 if system else 1e-9)
    assert ((replay.quality > 0.0) & (replay.quality <= 1.0)).all()
    assert system or replay.unconverged.size == 0


def test_unconverged_games_are_listed(log: MatchLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchenv.logs.replay.MAX_ITERATIONS", 1)
    replay = replay_trueskill(log)
    assert set(replay.unconverged) == set(np.flatnonzero(log.game_size > 2))


def test_parameters_that_do_not_fit_the_log(log: MatchLog) -> None:
    with pytest.raises(ValueError, match="results at these parameters"):
        replay_trueskill(log, team_exponent=1e4)
    with pytest.raises(ValueError, match="must be above 0 for a log with draws, for example game"):
        replay_trueskill(log, draw_probability=0.0)
    assert np.isfinite(replay_trueskill(random_log(3, 30, draws=False)).mu).all()
    assert replay_trueskill(MatchLog.from_games([], [])).quality.size == 0


def test_ranks_from_scores() -> None:
    assert ranks_from_scores([3, 5, 3, 1, -1, -1], [0, 4, 6]).tolist() == [1, 0, 1, 3, 0, 0]


GOOD = {
    "players": ["a", "b", "c"],
    "player": [0, 1, 2, 0],
    "team_start": [0, 1, 2, 3, 4],
    "game_start": [0, 2, 4],
    "rank": [0, 1, 0, 0],
}


test_bad_logs_are_refused = refusals(
    ({"players": ["a", "b", "b"]}, "players"),
    ({"player": [0, 1, 2, 3]}, "index into the 3 players, got 3 at entry 3"),
    ({"player": [0, 1, 2, 2]}, "player must not repeat within a game, got 2 at entry 3"),
    ({"player": [0.5, 1, 2, 0]}, "player must be a one-dimensional array of int32"),
    ({"team_start": [0, 1, 2, 3, 5]}, "team_start"),
    ({"team_start": [0, 1, 1, 3, 4]}, "at least 1 in each part, got 0 at part 1"),
    ({"team_start": [0, 2, 1, 3, 4]}, "team_start must leave"),
    ({"game_start": [0, 1, 4]}, "game_start must leave at least 2 in each part"),
    ({"game_start": [0, 2]}, "game_start"),
    ({"rank": [0, 1, 0, 1, 2]}, "rank must have shape"),
    ({"rank": [1, 2, 0, 0]}, "rank must be the number of teams"),
    ({"rank": [0, 2, 0, 0]}, "rank must be the number of teams"),
    ({"unordered": [False, False, True, True]}, "unordered must leave two sides in a known order"),
    ({"unordered": [False, True, False, False]}, "unordered must be False for a side alone"),
    ({"unordered": [False, False, True, False]}, "unordered must be equal for sides of one rank"),
    ({"unordered": [False]}, "unordered must have shape"),
    ({"time": [1, 2, 3]}, "time"),
    ({"time": [9, 8]}, "time must not decrease, got 8 at game 1"),
    call=lambda change: MatchLog(**{**GOOD, **change}),
)


def test_weights_are_checked_and_logs_are_read_only() -> None:
    with pytest.raises(ValueError, match="weights must hold one number for each player"):
        MatchLog.from_games([[["a", "b"], ["c"]]], [[1, 0]], weights=[[[1.0], [1.0, 2.0]]])
    log = MatchLog(**GOOD)
    assert repr(log) == "<MatchLog of 2 games and 3 players>"
    with pytest.raises(ValueError, match="read-only"):
        log.player[0] = 100


def test_no_advantage_on_neutral_ground() -> None:
    games = [[["a"], ["b"]], [["c"], ["d"]], [["e", "f"], ["g"]], [["h", "i"], ["j"]]]
    log = MatchLog.from_games(games, [[1, 0]] * 4, neutral=[True, False, True, False])
    mixed = replay_trueskill(log, advantage=3.0)
    assert np.array_equal(log.first_games(2).neutral, [True, False])  # type: ignore[arg-type]
    for game, advantage in enumerate((0.0, 3.0, 0.0, 3.0)):
        alone = MatchLog.from_games([games[game]], [[1, 0]], neutral=[False])
        expected = replay_trueskill(alone, advantage=advantage)
        numbers = [log.players.index(name) for name in alone.players]
        np.testing.assert_array_equal(mixed.mu[numbers], expected.mu)
        teams = slice(2 * game, 2 * game + 2)
        np.testing.assert_array_equal(mixed.team_mean[teams], expected.team_mean)
