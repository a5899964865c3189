"""The simple policies against their formulas, and the contract of all policies of one player."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dense_belief import DISCOUNTED, covariance_of, some_masks, states_after_games
from refusals import refusals

from matchenv import KnowledgeState, MatchmakingEnv, MatchmakingVectorEnv, NormalPrior, Settings
from matchenv import baselines as rules
from matchenv.belief.knowledge import split_mask
from matchenv.envs.one_player.simulator import MatchmakingView as View
from matchenv.evaluation.registry import policy_named
from matchenv.evaluation.rollout import rollout
from matchenv.runtime.jobs import CLOCK

BETA = 1.2
EVERY_BELIEF = pytest.mark.parametrize("belief", ["factorised", "full", DISCOUNTED])


def new_policies(**options: Any) -> list[rules.Policy]:
    """All policies, for pools of six opponents."""
    return [
        rules.PointEstimate(**options),
        rules.DrawChance(**options),
        rules.KnowledgeGradient(**options),
        rules.KnowledgeGradient(finite_horizon=True, **options),
        rules.Gittins(**options),
        rules.OptimisticDrawChance(**options),
        rules.BayesUCB(**options),
        rules.RandomOpponent(seed=0, **options),
        rules.ThompsonSampling(seed=0, **options),
        rules.InformationDirectedSampling(10, seed=0, **options),
        rules.Oracle(np.arange(7.0), **options),
    ]


EVERY_POLICY = new_policies(belief="factorised", horizon=50)


@EVERY_BELIEF
def test_simple_policies_match_their_formulas(belief: str) -> None:
    """The optimistic index at the start, half-way, at the end, and beyond the horizon."""
    batch = states_after_games(belief, 60, 8, 30)
    gaps = batch.mu[:, :1] - batch.mu[:, 1:]
    covariance = np.stack([covariance_of(batch[b]) for b in range(60)])
    own = np.diagonal(covariance, axis1=1, axis2=2)
    skill_variance = own[:, :1] + own[:, 1:] - 2.0 * covariance[:, 0, 1:]
    variance = skill_variance + 2.0 * BETA**2
    density = np.exp(-(gaps**2) / (2.0 * variance)) / np.sqrt(2.0 * math.pi * variance)
    policy: Any = rules.DrawChance(beta=BETA, belief=belief)
    np.testing.assert_allclose(policy.scores(batch, 1), density, rtol=1e-10)
    np.testing.assert_array_equal(policy.act(View(batch, 1)), density.argmax(axis=1))
    underflowing = KnowledgeState([0.0, 300.0, -200.0, 250.0], np.full(4, 0.1))
    assert rules.DrawChance().act(View(underflowing, 1)) == 1
    nearest = rules.PointEstimate(belief=belief).act(View(batch, 1))
    np.testing.assert_array_equal(nearest, np.abs(gaps).argmin(axis=1))
    for inflation, fade, left, factor in (
        (5.0, 0.0, 1, 5.0), (20.0, 2.0, 50, 5.75), (20.0, 2.0, 0, 1.0), (20.0, 2.0, 400, 20.0),
    ):  # fmt: skip
        policy = rules.OptimisticDrawChance(inflation, fade, beta=BETA, horizon=100, belief=belief)
        expected = -(gaps**2) / (2.0 * (factor * skill_variance + 2.0 * BETA**2))
        np.testing.assert_allclose(policy.scores(batch, left), expected, rtol=1e-10)


@pytest.mark.parametrize("policy", EVERY_POLICY[:7], ids=lambda policy: policy.name)
def test_ties_go_to_the_lowest_index(policy: rules.Policy) -> None:
    mu = np.array([0.0, 2.0, 1.0, 1.0, -1.0])
    assert policy.act(View(KnowledgeState(mu, np.ones(5)), 5)) == 1


def test_random_policies_are_uniform_over_the_allowed_opponents() -> None:
    state = KnowledgeState(np.zeros((6000, 5)), np.ones((6000, 5)))
    masks = np.zeros((6000, 4), dtype=bool)
    masks[:, [0, 2, 3]] = True
    for policy in (rules.RandomOpponent(seed=1), rules.ThompsonSampling(seed=1)):
        counts = np.bincount(policy.act(View(state, 1, action_mask=masks)), minlength=4)
        assert counts[1] == 0
        assert (np.abs(counts[[0, 2, 3]] - 2000) < 4.5 * np.sqrt(6000 * 2 / 9)).all()


@pytest.mark.parametrize(("belief", "spread"), [("factorised", 0.7), ("full", 1.0)])
def test_thompson_samples_all_skills_jointly(belief: str, spread: float) -> None:
    """Frequencies against samples from the dense covariance."""
    state, count = states_after_games(belief, 1, 4, 30)[0], 40_000
    many = states_after_games(belief, 1, 4, 30)[np.zeros(count, dtype=np.int64)]
    policy = rules.ThompsonSampling(seed=5, spread=spread, belief=belief)
    chosen = policy.act(View(many, 5))
    covariance = covariance_of(state) if belief == "full" else np.diag(state.sigma**2)
    draws = np.random.default_rng(6).multivariate_normal(
        state.mu, spread**2 * covariance, size=count
    )
    expected = np.abs(draws[:, :1] - draws[:, 1:]).argmin(axis=1)
    for action in range(4):
        ours, reference = (chosen == action).mean(), (expected == action).mean()
        assert abs(ours - reference) < 5.0 * np.sqrt(2.0 * 0.25 / count)
    np.testing.assert_array_equal(
        rules.ThompsonSampling(spread=0.0, belief=belief).act(View(many, 1)),
        rules.PointEstimate(belief=belief).act(View(many, 1)),
    )


@EVERY_BELIEF
def test_the_oracle_chooses_the_nearest_true_skill(belief: str) -> None:
    env = MatchmakingEnv(num_opponents=5, horizon=30, belief=belief)
    oracle = rules.Oracle(lambda: env.true_skill, belief=belief)
    observation, _ = env.reset(seed=0)
    skill = env.true_skill
    assert oracle.predict(observation)[0] == np.abs(skill[0] - skill[1:]).argmin()
    truths = np.random.default_rng(0).normal(size=(40, 8))
    before, gaps = truths.copy(), np.abs(truths[:, :1] - truths[:, 1:])
    state = states_after_games(belief, 40, 7, 3)
    chosen = rules.Oracle(truths, belief=belief).act(View(state, 1))
    np.testing.assert_array_equal(chosen, gaps.argmin(axis=1))
    masks = some_masks(40, 7, np.random.default_rng(1))
    chosen = rules.Oracle(truths, belief=belief).act(View(state, 1, action_mask=masks))
    np.testing.assert_array_equal(chosen, np.where(masks, gaps, np.inf).argmin(axis=1))
    np.testing.assert_array_equal(truths, before)


@pytest.mark.parametrize("policy", EVERY_POLICY, ids=lambda policy: policy.name)
def test_shapes_of_actions_and_scores(policy: rules.Policy) -> None:
    batch = states_after_games("factorised", 4, 6, 5)
    observations = batch.to_observation(0.5)
    actions, memory = policy.predict(observations)
    assert actions.shape == (4,)
    assert memory is None
    assert np.issubdtype(actions.dtype, np.integer)
    one, _ = policy.predict(observations[0], deterministic=True)
    assert one.shape == ()
    assert 0 <= int(one) < 6
    if not policy.stochastic:
        assert one == actions[0]
    deep = KnowledgeState(batch.mu.reshape(2, 2, 7), batch.sigma.reshape(2, 2, 7))
    assert policy.act(View(deep, 3)).shape == (2, 2)
    if hasattr(policy, "scores"):
        assert policy.scores(deep, 3).shape == (2, 2, 6)
        np.testing.assert_array_equal(
            policy.act(View(deep, 3)), policy.scores(deep, 3).argmax(axis=-1)
        )
    assert " object at " not in repr(policy)
    if not policy.needs_truth:
        assert repr(eval(repr(policy), vars(rules))) == repr(policy)


def test_predict_derives_games_left_from_the_horizon() -> None:
    observations = states_after_games("factorised", 30, 6, 5).to_observation(0.25)
    seen, left = KnowledgeState.from_observation(observations), np.arange(1, 31) * 2
    finite = rules.KnowledgeGradient(finite_horizon=True)
    gittins = rules.Gittins(belief="factorised")
    scaled = rules.KnowledgeGradient(finite_horizon=True, scale=0.1)
    for own in (finite, scaled, gittins, rules.OptimisticDrawChance(), rules.BayesUCB()):
        policy = own.for_settings(Settings(num_opponents=6, horizon=64))
        np.testing.assert_array_equal(policy.predict(observations)[0], policy.act(View(seen, 16)))
        # An option of a name is not changed by the environment.
        named = policy_named(f"{own.name}:horizon=32", Settings(horizon=64))
        assert (named.horizon, policy_named(own.name, Settings(horizon=64)).horizon) == (32, 64)
        alone = [int(policy.act(View(seen[b], left[b]))) for b in range(30)]
        np.testing.assert_array_equal(policy.act(View(seen, left)), alone)


# Masks.


def smaller(state: KnowledgeState, row: int, mask: Any) -> KnowledgeState:
    """One state with the allowed opponents only."""
    players = np.concatenate(([True], mask))
    differences = state.difference_sigma[row]
    if differences.size > 0:
        differences = differences[mask]
    return KnowledgeState(
        state.mu[row][players], state.sigma[row][players], differences, state.belief
    )


@EVERY_BELIEF
@pytest.mark.parametrize("opponents", [1, 9])
def test_masked_opponents_do_not_affect_the_choice(belief: str, opponents: int) -> None:
    rng = np.random.default_rng(5)
    state = states_after_games(belief, 15, opponents, 12)
    masks = some_masks(15, opponents, rng)
    thompson = rules.ThompsonSampling(spread=0.0, belief=belief)
    for policy in (*new_policies(belief=belief, horizon=50)[:7], thompson):
        chosen = policy.act(View(state, 20, action_mask=masks))
        for row in range(15):
            alone = policy.act(View(smaller(state, row, masks[row]), 20))
            assert np.flatnonzero(masks[row])[alone] == chosen[row]
            assert policy.act(View(state[row], 20, action_mask=masks[row])) == chosen[row]
        unmasked = policy.act(View(state, 20, action_mask=np.ones(masks.shape, np.int8)))
        np.testing.assert_array_equal(unmasked, policy.act(View(state, 20)))


@EVERY_BELIEF
@pytest.mark.parametrize("opponents", [1, 2, 3, 6, 10, 12, 24, 36, 49, 50])
def test_the_mask_is_read_from_the_observation(belief: str, opponents: int) -> None:
    """A policy that is told the number of opponents reads it, whatever the numbers are."""
    options: Any = {"num_opponents": opponents, "horizon": 30, "belief": belief}
    unaware = rules.DrawChance(belief=belief)
    aware = unaware.for_settings(Settings(**options))
    for more in (
        {"availability": 0.5, "mean_stay": 3.0},
        {"max_games_per_opponent": 30},
        {},
        {"prior": NormalPrior(25.0, 1.0)},
    ):
        env = MatchmakingVectorEnv(8, **options, **more)
        observation, _ = env.reset(seed=opponents)
        for _ in range(8):
            masks = env.action_masks()
            plain = env.knowledge_state.to_observation(0.5)
            expected = aware.act(View(env.knowledge_state, 1, action_mask=masks))
            np.testing.assert_array_equal(aware.predict(observation)[0], expected)
            for policy in (aware, unaware):
                for numbers in (observation, plain):
                    chosen = policy.predict(numbers, action_masks=masks)[0]
                    np.testing.assert_array_equal(chosen, expected)
            assert [aware.predict(row)[0] for row in observation] == expected.tolist()
            observation = env.step(expected)[0]


@pytest.mark.parametrize("belief", ["factorised", "full"])
@pytest.mark.parametrize("count", range(1, 13))
def test_an_untold_policy_reads_a_mask_only_where_the_shape_allows_nothing_else(
    belief: str, count: int
) -> None:
    rng = np.random.default_rng(count)
    columns = 3 if belief == "full" else 2
    with_mask = (columns + 1) * count + 3
    is_ambiguous = (with_mask - 3) % columns == 0
    for _ in range(20):
        numbers = rng.choice([0.0, 1.0], size=with_mask)
        mask = split_mask(numbers, belief, None)[1]
        assert (mask is None) == is_ambiguous
        if mask is not None:
            np.testing.assert_array_equal(mask, numbers[-count:] != 0.0)


def test_numbers_that_look_like_a_mask_are_none() -> None:
    """The last three numbers are deviations of opponents, whatever their values."""
    env = MatchmakingEnv(num_opponents=3)
    options = {"mu": [0, 9, 9, 0.1], "sigma": [1, 1, 0.9, 1]}
    observation, _ = env.reset(seed=0, options=options)
    policy = rules.PointEstimate()
    assert policy.predict(observation)[0] == 2
    assert policy.act(View(env.knowledge_state, env.games_left)) == 2


def test_rollouts_pass_the_mask_to_every_policy() -> None:
    settings = Settings.checked(num_opponents=6, horizon=30, availability=0.3, turnover=0.05)
    for name in (*rules.POLICIES, "kg:belief=full"):
        policy = policy_named(name, settings)
        results = rollout(policy, settings, range(4), np.random.default_rng(0))
        assert all(np.isfinite(values).all() for values in results.values())
        assert results[CLOCK][1] == 29 * 4  # all choices but the first
    # A policy without an argument for masks can read the end of the observation.
    reader = SimpleNamespace(
        name="mask reader",
        predict=lambda seen, state, starts, deterministic: (seen[:, -6:].argmax(axis=1), None),
    )
    rollout(reader, settings, range(4))


# Bad input.

STATES = KnowledgeState(np.zeros((2, 4)), np.ones((2, 4)))
FULL = KnowledgeState(np.zeros(3), np.ones(3), np.full(2, 1.4), "full")


class Last(rules.PointEstimate):
    """A user's policy with a Python index in place of an action."""

    def _choose(self, state: Any, games_left: Any, rng: Any) -> Any:
        return np.full(len(state), -1)


test_bad_input = refusals(
    (lambda: rules.DrawChance(beta=-1), "beta must be positive"),
    (lambda: rules.ThompsonSampling(spread=-1), "spread must not be negative"),
    (lambda: rules.OptimisticDrawChance(0.5), "inflation must be at least 1, got 0.5"),
    (lambda: rules.OptimisticDrawChance(math.nan), "inflation must be finite"),
    (lambda: rules.OptimisticDrawChance(fade=-1), "fade must not be negative"),
    (lambda: rules.PointEstimate(horizon=0), "horizon must be an integer"),
    (lambda: rules.RandomOpponent(seed=-1), "seed must be an integer of at least 0, got -1"),
    (lambda: rules.KnowledgeGradient(finite_horizon="no"), "finite_horizon must be True or"),
    (lambda: rules.KnowledgeGradient(scale=0.1), "scale must be 1 without finite_horizon, got 0.1"),
    (
        lambda: rules.KnowledgeGradient(finite_horizon=True, scale=-1.0),
        "scale must not be negative",
    ),
    (
        lambda: rules.PointEstimate().act(View(np.ones(4), 1)),
        "knowledge_state must be a KnowledgeState",
    ),
    (lambda: rules.PointEstimate().predict(3.0), r"observation must have .* got shape \(\)"),
    (lambda: rules.KnowledgeGradient(1.0), r"discount must be in \[0, 1\), got 1.0"),
    (lambda: rules.KnowledgeGradient(multiplier=-1), "multiplier must not be negative"),
    (lambda: rules.KnowledgeGradient(0.9, multiplier=3), "give at most one of discount"),
    (lambda: rules.KnowledgeGradient(belief="full", tau=0.1), "tau must be 0 with belief="),
    (lambda: rules.DrawChance(belief="half"), "belief must be one of 'factorised', 'full'"),
    (
        lambda: rules.PointEstimate().act(View(STATES, -1)),
        "games_left must not be negative",
    ),
    (
        lambda: rules.PointEstimate().act(View(STATES, [1, 2, 3])),
        "games_left must broadcast",
    ),
    (lambda: rules.PointEstimate().predict(np.zeros(4)), "observation must have shape"),
    (lambda: rules.PointEstimate().predict(np.full(7, np.nan)), "observation must be finite"),
    (
        lambda: rules.Oracle(np.zeros(5)).act(View(STATES, 1)),
        "true_skill must have shape",
    ),
    (
        lambda: Last().act(View(STATES, 1, action_mask=[[1, 1, 0]] * 2)),
        r"in \[0, 1\], got -1",
    ),
    (lambda: rules.KnowledgeGradient(tau=0.1).scores(FULL, 1), "must hold the factorised"),
    (lambda: rules.DrawChance().act(View(FULL, 1)), "view must hold the factorised"),
    (lambda: rules.DrawChance().scores(STATES, -1), "games_left must not be negative"),
    (lambda: rules.DrawChance().scores(STATES, math.nan), "games_left must be finite"),
    (lambda: rules.DrawChance().scores(STATES, [1, 2, 3]), "games_left must broadcast"),
    (lambda: rules.Gittins().act(View(STATES, 1)), "view must hold the full belief"),
    (lambda: rules.DrawChance().act(STATES), "view must be a MatchmakingView"),
    (
        lambda: rules.KnowledgeGradient().predict(np.linspace(1.0, 2.0, 3 * 49 + 3)),
        r"with the factorised belief, .* 49 opponents with belief='full'",
    ),
    (lambda: rules.DrawChance(belief="full").predict(np.ones(10)), r"3 \* num_opponents \+ 3"),
)


test_bad_masks = refusals(
    (np.zeros((2, 3), bool), "at least one action, they allow none at index 0"),
    ([[True, False, True], [False] * 3], "they allow none at index 1"),
    (np.ones((2, 4)), r"action_masks must have shape \(2, 3\), got \(2, 4\)"),
    ([[1], [1, 2]], "action_masks must be an array, got"),
    (np.ones(3), r"action_masks must have shape \(2, 3\), got \(3,\)"),
    ([[1.0, np.nan, 0.0], [1, 1, 1]], "action_masks must hold True and False"),
    ([[1, 2, 0], [1, 1, 1]], "action_masks must hold True and False"),
    ([["a", "b", "c"]] * 2, "action_masks must hold True and False"),
    call=lambda masks: rules.KnowledgeGradient().act(View(STATES, 5, action_mask=masks)),
)
