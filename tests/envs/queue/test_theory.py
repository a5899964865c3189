"""The queue against queueing theory: Little's law, M/G/infinity, conservation."""

import math
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from matchenv import MatchmakingQueueVectorEnv
from matchenv.envs.queue.settings import QueueSettings
from matchenv.evaluation.rollout import Batch, Steps, rollout
from matchenv.runtime.files import Arrays

Choose = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def wait(masks: np.ndarray, _: np.random.Generator) -> np.ndarray:
    return np.zeros(len(masks), dtype=np.int64)


def first(masks: np.ndarray, _: np.random.Generator) -> np.ndarray:
    return masks[:, 1].astype(np.int64)


def at_random(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(len(masks)) * masks.sum(axis=1)).astype(np.int64)


def now_and_then(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return at_random(masks, rng) * (rng.random(len(masks)) < 0.2)


def runs(choose: Choose, count: int, **options: Any) -> Arrays:
    """Return the totals at the end of runs, and each run's reward."""
    rng = np.random.default_rng(0)

    def predict(*_: Any, action_masks: np.ndarray, **__: Any) -> Any:
        return choose(action_masks, rng), None

    def totals(batch: Batch, steps: Steps) -> Arrays:
        reward = sum(step.reward * running for step, running in steps)
        return {**batch.simulator.facts(batch.state), "reward": reward}

    policy, settings = SimpleNamespace(predict=predict), QueueSettings.checked(**options)
    return rollout(lambda *_: policy, settings, range(count), summary=totals)


@pytest.mark.parametrize(
    ("choose", "patience"), [(first, 8.0), (at_random, math.inf), (now_and_then, 8.0), (wait, 8.0)]
)
def test_littles_law(choose: Choose, patience: float) -> None:
    """The mean queue length is the rate of joining times the mean wait.

    The length comes from the rewards, minus the ticks of waiting; the wait comes from the totals.
    """
    horizon = 300
    free = {"waiting_cost": 1.0, "abandonment_cost": 0.0, "horizon": horizon,
            "reward": "match_quality"}  # fmt: skip
    ended = runs(choose, 30, patience=patience, **free)
    again = runs(choose, 30, patience=patience, **{**free, "waiting_cost": 0.0})
    mean_queue = (again["reward"] - ended["reward"]) / horizon
    left = ended["matched_players"] + ended["abandoned"]
    # Exact except for players who still wait at the end.
    difference = mean_queue - left / horizon * ended["mean_wait"]
    most = ended["waiting"]
    assert (difference >= -1e-9).all()
    assert (difference <= most + 1e-9).all()
    if choose is not wait:
        law = mean_queue - ended["queued"] / horizon * ended["mean_wait"]
        error = law.std(ddof=1) / math.sqrt(30)
        assert law.mean() == pytest.approx(0.0, abs=4.5 * error + most.mean() / horizon)


def test_without_games_the_queue_is_m_g_infinity() -> None:
    """The length is Poisson with mean arrival rate x mean patience, and patience is geometric."""
    rate, patience, horizon, look = 1.5, 4.0, 10**4, 60
    env = MatchmakingQueueVectorEnv(900, arrival_rate=rate, patience=patience, horizon=horizon)
    env.reset(seed=1)
    env.keep_visits()
    lengths, ticks = np.full(900, -1), np.zeros(900)
    # Each queue's length at a step in tick ``look``.
    while (ticks <= look).any():
        infos = env.step(np.zeros(900, dtype=int))[4]
        ticks = infos["tick"]
        lengths[ticks == look] = infos["waiting"][ticks == look]
    lengths = lengths[lengths >= 0]
    visits = env.taken_visits()
    assert (visits["served"] == 0).all()
    # Ticks with fewer than two waiting players have no step.
    mean = rate * patience
    tail = 1 - stats.poisson.cdf(1, mean)
    expected = [stats.poisson.pmf(k, mean) / tail for k in range(2, 15)]
    found = np.bincount(np.clip(lengths, 0, 15), minlength=16)[2:15]
    expected.append(stats.poisson.sf(14, mean) / tail)
    found = np.append(found, (lengths > 14).sum())
    assert stats.chisquare(found, lengths.size * np.array(expected)).pvalue > 1e-3
    assert lengths.size == pytest.approx(900 * tail, abs=5 * math.sqrt(900 * tail * (1 - tail)))
    # Only visits that could end in time, which censors none.
    joined = (visits["tick"] - visits["waited"]) + 1
    whole = visits["waited"][joined < 20]
    counts = np.bincount(np.minimum(whole, 20).astype(int), minlength=21)[1:]
    share = stats.geom.pmf(np.arange(1, 20), 1 / patience)
    share = np.append(share, 1 - share.sum())
    assert stats.chisquare(counts, whole.size * share).pvalue > 1e-3
    assert whole.size > 10_000


def test_returns_are_geometric() -> None:
    """The number of games of a player is geometric with mean 1 / (1 - stay)."""
    env = MatchmakingQueueVectorEnv(
        20, stay=0.6, game_length=1, patience=math.inf, horizon=400, arrival_rate=2.0
    )
    env.keep_visits()
    env.reset(seed=0)
    for _ in range(900):
        env.step(env.action_masks()[:, 1].astype(int))
    visits = env.taken_visits()
    early = visits["player"] < 300
    run, player, played = (visits[name][early].astype(int)
                           for name in ("environment", "player", "games_played"))  # fmt: skip
    games = np.zeros((20, 300))
    np.maximum.at(games, (run, player), played + 1)
    counts = np.bincount(np.minimum(games.ravel(), 8).astype(int), minlength=9)[1:]
    share = stats.geom.pmf(np.arange(1, 8), 0.4)
    assert stats.chisquare(counts, games.size * np.append(share, 1 - share.sum())).pvalue > 1e-3


PARAMETERS = st.fixed_dictionaries(
    {
        "arrival_rate": st.floats(0.05, 6.0),
        "newcomers": st.floats(0.0, 1.0),
        "patience": st.one_of(st.floats(1.0, 30.0), st.just(math.inf)),
        "game_length": st.integers(1, 15),
        "stay": st.floats(0.0, 0.95),
        "capacity": st.integers(2, 20),
        "tau": st.sampled_from([0.0, 0.2]),
        "draw_margin": st.sampled_from([0.0, 0.5]),
    }
)


@settings(max_examples=5, deadline=None, derandomize=True)
@given(options=PARAMETERS, seed=st.integers(0, 2**32))
def test_players_are_conserved(options: dict[str, Any], seed: int) -> None:
    """Players who joined were matched, gave up or wait; the others left or play."""
    env = MatchmakingQueueVectorEnv(20, horizon=75, **options)
    rng = np.random.default_rng(seed)
    infos = env.reset(seed=seed)[1]
    over = np.zeros(20, dtype=bool)
    while not over.all():
        left = infos["matched_players"] + infos["abandoned"]
        np.testing.assert_array_equal(infos["queued"], left + infos["waiting"])
        logged_on = env._state.queue["logged_on"]
        # Players join once when they log on, and once after each return.
        assert (logged_on >= infos["waiting"] + infos["playing"]).all()
        assert (infos["queued"] >= logged_on).all()
        assert (infos["matched_players"] % 2 == 0).all()
        assert (infos["playing"] <= infos["matched_players"]).all()
        # Players with a candidate play with probability 1/2, which bounds the queue.
        masks = env.action_masks()
        actions = masks[:, 1] * (rng.random(20) < 0.5) * (1 + at_random(masks[:, 1:], rng))
        _, _, _, truncated, infos = env.step(actions.astype(np.int64))
        assert np.isfinite(env._state.observation).all()
        over |= truncated
    assert env._state.room <= 4096


def test_steps_leak_no_references() -> None:
    """Compiled steps do not count references to their arrays."""
    env = MatchmakingQueueVectorEnv(2, arrival_rate=2.0)
    env.reset(seed=0)
    for turns in (3, 300):
        before = [sys.getrefcount(array) for array in env._state]
        batch = env._state
        for _ in range(turns):
            env.step(np.zeros(2, dtype=np.int64))
        if env._state is batch:
            assert [sys.getrefcount(array) for array in batch] == before
    for array in batch:
        assert sys.getrefcount(array) < 10
