"""Baselines under masks: what they choose is what they would if the others did not exist."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from matchenv import KnowledgeState, MatchmakingEnv, MatchmakingVectorEnv, NormalPrior, Settings
from matchenv.agents.policies import policy_named
from matchenv.baselines import (
    DrawChance,
    KnowledgeGradient,
    OptimisticDrawChance,
    Oracle,
    PointEstimate,
    RandomOpponent,
    ThompsonSampling,
)
from matchenv.baselines.knowledge_gradient import SCORES
from matchenv.belief import BELIEFS, GameConstants
from matchenv.evaluation.rollout import rollout

MAKERS: dict[str, Any] = {
    "pe": PointEstimate,
    "drawchance": DrawChance,
    "kg": lambda **options: KnowledgeGradient(multiplier=20.0, **options),
    "optimistic": OptimisticDrawChance,
    "no spread": lambda **options: ThompsonSampling(spread=0.0, **options),
}


def states(belief: str, count: int, opponents: int, seed: int) -> KnowledgeState:
    """Beliefs in the middle of episodes, some opponents equal to the last digit."""
    env = MatchmakingVectorEnv(count, num_opponents=opponents, horizon=40, belief=belief)
    rng = np.random.default_rng(seed)
    mu = rng.normal(0.0, 2.0, (count, opponents + 1))
    if opponents > 2:
        mu[:, 2] = mu[:, 1]
    env.reset(seed=seed, options={"mu": mu, "sigma": np.full(mu.shape, 1.5)})
    for _ in range(12):
        env.step(rng.integers(1 if opponents > 2 else 0, opponents, count))
    return env.knowledge_state


def some_masks(count: int, opponents: int, rng: np.random.Generator) -> Any:
    masks = rng.random((count, opponents)) < rng.random((count, 1))
    masks[np.arange(count), rng.integers(opponents, size=count)] = True
    return masks


def smaller(state: KnowledgeState, row: int, mask: Any) -> KnowledgeState:
    """One state in which only those online exist, written out."""
    kept = np.flatnonzero(np.concatenate(([True], mask)))
    extra = state.extra[row][mask] if state.extra.shape[-1] else state.extra[row]
    return KnowledgeState(state.mu[row][kept], state.sigma[row][kept], extra, state.belief)


@pytest.mark.parametrize("belief", sorted(BELIEFS))
@pytest.mark.parametrize("name", sorted(MAKERS))
@pytest.mark.parametrize("opponents", [1, 2, 9])
def test_the_others_might_as_well_not_exist(belief: str, name: str, opponents: int) -> None:
    policy = MAKERS[name](belief=belief)
    rng = np.random.default_rng(5)
    state = states(belief, 30, opponents, 3)
    masks = some_masks(30, opponents, rng)
    chosen = policy.act(state, 20, action_masks=masks)
    assert masks[np.arange(30), chosen].all()
    for row in range(30):
        alone = policy.act(smaller(state, row, masks[row]), 20)
        assert np.flatnonzero(masks[row])[alone] == chosen[row]
        assert policy.act(state[row], 20, action_masks=masks[row]) == chosen[row]
    np.testing.assert_array_equal(
        policy.act(state, 20, action_masks=np.ones(masks.shape, np.int8)), policy.act(state, 20)
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 25), st.floats(0.0, 300.0), st.booleans())
def test_kgs_search_stays_exact_under_masks(
    seed: int, opponents: int, multiplier: float, draws: bool
) -> None:
    """Against the plain rule among those online, the first of the highest scores."""
    rng = np.random.default_rng(seed)
    margin = 0.4 if draws else 0.0
    mu = rng.normal(0.0, rng.choice([0.0, 0.1, 2.0]), (8, opponents + 1))
    state = KnowledgeState(mu, rng.uniform(0.05, 2.0, mu.shape))
    masks = some_masks(8, opponents, rng)
    policy = KnowledgeGradient(multiplier=multiplier, draw_margin=margin)
    chosen = policy.act(state, 1, action_masks=masks)
    for row in range(8):
        among = smaller(state, row, masks[row])
        constants = GameConstants(policy.beta, margin)
        scores = SCORES["factorised"](among.flattened(), np.full(1, multiplier), constants)[0]
        assert chosen[row] == np.flatnonzero(masks[row])[np.argmax(scores)]


def test_the_oracle_takes_the_nearest_of_those_online() -> None:
    rng = np.random.default_rng(0)
    state, masks = states("factorised", 40, 7, 1), some_masks(40, 7, rng)
    skills = rng.normal(size=(40, 8))
    distance = np.where(masks, np.abs(skills[:, 1:] - skills[:, :1]), np.inf)
    kept = skills.copy()
    np.testing.assert_array_equal(
        Oracle(skills).act(state, 1, action_masks=masks), distance.argmin(axis=1)
    )
    np.testing.assert_array_equal(skills, kept)


def test_random_choices_are_uniform_among_those_online() -> None:
    state = KnowledgeState(np.zeros((6000, 5)), np.ones((6000, 5)))
    masks = np.zeros((6000, 4), dtype=bool)
    masks[:, [0, 2, 3]] = True
    for policy in (RandomOpponent(seed=1), ThompsonSampling(seed=1)):
        counts = np.bincount(policy.act(state, 1, action_masks=masks), minlength=4)
        assert counts[1] == 0
        assert (np.abs(counts[[0, 2, 3]] - 2000) < 4.5 * np.sqrt(6000 * 2 / 9)).all()


@pytest.mark.parametrize("belief", sorted(BELIEFS))
@pytest.mark.parametrize("opponents", [1, 2, 3, 6, 12, 24, 36])
def test_the_mask_is_read_from_the_observation(belief: str, opponents: int) -> None:
    """All sizes that could be read in two ways are among these."""
    policy = DrawChance(belief=belief)
    env = MatchmakingVectorEnv(
        20, num_opponents=opponents, horizon=5, belief=belief, availability=0.9, mean_stay=5.0
    )
    plain = MatchmakingVectorEnv(20, num_opponents=opponents, horizon=5, belief=belief)
    observation, before = env.reset(seed=1)[0], plain.reset(seed=1)[0]
    for _ in range(8):
        chosen, _ = policy.predict(observation)
        masks = env.action_masks()
        np.testing.assert_array_equal(
            chosen, policy.act(env.knowledge_state, 1, action_masks=masks)
        )
        np.testing.assert_array_equal(chosen, policy.predict(observation, action_masks=masks)[0])
        for row in range(20):
            assert policy.predict(observation[row])[0] == chosen[row]
        np.testing.assert_array_equal(
            policy.predict(before)[0], policy.act(plain.knowledge_state, 1)
        )
        np.testing.assert_array_equal(
            policy.predict(before, action_masks=masks)[0],
            policy.act(plain.knowledge_state, 1, action_masks=masks),
        )
        observation, before = env.step(chosen)[0], plain.step(chosen)[0]


def test_a_policy_that_is_told_the_size_reads_even_what_looks_alike() -> None:
    """At the start with all deviations 1 and everybody online."""
    options: Any = {"num_opponents": 4, "turnover": 0.1, "prior": NormalPrior()}
    env = MatchmakingEnv(horizon=9, **options)
    observation, info = env.reset(seed=0)
    assert info["action_mask"].all()
    policy = policy_named("kg", Settings.checked(horizon=9, **options))
    assert policy.predict(observation)[0] == policy.act(env.knowledge_state, 9)
    unchanged = MatchmakingEnv(num_opponents=6, prior=NormalPrior())
    assert 0 <= PointEstimate().predict(unchanged.reset(seed=0)[0])[0] < 6


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        (np.zeros((2, 3), bool), "at least one opponent, they allow none at index 0"),
        ([[True, False, True], [False] * 3], "they allow none at index 1"),
        (np.ones((2, 4)), r"action_masks must have shape \(2, 3\), got \(2, 4\)"),
        (np.ones(3), r"action_masks must have shape \(2, 3\), got \(3,\)"),
        ([[1.0, np.nan, 0.0], [1, 1, 1]], "action_masks must hold True and False"),
        ([[1, 2, 0], [1, 1, 1]], "action_masks must hold True and False"),
        ([["a", "b", "c"]] * 2, "action_masks must hold True and False"),
    ],
)
def test_bad_masks_are_named(masks: Any, message: str) -> None:
    state = KnowledgeState(np.zeros((2, 4)), np.ones((2, 4)))
    with pytest.raises(ValueError, match=message):
        KnowledgeGradient().act(state, 5, action_masks=masks)
    with pytest.raises(ValueError, match=message.replace(r"\(2, 3\), got \(2, 4\)", "")):
        DrawChance().predict(state.to_observation(0.5), action_masks=masks)


def test_libraries_play_baselines_where_the_pool_changes() -> None:
    """stable-baselines3 gives no masks: they are in the observation."""
    evaluation = pytest.importorskip("stable_baselines3.common.evaluation")
    env = gym.make("Matchmaking-v0", num_opponents=8, horizon=20, availability=0.4)
    mean, _ = evaluation.evaluate_policy(DrawChance(), env, n_eval_episodes=3, warn=False)
    assert mean > 0.0


class Stranger:
    """A policy that knows of no masks, but reads the observation's end."""

    name = "stranger"

    def predict(
        self, observation: Any, state: Any, episode_start: Any, deterministic: bool
    ) -> tuple[Any, None]:
        return observation[:, -6:].argmax(axis=1), None


def test_rollouts_tell_every_policy_who_is_online() -> None:
    options = Settings.checked(num_opponents=6, horizon=30, availability=0.3, turnover=0.05)
    for name in ("kg", "pe", "random", "thompson", "oracle", "kg:belief=full"):
        found = rollout(
            lambda told, truth, name=name: policy_named(name, told, truth),  # type: ignore[misc]
            options,
            range(4),
            np.random.default_rng(0),
        )
        assert np.isfinite(found.sums).all()
    rollout(lambda *_: Stranger(), options, range(4))


def test_the_oracle_is_the_best_and_nobody_gains_by_fewer_opponents() -> None:
    totals = {}
    for share in (1.0, 0.5, 0.1):
        options = Settings.checked(num_opponents=20, horizon=40, availability=share)
        for name in ("oracle", "drawchance"):
            found = rollout(
                lambda told, truth, name=name: policy_named(name, told, truth),  # type: ignore[misc]
                options,
                range(60),
                measures=("true_draw_density",),
            )
            totals[name, share] = found.sums[0, 0]
        assert (totals["oracle", share] >= totals["drawchance", share] - 1e-9).all()
    assert (totals["oracle", 1.0] >= totals["oracle", 0.5]).all()
    assert totals["drawchance", 1.0].mean() > totals["drawchance", 0.1].mean()
