"""The Gittins index against trees without a grid, and the cache of tables."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dense_belief import DenseBelief, states_after_games
from scipy.optimize import brentq
from scipy.stats import norm

from matchenv import KnowledgeState
from matchenv.baselines import Gittins
from matchenv.baselines import gittins_table as tables
from matchenv.baselines.gittins import log_indices
from matchenv.baselines.gittins_table import new_grid

Floats = np.ndarray

# In units of performances, 2 beta^2 = 1.
BETA = float(np.sqrt(0.5))


def tree(gap: float, variance: float, games: int, margin: float, tau: float) -> Any:
    """Draw density of a state, and probability and tree of each outcome of its next game."""
    wide = np.eye(2) * (0.5 * variance + tau**2)
    outcomes = DenseBelief([gap, 0.0], wide, BETA, margin).after(1) if games > 1 else {}
    after = [(chance, tree(*belief.difference(1), games - 1, margin, tau))
             for chance, belief in outcomes.values()]  # fmt: skip
    return float(norm.pdf(gap, scale=math.sqrt(variance + 1.0))), after


def tree_index(root: Any) -> float:
    """The index by its definition: the price at which playing on is worth 0."""

    def worth(node: Any, price: float) -> float:
        now, after = node
        return now - price + sum(chance * max(0.0, worth(next_, price)) for chance, next_ in after)

    low, high = root[0], float(norm.pdf(0.0))
    return float(brentq(lambda price: worth(root, price), low, high, xtol=1e-10))


def indices(table: tuple, gap: Floats, variance: Floats, plane: int, tau: float = 0.0) -> Floats:
    grid, bonus = table
    mu = np.stack((np.zeros_like(gap), gap), axis=1)
    planes = np.full(gap.size, plane)
    numbers = planes, mu, variance[:, np.newaxis], BETA, 2.0 * tau**2
    logs = log_indices(grid, bonus, *numbers)[:, 0]
    return np.exp(logs) / np.sqrt(2.0 * np.pi)


@pytest.mark.parametrize(
    ("margin", "tau", "games"), [(0.0, 0.0, 7), (0.5, 0.0, 5), (0.0, 0.1, 6), (0.3, 0.2, 4)]
)
def test_indices_equal_those_of_a_tree(margin: float, tau: float, games: int) -> None:
    rng = np.random.default_rng(0)
    variance = np.exp(rng.uniform(np.log(0.02), np.log(8.0), 12))
    gap = rng.uniform(-3.0, 3.0, 12) * np.sqrt(variance + 1.0)
    grid = new_grid(97, 1e-2, 0.24)
    table = grid, tables.compute_bonus(grid, 64, games, margin, tau)
    for left in (1, 2, games):
        roots = [tree(g, v, left, margin, tau) for g, v in zip(gap, variance, strict=True)]
        expected = [tree_index(root) for root in roots]
        # The stated error: 1e-4 in draw densities with beta^2 = 2.5, which are sqrt(5) smaller.
        error = np.abs(indices(table, gap, variance, left - 1) - expected).max()
        assert error < (1e-6 if left == 1 else 1e-4 * np.sqrt(5.0))


@pytest.mark.slow
def test_the_stated_error_over_a_whole_episode() -> None:
    """The default grid against one twice as dense in every direction, at random states."""
    rng = np.random.default_rng(5)
    variance = np.exp(rng.uniform(np.log(2e-3), np.log(8.0), 20_000))
    gap = rng.uniform(0.0, 4.0, 20_000) * np.sqrt(variance + 1.0)
    both = []
    for gaps, prices, step in ((97, 64, 0.24), (161, 128, 0.12)):
        grid = new_grid(gaps, 1e-3, step)
        both.append((grid, tables.compute_bonus(grid, prices, 500)))
    for left in (2, 5, 20, 100, 250, 500):
        coarse, fine = (indices(table, gap, variance, left - 1) for table in both)
        error = np.abs(coarse - fine) / np.sqrt(5.0)  # in draw densities with beta^2 = 2.5
        print(f"{left} games left: largest {error.max():.1e}, root mean square {error.std():.1e}")
        assert error.max() < 1e-4
        assert np.sqrt((error**2).mean()) < 1e-5


def test_the_index_grows_with_the_games_from_the_draw_density_and_scales_with_beta() -> None:
    state = states_after_games("factorised", 50, 9, 20)
    policy = Gittins(horizon=20, belief="factorised")
    last = policy.scores(state, 1)
    np.testing.assert_allclose(last, state.draw_density(policy.beta), rtol=1e-9)
    for left in (2, 5, 20):
        scores = policy.scores(state, left)
        assert (scores >= last * (1.0 - 1e-6)).all()
        last = scores
    scaled = Gittins(beta=3.0 * policy.beta, horizon=20, belief="factorised")
    expected = 3.0 * scaled.scores(KnowledgeState(3.0 * state.mu, 3.0 * state.sigma), 20)
    np.testing.assert_allclose(last, expected, rtol=1e-6)


def test_tables_are_cached_and_damaged_files_recomputed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MATCHENV_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tables, "GAPS", 9)
    monkeypatch.setattr(tables, "PRICES", 8)
    computed = tables.index_table.__wrapped__
    whole = computed(64, 0.25).bonus
    (path,) = (tmp_path / "cache").glob("*.npz")
    assert "computing a table" in capfd.readouterr().err
    np.testing.assert_array_equal(computed(64, 0.25).bonus, whole)
    assert "computing" not in capfd.readouterr().err
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], b"", content[:-3000] + b"x" + content[-2999:]):
        path.write_bytes(damaged)
        np.testing.assert_array_equal(computed(64, 0.25).bonus, whole)
        assert path.read_bytes() == content
    monkeypatch.setenv("MATCHENV_CACHE", str(path / "below"))
    np.testing.assert_array_equal(computed(64, 0.25).bonus, whole)


@pytest.mark.parametrize("tau", [0.0, 0.1, 0.3])
def test_below_the_grid_the_bonus_vanishes_with_the_variance(tau: float) -> None:
    """Also if the drift adds to it."""
    games, gap, grid = 5, np.linspace(0.0, 1.6, 5), new_grid(97, 1e-3, 0.24)
    table = grid, tables.compute_bonus(grid, 64, games, 0.0, tau)
    for variance in (5e-4, 1e-5):
        roots = [tree(each, variance, games, 0.0, tau) for each in gap]
        found = indices(table, gap, np.full(5, variance), games - 1, tau)
        error = np.abs(found - [tree_index(root) for root in roots]).max()
        assert error < (5e-6 if tau == 0.0 else 1e-4 * np.sqrt(5.0))
