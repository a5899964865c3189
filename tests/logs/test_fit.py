"""Fitting: logs simulated from known parameters, and logs that do not identify them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulated_logs import simulated

from matchenv.benchmarks.replay.fits import fit_text
from matchenv.logs import MatchLog, fit, replay_trueskill
from matchenv.logs.fitting import derivatives, parameters_of
from matchenv.logs.forecasts import constant_log_loss


def inside(found, name: str, truth: float, widened: float = 1.6) -> bool:
    """Return whether the truth is in the widened interval: one of many can miss by a little."""
    low, high = found.intervals[name]
    middle, half = 0.5 * (low + high), 0.5 * widened * (high - low)
    return abs(truth - middle) <= half


def test_parameters_of_simulated_games_are_recovered() -> None:
    truths = {"beta": 5.0, "draw_probability": 0.2, "advantage": 3.0, "team_exponent": 1.0}
    log = simulated(3000, advantage=3.0, sizes=(1, 2), exponent=1.0)
    found = fit(log)
    assert all(inside(found, name, truth) for name, truth in truths.items())
    assert found.log_loss < min(found.log_loss_default, found.log_loss_constant)
    assert found.gain[1] > 0.0
    assert found.verdict == "better"
    said = fit_text(found)
    gain, by = found.gain, found.log_loss_default - found.log_loss
    assert f"\nbetter than the constant forecast by side by {gain[0]:.4f} [{gain[1]:.4f}, " in said
    assert f"\nbetter than the default by {by:.4f}\n" in said
    assert found.calibration_wins < 0.05
    assert found.train_games == 2100
    late = log.rank.reshape(-1, 2)[found.train_games :]
    outcome = np.sign(late[:, 1] - late[:, 0])
    assert found.log_loss_constant == pytest.approx(constant_log_loss(outcome), abs=0.003)
    low, high = found.log_loss_interval
    assert low < found.log_loss < high


@pytest.mark.slow
def test_coverage_of_intervals() -> None:
    """Of 100 intervals, on twenty logs, at most one in ten misses the truth."""
    truths = {"beta": 5.0, "tau": 0.3, "draw_probability": 0.2, "time_drift": 0.2, "advantage": 2.0}
    hits = list[bool]()
    for seed in range(20):
        log = simulated(
            4000, players=400, advantage=2.0, time_drift=0.2, sizes=(1, 2), seed=100 + seed
        )
        found = fit(log)
        hits += [inside(found, name, truth, 1.0) for name, truth in truths.items()]
    print(f"coverage: {sum(hits)} of {len(hits)}")
    assert np.mean(hits) > 0.9


def test_time_away_widens_a_belief() -> None:
    games = [[["a"], ["b"]], [["a"], ["b"]]]
    log = MatchLog.from_games(games, [[1.0, 0.0], [1.0, 0.0]], [0, 16 * 86_400])
    still = replay_trueskill(log.first_games(1), tau=0.0)
    moved = replay_trueskill(log, tau=0.0, time_drift=0.5)
    # Sixteen days at 0.5 a day add a deviation of 2 before the second game.
    variance = still.sigma[0] ** 2 + 4.0 + (25.0 / 6.0) ** 2
    assert moved.team_variance[2] == pytest.approx(variance)


def test_derivatives_of_a_quadratic() -> None:
    matrix = np.array([[2.0, 0.5], [0.5, 1.0]])

    def losses(place: np.ndarray) -> np.ndarray:
        return np.array([0.5 * place @ matrix @ place, place[0]])

    slopes, curvature = derivatives(losses, np.array([0.3, -0.2]), 0.01)
    np.testing.assert_allclose(curvature, matrix, atol=1e-8)
    np.testing.assert_allclose(slopes, [matrix @ [0.3, -0.2], [1.0, 0.0]], atol=1e-9)


def test_notes_name_unidentified_parameters() -> None:
    log = simulated(300, draws=0.0, tau=0.0)
    bare = MatchLog(log.players, log.player, log.team_start, log.game_start, log.rank)
    found = fit(bare)
    notes = " ".join(found.notes)
    assert found.intervals["tau"][0] == 0.0
    for name in ("draw_probability", "time_drift", "team_exponent"):
        assert f"{name} is not identified" in notes
        assert found.parameters[name] == 0.0
    three = MatchLog.from_games([[["a"], ["b"], ["c"]]], [[1, 2, 3]])
    assert parameters_of(three, False)[1]["advantage"] == "some games have more than two sides"


def test_a_log_whose_first_draw_is_held_out() -> None:
    log = MatchLog.from_games([[["a"], ["b"]]] * 30, [[1, 0]] * 21 + [[1, 1]] * 9)
    found = fit(log)
    assert found.parameters["draw_probability"] > 0.0
    assert np.isfinite(found.log_loss)
    replay_trueskill(log, **found.parameters)


def test_a_fit_of_coin_tosses_fails(typed: Any) -> None:
    """No beta is large enough, and the output begins with the failure."""
    wins = np.random.default_rng(3).integers(0, 2, 400)
    rows = (f"{k},{side}{k % 200},{win}\n" for k, first in enumerate(wins)
            for side, win in (("a", first), ("b", 1 - first)))  # fmt: skip
    Path("log.csv").write_text("game,player,score\n" + "".join(rows))
    said = typed("fit log.csv").out
    assert said.startswith("the fit failed: it is not shown to forecast games better")
    assert "beta ran to a boundary" in said


def test_bad_input() -> None:
    log = simulated(30)
    assert fit(log, train_share=0.99).train_games == 28
    with pytest.raises(ValueError, match="at least 20 games"):
        fit(log.first_games(1))
    for share in (0.0, 1.0, -0.1, float("nan")):
        with pytest.raises(ValueError, match="train_share"):
            fit(log, train_share=share)
