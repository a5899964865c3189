"""The bound against optima found by brute force on problems of one or two opponents."""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import binom, norm, truncnorm

from matchenv.benchmarks.bound.charges import (
    bound_of_path,
    expectations_after,
    game_against,
    part_above,
    prices_up_to_the_peak,
)
from matchenv.benchmarks.bound.kinds import (
    informed_kinds,
    kinds_of,
    places_by_gap,
    places_by_side,
    uninformed_kinds,
)
from matchenv.benchmarks.bound.possible_skills import informed_skills, step_of, uninformed_skills
from matchenv.benchmarks.bound.report import best_of_others, cell_bounds
from matchenv.benchmarks.bound.running import run_bound
from matchenv.benchmarks.bound.sample_paths import BoundJob, paths_of
from matchenv.commands import run_command
from matchenv.evaluation import store
from matchenv.evaluation.cells import cells_of
from matchenv.evaluation.rollout import Batch
from matchenv.evaluation.seeds import episode_seeds
from matchenv.settings import Settings

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


def exact_bound(skill_0: float, opponents: int, games: int, depth: int) -> tuple[float, float]:
    """Means of the bound and of its control over all results, for a given skill of player 0."""
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
    skills, weights = informed_skills(
        MU[1 : opponents + 1], SIGMA[1 : opponents + 1], step_of(BETA, games)
    )
    kinds = kinds_of(skill_0, skills, weights, BETA, games, depth)
    itself, whole = np.arange(opponents)[:, None], np.ones((opponents, 1))
    # Skills are only needed after the depth; here it is the number of games.
    densities = np.zeros(opponents)
    total = np.zeros(2)
    for results in itertools.product(*(each.items() for each in chances)):
        won = np.array([result for result, _ in results])
        probability = math.prod(p for _, p in results)
        total += probability * np.array(
            bound_of_path(
                kinds.tables, kinds.worths, itself, whole, won, densities,
                prices_up_to_the_peak(BETA),
            )
        )  # fmt: skip
    return float(total[0]), float(total[1])


class TestBruteForce:
    @pytest.mark.parametrize("games", [1, 2, 3])
    def test_between_the_optimum_and_the_oracle_with_two_opponents(self, games):
        nodes, mass = grid_of(MU[0], SIGMA[0], 12)
        bound = sum(
            m * exact_bound(float(s), 2, games, games)[0] for s, m in zip(nodes, mass, strict=True)
        )
        optimum = brute_force_optimum((nodes, mass), 2, games)
        (skills_1, mass_1), (skills_2, mass_2) = (grid_of(MU[j], SIGMA[j], 40) for j in (1, 2))
        best = np.maximum(
            true_q(nodes[:, None, None] - skills_1[:, None]),
            true_q(nodes[:, None, None] - skills_2),
        )
        oracle = games * np.einsum("abc,a,b,c", best, mass, mass_1, mass_2)
        assert optimum - 1e-9 <= bound < oracle

    @pytest.mark.parametrize("skill_0", [-1.0, 0.2, 2.0])
    @pytest.mark.parametrize("games", [2, 3, 4])
    def test_a_little_above_the_optimum_for_a_known_player(self, skill_0, games):
        optimum = brute_force_optimum((np.array([skill_0]), np.ones(1)), 2, games)
        bound, control = exact_bound(skill_0, 2, games, games)
        assert optimum - 1e-9 <= bound < 1.01 * optimum
        # The line between two prices makes charges a little too high, never too low.
        assert -1e-9 <= control < 1e-4 * games

    def test_one_game_is_the_best_expectation(self):
        expected = max(
            quad(lambda s, j=j: true_q(0.7 - s) * norm.pdf(s, MU[j], SIGMA[j]), -12, 12)[0]
            for j in (1, 2)
        )
        assert exact_bound(0.7, 2, 1, 1)[0] == pytest.approx(expected, abs=1e-6)

    @pytest.mark.parametrize("skill_0", [-0.5, 1.5])
    def test_charges_are_those_at_which_it_just_pays_to_play(self, skill_0):
        horizon = 4
        nodes, mass = grid_of(MU[1], SIGMA[1], 60)
        chance, pay = win(skill_0 - nodes), true_q(skill_0 - nodes)

        def gain(n: int, w: int, price: float) -> float:
            """Most that playing once and then as long as it pays brings, by exact Bayes."""
            if n == horizon:
                return 0.0
            posterior = mass * chance**w * (1.0 - chance) ** (n - w)
            posterior = posterior / posterior.sum()
            p = float(posterior @ chance)
            after = [max(0.0, gain(n + 1, w + k, price)) for k in (1, 0)]
            return float(posterior @ pay) - price + p * after[0] + (1.0 - p) * after[1]

        skills, weights = informed_skills(MU[1:2], SIGMA[1:2], step_of(BETA, horizon))
        table = kinds_of(skill_0, skills, weights, BETA, horizon, horizon).tables[0]
        for n in range(horizon):
            for w in range(n + 1):
                exact = brentq(lambda price, n=n, w=w: gain(n, w, price), 0.0, 1.0, xtol=1e-12)
                assert exact - 1e-7 <= table[n, w] < exact + 1e-4

    def test_a_skill_that_is_told_later_makes_a_tighter_bound(self):
        skills, weights = informed_skills(MU[1:2], SIGMA[1:2], step_of(BETA, 40))
        worths = [kinds_of(0.2, skills, weights, BETA, 40, depth).worths for depth in (5, 20, 40)]
        assert (worths[0] >= worths[1] - 1e-6).all()
        assert (worths[1] >= worths[2] - 1e-6).all()
        assert worths[0].sum() > worths[2].sum()


class TestParts:
    def test_expectations_against_quadrature(self):
        skill_0, horizon = 0.4, 500
        skills, weights = informed_skills(MU[1:2], SIGMA[1:2], step_of(BETA, horizon))
        wins, densities = game_against(skill_0, skills[0], BETA)
        depth = 100
        chance, reward, last = expectations_after(weights[0], wins, densities, depth)
        fine = np.linspace(-20.0, 15.0, 100_001)
        prior = norm.pdf(fine, MU[1], SIGMA[1])
        for n, w in ((0, 0), (1, 1), (3, 1), (60, 42), (100, 61), (100, 100)):
            posterior = prior * binom.pmf(w, n, win(skill_0 - fine))
            posterior /= posterior.sum()
            assert chance[n, w] == pytest.approx(posterior @ win(skill_0 - fine), rel=1e-6)
            assert reward[n, w] == pytest.approx(posterior @ true_q(skill_0 - fine), rel=1e-6)
            if n == depth:
                assert last[w] @ skills[0] == pytest.approx(posterior @ fine, rel=1e-6)

    def test_a_told_skill_is_worth_its_integral(self):
        horizon, depth = 300, 40
        skills, weights = informed_skills(MU[1:2], SIGMA[1:2], step_of(BETA, depth))
        # With no game before it is told, all is one integral.
        _, densities = game_against(0.4, skills[0], BETA)
        for price in (0.01, 0.05, 0.11, 0.137, 0.2):
            found = float(weights[0] @ part_above(densities, price))
            crossing = NOISE * math.sqrt(-2.0 * math.log(price * NOISE * math.sqrt(2.0 * math.pi)))
            points = [0.4 - crossing, 0.4 + crossing]
            expected = quad(
                lambda s, price=price: max(0.0, true_q(0.4 - s) - price)
                * norm.pdf(s, MU[1], SIGMA[1]),
                -14, 12, points=points, limit=200,
            )[0]  # fmt: skip
            assert horizon * found == pytest.approx(horizon * expected, abs=2e-3)

    def test_opponents_between_kinds_are_interpolated(self):
        """What a path pays with and without interpolation."""
        rng = np.random.default_rng(3)
        opponents, horizon, depth = 8, 100, 50
        itself, whole = np.arange(opponents)[:, None], np.ones((opponents, 1))
        prices = prices_up_to_the_peak(BETA)
        kinds = informed_kinds(BETA, horizon, depth)
        differences = []
        for _ in range(12):
            gaps, variances = rng.uniform(-6, 6, opponents), rng.uniform(2, 3, opponents)
            skills = -gaps + np.sqrt(variances) * rng.standard_normal(opponents)
            won = rng.random((opponents, horizon)) < win(-skills)[:, None]
            places = places_by_gap(gaps, variances)
            assert places.shares.sum(axis=1) == pytest.approx(np.ones(opponents))
            found = bound_of_path(
                *kinds, places.nodes, places.shares, won ^ places.mirrored[:, None],
                true_q(skills), prices,
            )  # fmt: skip
            grid = informed_skills(-gaps, np.sqrt(variances), step_of(BETA, depth))
            exact = kinds_of(0.0, *grid, BETA, horizon, depth)
            expected = bound_of_path(*exact, itself, whole, won, true_q(skills), prices)
            differences.append(found[0] - expected[0])
        assert np.abs(differences).max() < 0.005
        assert abs(np.mean(differences)) < 0.001

    def test_sides_are_interpolated_in_the_variance(self):
        variances, sides = np.array([2.1, 2.6, 2.9]), np.array([-1, 1, -1])
        known = np.array([-1, 1])
        kinds = uninformed_kinds(0.8, 0.5, BETA, 60, 10, known)
        places = places_by_side(sides, known, variances)
        skills, weights = uninformed_skills(np.sqrt(variances), 0.5, sides, step_of(BETA, 10))
        exact = kinds_of(0.8, skills, weights, BETA, 60, 10)
        for j in range(3):
            found = np.tensordot(places.shares[j], kinds.tables[places.nodes[j]], axes=1)
            assert np.abs(found - exact.tables[j])[np.tril_indices(10)].max() < 5e-4
            assert not places.mirrored[j]

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

    @pytest.mark.parametrize("prior", ["informative", "equal"])
    def test_policies_and_bound_have_the_same_luck(self, prior):
        settings = Settings.checked(num_opponents=4, horizon=20, prior=prior, rank=1,
                                    noise="opponent")  # fmt: skip
        (cell,) = cells_of([1], [prior], 4)
        paths = list(paths_of(BoundJob(cell, settings, 3, 5, 6, 20)))
        batch = Batch(settings, episode_seeds(3, 5, 6))
        games = np.zeros((6, 4), dtype=int)
        rng = np.random.default_rng(0)
        for _ in range(20):
            chosen = rng.integers(4, size=6)
            played = batch.play(chosen)
            for e, j in enumerate(chosen):
                assert paths[e].won[j, games[e, j]] == (played.outcomes[e] > 0)
                assert paths[e].densities[j] == pytest.approx(played.true_draw_density[e])
                games[e, j] += 1


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
        work, worked = store._work_and_save, []

        def until_stopped(*arguments: Any) -> Any:
            if len(worked) == finished:
                raise KeyboardInterrupt
            worked.append(arguments)
            return work(*arguments)

        monkeypatch.setattr(store, "_work_and_save", until_stopped)
        with pytest.raises(KeyboardInterrupt):
            run_bound(["pe"], **options, out=tmp_path)
        assert len(list((tmp_path / "blocks").iterdir())) == finished
        monkeypatch.setattr(store, "_work_and_save", work)
        again = run_bound(["pe"], **options, out=tmp_path)
        assert np.array_equal(once.values, again.values)
        assert once.table() == again.table()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--episodes", "1"], "episodes must"),
            (["--depth", "0"], "depth must"),
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
    totals |= {"oracle": np.full(count, 20.0), "told": np.full(count, 19.0)}
    best = best_of_others(totals)
    assert abs(best.mean() - 10.0) < 4.5 * best.std() / math.sqrt(count)
    totals["better"] = totals["noise0"] + 5.0
    assert np.array_equal(best_of_others(totals), totals["better"])
