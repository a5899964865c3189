"""The queue against queueing theory: Little's law, M/G/infinity, conservation."""

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from matchenv import MatchmakingQueueVectorEnv
from matchenv.envs.core.episodes import Episodes
from matchenv.envs.queue.settings import QueueSettings
from matchenv.envs.queue.simulator import QueueSimulator

# Returns actions, shape (B,), from action masks, shape (B, C).
Rule = Callable[[NDArray[np.bool_], np.random.Generator], NDArray[np.int64]]


def wait(masks: NDArray[np.bool_], _: np.random.Generator) -> NDArray[np.int64]:
    return np.zeros(len(masks), dtype=np.int64)


def first(masks: NDArray[np.bool_], _: np.random.Generator) -> NDArray[np.int64]:
    return masks[:, 1].astype(np.int64)


def at_random(masks: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    return (rng.random(len(masks)) * masks.sum(axis=1)).astype(np.int64)


def now_and_then(masks: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    return at_random(masks, rng) * (rng.random(len(masks)) < 0.2)


def totals_of(rule: Rule, count: int, **options: Any) -> dict[str, NDArray[Any]]:
    """Return the infos at the end of runs, and each run's reward."""
    rng = np.random.default_rng(0)
    simulator = QueueSimulator(QueueSettings.checked(**options))
    episodes = Episodes.of_seeds(simulator, range(count))
    reward = np.zeros(count)
    while episodes.running.any():
        reward += episodes.step(rule(episodes.masks(), rng), strict=True).reward
    return {**simulator.infos(episodes.state), "reward": reward}


@pytest.mark.parametrize(
    ("rule", "patience"), [(first, 8.0), (at_random, math.inf), (now_and_then, 8.0), (wait, 8.0)]
)
def test_littles_law(rule: Rule, patience: float) -> None:
    """The mean queue length is the rate of joining times the mean wait.

    The length comes from the rewards, minus the ticks of waiting; the wait comes from the totals.
    """
    horizon = 300
    options: dict[str, Any] = {
        "patience": patience,
        "abandonment_cost": 0.0,
        "horizon": horizon,
        "reward": "match_quality",
    }
    ended = totals_of(rule, 30, **options, waiting_cost=1.0)
    without_cost = totals_of(rule, 30, **options, waiting_cost=0.0)
    mean_queue = (without_cost["reward"] - ended["reward"]) / horizon
    departed = ended["matched_players"] + ended["abandoned"]
    # Exact except for players who still wait at the end.
    difference = mean_queue - departed / horizon * ended["mean_wait"]
    still_waiting = ended["waiting"]
    assert (difference >= -1e-9).all()
    assert (difference <= still_waiting + 1e-9).all()
    if rule is not wait:
        law = mean_queue - ended["queued"] / horizon * ended["mean_wait"]
        error = law.std(ddof=1) / math.sqrt(30)
        tolerance = 4.5 * error + still_waiting.mean() / horizon
        assert law.mean() == pytest.approx(0.0, abs=tolerance)


def test_without_games_the_queue_is_m_g_infinity() -> None:
    """The length is Poisson with mean arrival rate x mean patience, and patience is geometric."""
    rate = 1.5
    patience = 4.0
    look = 60
    count = 900
    env = MatchmakingQueueVectorEnv(count, arrival_rate=rate, patience=patience, horizon=10_000)
    env.reset(seed=1)
    env.keep_visits()
    lengths = np.full(count, -1)
    ticks = np.zeros(count)
    # Each queue's length at a step in tick ``look``.
    while (ticks <= look).any():
        infos = env.step(np.zeros(count, dtype=int))[4]
        ticks = infos["tick"]
        lengths[ticks == look] = infos["waiting"][ticks == look]
    visits = env.taken_visits()
    assert (visits["served"] == 0).all()
    check_poisson(lengths[lengths >= 0], count, rate * patience)
    # Only visits that could end in time, which censors none.
    joined = visits["tick"] - visits["waited"] + 1
    check_geometric(visits["waited"][joined < 20], patience, 20)


def check_poisson(lengths: NDArray[np.int64], count: int, mean: float) -> None:
    """Test that lengths are Poisson, seen only where at least two players wait."""
    tail = 1 - stats.poisson.cdf(1, mean)
    frequencies = np.bincount(np.clip(lengths, 0, 15), minlength=16)[2:]
    shares = np.append(stats.poisson.pmf(np.arange(2, 15), mean), stats.poisson.sf(14, mean))
    assert stats.chisquare(frequencies, lengths.size * shares / tail).pvalue > 1e-3
    error = math.sqrt(count * tail * (1 - tail))
    assert lengths.size == pytest.approx(count * tail, abs=5 * error)


def check_geometric(values: NDArray[Any], mean: float, largest: int) -> None:
    """Test that values from 1 on are geometric; those from ``largest`` on count together."""
    frequencies = np.bincount(np.minimum(values, largest).astype(int), minlength=largest + 1)[1:]
    shares = stats.geom.pmf(np.arange(1, largest), 1 / mean)
    shares = np.append(shares, 1 - shares.sum())
    assert stats.chisquare(frequencies, values.size * shares).pvalue > 1e-3
    assert values.size >= 6000


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
    is_early = visits["player"] < 300
    run = visits["environment"][is_early].astype(int)
    player = visits["player"][is_early].astype(int)
    games = np.zeros((20, 300))
    np.maximum.at(games, (run, player), visits["games_played"][is_early] + 1)
    check_geometric(games.ravel(), 2.5, 8)


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
        departed = infos["matched_players"] + infos["abandoned"]
        np.testing.assert_array_equal(infos["queued"], departed + infos["waiting"])
        logged_on = env.episodes.state.clock["logged_on"]
        # Players join once when they log on, and once after each return.
        assert (logged_on >= infos["waiting"] + infos["playing"]).all()
        assert (infos["queued"] >= logged_on).all()
        assert (infos["matched_players"] % 2 == 0).all()
        assert (infos["playing"] <= infos["matched_players"]).all()
        # Players with a candidate play with probability 1/2, which bounds the queue.
        masks = env.action_masks()
        actions = masks[:, 1] * (rng.random(20) < 0.5) * (1 + at_random(masks[:, 1:], rng))
        observations, _, _, truncated, infos = env.step(actions.astype(np.int64))
        assert np.isfinite(observations).all()
        over |= truncated
    assert env.episodes.state.room <= 4096


def test_steps_leak_no_references() -> None:
    """Compiled steps do not count references to their arrays."""
    env = MatchmakingQueueVectorEnv(2, arrival_rate=2.0)
    env.reset(seed=0)
    state = env.episodes.state
    for steps in (3, 300):
        state = env.episodes.state
        before = [sys.getrefcount(array) for array in state]
        for _ in range(steps):
            env.step(np.zeros(2, dtype=np.int64))
        if env.episodes.state is state:
            assert [sys.getrefcount(array) for array in state] == before
    for array in state:
        assert sys.getrefcount(array) < 10
