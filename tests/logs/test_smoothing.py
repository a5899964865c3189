"""Smoothing against the package TrueSkillThroughTime and exact probabilities."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import trueskillthroughtime as through_time
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from refusals import refusals
from scipy.stats import multivariate_normal
from simulated_logs import simulated

from matchenv.logs import MatchLog, smooth, smoothing
from matchenv.trueskill import draw_probability_from_margin, update

SECONDS_PER_DAY = 86_400

Log = tuple[list[list[list[str]]], list[list[int]], list[int]]


def random_log(
    seed: int, games: int, sides: int = 2, most: int = 1, players: int = 9, draws: bool = True
) -> Log:
    """Return games, scores and days; the best of three or more sides comes first.

    In another order the package (version 1.1.0) passes messages to the wrong sides.
    """
    rng = np.random.default_rng(seed)
    found, scores = [], []
    for _ in range(games):
        names = iter(rng.permutation(players).astype(str).tolist())
        sizes = rng.integers(1, most + 1, sides)
        found.append([list(itertools.islice(names, size)) for size in sizes])
        scores.append(sorted(rng.integers(0, 3 if draws else 10**6, sides).tolist(), reverse=True))
    if sides == 2:
        scores = [rng.permutation(pair).tolist() for pair in scores]
    return found, scores, np.sort(rng.integers(0, 2 * games, games)).tolist()


def assert_as_the_package(
    games: Log, log: MatchLog | None = None, package: Any = None, **ours: Any
) -> None:
    """Compare with the package, with its names of our arguments and those of ``package``."""
    if log is None:
        log = MatchLog.from_games(*games[:2], time=np.array(games[2]) * SECONDS_PER_DAY)
    arguments = {"gamma": "time_drift", "p_draw": "draw_probability"}
    arguments |= {name: name for name in ("mu", "sigma", "beta")}
    given = {theirs: ours[name] for theirs, name in arguments.items() if name in ours}
    expected = through_time.History(*games, **(given | (package or {})))
    expected.convergence(verbose=False, epsilon=1e-7, iterations=300)
    by_time = {name: dict(curve) for name, curve in expected.learning_curves().items()}
    days = games[2] or range(1, log.num_games + 1)
    beliefs = [by_time[log.players[k]][days[g]]
               for k, g in zip(log.player, log.entry_game, strict=True)]  # fmt: skip
    got = smooth(log, **{"tau": 0.0, **ours})
    assert got.settled
    assert_allclose(got.mu, [each.mu for each in beliefs], atol=1e-3, rtol=0)
    assert_allclose(got.sigma, [each.sigma for each in beliefs], atol=1e-3, rtol=0)
    if (log.game_size == 2).all() and not ours.get("tau"):
        evidence = expected.log_evidence()
        assert_allclose(got.log_probability.sum(), evidence, atol=1e-3)


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_published_example_of_a_learning_player(count: int) -> None:
    rng = np.random.default_rng(99)
    target = [2 / (1 + math.exp(0.0075 * (500 - i))) for i in range(count)]
    opponents = rng.normal(target, 0.5)
    scores = [[1, 0] if rng.normal(a) > rng.normal(b) else [0, 1]
              for a, b in zip(target, opponents, strict=True)]  # fmt: skip
    games = [[["a"], [str(i)]] for i in range(count)], scores, list(range(count))
    priors = {
        str(i): through_time.Player(through_time.Gaussian(opponents[i], 0.2), 1.0, 0.015)
        for i in range(count)
    }
    mu, sigma = np.append(0.0, opponents), np.append(6.0, np.full(count, 0.2))
    package = {"priors": priors, "mu": 0.0, "sigma": 6.0}
    assert_as_the_package(games, package=package, mu=mu, sigma=sigma, beta=1.0, time_drift=0.015)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3), st.booleans(), st.floats(0.0, 0.5))
def test_random_logs_of_two_sides(seed: int, most: int, draws: bool, drift: float) -> None:
    """Logs have draws, teams, drift over time, and several games of a player on one day."""
    games = random_log(seed, 15, most=most, draws=draws)
    assert_as_the_package(
        games, mu=1.0, sigma=2.0, beta=1.2, time_drift=drift, draw_probability=0.2
    )


@pytest.mark.parametrize(("seed", "sides", "most"), [(0, 3, 1), (1, 3, 2), (2, 5, 1)])
def test_random_logs_of_many_sides(seed: int, sides: int, most: int) -> None:
    games = random_log(seed, 12, sides, most, players=20)
    assert_as_the_package(games, mu=0.0, sigma=1.5, beta=1.0, time_drift=0.1, draw_probability=0.2)


def test_drift_before_each_game() -> None:
    """Without times the package drifts between games only; ours also before the first one."""
    games, scores, _ = random_log(3, 20)
    log, package = MatchLog.from_games(games, scores), {"sigma": 2.0, "gamma": 0.3}
    sigma = math.sqrt(2.0**2 - 0.3**2)
    assert_as_the_package(
        (games, scores, []), log, package, mu=0.0, sigma=sigma, beta=1.0, tau=0.3,
        draw_probability=0.2,
    )  # fmt: skip


@pytest.mark.parametrize(("most", "exponent"), [(1, 0.0), (3, 0.6)])
def test_weights_neutral_ground_and_team_exponent(most: int, exponent: float) -> None:
    """In the package, an advantage is a member without noise."""
    games = random_log(7, 12, most=most, draws=False)
    rng = np.random.default_rng(7)
    weights = [[rng.uniform(0.2, 1.5, len(team)).tolist() for team in game] for game in games[0]]
    neutral = rng.integers(0, 2, 12).astype(bool)
    scaled = [[[w * len(team) ** -exponent for w in team] for team in game] for game in weights]
    helped = [[game[0] if there else [*game[0], "home"], game[1]]
              for game, there in zip(games[0], neutral, strict=True)]  # fmt: skip
    counted = [[first if there else [*first, 1.0], second]
               for (first, second), there in zip(scaled, neutral, strict=True)]  # fmt: skip
    home = through_time.Player(through_time.Gaussian(0.7, 1e-4), 1e-4, 0.0)
    log = MatchLog.from_games(*games[:2], np.array(games[2]) * SECONDS_PER_DAY, weights, neutral)
    assert_as_the_package(
        (helped, *games[1:]), log, {"priors": {"home": home}, "weights": counted},
        mu=0.0, sigma=2.0, beta=1.0, time_drift=0.1, advantage=0.7, team_exponent=exponent,
    )  # fmt: skip


def test_evidence_is_near_the_exact_probability_of_all_results() -> None:
    """One player meets new ones: the differences of skills are jointly normal."""
    games, place, total = [[["a"], [name]] for name in "bcd"], np.arange(1, 4), 0.0
    own = 1.5**2 + 0.4**2 * np.minimum.outer(place, place)
    differences = own + (1.5**2 + 0.4**2 + 2.0) * np.eye(3)
    for signs in itertools.product((-1, 1), repeat=3):
        found = smooth(MatchLog.from_games(games, [[each, 0] for each in signs]),
                       mu=3.0, sigma=1.5, beta=1.0, tau=0.4)  # fmt: skip
        exact = multivariate_normal(cov=np.outer(signs, signs) * differences, seed=0)
        assert_allclose(math.exp(found.log_evidence), exact.cdf(np.zeros(3)), rtol=0.01)
        total += math.exp(found.log_evidence)
    assert_allclose(total, 1.0, atol=0.005)


def test_evidence_of_rankings_sums_to_nearly_one() -> None:
    """Two games without common players are independent."""
    total = 0.0
    for ranking in itertools.permutations(range(3)):
        log = MatchLog.from_games([[["a"], ["b"], ["c"]], [["d"], ["e"]]], [ranking, [1, 0]])
        found = smooth(log, mu=[0.0, 1.0, 2.0, 0.0, 0.0], sigma=1.0, beta=1.0, tau=0.0)
        assert_allclose(found.log_evidence, found.log_probability.sum(), rtol=1e-9)
        total += 2.0 * math.exp(found.log_evidence)
    assert_allclose(total, 1.0, atol=0.01)


def test_the_belief_from_other_games_updated_by_the_game_is_the_posterior() -> None:
    games, scores, _ = random_log(3, 40)
    log = MatchLog.from_games(games, scores)
    draws = draw_probability_from_margin(2.0, 25.0 / 6.0)
    got = smooth(log, draw_probability=draws)
    mu, sigma = got.rest_mu.reshape(-1, 2), got.rest_sigma.reshape(-1, 2)
    outcome = np.sign(np.diff(log.rank.reshape(-1, 2).astype(int))[:, 0])
    for game in range(log.num_games):
        i, j = zip(mu[game], sigma[game], strict=True)
        found = update(*i, *j, outcome[game], 25.0 / 6.0, 2.0)
        assert_allclose(found[::2], got.mu.reshape(-1, 2)[game], atol=1e-9)
        assert_allclose(found[1::2], got.sigma.reshape(-1, 2)[game], atol=1e-9)


ROUND = MatchLog.from_games([[["a"], ["b"]], [["b"], ["c"]], [["c"], ["a"]]], [[1, 0]] * 3)
test_bad_input = refusals(
    (1, {}, "log must hold at least 2 games, got 1"),
    (3, {"time_drift": 0.1}, "time_drift must be 0 for a log without times"),
    (3, {"mu": [1.0]}, r"mu must be a number or have shape \(3,\)"),
    (3, {"tau": -1.0}, "tau must not be negative"),
    (3, {"tolerance": 0.0}, "tolerance"),
    (3, {"max_iterations": 0}, "max_iterations must be an integer of at least 1"),
    call=lambda count, arguments: smooth(ROUND.first_games(count), **arguments),
)


def test_common_levels_settle() -> None:
    """With few players and many games, sweeps alone move the common level by a hundredth."""
    log = simulated(3000, players=6, beta=4.0, tau=0.0, draws=0.0, seed=4)
    found = smooth(log, beta=4.0, tau=0.05)
    assert found.settled
    assert found.iterations < 60
    exact = smooth(log, beta=4.0, tau=0.05, tolerance=1e-10, max_iterations=1000)
    assert exact.settled
    assert_allclose(found.mu, exact.mu, atol=1e-3)
    assert_allclose(found.log_evidence, exact.log_evidence, atol=1e-4)


def test_precise_games_of_teams_settle() -> None:
    """After a long step, extrapolation must soon go on: else these sweeps took more than 200."""
    log = simulated(400, players=9, beta=4.0, tau=0.0, draws=0.0, sizes=(2,), seed=4)
    found = smooth(log, beta=0.5, tau=0.0)
    assert found.settled
    assert found.iterations < 100


@pytest.mark.parametrize(
    ("teams", "scores", "sigma", "draws"),
    [
        ([[["c"], ["a"], ["b"]], [["a"], ["b"], ["c"]], [["a"], ["b", "c"]]],
         [[0, 0, 0], [8, 2, 9], [1, 0]], 25 / 3, 0.3),
        ([[["b"], ["a"]], [["b"], ["a"]]], [[0, 0], [1, 0]], 30.0, 0.7),
    ],
)  # fmt: skip
def test_small_precise_logs_settle_where_sweeps_alone_do(
    monkeypatch: pytest.MonkeyPatch, teams: Any, scores: Any, sigma: float, draws: float
) -> None:
    log = MatchLog.from_games(teams, scores)
    model = {"mu": 0.0, "sigma": sigma, "beta": 0.5, "tau": 0.0, "draw_probability": draws}
    found = smooth(log, **model)
    monkeypatch.setattr(smoothing.Extrapolation, "improve", lambda *_: None)
    plain = smooth(log, **model, tolerance=1e-9, max_iterations=2000)
    assert plain.settled
    assert found.iterations < 130
    assert_allclose(found.mu, plain.mu, atol=1e-3)
