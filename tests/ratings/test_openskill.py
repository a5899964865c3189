"""Replays of rating systems in Python: openskill and third-party classes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openskill.models import PlackettLuce
from refusals import refusals

from matchenv.benchmarks.replay.report import ReplaySettings, run_replay
from matchenv.logs import MatchLog, read_log, replay_system
from matchenv.ratings.openskill import OpenSkill
from matchenv.trueskill import TrueSkill

LEAGUE = Path(__file__).parents[1] / "logs" / "data" / "league.csv"
LOG = MatchLog.from_games([[["a"], ["b"]]], [[1, 0]])


def test_arguments_reach_the_model() -> None:
    theirs = PlackettLuce(mu=10.0, sigma=3.0, beta=2.0, tau=0.5, kappa=0.01)
    ours = OpenSkill("PlackettLuce", mu=10.0, sigma=3.0, beta=2.0, tau=0.5, kappa=0.01)
    (a,), (b,) = theirs.rate([[theirs.rating()], [theirs.rating()]], ranks=[2, 1])
    assert ours.rate([[(10.0, 3.0)], [(10.0, 3.0)]], [1, 0]) == [
        [(a.mu, a.sigma)], [(b.mu, b.sigma)],
    ]  # fmt: skip
    for close in ([2.0, 2.0 - 1e-15], [1_700_000_000_000_000_100, 1_700_000_000_000_000_000]):
        assert ours.rate([[(10.0, 3.0)], [(10.0, 3.0)]], close) == ours.rate(
            [[(10.0, 3.0)], [(10.0, 3.0)]], [1, 0]
        )


def test_reports_of_python_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    # For two sides both models are the same.
    one, other = (systems[name] for name in names[:2])
    assert one["error"] == other["error"]
    assert one["log_loss"] == pytest.approx(other["log_loss"])
    with pytest.raises(ValueError, match="must have mu, sigma, beta, tau, rate"):
        run_replay(log, ReplaySettings(systems=("own_system:Nothing",)))


class Broken(TrueSkill):
    """A system that returns NaN."""

    def rate(self, teams: Any, ranks: Any) -> Any:  # type: ignore[override]
        return [[(float("nan"), 1.0) for _ in team] for team in teams]


test_bad_input = refusals(
    (lambda: OpenSkill("elo"), "model must be one of"),
    (lambda: OpenSkill(beta=0.0), "beta"),
    (lambda: OpenSkill(sigma=-1.0), "sigma"),
    (lambda: OpenSkill(tau=-1.0), "tau"),
    (lambda: OpenSkill(mu=float("nan")), "mu"),
    (lambda: OpenSkill().rate([[(float("nan"), 8.0)], [(25.0, 8.0)]], [0, 1]), "teams must"),
    (lambda: OpenSkill().rate([[(25.0, 8.0)], [(25.0, 8.0)]], [0]), "ranks must"),
    (lambda: OpenSkill().rate([[25.0], [25.0]], [0, 1]), r"teams must be lists of \(mu, sigma"),
    (lambda: ReplaySettings(systems=("glicko2",)), "systems must be one of 'trueskill'"),
    (lambda: replay_system(LOG, Broken()), "rate must return a finite mean .* in game 0"),
)
