"""Elo in both forms against their formulas; openskill and third-party systems."""

import math
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from openskill.models import PlackettLuce
from refusals import refusals

from matchenv.benchmarks.replay.report import ReplaySettings, run_replay
from matchenv.logs import MatchLog, read_log, replay_system
from matchenv.ratings.elo import Elo, elo_log_probabilities
from matchenv.ratings.openskill import OpenSkill
from matchenv.trueskill import TrueSkill


def rated(elo: Elo, teams: list, ranks: list) -> list[list[float]]:
    sides = elo.rate([[(rating, 0.0) for rating in side] for side in teams], ranks)
    return [[rating for rating, _ in side] for side in sides]


def by_duels(teams: list, ranks: list, k_factor: float, chance) -> list[list[float]]:
    """Return the average of the deltas of all duels, as in the paper."""
    sides = []
    for own, members in enumerate(teams):
        side = []
        for rating in members:
            deltas = []
            for other, rivals in enumerate(teams):
                if other == own:
                    continue
                result = 0.5 + 0.5 * np.sign(ranks[other] - ranks[own])
                deltas.extend(result - chance(rating - rival) for rival in rivals)
            side.append(rating + k_factor * np.mean(deltas))
        sides.append(side)
    return sides


gaussian = NormalDist(0.0, math.sqrt(2.0) * 200.0).cdf


def logistic(gap: float) -> float:
    return 1.0 / (1.0 + 10.0 ** (-gap / 400.0))


@pytest.mark.parametrize(("form", "chance"), [("gaussian", gaussian), ("logistic", logistic)])
def test_random_games_of_every_form(form: str, chance) -> None:
    """The update has Delta alone, without the paper's misprinted factor y."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        sides = int(rng.integers(2, 7))
        teams = [rng.normal(1200.0, 300.0, rng.integers(1, 5)).tolist() for _ in range(sides)]
        ranks = rng.integers(0, sides, sides).tolist()
        expected = by_duels(teams, ranks, 24.0, chance)
        found = rated(Elo(k_factor=24.0, form=form), teams, ranks)
        for ours, theirs in zip(found, expected, strict=True):
            assert ours == pytest.approx(theirs, rel=1e-13)


def test_sides_of_unknown_order_play_no_duels() -> None:
    """The winner meets both losers, and each loser meets the winner only."""
    elo = Elo(k_factor=24.0)
    teams = [[1300.0], [1200.0, 1250.0], [1100.0]]
    (winner,), pair, (last,) = rated(elo, teams, [1, (2, 3), (2, 3)])
    expected = by_duels(teams, [1, 2, 2], 24.0, gaussian)
    assert winner == pytest.approx(expected[0][0], rel=1e-13)
    assert [[winner], pair] != expected[:2]
    duel = by_duels(teams[:2], [1, 2], 24.0, gaussian)
    assert pair == pytest.approx(duel[1], rel=1e-13)
    duel = by_duels([teams[0], teams[2]], [1, 2], 24.0, gaussian)
    assert last == pytest.approx(duel[1][0], rel=1e-13)
    # A side without a known order keeps its rating.
    assert rated(elo, teams, [1, (1, 2), 2])[1] == teams[1]


def test_the_paper_moves_a_rating_by_at_most_25_points() -> None:
    """25 is rounded up; sides can be iterators."""
    k_factor = 0.07 * 200.0 * math.sqrt(math.pi)
    assert Elo().mu == 1200.0
    assert Elo().k_factor == pytest.approx(k_factor) == pytest.approx(24.8, abs=0.02)
    sides = [[(1350.0, 0.0)], [(1200.0, 0.0)]]
    assert Elo().rate(map(iter, sides), [1, 0]) == Elo().rate(sides, [1, 0])


def test_gaps_of_any_size_are_finite() -> None:
    for form in ("gaussian", "logistic"):
        elo = Elo(form=form)
        assert elo.win_probability(-1e6, 1e6) == 0.0
        assert elo.win_probability([1e6, 0.0], [-1e6, 0.0]).tolist() == [1.0, 0.5]


@pytest.mark.parametrize("draw", [0.0, 1e-18, 1e-9, 0.3, 0.999])
def test_draws_of_rao_and_kupper(draw: float) -> None:
    """A win has p / (p + theta q), a draw (theta^2 - 1) p q / ..., in terms of strengths.

    theta^2 - 1 is 4 d / (1 - d)^2.
    """
    gap = np.array([-900.0, -30.0, 0.0, 250.0])
    strength = 10.0 ** (gap / 400.0)
    theta = (1.0 + draw) / (1.0 - draw)
    both = (strength + theta) * (theta * strength + 1.0)
    probabilities = np.exp(elo_log_probabilities(gap, draw))
    np.testing.assert_allclose(probabilities[:, 0], strength / (strength + theta), rtol=1e-9)
    expected = 4.0 * draw / (1.0 - draw) ** 2 * strength / both
    np.testing.assert_allclose(probabilities[:, 1], expected, rtol=1e-9)
    np.testing.assert_allclose(probabilities[:, 2], 1.0 / (theta * strength + 1.0), rtol=1e-9)
    np.testing.assert_allclose(probabilities.sum(axis=-1), 1.0, rtol=1e-12)
    assert probabilities[2, 1] == pytest.approx(draw, rel=1e-6)


LEAGUE = Path(__file__).parents[1] / "logs" / "data" / "league.csv"
LOG = MatchLog.from_games([[["a"], ["b"]]], [[1, 0]])


def test_arguments_reach_the_model() -> None:
    theirs = PlackettLuce(mu=10.0, sigma=3.0, beta=2.0, tau=0.5, kappa=0.01)
    ours = OpenSkill("PlackettLuce", mu=10.0, sigma=3.0, beta=2.0, tau=0.5, kappa=0.01)
    pair = [[(10.0, 3.0)], [(10.0, 3.0)]]
    (a,), (b,) = theirs.rate([[theirs.rating()], [theirs.rating()]], ranks=[2, 1])
    expected = [[(a.mu, a.sigma)], [(b.mu, b.sigma)]]
    assert ours.rate(pair, [1, 0]) == expected
    # Close ranks are no draws.
    assert ours.rate(pair, [2.0, 2.0 - 1e-15]) == expected
    assert ours.rate(pair, [1_700_000_000_000_000_100, 1_700_000_000_000_000_000]) == expected


OWN = """
class Steps:
    mu, sigma, tau = 25.0, 8.0, 0.0
    def __init__(self, beta, step=1.0):
        self.beta, self.step = beta, step
    def rate(self, teams, ranks):
        return [[(mu + self.step * (max(ranks) - rank), sigma) for mu, sigma in team]
                for team, rank in zip(teams, ranks)]
class Nothing: ...
class OneArgument(Steps):
    rate = lambda self, teams: teams
class OneSide(Steps):
    rate = lambda self, teams, ranks: teams[:1]
"""


def test_reports_of_python_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_system.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    names = ("weng-lin-bt", "weng-lin-pl", "own_system:Steps:step=2")
    log = read_log(LEAGUE)
    systems = run_replay(log, ReplaySettings(systems=names))["systems"]
    assert list(systems) == list(names)
    for system in systems.values():
        assert 0.0 <= system["error"]["error"] <= 1.0
        assert np.isfinite(system["log_loss"])
    # For two sides both models are the same.
    bradley_terry = systems["weng-lin-bt"]
    plackett_luce = systems["weng-lin-pl"]
    assert bradley_terry["error"] == plackett_luce["error"]
    assert bradley_terry["log_loss"] == pytest.approx(plackett_luce["log_loss"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Nothing", " must have mu, sigma, beta, tau, rate"),
        ("OneArgument", r": TypeError: .*<lambda>\(\) takes 2 positional arguments"),
        ("OneSide", r": zip\(\) argument 2 is shorter"),
    ],
)
def test_bad_python_systems(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad_system.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f"^system 'bad_system:{name}'{message}"):
        run_replay(read_log(LEAGUE), ReplaySettings(systems=(f"bad_system:{name}",)))


class Broken(TrueSkill):
    """A system that returns NaN."""

    def rate(self, teams: Any, ranks: Any) -> Any:  # type: ignore[override]
        return [[(float("nan"), 1.0) for _ in team] for team in teams]


PAIR = [[(1200.0, 0.0)]] * 2
test_bad_input = refusals(
    (lambda: Elo().rate(PAIR[:1], [0]), "at least two sides"),
    (lambda: Elo().rate([*PAIR, []], [0, 1, 2]), "at least one member"),
    (lambda: Elo().rate([*PAIR, [(math.nan, 0.0)]], [0, 1, 2]), "teams must be finite"),
    (lambda: Elo().rate(PAIR, [0]), "ranks"),
    (lambda: Elo(alpha=1.0), "alpha"),
    (lambda: Elo(k_factor=-1.0), "k_factor"),
    (lambda: Elo(beta=0.0), "beta"),
    (lambda: Elo(form="linear"), "form"),
    (lambda: Elo().rate([[1200.0], [1300.0]], [0, 1]), r"at least one member \(rating, 0\), got"),
    (lambda: Elo().rate([[(1200.0, 0.0)], 3.0], [0, 1]), r"at least one member \(rating, 0\), got"),
    (lambda: Elo().rate([3], [0, 1]), r"at least one member \(rating, 0\), got"),
    (lambda: Elo().rate(3, [0, 1]), "teams must have one entry for each side, in order"),
    (lambda: Elo().rate([{(1200.0, 0.0)}] * 2, [0, 1]), "teams must have one entry .* in order"),
    (lambda: Elo().win_probability(np.ones(3), np.ones(2)), r"rating_i \(3,\), rating_j \(2,\)"),
    (lambda: elo_log_probabilities(0.0, 1.0), "draw_probability must be"),
    (lambda: OpenSkill("elo"), "model must be one of"),
    (lambda: OpenSkill(beta=0.0), "beta"),
    (lambda: OpenSkill(sigma=-1.0), "sigma"),
    (lambda: OpenSkill(tau=-1.0), "tau"),
    (lambda: OpenSkill(mu=float("nan")), "mu"),
    (lambda: OpenSkill().rate([[(float("nan"), 8.0)], [(25.0, 8.0)]], [0, 1]), "teams must"),
    (lambda: OpenSkill().rate([[(25.0, 8.0)], [(25.0, 8.0)]], [0]), "ranks must"),
    (lambda: OpenSkill().rate([[(25.0, 8.0)]] * 3, [1, (2, 3), (2, 3)]), "ranks must be single pl"),
    (lambda: OpenSkill().rate([[25.0], [25.0]], [0, 1]), r"teams must be lists of \(mu, sigma"),
    (lambda: ReplaySettings(systems=("glicko2",)), "systems must be one of 'trueskill'"),
    (lambda: replay_system(LOG, Broken()), "rate must return a finite mean .* in game 0"),
)
