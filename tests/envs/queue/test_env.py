"""Steps, rewards, settings and views of ``MatchmakingQueue-v0``."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from matchenv import MatchmakingQueueEnv, MatchmakingQueueVectorEnv
from matchenv.envs.core.episodes import Episodes
from matchenv.envs.queue import (
    NOBODY,
    NormalPopulation,
    QueueSettings,
    QueueView,
    RatedPopulation,
    WaitingParties,
    usual_quality,
)
from matchenv.envs.queue.settings import USUAL_QUALITY
from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.envs.queue.state import FIRST_ROOM
from matchenv.trueskill import match_quality, update

BETA = math.sqrt(2.5)
START = {"mu": np.array([0.0, 2.0, -1.0, 0.5]), "sigma": np.array([1.0, 0.5, 2.0, 0.8])}
ABSOLUTE: dict[str, Any] = {"reward": "match_quality"}
CLOSED: dict[str, Any] = {"arrival_rate": 0.0, "patience": math.inf, "stay": 1.0, **ABSOLUTE}


def test_a_step_follows_the_formulas() -> None:
    """Recompute observation, mask, reward and totals of each step from the waiting players."""
    env = MatchmakingQueueEnv(
        **ABSOLUTE, capacity=6, horizon=60, waiting_cost=0.0, abandonment_cost=0.0
    )
    observation, info = env.reset(seed=5)
    rng = np.random.default_rng(0)
    games = 0
    truncated = False
    while not truncated:
        waiting = env.waiting_parties()
        check_observation(waiting, observation, info)
        action = int(rng.choice(np.flatnonzero(info["action_mask"])))
        quality = 0.0
        true_quality = 0.0
        if action > 0:
            i = waiting.focal
            j = waiting.candidates[action - 1]
            quality = quality_of(waiting, i, j)
            gap = waiting.true_skill[i] - waiting.true_skill[j]
            true_quality = math.exp(-(gap**2) / (4 * BETA**2))
            games += 1
        observation, reward, terminated, truncated, info = env.step(action)
        assert info["match_quality"] == pytest.approx(quality, rel=1e-13)
        assert info["true_match_quality"] == pytest.approx(true_quality, rel=1e-12)
        assert reward == 2 * info["match_quality"]
        assert not terminated
        assert info["matched_players"] == 2 * games
        assert info["queued"] == info["matched_players"] + info["abandoned"] + info["waiting"]
        assert truncated == (info["tick"] == 60)
    assert games > 50


def quality_of(waiting: WaitingParties, i: int, j: int) -> Any:
    """Return the match quality of two waiting players."""
    return match_quality(waiting.mu[i], waiting.sigma[i], waiting.mu[j], waiting.sigma[j], BETA)


def check_observation(waiting: WaitingParties, observation: Any, info: dict[str, Any]) -> None:
    """Recompute the observation and the mask from the waiting players."""
    capacity = 6
    length = waiting.settings.game_length
    count = waiting.mu.size
    assert (np.diff(waiting.waited) <= 0).all()
    assert len(set(waiting.party.tolist())) == count == info["waiting"]
    gaps = np.abs(waiting.mu - waiting.mu[waiting.focal])
    others = [k for k in range(count) if k != waiting.focal]
    nearest = sorted(others, key=lambda k: (gaps[k], k))[: capacity - 1]
    assert waiting.candidates.tolist() == nearest
    mask = np.arange(capacity) <= len(nearest)
    np.testing.assert_array_equal(waiting.action_mask, mask)
    np.testing.assert_array_equal(info["action_mask"], mask)
    expected = np.zeros(4 * capacity + 3)
    for column, k in enumerate([waiting.focal, *nearest]):
        waited = waiting.waited[k]
        expected[column] = waiting.mu[k]
        expected[capacity + column] = waiting.sigma[k]
        expected[2 * capacity + column] = waited / (waited + length)
        expected[3 * capacity + column] = 1.0
    # Nobody joins within a tick, so players behind the focal player still have a step.
    without_step = count - waiting.focal
    sizes = np.array([count, without_step, waiting.playing])
    expected[-3:] = sizes / (sizes + capacity)
    np.testing.assert_array_equal(observation, expected.astype(np.float32))
    assert waiting.playing == info["playing"]


def totals_of(env: MatchmakingQueueEnv, action: int) -> tuple[float, dict[str, Any]]:
    """Return the total reward of an episode with one action, and the last info."""
    env.reset(seed=3)
    total = 0.0
    truncated = False
    while not truncated:
        _, reward, _, truncated, info = env.step(action)
        total += reward
    return total, info


@pytest.mark.parametrize("stay", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("usual", [0.25, USUAL_QUALITY])
def test_the_relative_reward_subtracts_the_usual_quality(stay: float, usual: float) -> None:
    """Players who give up cost the games that they would still have played."""
    options: dict[str, Any] = {"horizon": 40, "stay": stay, "patience": 3.0, "capacity": 6}
    relative = MatchmakingQueueEnv(**options, usual_quality=usual)
    absolute = MatchmakingQueueEnv(**options, **ABSOLUTE, usual_quality=usual)
    games_of_player = {0.0: 1.0, 0.6: 2.5, 1.0: 4.0}[stay]
    for action in (0, 1):
        total, info = totals_of(relative, action)
        larger, _ = totals_of(absolute, action)
        games = info["matched_players"] + games_of_player * info["abandoned"]
        assert larger - total == pytest.approx(usual * games)
        assert (info["matched_players"] > 0) == (action == 1)


def test_the_usual_quality_is_that_of_a_widening_window() -> None:
    """Play the runs again with scalar environments."""
    settings = QueueSettings(horizon=30, patience=4.0, arrival_rate=2.0)
    keys = np.arange(16, dtype=np.uint64)
    simulator = QueueSimulator(replace(settings, reward="match_quality"))
    reward = 0.0
    games = 0.0
    for key in keys:
        episodes = Episodes(simulator, 1)
        episodes.begin(np.arange(1), key[np.newaxis])
        choices = 0
        while episodes.all_running and choices < 500:
            waiting = simulator.waiting_parties(episodes.state, 0)
            window = math.sqrt(6.5) * (1.0 + 0.08 * waiting.waited[waiting.focal])
            gap = abs(waiting.mu[waiting.candidates[0]] - waiting.mu[waiting.focal])
            step = episodes.step(np.array([int(gap <= window)]), strict=True)
            reward += step.reward[0]
            choices += 1
        info = simulator.info(episodes.state, 0)
        games += info["matched_players"] + 3.0 * info["abandoned"]
    assert usual_quality(settings) == pytest.approx(reward / games, rel=1e-12)


def test_the_default_usual_quality_is_that_of_the_default_settings() -> None:
    assert usual_quality(QueueSettings()) == QueueSettings().usual_quality
    # A busy service has closer candidates.
    busy = QueueSettings(arrival_rate=4.0)
    assert usual_quality(busy) > USUAL_QUALITY
    assert usual_quality(replace(busy, usual_quality=0.1)) == usual_quality(busy)


def test_the_focal_player_waited_longest_and_is_new_in_each_tick() -> None:
    env = MatchmakingQueueEnv(capacity=8, horizon=40, arrival_rate=2.0)
    env.reset(seed=3)
    rng = np.random.default_rng(1)
    focal_players: dict[int, list[int]] = {}
    truncated = False
    while not truncated:
        waiting = env.waiting_parties()
        in_tick = focal_players.setdefault(waiting.tick, [])
        in_tick.append(int(waiting.party[waiting.focal]))
        has_waited_longer = waiting.waited > waiting.waited[waiting.focal]
        assert set(waiting.party[has_waited_longer].tolist()) <= set(in_tick)
        action = int(rng.integers(waiting.candidates.size + 1))
        truncated = env.step(action)[3]
    assert all(len(set(players)) == len(players) for players in focal_players.values())
    assert max(len(players) for players in focal_players.values()) > 3


def test_costs_of_waiting_and_giving_up() -> None:
    """Two players wait until they give up."""
    env = MatchmakingQueueEnv(
        **ABSOLUTE,
        arrival_rate=0.0,
        patience=3.0,
        waiting_cost=0.1,
        abandonment_cost=5.0,
        horizon=100,
    )
    for seed in range(30):
        env.reset(seed=seed, options={"mu": [0.0, 0.0], "sigma": [1.0, 1.0]})
        total = 0.0
        truncated = False
        while not truncated:
            _, reward, _, truncated, info = env.step(0)
            total += reward
        assert info["abandoned"] == 2
        assert total == pytest.approx(-0.1 * 2 * info["mean_wait"] - 2 * 5.0)


@pytest.mark.parametrize("z", [2.5, 0.7, -0.1, -0.3, -0.6, -3.0])
def test_a_game_lasts_its_ticks_and_changes_both_beliefs(z: float) -> None:
    env = MatchmakingQueueEnv(**CLOSED, game_length=4, horizon=30, draw_margin=0.5, tau=0.3)
    env.reset(seed=1, options={**START, "noise": [z]})
    start = env.waiting_parties()
    assert start.focal == 0
    assert start.candidates[0] == 3
    env.step(1)
    while env.waiting_parties().tick < 4:
        assert set(env.waiting_parties().party) == {1, 2}
        env.step(0)
    after = env.waiting_parties()
    assert after.tick == 4
    assert set(after.party) == {0, 1, 2, 3}
    players = after.party.tolist()
    one = players.index(0)
    other = players.index(3)
    gap = after.true_skill[one] - after.true_skill[other]
    difference = gap + math.sqrt(2) * BETA * z
    outcome = 0.0
    if abs(difference) > 0.5:
        outcome = math.copysign(1.0, difference)
    sigma = np.hypot(start.sigma, 0.3)
    expected = update(start.mu[0], sigma[0], start.mu[3], sigma[3], outcome, BETA, 0.5)
    beliefs = [after.mu[one], after.sigma[one], after.mu[other], after.sigma[other]]
    assert beliefs == pytest.approx(expected, rel=1e-14)
    assert after.true_skill[one] != start.true_skill[0]
    assert after.true_skill[other] != start.true_skill[3]
    assert after.waited[one] == 0


@pytest.mark.parametrize(
    ("options", "cost"),
    [
        (None, 0.0),
        ({"mu": [], "sigma": [], "noise": []}, 0.0),
        ({"mu": [0.0], "sigma": [1.0]}, 4.0),
    ],
)
def test_a_run_without_any_choice_ends_with_its_first_step(options: Any, cost: float) -> None:
    env = MatchmakingQueueEnv(**CLOSED, waiting_cost=0.5, horizon=8)
    observation, info = env.reset(seed=0, options=options)
    assert env.observation_space.contains(observation)
    assert info["tick"] == 8
    assert info["action_mask"].tolist() == [1] + [0] * 15
    assert env.waiting_parties().focal == NOBODY
    _, reward, terminated, truncated, _ = env.step(0)
    assert (reward, terminated, truncated) == (-cost, False, True)


def players_met(wait: float) -> dict[int, tuple[float, int]]:
    """Return true skill and tick of the log-on of all players in a run, by number.

    Args:
        wait: probability of waiting.
    """
    env = MatchmakingQueueEnv(stay=0.0, patience=math.inf, horizon=12, arrival_rate=20.0)
    env.reset(seed=3)
    rng = np.random.default_rng(0)
    met: dict[int, tuple[float, int]] = {}
    truncated = False
    while not truncated:
        waiting = env.waiting_parties()
        for k, player in enumerate(waiting.party.tolist()):
            now = (waiting.true_skill[k], int(waiting.tick - waiting.waited[k]))
            assert met.setdefault(player, now) == now
        action = int(rng.random() >= wait)
        *_, truncated, info = env.step(action)
    assert wait < 0.5 or info["waiting"] > 2 * FIRST_ROOM
    return met


def test_neither_actions_nor_growing_arrays_change_log_ons() -> None:
    eager = players_met(0.1)
    patient = players_met(0.99)
    both = set(eager) & set(patient)
    assert len(both) > 60
    assert all(eager[player] == patient[player] for player in both)


def test_newcomers_and_regulars_follow_the_population() -> None:
    """Standardised errors of the beliefs are standard normal for both."""
    env = MatchmakingQueueEnv(
        arrival_rate=4000.0, horizon=1, newcomers=0.3, population=NormalPopulation(25, 8, 2)
    )
    env.reset(seed=0)
    waiting = env.waiting_parties()
    is_newcomer = waiting.sigma == 8.0
    count = waiting.mu.size
    assert count == pytest.approx(4000, abs=5 * math.sqrt(4000))
    assert is_newcomer.mean() == pytest.approx(0.3, abs=5 * math.sqrt(0.21 / count))
    assert (waiting.mu[is_newcomer] == 25.0).all()
    assert (waiting.sigma[~is_newcomer] == 2.0).all()
    assert waiting.true_skill.mean() == pytest.approx(25, abs=5 * 8 / math.sqrt(count))
    z = (waiting.true_skill - waiting.mu) / waiting.sigma
    for group in (is_newcomer, ~is_newcomer):
        size = group.sum()
        assert z[group].mean() == pytest.approx(0, abs=5 / math.sqrt(size))
        assert z[group].std() == pytest.approx(1, abs=5 / math.sqrt(2 * size))


def test_changed_settings() -> None:
    assert QueueSettings().changed() == {}
    assert QueueSettings(population="normal").changed() == {}
    for patience in (None, math.inf, "inf"):
        assert QueueSettings.checked(patience=patience).patience == math.inf
    rated = QueueSettings(stay=0.5, population=([1.0], [2.0]))
    population = RatedPopulation(np.array([1.0]), np.array([2.0]))
    assert rated.changed() == {"stay": 0.5, "population": population}
    assert "RatedPopulation of 1 players" in str(rated.description()["population"])
    named = QueueSettings(population="matchenv.envs.queue:NormalPopulation:mean=3")
    assert named.population == NormalPopulation(3.0)


def test_a_queue_keeps_visits_only_on_request() -> None:
    assert QueueSimulator(QueueSettings()).new_state(1).visits.size == 0
    assert QueueSimulator(QueueSettings(), keep_visits=True).new_state(1).visits.size > 0


def test_a_view_has_the_numbers_of_the_waiting_parties() -> None:
    env = MatchmakingQueueVectorEnv(30, capacity=5, arrival_rate=0.8, horizon=8)
    env.reset(seed=2)
    rng = np.random.default_rng(3)
    for _ in range(10):
        view = env.simulator.view(env.episodes.state, truth=True)
        assert len(view) == 30
        for row in range(30):
            of_one = QueueView.of(view[row])
            for name in ("mu", "sigma", "waited", "party", "size", "tick", "run", "true_skill"):
                np.testing.assert_array_equal(getattr(view, name)[row], getattr(of_one, name)[0])
            np.testing.assert_array_equal(view.action_mask[row], of_one.action_mask[0])
            assert view.num_candidates[row] == of_one.num_candidates[0] == view[row].candidates.size
        env.step((rng.random(30) * env.action_masks().sum(axis=1)).astype(np.int64))


def test_views_are_read_only_and_hide_true_skills() -> None:
    env = MatchmakingQueueEnv(arrival_rate=0.0)
    env.reset(seed=0, options=START)
    view = env.simulator.view(env.episodes.state)
    for hidden in (view, view[0], QueueView.of(view[0])):
        with pytest.raises(AttributeError, match="needs_truth"):
            hidden.true_skill  # noqa: B018
        for name in ("mu", "sigma", "waited", "party", "action_mask"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(hidden, name)[...] = 0
    np.testing.assert_array_equal(env.waiting_parties().mu, START["mu"])
    assert env.waiting_parties().true_skill.shape == (4,)
