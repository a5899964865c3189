"""The bound against optima found by brute force on problems of one or two opponents."""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, norm, truncnorm

from matchenv.benchmarks.bound.possible_skills import informed_skills, step_of, uninformed_skills
from matchenv.benchmarks.bound.relaxation import (
    best_shares,
    bound_of_path,
    expectations_after,
    game_against,
)
from matchenv.benchmarks.bound.report import cell_bounds, out_of_reach
from matchenv.benchmarks.bound.running import run_bound
from matchenv.commands import run_command
from matchenv.evaluation import store

BETA = 1.3
NOISE = math.sqrt(2.0) * BETA
# Player 0 first; the second opponent is likelier to be an even one, the first more of a riddle.
MU, SIGMA = np.array([0.3, -1.4, 1.2]), np.array([1.1, 1.9, 0.8])


def true_q(gap: Any) -> Any:
    return norm.pdf(gap, scale=NOISE)


def win(gap: Any) -> Any:
    return norm.cdf(gap / NOISE)


def grid_of(mu: float, sigma: float, points: int) -> tuple[Any, Any]:
    """Gauss-Hermite nodes and weights of N(mu, sigma^2)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(points)
    return mu + sigma * nodes, weights / weights.sum()


def brute_force_optimum(skills_0: Any, opponents: int, games: int) -> float:
    """Most expected true q of any policy that sees outcomes only, by exact Bayes on a grid.

    Args:
        skills_0: nodes and weights for player 0; one node of weight 1 if the skill is known.
        opponents: M.
        games: N.
    """
    grids = [skills_0] + [grid_of(MU[j], SIGMA[j], 24) for j in range(1, opponents + 1)]
    axes = np.meshgrid(*(nodes for nodes, _ in grids), indexing="ij")
    prior = np.ones_like(axes[0])
    for place, (_, weights) in enumerate(grids):
        prior = prior * weights.reshape([-1 if k == place else 1 for k in range(len(grids))])
    wins = [win(axes[0] - axes[j]) for j in range(1, opponents + 1)]
    pays = [true_q(axes[0] - axes[j]) for j in range(1, opponents + 1)]

    @cache
    def best(counts: tuple[tuple[int, int], ...]) -> float:
        # Unnormalised: probability of the history times what comes after it, for one order.
        joint = prior
        for (won, lost), chance in zip(counts, wins, strict=True):
            joint = joint * chance**won * (1.0 - chance) ** lost
        if sum(map(sum, counts)) == games:
            return 0.0
        values = []
        for j, (won, lost) in enumerate(counts):
            after_win = (*counts[:j], (won + 1, lost), *counts[j + 1 :])
            after_loss = (*counts[:j], (won, lost + 1), *counts[j + 1 :])
            values.append(float((joint * pays[j]).sum()) + best(after_win) + best(after_loss))
        return max(values)

    return best(((0, 0),) * opponents)


def exact_bound(skill_0: float, opponents: int, games: int, depth: int, penalty: float) -> float:
    """Mean of the bound over all sequences of results, for a given skill of player 0."""
    skills, weights = informed_skills(
        MU[1 : opponents + 1], SIGMA[1 : opponents + 1], step_of(BETA, games)
    )
    chances: list[dict[tuple[bool, ...], float]] = []
    for j in range(opponents):
        nodes, mass = grid_of(MU[j + 1], SIGMA[j + 1], 60)
        chance = win(skill_0 - nodes)
        chances.append(
            {
                result: float(
                    (mass * np.prod([chance if w else 1.0 - chance for w in result], axis=0)).sum()
                )
                for result in itertools.product((True, False), repeat=games)
            }
        )
    total = 0.0
    for results in itertools.product(*(each.items() for each in chances)):
        outcomes = np.array([result for result, _ in results])
        probability = math.prod(p for _, p in results)
        total += probability * bound_of_path(
            skill_0, skills, weights, outcomes, BETA, depth, penalty
        )
    return total


class TestBruteForce:
    @pytest.mark.parametrize("games", [1, 2, 3])
    @pytest.mark.parametrize("penalty", [0.0, 0.9, 1.0, 2.0])
    def test_above_the_optimum_with_two_opponents(self, games, penalty):
        nodes, mass = grid_of(MU[0], SIGMA[0], 12)
        bound = sum(
            m * exact_bound(float(s), 2, games, games, penalty)
            for s, m in zip(nodes, mass, strict=True)
        )
        optimum = brute_force_optimum((nodes, mass), 2, games)
        (skills_1, mass_1), (skills_2, mass_2) = (grid_of(MU[j], SIGMA[j], 40) for j in (1, 2))
        best = np.maximum(
            true_q(nodes[:, None, None] - skills_1[:, None]),
            true_q(nodes[:, None, None] - skills_2),
        )
        oracle = games * np.einsum("abc,a,b,c", best, mass, mass_1, mass_2)
        assert bound >= optimum - 1e-9
        if penalty <= 1.0:
            assert bound < oracle

    @pytest.mark.parametrize("skill_0", [-1.0, 0.2, 2.0])
    @pytest.mark.parametrize(("games", "depth"), [(2, 1), (3, 2), (3, 3)])
    def test_above_the_optimum_for_a_known_player(self, skill_0, games, depth):
        optimum = brute_force_optimum((np.array([skill_0]), np.ones(1)), 2, games)
        for penalty in (0.0, 0.5, 0.9, 1.0, 1.5):
            assert exact_bound(skill_0, 2, games, depth, penalty) >= optimum - 1e-9

    def test_with_the_whole_penalty_it_is_nearly_the_optimum(self):
        # The estimated worth is nearly exact for so few games, so foresight is worth nearly
        # nothing; without a penalty it is worth something.
        optimum = brute_force_optimum((np.array([0.2]), np.ones(1)), 2, 3)
        with_penalty, without = (exact_bound(0.2, 2, 3, 3, p) for p in (1.0, 0.0))
        assert optimum - 1e-9 <= with_penalty < without

    @pytest.mark.parametrize("penalty", [0.0, 0.9, 3.0])
    @pytest.mark.parametrize("depth", [1, 3])
    def test_one_opponent_leaves_no_choice(self, penalty, depth):
        # Exact whatever the penalty: it is worth nothing on average to who cannot choose.
        expected = 3 * quad(lambda s: true_q(0.7 - s) * norm.pdf(s, MU[1], SIGMA[1]), -12, 12)[0]
        assert exact_bound(0.7, 1, 3, depth, penalty) == pytest.approx(expected, rel=1e-7)

    def test_before_any_game_it_is_the_best_expectation(self):
        expected = max(
            quad(lambda s, j=j: true_q(0.7 - s) * norm.pdf(s, MU[j], SIGMA[j]), -12, 12)[0]
            for j in (1, 2)
        )
        assert exact_bound(0.7, 2, 1, 1, 0.9) == pytest.approx(expected, rel=1e-7)


class TestParts:
    def test_expectations_against_quadrature(self):
        skill_0, horizon = 0.4, 500
        skills, weights = informed_skills(MU[1:2], SIGMA[1:2], step_of(BETA, horizon))
        wins, densities = game_against(skill_0, skills, BETA)
        depth = 100
        chance, reward = expectations_after(weights[0], wins[0], densities[0], depth)
        fine = np.linspace(-20.0, 15.0, 100_001)
        prior = norm.pdf(fine, MU[1], SIGMA[1])
        for n, w in ((0, 0), (1, 1), (3, 1), (60, 42), (100, 61), (100, 100)):
            posterior = prior * binom.pmf(w, n, win(skill_0 - fine))
            posterior /= posterior.sum()
            assert chance[n, w] == pytest.approx(posterior @ win(skill_0 - fine), rel=1e-6)
            assert reward[n, w] == pytest.approx(posterior @ true_q(skill_0 - fine), rel=1e-6)

    def test_games_are_shared_out_best(self):
        sums = np.random.default_rng(2).standard_normal((3, 6)).cumsum(axis=1)
        sums[:, 0] = 0.0
        expected = max(
            sums[0, a] + sums[1, b] + sums[2, 5 - a - b] for a in range(6) for b in range(6 - a)
        )
        assert best_shares(sums) == pytest.approx(expected)

    @pytest.mark.parametrize(("side", "mu_0"), [(-1, 1.0), (1, 1.0), (-1, -3.0), (0, 1.0)])
    def test_hidden_means_are_cut_at_player_0(self, side, mu_0):
        sigma = np.array([1.5, 1.6])
        skills, weights = uninformed_skills(sigma, mu_0, np.array([side, side]), 0.1)
        ends = {-1: (-math.inf, mu_0 / 2.0), 1: (mu_0 / 2.0, math.inf), 0: (-math.inf, math.inf)}
        mean, variance = truncnorm.stats(*ends[side], scale=2.0, moments="mv")
        found = (weights * skills).sum(axis=1)
        spread = (weights * skills**2).sum(axis=1) - found**2
        assert found == pytest.approx(np.full(2, mean), abs=1e-6)
        assert spread == pytest.approx(variance + sigma**2, rel=1e-6)


class TestRuns:
    @pytest.mark.parametrize("prior", ["informative", "equal"])
    @pytest.mark.parametrize("rank", ["top", "middle", None])
    def test_no_policy_is_above(self, prior, rank):
        bounds = run_bound(
            ["random", "kg:multiplier=3", "optimistic:belief=full"],
            ranks=[rank],
            priors=[prior],
            episodes=300,
            seed=4,
            env_kwargs={"num_opponents": 4, "horizon": 12},
            workers=1,
            quiet=True,
        )
        (cell,) = cell_bounds(bounds)
        # Tighter than the oracle, beyond doubt.
        assert cell.saved.mean > 4.0 * cell.saved.standard_error
        for policy in cell.policies:
            assert policy.room.mean > -4.0 * policy.room.standard_error, policy.policy

    def test_paths_depend_on_their_episode_alone(self):
        options: dict[str, Any] = {
            "ranks": ["top"], "priors": ["equal"], "seed": 1, "workers": 1, "quiet": True,
            "env_kwargs": {"num_opponents": 3, "horizon": 6},
        }  # fmt: skip
        few = run_bound(["pe"], episodes=4, **options).values
        many = run_bound(["kg"], episodes=13, **options).values
        assert np.array_equal(few, many[:, :4])

    def test_files_repeat(self, tmp_path, capsys):
        arguments = ["--num-opponents", "3", "--horizon", "5", "--episodes", "3", "--rank", "top",
                     "--policy", "pe", "--workers", "1", "--quiet", "--out"]  # fmt: skip
        for name in ("a", "b"):
            assert run_command(["bound", *arguments, str(tmp_path / name)]) == 0
        assert capsys.readouterr().out == ""
        names = sorted(path.name for path in (tmp_path / "a").iterdir() if path.is_file())
        assert names == [
            "bound.csv", "bound.json", "bound.npz", "bound.txt", "episodes.csv", "episodes.npz",
            "settings.json",
        ]  # fmt: skip
        for name in names:
            assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
        assert "top rank by hidden mean, equal prior" in (tmp_path / "a" / "bound.txt").read_text()

    @pytest.mark.parametrize("finished", [1, 4, 5])
    def test_one_that_was_stopped_goes_on(self, finished, tmp_path, monkeypatch):
        options: dict[str, Any] = {
            "ranks": ["top"], "priors": ["equal"], "episodes": 25, "workers": 1, "quiet": True,
            "env_kwargs": {"num_opponents": 3, "horizon": 5},
        }  # fmt: skip
        once = run_bound(["pe"], **options)
        save, worked = store.Store.save, []

        def until_stopped(*arguments: Any) -> Any:
            if len(worked) == finished:
                raise KeyboardInterrupt
            worked.append(arguments)
            return save(*arguments)

        monkeypatch.setattr(store.Store, "save", until_stopped)
        with pytest.raises(KeyboardInterrupt):
            run_bound(["pe"], **options, out=tmp_path)
        assert len(list((tmp_path / "blocks").iterdir())) == finished
        monkeypatch.setattr(store.Store, "save", save)
        again = run_bound(["pe"], **options, out=tmp_path)
        assert np.array_equal(once.values, again.values)
        assert once.table() == again.table()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--episodes", "1"], "episodes must"),
            (["--depth", "0"], "depth must"),
            (["--penalty", "-1"], "penalty must"),
            (["--penalty", "nan"], "penalty must"),
            (["--rank", "first"], "rank must"),
            (["--prior", "none"], "priors must"),
            (["--policy", "nobody"], "policy must"),
            (["--beta", "0"], "beta must"),
            (["--workers", "0"], "workers must"),
        ],
    )
    def test_bad_input_is_one_line(self, arguments, message, capsys):
        assert run_command(["bound", *arguments]) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ")
        assert message in error
        assert error.count("\n") == 1

    def test_draws_and_drift_are_refused(self):
        with pytest.raises(ValueError, match="num_opponents, horizon, beta, got 'draw_margin'"):
            run_bound(env_kwargs={"draw_margin": 0.5})


def test_the_best_policy_is_chosen_and_judged_on_different_instances():
    """Policies that are equal but for noise: none is credited with its own luck."""
    rng = np.random.default_rng(0)
    count = 20_000
    totals = {f"noise{k}": rng.normal(10.0, 3.0, count) for k in range(20)}
    totals["oracle"] = rng.normal(20.0, 1.0, count)
    found = out_of_reach(rng.normal(16.0, 1.0, count), totals)
    assert abs(found.mean - 0.4) < 4.5 * found.standard_error
    totals["better"] = totals["noise0"] + 5.0
    found = out_of_reach(totals["oracle"] - 4.0, totals)
    assert found.mean == pytest.approx(4.0 / (totals["oracle"] - totals["better"]).mean())
