"""The fast rule against the plain one: the same opponent, in whatever state."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchenv import KnowledgeState
from matchenv.baselines import KnowledgeGradient
from matchenv.baselines.contenders import (
    bound_roughly,
    build_envelope,
    find_contenders,
    new_contenders,
)
from matchenv.baselines.fast_knowledge_gradient import (
    choose_by_search,
    knowledge_gradient_opponents,
)
from matchenv.baselines.knowledge_gradient_rule import best_density_after, knowledge_gradient_scores
from matchenv.baselines.skill_line import new_skill_line, place_of, sort_opponents

BETA = float(np.sqrt(2.5))
Beliefs = tuple[np.ndarray, np.ndarray]
Maker = Callable[[np.random.Generator, tuple[int, int]], Beliefs]


def as_in_the_study(rng: np.random.Generator, shape: tuple[int, int]) -> Beliefs:
    return 2.0 * rng.normal(size=shape), np.sqrt(rng.uniform(2.0, 3.0, shape))


def late_in_the_study(rng: np.random.Generator, shape: tuple[int, int]) -> Beliefs:
    mu, sigma = as_in_the_study(rng, shape)
    played = rng.random(shape) < 0.3
    sigma = np.where(played, rng.uniform(0.1, 1.0, shape), sigma)
    sigma[:, 0] = rng.uniform(0.05, 0.6, shape[0])
    return mu, sigma


def far_from_everybody(rng: np.random.Generator, shape: tuple[int, int]) -> Beliefs:
    mu, sigma = as_in_the_study(rng, shape)
    mu[:, 0] += rng.choice([-1.0, 1.0], shape[0]) * 10.0 ** rng.uniform(0.0, 2.5, shape[0])
    return mu, sigma


def equal_means(rng: np.random.Generator, shape: tuple[int, int]) -> Beliefs:
    mu, sigma = as_in_the_study(rng, shape)
    return np.full(shape, mu[:, :1]), sigma


def all_equal(rng: np.random.Generator, shape: tuple[int, int]) -> Beliefs:
    mu, sigma = as_in_the_study(rng, shape)
    mu[:, 1:], sigma[:, 1:] = mu[:, 1:2], sigma[:, 1:2]
    return mu, sigma


def few_values(rng: np.random.Generator, shape: tuple[int, int]) -> Beliefs:
    """Many ties: mirrored gaps, duplicates, equal means with other deviations."""
    return rng.integers(-2, 3, shape).astype(float), rng.choice([0.5, 1.0, 2.0], shape)


def outliers(rng: np.random.Generator, shape: tuple[int, int]) -> Beliefs:
    mu, sigma = as_in_the_study(rng, shape)
    far = rng.random(shape) < 0.2
    mu = np.where(far, mu * 10.0 ** rng.uniform(1.0, 12.0, shape), mu)
    return mu, sigma


def any_scale(rng: np.random.Generator, shape: tuple[int, int]) -> Beliefs:
    mu = rng.normal(size=shape) * 10.0 ** rng.uniform(-6.0, 6.0, (shape[0], 1))
    return mu, 10.0 ** rng.uniform(-6.0, 4.0, shape)


def shifted(rng: np.random.Generator, shape: tuple[int, int]) -> Beliefs:
    """Means so large that their differences have few digits."""
    mu, sigma = as_in_the_study(rng, shape)
    return mu + 10.0 ** rng.uniform(3.0, 17.0, (shape[0], 1)), sigma


def on_a_lattice(rng: np.random.Generator, shape: tuple[int, int]) -> Beliefs:
    """Evenly spaced pools, player 0 on or between the others: scores in mirrored pairs."""
    mu = np.broadcast_to(np.arange(shape[1]) * 0.5, shape).copy()
    mu[:, 0] = rng.integers(0, 2 * shape[1], shape[0]) * 0.25
    return rng.permuted(mu, axis=1), np.full(shape, 1.5)


def underflowing(rng: np.random.Generator, shape: tuple[int, int]) -> Beliefs:
    """Draw densities around the smallest float64, or 0."""
    mu, sigma = np.zeros(shape), np.full(shape, 0.1)
    mu[:, 1:] = rng.choice([-1.0, 1.0], (shape[0], shape[1] - 1)) * rng.uniform(
        80.0, 95.0, (shape[0], shape[1] - 1)
    )
    return mu, sigma


MAKERS: tuple[Maker, ...] = (
    as_in_the_study,
    late_in_the_study,
    far_from_everybody,
    equal_means,
    all_equal,
    few_values,
    outliers,
    any_scale,
    shifted,
    on_a_lattice,
    underflowing,
)  # fmt: skip


def multipliers_of(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.choice([0.0, 0.3, 1.0, 20.0, 99.0, 499.0, 1e6], count)


def plain_choice(
    mu: np.ndarray, sigma: np.ndarray, multipliers: np.ndarray, margin: float, tau: float
) -> np.ndarray:
    scores = knowledge_gradient_scores(mu, sigma, multipliers, BETA, margin, tau)
    return np.argmax(scores, axis=1)


def check(maker: Maker, seed: int, rows: int, opponents: int, margin: float, tau: float) -> None:
    rng = np.random.default_rng(seed)
    mu, sigma = maker(rng, (rows, opponents + 1))
    multipliers = multipliers_of(rng, rows)
    fast = knowledge_gradient_opponents(mu, sigma, multipliers, BETA, margin, tau)
    plain = plain_choice(mu, sigma, multipliers, margin, tau)
    np.testing.assert_array_equal(fast, plain)


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
@pytest.mark.parametrize(("margin", "tau"), [(0.0, 0.0), (0.7, 0.0), (0.0, 0.2), (0.7, 0.2)])
def test_the_same_opponent_as_the_plain_rule(maker: Maker, margin: float, tau: float) -> None:
    sizes = [(300, 1), (300, 2), (200, 3), (100, 8), (40, 49), (2, 200)]
    for seed, (rows, opponents) in enumerate(sizes):
        check(maker, seed, rows, opponents, margin, tau)


@pytest.mark.slow
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_the_same_opponent_in_a_hundred_thousand_states(maker: Maker) -> None:
    """Sizes from 1 to 500, 10,000 states of each kind, a quarter with draws or drift."""
    rng = np.random.default_rng(1)
    checked = 0
    while checked < 10_000:
        opponents = int(min(500, np.exp(rng.uniform(0.0, np.log(501.0)))))
        rows = max(1, min(500, 20_000 // opponents**2 * 5 + 5))
        margin, tau = rng.choice([0.0, 0.0, 0.0, 0.4]), rng.choice([0.0, 0.0, 0.0, 0.3])
        check(maker, int(rng.integers(2**31)), rows, opponents, float(margin), float(tau))
        checked += rows


finite = st.floats(-1e9, 1e9, allow_nan=False)
deviations = st.floats(1e-9, 1e6, allow_nan=False)


@settings(max_examples=300, deadline=None)
@given(
    beliefs=st.lists(st.tuples(finite, deviations), min_size=2, max_size=7),
    multiplier=st.floats(0.0, 1e3),
    margin=st.sampled_from([0.0, 0.5]),
)
def test_the_same_opponent_in_states_that_try_to_break_it(
    beliefs: list[tuple[float, float]], multiplier: float, margin: float
) -> None:
    mu, sigma = np.array(beliefs).T[:, None, :].copy()
    multipliers = np.array([multiplier])
    fast = knowledge_gradient_opponents(mu, sigma, multipliers, BETA, margin, 0.0)
    assert fast == plain_choice(mu, sigma, multipliers, margin, 0.0)


def test_what_the_working_arrays_hold_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    mu, sigma = as_in_the_study(rng, (50, 50))
    multipliers = np.full(50, 99.0)
    together = knowledge_gradient_opponents(mu, sigma, multipliers, BETA, 0.0, 0.0)
    line, contenders = new_skill_line(49), new_contenders(49)
    for orders in (rng.permuted(np.tile(np.arange(1, 50), (50, 1)), axis=1),
                   np.arange(49, 0, -1)[None]):  # fmt: skip
        backwards = choose_by_search(
            mu[::-1].copy(),
            sigma[::-1].copy(),
            multipliers,
            BETA,
            0.0,
            0.0,
            line,
            contenders,
            orders,
        )
        np.testing.assert_array_equal(backwards[::-1], together)
    again = knowledge_gradient_opponents(mu[::-1].copy(), sigma[::-1].copy(), multipliers, BETA,
                                         0.0, 0.0)  # fmt: skip
    np.testing.assert_array_equal(again[::-1], together)


def test_the_policy_chooses_by_its_own_scores() -> None:
    rng = np.random.default_rng(3)
    state = KnowledgeState(*as_in_the_study(rng, (20, 50)))
    for policy in (
        KnowledgeGradient(),
        KnowledgeGradient(finite_horizon=True),
        KnowledgeGradient(multiplier=5.0, draw_margin=0.3, tau=0.1),
    ):
        scores = policy.scores(state, 77)
        np.testing.assert_array_equal(policy.act(state, 77), np.argmax(scores, axis=-1))


def test_the_envelope_names_the_opponent_with_the_least_sum_of_squares() -> None:
    rng = np.random.default_rng(4)
    for maker in (as_in_the_study, few_values, equal_means, late_in_the_study):
        mu, sigma = (row[0] for row in maker(rng, (1, 41)))
        line = new_skill_line(40)
        sort_opponents(line, mu, sigma)
        everybody = new_contenders(40)
        everybody.mu[:], everybody.sigma[:] = line.mu, line.sigma
        everybody.sizes[0] = 40
        build_envelope(everybody)
        size = everybody.sizes[1]
        for x in rng.uniform(-6.0, 6.0, 200):
            sums = line.sigma**2 + (x - line.mu) ** 2
            named = everybody.envelope[place_of(everybody.borders, 1, size, x) - 1]
            assert sums[named] == pytest.approx(sums.min(), rel=1e-12)


@pytest.mark.parametrize("count", [1, 5, 49, 2000])
def test_opponents_are_sorted_by_mean_deviation_and_index(count: int) -> None:
    rng = np.random.default_rng(5)
    line = new_skill_line(count)
    for maker in (few_values, as_in_the_study, equal_means, all_equal):
        mu, sigma = (row[0] for row in maker(rng, (1, count + 1)))
        sort_opponents(line, mu, sigma)
        expected = sorted(range(1, count + 1), key=lambda k: (mu[k], sigma[k], k))
        assert line.order.tolist() == expected


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-10.0, 10.0), max_size=30), st.floats(-11.0, 11.0))
def test_the_place_of_a_number_is_numpys(values: list[float], x: float) -> None:
    array = np.sort(np.array(values, dtype=np.float64))
    assert place_of(array, 0, array.size, x) == np.searchsorted(array, x)


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
@pytest.mark.parametrize(("margin", "tau"), [(0.0, 0.0), (0.7, 0.2)])
def test_nobody_else_has_the_best_density_after_any_game(
    maker: Maker, margin: float, tau: float
) -> None:
    """With all others put out of reach, the plain rule finds the same best density."""
    rng = np.random.default_rng(1)
    count = 12
    line, contenders = new_skill_line(count), new_contenders(count)
    beliefs = maker(rng, (30, count + 1))
    late = beliefs[1].copy()
    late[:, 0] *= 0.05
    for mu, sigma in (*zip(*beliefs, strict=True), *zip(beliefs[0], late, strict=True)):
        sort_opponents(line, mu, sigma)
        find_contenders(line, contenders, mu[0], sigma[0], BETA, margin, tau)
        kept = line.order[contenders.places[: contenders.sizes[0]]]
        for j in range(1, count + 1):
            rest = np.unique((0, j, *kept))
            place = int(np.flatnonzero(rest == j)[0])
            for outcome in (1, -1, 0) if margin > 0.0 else (1, -1):
                game = (outcome, BETA, margin, tau)
                among_kept = best_density_after(mu[rest], sigma[rest], place, *game)
                assert among_kept == best_density_after(mu, sigma, j, *game)


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
@pytest.mark.parametrize(("margin", "tau"), [(0.0, 0.0), (0.7, 0.2)])
@pytest.mark.parametrize("multiplier", [0.0, 1.0, 99.0])
def test_no_score_is_above_its_first_bound(
    maker: Maker, margin: float, tau: float, multiplier: float
) -> None:
    rng = np.random.default_rng(2)
    count = 20
    line, contenders = new_skill_line(count), new_contenders(count)
    mu, sigma = maker(rng, (50, count + 1))
    scores = knowledge_gradient_scores(mu, sigma, np.full(50, multiplier), BETA, margin, tau)
    for b in range(50):
        sort_opponents(line, mu[b], sigma[b])
        game = (BETA, margin, tau)
        lowest = find_contenders(line, contenders, mu[b, 0], sigma[b, 0], *game)
        bound_roughly(line, lowest, mu[b, 0], sigma[b, 0], multiplier, *game)
        assert (line.bounds >= scores[b, line.order - 1]).all()


def test_late_in_an_episode_few_are_left() -> None:
    """Player 0 is known well and stands beside one opponent; most others are far away."""
    count = 49
    line, contenders = new_skill_line(count), new_contenders(count)
    mu = np.concatenate(([0.01], np.linspace(-4.0, 4.0, count)))
    sort_opponents(line, mu, np.full(count + 1, 0.15))
    find_contenders(line, contenders, mu[0], 0.15, BETA, 0.0, 0.0)
    assert contenders.sizes[0] <= 5
