"""Systems of Python in a replay: openskill's, TrueSkill's own object, and third-party ones."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openskill.models import PlackettLuce

from matchenv.benchmarks.replay.report import ReplaySettings, run_replay
from matchenv.logs import MatchLog, read_log, replay_system, replay_trueskill
from matchenv.ratings.openskill import MODELS, OpenSkill
from matchenv.trueskill import TrueSkill

LEAGUE = Path(__file__).parents[1] / "logs" / "data" / "league.csv"
GAMES = [(["a"], ["b"]), (["a", "c"], ["b", "d"]), (["d"], ["a"], ["c"]), (["c"], ["b"])] * 4
SCORES = [(1, 0), (2, 2), (3, 1, 2), (0, 1)] * 4
LOG = MatchLog.from_games(GAMES, SCORES)


@pytest.mark.parametrize("model", MODELS)
def test_a_replay_is_the_package_game_after_game(model: str) -> None:
    system = OpenSkill(model, tau=0.3)
    replay = replay_system(LOG, system, keep_history=True)
    known: Any = dict.fromkeys(LOG.players, (25.0, 25.0 / 3.0))
    team = entry = 0
    for names, scores in zip(GAMES, SCORES, strict=True):
        before = [[known[name] for name in side] for side in names]
        for side in before:
            assert replay.team_mean[team] == pytest.approx(sum(mu for mu, _ in side))
            variance = sum(sigma**2 + 0.09 for _, sigma in side)
            assert replay.team_variance[team] == pytest.approx(variance)
            team += 1
        after = system.rate(before, [max(scores) - score for score in scores])
        for name, belief in zip(itertools.chain(*names), itertools.chain(*after), strict=True):
            known[name] = belief
            assert (replay.entry_mu[entry], replay.entry_sigma[entry]) == pytest.approx(belief)
            entry += 1
    last = np.array([known[name] for name in LOG.players])
    np.testing.assert_allclose(np.column_stack((replay.mu, replay.sigma)), last, rtol=1e-12)
    assert ((replay.quality > 0.0) & (replay.quality <= 1.0)).all()
    assert replay.games_played.tolist() == [12, 12, 12, 8]


def test_the_model_has_the_given_numbers() -> None:
    theirs = PlackettLuce(mu=10.0, sigma=3.0, beta=2.0, tau=0.5, kappa=0.01)
    ours = OpenSkill("PlackettLuce", mu=10.0, sigma=3.0, beta=2.0, tau=0.5, kappa=0.01)
    (a,), (b,) = theirs.rate([[theirs.rating()], [theirs.rating()]], ranks=[2, 1])
    assert ours.rate([[(10.0, 3.0)], [(10.0, 3.0)]], [1, 0]) == [
        [(a.mu, a.sigma)], [(b.mu, b.sigma)],
    ]  # fmt: skip


def test_the_object_of_trueskill_is_a_system_too() -> None:
    found = replay_system(LOG, TrueSkill(draw_probability=0.2), keep_history=True)
    expected = replay_trueskill(LOG, draw_probability=0.2, keep_history=True)
    for name in ("mu", "sigma", "entry_mu", "entry_sigma", "team_mean", "games_played"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9)
    # Elsewhere the variance of a side is without that of its performance.
    noise = LOG.team_size * (25.0 / 6.0) ** 2
    np.testing.assert_allclose(found.team_variance + noise, expected.team_variance, rtol=1e-9)


def test_the_report_forecasts_with_every_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_system.py").write_text(
        "class Steps:\n"
        "    mu, sigma, tau = 25.0, 8.0, 0.0\n"
        "    def __init__(self, beta, step=1.0):\n"
        "        self.beta, self.step = beta, step\n"
        "    def rate(self, teams, ranks):\n"
        "        return [[(mu + self.step * (max(ranks) - rank), sigma) for mu, sigma in team]\n"
        "                for team, rank in zip(teams, ranks)]\n"
        "class Nothing: ...\n"
    )
    monkeypatch.chdir(tmp_path)
    names = ("weng-lin-bt", "weng-lin-pl", "own_system:Steps:step=2")
    log = read_log(LEAGUE)
    systems = run_replay(log, ReplaySettings(systems=names))["systems"]
    assert list(systems) == list(names)
    for system in systems.values():
        assert 0.0 <= system["error"]["error"] <= 1.0
        assert np.isfinite(system["log_loss"])
    # Of two sides both models are one.
    one, other = (systems[name] for name in names[:2])
    assert one["error"] == other["error"]
    assert one["log_loss"] == pytest.approx(other["log_loss"])
    with pytest.raises(ValueError, match="must have mu, sigma, beta, tau, rate"):
        run_replay(log, ReplaySettings(systems=("own_system:Nothing",)))


class Broken(TrueSkill):
    """A system that loses its numbers."""

    def rate(self, teams: Any, ranks: Any) -> Any:  # type: ignore[override]
        return [[(float("nan"), 1.0) for _ in team] for team in teams]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: OpenSkill("elo"), "model must be one of"),
        (lambda: OpenSkill(beta=0.0), "beta"),
        (lambda: OpenSkill(sigma=-1.0), "sigma"),
        (lambda: OpenSkill(tau=-1.0), "tau"),
        (lambda: OpenSkill(mu=float("nan")), "mu"),
        (lambda: ReplaySettings(systems=("glicko2",)), "systems must be one of 'trueskill'"),
        (lambda: replay_system(LOG, Broken()), "rate must return a finite mean .* in game 0"),
    ],
)
def test_bad_input_is_named(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
