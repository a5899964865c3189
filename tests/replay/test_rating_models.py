"""Weng and Lin's systems and Glicko-2 against published examples and the openskill package."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchenv.benchmarks.replay.command import run
from matchenv.benchmarks.replay.settings import ReplaySettings
from matchenv.match_log import MatchLog
from matchenv.rating_models import Glicko2Rating, rate_glicko2, rate_weng_lin
from matchenv.replay import replay_glicko2, replay_weng_lin

BETA, TAU = 25.0 / 6.0, 25.0 / 300.0
LOGS = Path(__file__).parent / "logs"
OPENSKILL = {"bradley-terry": "BradleyTerryFull", "plackett-luce": "PlackettLuce"}


def random_game(rng: np.random.Generator) -> tuple[list[list[tuple[float, float]]], list[int]]:
    sides = int(rng.integers(2, 7))
    teams = [
        [(float(rng.normal(25, 8)), float(rng.uniform(0.5, 9))) for _ in range(rng.integers(1, 5))]
        for _ in range(sides)
    ]
    # openskill reads ranks that are all 0 as none, so they begin at 1.
    return teams, (1 + rng.integers(0, sides, sides)).tolist()


@pytest.mark.parametrize("model", OPENSKILL)
def test_random_games_agree_with_openskill(model: str) -> None:
    models = pytest.importorskip("openskill.models")
    theirs = getattr(models, OPENSKILL[model])(beta=BETA, tau=TAU)
    rng = np.random.default_rng(5)
    for _ in range(200):
        teams, ranks = random_game(rng)
        known = [[theirs.rating(mu=mu, sigma=sigma) for mu, sigma in team] for team in teams]
        rated = rate_weng_lin(teams, ranks, model=model, beta=BETA, tau=TAU)
        expected = theirs.rate(known, ranks=[float(rank) for rank in ranks])
        for mine, their in zip(rated, expected, strict=True):
            for rating, other in zip(mine, their, strict=True):
                assert rating == pytest.approx((other.mu, other.sigma), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("model", OPENSKILL)
def test_far_apart_sides_stay_finite(model: str) -> None:
    for ranks in ([0, 1, 2], [2, 1, 0]):
        rated = rate_weng_lin([[(1e6, 1.0)], [(0.0, 1.0)], [(-1e6, 2.0)]], ranks, model=model)
        assert np.isfinite(np.array(rated)).all()


def test_glickmans_example() -> None:
    rated = rate_glicko2(
        (1500.0, 200.0, 0.06),
        [(1400.0, 30.0), (1550.0, 100.0), (1700.0, 300.0)],
        [1.0, 0.0, 0.0],
        tau=0.5,
    )
    # Printed with the rounding of his intermediate steps.
    assert rated.rating == pytest.approx(1464.06, abs=0.01)
    assert rated.deviation == pytest.approx(151.52, abs=0.005)
    assert rated.volatility == pytest.approx(0.05999, abs=1e-5)


def test_a_period_without_games_only_widens() -> None:
    rating, deviation, volatility = rate_glicko2(Glicko2Rating(), [], [])
    scale = 173.7178
    expected = math.hypot(350.0 / scale, 0.06) * scale
    assert (rating, deviation, volatility) == pytest.approx((1500.0, expected, 0.06), rel=1e-7)


@pytest.mark.parametrize("surprise", [(800.0, 1.0), (2200.0, 1.0), (1500.0, 0.5), (3000.0, 0.0)])
def test_volatility_is_the_root_of_glickmans_function(surprise: tuple[float, float]) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    scale, tau, before = 400.0 / math.log(10.0), 0.7, 0.09
    level, score = surprise
    phi, other = 60.0 / scale, 45.0 / scale
    g = 1.0 / math.sqrt(1.0 + 3.0 * other**2 / math.pi**2)
    expected = 1.0 / (1.0 + math.exp(-g * (1500.0 - level) / scale))
    v = 1.0 / (g**2 * expected * (1.0 - expected))
    delta = v * g * (score - expected)

    def slope(x: float) -> float:
        e = math.exp(x)
        total = phi**2 + v + e
        return e * (delta**2 - total) / (2.0 * total**2) - (x - math.log(before**2)) / tau**2

    root = optimize.brentq(slope, -60.0, 20.0, xtol=1e-14)
    rated = rate_glicko2((1500.0, 60.0, before), [(level, 45.0)], [score], tau=tau)
    assert rated.volatility == pytest.approx(math.exp(root / 2.0), rel=1e-10)


def small_log() -> MatchLog:
    games = [(["a"], ["b"]), (["a", "c"], ["b", "d"]), (["d"], ["a"], ["c"]), (["c"], ["b"])] * 4
    scores = [(1, 0), (2, 2), (3, 1, 2), (0, 1)] * 4
    return MatchLog.from_games(games, scores)


@pytest.mark.parametrize("model", OPENSKILL)
def test_a_replay_of_weng_lin_is_game_after_game(model: str) -> None:
    log = small_log()
    replay = replay_weng_lin(log, model=model, keep_history=True)
    beliefs = dict.fromkeys(log.players, (25.0, 25.0 / 3.0))
    for game in range(log.num_games):
        teams = range(log.game_start[game], log.game_start[game + 1])
        names = [
            [log.players[k] for k in log.player[log.team_start[t] : log.team_start[t + 1]]]
            for t in teams
        ]
        for team, side in zip(teams, names, strict=True):
            total = sum(beliefs[name][0] for name in side)
            assert replay.team_mean[team] == pytest.approx(total, rel=1e-12)
        before = [[beliefs[name] for name in side] for side in names]
        ranks = log.rank[list(teams)]
        rated = rate_weng_lin(before, ranks, model=model, beta=BETA, tau=TAU)
        for side, new in zip(names, rated, strict=True):
            beliefs.update(zip(side, new, strict=True))
    last = np.array([beliefs[name] for name in log.players])
    np.testing.assert_allclose(np.column_stack((replay.mu, replay.sigma)), last, rtol=1e-12)


def test_a_replay_of_glicko2_is_period_after_period() -> None:
    log = small_log()
    replay = replay_glicko2(log)
    known = {name: Glicko2Rating() for name in log.players}
    for game in range(log.num_games):
        teams = range(log.game_start[game], log.game_start[game + 1])
        names = [
            [log.players[k] for k in log.player[log.team_start[t] : log.team_start[t + 1]]]
            for t in teams
        ]
        sides = []
        for side in names:
            rows = np.array([known[name] for name in side])
            sides.append((rows[:, 0].mean(), math.sqrt((rows[:, 1] ** 2).mean())))
        ranks = log.rank[list(teams)]
        for i, side in enumerate(names):
            rest = [k for k in range(len(names)) if k != i]
            scores = [0.5 + 0.5 * float(np.sign(ranks[k] - ranks[i])) for k in rest]
            for name in side:
                known[name] = rate_glicko2(known[name], [sides[k] for k in rest], scores)
    last = np.array([known[name] for name in log.players])
    found = np.column_stack((replay.rating, replay.deviation, replay.volatility))
    np.testing.assert_allclose(found, last, rtol=1e-9)


def test_the_report_forecasts_with_every_system() -> None:
    names = ("weng-lin-bt", "weng-lin-pl", "glicko2")
    report = run(LOGS / "league.csv", ReplaySettings(systems=names), None)
    assert list(report.systems) == list(names)
    for system in report.systems.values():
        assert 0.0 <= system.error.error <= 1.0
        assert math.isfinite(system.log_loss)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rate_weng_lin([[(25.0, 8.0)]] * 2, [0, 1], model="elo"), "model"),
        (lambda: rate_weng_lin([[(25.0, 8.0)]] * 2, [0, 1], beta=0.0), "beta"),
        (lambda: rate_weng_lin([[(25.0, 8.0)]] * 2, [0, 1], kappa=0.0), "kappa"),
        (lambda: rate_weng_lin([[(25.0, 8.0)]], [0]), "teams"),
        (lambda: rate_glicko2((1500.0, 0.0, 0.06), [], []), "deviation"),
        (lambda: rate_glicko2((1500.0, 200.0), [], []), "player"),
        (lambda: rate_glicko2(Glicko2Rating(), [(1500.0, 200.0)], [2.0]), "scores"),
        (lambda: rate_glicko2(Glicko2Rating(), [(1500.0, 200.0)], []), "scores"),
        (lambda: rate_glicko2(Glicko2Rating(), [], [], tau=math.nan), "tau"),
        (lambda: replay_glicko2(small_log(), volatility=0.0), "volatility"),
    ],
)
def test_bad_input_is_named(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
