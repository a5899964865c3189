"""Load of a service, estimated from the times of its log."""

import math
from typing import Any

import numpy as np
import pytest
from refusals import refusals

from matchenv.benchmarks.judge import JudgeSettings
from matchenv.benchmarks.judge.service import arrivals_of, population_of, sessions_of
from matchenv.benchmarks.judge.text import load_text
from matchenv.logs import replay_trueskill
from matchenv.logs.match_log import MatchLog

MINUTE = 60


def log_of(*games: tuple[str, str, int]) -> MatchLog:
    """Return the log of games of two players, at minutes."""
    minutes = np.array([minute for *_, minute in games])
    return MatchLog.from_games(
        [[[a], [b]] for a, b, _ in games], [[1, 0]] * len(games), minutes * MINUTE
    )


def test_sessions_by_hand() -> None:
    log = log_of(("a", "b", 0), ("c", "d", 3), ("a", "b", 10), ("a", "c", 50), ("a", "b", 55))
    begins, gaps = sessions_of(log, 30.0)
    # a and b log on, c and d, a and c after a break, b after a longer one.
    assert begins.tolist() == [True, True, True, True, False, False, True, True, False, True]
    assert sorted(gaps.tolist()) == [5 * MINUTE, 10 * MINUTE, 10 * MINUTE]
    _, gaps = sessions_of(log, 40.0)
    assert sorted(gaps.tolist())[-1] == 40 * MINUTE
    load = arrivals_of(log, JudgeSettings())
    # The 10 % quantile of 5, 10 and 10 minutes.
    assert load.game_minutes == pytest.approx(6.0)
    assert load.ticks_rate == pytest.approx(load.arrival_rate * load.tick_minutes)
    assert set(load.read_off) == {"arrival_rate", "game_minutes", "stay", "newcomers"}


def test_the_arrival_rate_is_that_of_a_typical_player() -> None:
    """In one busy hour a hundred players log on, and two a day later."""
    games = [(f"a{k}", f"b{k}", k) for k in range(50)] + [("a", "b", 24 * 60)]
    load = arrivals_of(log_of(*games), JudgeSettings(game_minutes=5.0))
    assert load.arrival_rate == pytest.approx((100 * 99 + 2 * 1) / 102 / 60)
    assert load.stay == 0.0
    assert load.newcomers == 1.0


def test_settings_override_the_log() -> None:
    settings = JudgeSettings(
        arrival_rate=3.0, game_minutes=4.0, patience_minutes=8.0, stay=0.5, newcomers=0.1
    )
    load = arrivals_of(log_of(("a", "b", 0), ("a", "b", 6), ("a", "b", 12)), settings)
    assert load.arrival_rate == 3.0
    assert load.game_minutes == 4.0
    assert load.stay == 0.5
    assert load.newcomers == 0.1
    assert load.patience == 20.0
    assert load.read_off == []
    untimed = MatchLog.from_games([[["a"], ["b"]]], [[1, 0]])
    assert arrivals_of(untimed, settings).arrival_rate == 3.0
    load = arrivals_of(untimed, JudgeSettings(arrival_rate=3.0, game_minutes=4.0, stay=0.5))
    assert load_text(load).startswith("Load (as given; newcomers assumed): 3 log on per minute")


test_what_the_log_does_not_show_must_be_given = refusals(
    (MatchLog.from_games([[["a"], ["b"]]], [[1, 0]]), {"game_minutes": 1.0}, "arrival_rate"),
    (MatchLog.from_games([[["a"], ["b"]]], [[1, 0]]), {"arrival_rate": 1.0}, "game_minutes"),
    (log_of(("a", "b", 0), ("a", "b", 600)), {}, "game_minutes must be given"),
    (log_of(("a", "b", 0), ("c", "d", 0)), {"game_minutes": 5.0}, "arrival_rate must be"),
    (
        log_of(("a", "b", 0)),
        {"arrival_rate": 1.0, "game_minutes": 5.0, "patience_minutes": 0.4},
        "patience_minutes must be at least a tick of 0.5 minutes, got 0.4",
    ),
    (log_of(("a", "b", 0)), {"arrival_rate": 1e9, "game_minutes": 5.0}, "at most 10,000"),
    (log_of(("a", "b", 0), ("a", "b", 10**12)), {"game_minutes": 5.0}, "time must be in seconds"),
    call=lambda log, settings: arrivals_of(log, JudgeSettings(**settings)),
)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
@pytest.mark.parametrize(
    "name",
    [
        "arrival_rate",
        "game_minutes",
        "session_minutes",
        "stay",
        "episodes",
        "tuning_episodes",
        "horizon",
        "seed",
    ],
)
def test_numbers_out_of_range(name: str, value: float) -> None:
    options: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=name):
        JudgeSettings(**options)


def test_population_of_returning_players() -> None:
    log = log_of(("a", "b", 0), ("a", "c", 5), ("a", "b", 1440))
    replay = replay_trueskill(log)
    people = population_of(log, replay, 30.0, time_drift=2.0)
    # a after the second game and b after the first, each about a day later.
    np.testing.assert_allclose(people.mu, [replay.entry_mu[2], replay.entry_mu[1]])
    days = np.array([1435.0, 1440.0]) / 1440.0
    sigma = np.sqrt(replay.entry_sigma[[2, 1]] ** 2 + 4.0 * days)
    np.testing.assert_allclose(people.sigma, sigma)
    strangers = log_of(("a", "b", 0), ("c", "d", 1))
    rated = replay_trueskill(strangers)
    assert population_of(strangers, rated, 30.0, 0.0).mu.size == 4
