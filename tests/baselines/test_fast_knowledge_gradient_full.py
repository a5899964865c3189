"""KG's search on the full belief against its plain rule: the same opponent, in whatever state."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchenv import KnowledgeState, MatchmakingVectorEnv
from matchenv.baselines import KnowledgeGradient
from matchenv.baselines.density_levels import (
    factor_after,
    factor_within,
    new_levels,
    tabulate_levels,
)
from matchenv.baselines.fast_knowledge_gradient_full import (
    bound_closely,
    bound_roughly,
    full_knowledge_gradient_opponents,
    measure_reach,
    new_full_line,
)
from matchenv.baselines.knowledge_gradient_full import (
    full_knowledge_gradient_scores,
    measure_opponents,
)
from matchenv.trueskill.game import SMALLEST_DENSITY

BETA = float(np.sqrt(2.5))
Numbers = np.ndarray
# Means, deviations of skills and of differences.
Beliefs = tuple[Numbers, Numbers, Numbers]
Maker = Callable[[np.random.Generator, tuple[int, int]], Beliefs]


def beliefs_of(mu: Numbers, sigma_0: Numbers, slack: Numbers, prior: Numbers) -> Beliefs:
    """The deviations of a star: opponents who are independent given player 0's skill."""
    own = np.square(sigma_0)[:, None]
    rest = slack * np.square(prior)
    opponents = np.sqrt((1.0 - slack) ** 2 * own + rest)
    return mu, np.column_stack((sigma_0, opponents)), np.sqrt(slack**2 * own + rest)


def at_the_start(rng: np.random.Generator, shape: tuple[int, int]) -> Beliefs:
    rows, count = shape
    sigma = np.sqrt(rng.uniform(2.0, 3.0, (rows, count + 1)))
    mu = 2.0 * rng.normal(size=(rows, count + 1))
    return beliefs_of(mu, sigma[:, 0], np.ones(shape), sigma[:, 1:])


def in_play(rng: np.random.Generator, shape: tuple[int, int]) -> Beliefs:
    mu, sigma, _ = at_the_start(rng, shape)
    slack = np.where(rng.random(shape) < 0.5, 1.0, rng.uniform(0.0, 1.0, shape))
    return beliefs_of(mu, rng.uniform(0.05, 1.6, shape[0]), slack, sigma[:, 1:])


def far_from_everybody(rng: np.random.Generator, shape: tuple[int, int]) -> Beliefs:
    mu, sigma, differences = in_play(rng, shape)
    mu[:, 0] += rng.choice([-1.0, 1.0], shape[0]) * 10.0 ** rng.uniform(0.0, 2.5, shape[0])
    return mu, sigma, differences


def all_equal(rng: np.random.Generator, shape: tuple[int, int]) -> Beliefs:
    mu, sigma, _ = in_play(rng, shape)
    mu[:, 1:] = mu[:, 1:2]
    same = np.ones(shape)
    return beliefs_of(mu, sigma[:, 0], 0.6 * same, 1.5 * same)


def few_values(rng: np.random.Generator, shape: tuple[int, int]) -> Beliefs:
    """Many ties: mirrored gaps, duplicates, opponents who have told all they can."""
    mu = rng.integers(-2, 3, (shape[0], shape[1] + 1)).astype(float)
    slack = rng.choice([0.0, 0.25, 1.0], shape)
    return beliefs_of(
        mu, rng.choice([0.25, 1.0], shape[0]), slack, rng.choice([0.5, 1.0, 2.0], shape)
    )


def any_scale(rng: np.random.Generator, shape: tuple[int, int]) -> Beliefs:
    rows, count = shape
    mu = rng.normal(size=(rows, count + 1)) * 10.0 ** rng.uniform(-6.0, 8.0, (rows, 1))
    sigma_0, prior = (10.0 ** rng.uniform(-6.0, 4.0, size) for size in (rows, shape))
    return beliefs_of(mu, sigma_0, rng.uniform(0.0, 1.0, shape), prior)


def outliers(rng: np.random.Generator, shape: tuple[int, int]) -> Beliefs:
    mu, sigma, differences = in_play(rng, shape)
    far = rng.random(mu.shape) < 0.2
    return (
        np.where(far, mu * 10.0 ** rng.uniform(1.0, 12.0, mu.shape), mu),
        sigma,
        differences,
    )


def underflowing(rng: np.random.Generator, shape: tuple[int, int]) -> Beliefs:
    """Draw densities around the smallest float64, or 0."""
    mu, sigma, differences = in_play(rng, shape)
    mu[:, 1:] = rng.choice([-1.0, 1.0], shape) * rng.uniform(80.0, 95.0, shape)
    return mu, 0.1 * sigma, 0.1 * differences


def rounded(rng: np.random.Generator, shape: tuple[int, int]) -> Beliefs:
    """As an observation shows them."""
    shown = (each.astype(np.float32).astype(float) for each in in_play(rng, shape))
    mu, sigma, differences = shown
    return mu, sigma, differences


MAKERS: tuple[Maker, ...] = (
    at_the_start,
    in_play,
    far_from_everybody,
    all_equal,
    few_values,
    any_scale,
    outliers,
    underflowing,
    rounded,
)  # fmt: skip


def multipliers_of(rng: np.random.Generator, count: int) -> Numbers:
    return rng.choice([0.0, 0.3, 1.0, 20.0, 99.0, 499.0, 1e6], count)


def check(maker: Maker, seed: int, shape: tuple[int, int], margin: float) -> None:
    rng = np.random.default_rng(seed)
    state = (*maker(rng, shape), multipliers_of(rng, shape[0]), BETA, margin)
    plain = np.argmax(full_knowledge_gradient_scores(*state), axis=1)
    np.testing.assert_array_equal(full_knowledge_gradient_opponents(*state), plain)


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
@pytest.mark.parametrize("margin", [0.0, 0.7])
def test_the_same_opponent_as_the_plain_rule(maker: Maker, margin: float) -> None:
    shapes = [(300, 1), (300, 2), (200, 3), (100, 8), (60, 49), (4, 200)]
    for seed, shape in enumerate(shapes):
        check(maker, seed, shape, margin)


@pytest.mark.slow
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_the_same_opponent_in_a_hundred_thousand_states(maker: Maker) -> None:
    rng = np.random.default_rng(1)
    checked = 0
    while checked < 12_000:
        opponents = int(min(500, np.exp(rng.uniform(0.0, np.log(501.0)))))
        rows = max(1, min(500, 20_000 // opponents**2 * 5 + 5))
        margin = float(rng.choice([0.0, 0.0, 0.4]))
        check(maker, int(rng.integers(2**31)), (rows, opponents), margin)
        checked += rows


@settings(max_examples=300, deadline=None)
@given(
    opponents=st.lists(
        st.tuples(st.floats(-1e6, 1e6), st.floats(0.0, 1.0), st.floats(1e-6, 1e4)),
        min_size=1,
        max_size=7,
    ),
    own=st.tuples(st.floats(-1e6, 1e6), st.floats(1e-6, 1e4)),
    multiplier=st.floats(0.0, 1e3),
    margin=st.sampled_from([0.0, 0.5]),
)
def test_the_same_opponent_in_states_that_try_to_break_it(
    opponents: list[tuple[float, float, float]],
    own: tuple[float, float],
    multiplier: float,
    margin: float,
) -> None:
    means, slack, prior = np.array(opponents).T
    state = beliefs_of(
        np.concatenate(([own[0]], means))[None], np.array([own[1]]), slack[None], prior[None]
    )
    arguments = (*state, np.array([multiplier]), BETA, margin)
    plain = np.argmax(full_knowledge_gradient_scores(*arguments), axis=1)
    assert full_knowledge_gradient_opponents(*arguments) == plain


@pytest.mark.parametrize("maker", MAKERS[:5], ids=lambda maker: maker.__name__)
@pytest.mark.parametrize("margin", [0.0, 0.7])
def test_no_score_is_above_its_bounds(maker: Maker, margin: float) -> None:
    rng = np.random.default_rng(2)
    count, multiplier = 20, 99.0
    mu, sigma, differences = maker(rng, (40, count))
    scores = full_knowledge_gradient_scores(
        mu, sigma, differences, np.full(40, multiplier), BETA, margin
    )
    line, levels = new_full_line(count), new_levels()
    for b in range(40):
        first = measure_opponents(
            mu[b], sigma[b], differences[b], BETA,
            line.gaps, line.variances, line.loads, line.densities,
        )  # fmt: skip
        if line.densities[first] < SMALLEST_DENSITY:
            continue  # the plain rule is taken then
        rho, reach = measure_reach(line, margin)
        tabulate_levels(levels, line.variances, line.leads, line.rates, first, rho, reach)
        given = (multiplier, line.densities[first], 2.0 * BETA**2)
        for j in range(count):
            assert not bound_roughly(line, levels, j, *given, reach) < scores[b, j]
            assert not bound_closely(line, levels, j, *given, margin, rho, reach) < scores[b, j]


@pytest.mark.parametrize("maker", MAKERS[:5], ids=lambda maker: maker.__name__)
def test_no_density_is_above_its_level(maker: Maker) -> None:
    """Against the densities themselves, for shifts and losses within reach."""
    rng = np.random.default_rng(3)
    line, levels = new_full_line(12), new_levels()
    mu, sigma, differences = maker(rng, (30, 12))
    for b in range(30):
        first = measure_opponents(
            mu[b], sigma[b], differences[b], BETA,
            line.gaps, line.variances, line.loads, line.densities,
        )  # fmt: skip
        if line.densities[first] < SMALLEST_DENSITY:
            continue  # the plain rule is taken then
        rho, reach = measure_reach(line, 0.0)
        tabulate_levels(levels, line.variances, line.leads, line.rates, first, rho, reach)
        for shift, loss in zip(
            rng.uniform(-reach, reach, 40), rng.uniform(0.0, rho, 40), strict=True
        ):
            variances = line.variances - line.loads**2 * loss
            squares = (line.gaps + line.loads * shift) ** 2
            best = (np.exp(-0.5 * squares / variances) / np.sqrt(2.0 * np.pi * variances)).max()
            scale = line.densities[first] * (1.0 + 1e-9)
            assert factor_after(levels, shift, loss, rho, reach) * scale >= best
            assert factor_within(levels, abs(shift), reach) * scale >= best


def test_hardly_anybody_is_worked_out() -> None:
    """The bounds are close: in play they leave a tenth of the opponents at most."""
    env = MatchmakingVectorEnv(4, num_opponents=49, belief="full")
    env.reset(seed=0)
    policy = KnowledgeGradient(belief="full")
    line, levels = new_full_line(49), new_levels()
    left = []
    for game in range(60):
        state = env.knowledge_state
        scores = policy.scores(state, 500 - game)
        for b in range(4):
            first = measure_opponents(
                state.mu[b], state.sigma[b], state.extra[b], BETA,
                line.gaps, line.variances, line.loads, line.densities,
            )  # fmt: skip
            rho, reach = measure_reach(line, 0.0)
            tabulate_levels(levels, line.variances, line.leads, line.rates, first, rho, reach)
            bounds = [
                bound_closely(
                    line, levels, j, policy.multiplier, line.densities[first],
                    2.0 * BETA**2, 0.0, rho, reach,
                )
                for j in range(49)
            ]  # fmt: skip
            left.append(np.count_nonzero(np.array(bounds) >= scores[b].max()))
        env.step(policy.act(state, 500 - game))
    assert np.mean(left) < 4.9


def test_the_policy_chooses_by_its_own_scores_and_masks() -> None:
    rng = np.random.default_rng(4)
    state = KnowledgeState(*in_play(rng, (20, 30)), belief="full")
    masks = rng.random((20, 30)) < 0.4
    masks[:, 3] = True
    for policy in (
        KnowledgeGradient(belief="full"),
        KnowledgeGradient(finite_horizon=True, belief="full"),
        KnowledgeGradient(multiplier=5.0, draw_margin=0.3, belief="full"),
    ):
        scores = policy.scores(state, 77)
        np.testing.assert_array_equal(policy.act(state, 77), np.argmax(scores, axis=-1))
        for b in range(20):
            allowed = np.flatnonzero(masks[b])
            alone = state.among(np.array([b]), allowed[None])
            chosen = policy.act(state[b], 77, action_masks=masks[b])
            assert chosen == allowed[np.argmax(policy.scores(alone, 77)[0])]
