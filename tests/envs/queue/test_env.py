"""Steps, rewards, settings and populations of ``MatchmakingQueue-v0``."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refusals

from matchenv import MatchmakingQueueEnv
from matchenv.envs.queue import NOBODY, WaitingPlayers
from matchenv.envs.queue.dynamics import FIRST_ROOM
from matchenv.envs.queue.settings import (
    NormalPopulation,
    QueueSettings,
    RatedPopulation,
    population_of,
)
from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.trueskill import match_quality, update

BETA = math.sqrt(2.5)
GIVEN = {"mu": np.array([0.0, 2.0, -1.0, 0.5]), "sigma": np.array([1.0, 0.5, 2.0, 0.8])}
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
    while True:
        waiting = env.waiting_players()
        check_view(waiting, observation, info)
        action = int(rng.choice(np.flatnonzero(info["action_mask"])))
        quality = true_quality = 0.0
        if action:
            i, j = waiting.focal, waiting.candidates[action - 1]
            mu, sigma, skill = waiting.mu, waiting.sigma, waiting.true_skill
            quality = match_quality(mu[i], sigma[i], mu[j], sigma[j], BETA)
            true_quality = math.exp(-((skill[i] - skill[j]) ** 2) / (4 * BETA**2))
            games += 1
        observation, reward, terminated, truncated, info = env.step(action)
        assert info["match_quality"] == pytest.approx(quality, rel=1e-13)
        assert info["true_match_quality"] == pytest.approx(true_quality, rel=1e-12)
        assert reward == 2 * info["match_quality"]
        assert not terminated
        assert info["matched_players"] == 2 * games
        assert info["queued"] == info["matched_players"] + info["abandoned"] + info["waiting"]
        assert truncated == (info["tick"] == 60)
        if truncated:
            break
    assert games > 50


@pytest.mark.parametrize("stay", [0.0, 0.6, 1.0])
def test_the_relative_reward_subtracts_the_usual_quality(stay: float) -> None:
    """Players who give up cost the games that they would still have played."""
    options: dict[str, Any] = {"horizon": 40, "stay": stay, "patience": 3.0, "capacity": 6}
    env, plain = MatchmakingQueueEnv(**options), MatchmakingQueueEnv(**options, **ABSOLUTE)
    found = []
    for action in (0, 1):
        for each in (env, plain):
            each.reset(seed=3)
        totals, truncated = np.zeros(2), False
        while not truncated:
            *_, truncated, _ = results = env.step(action)
            *_, info = other = plain.step(action)
            totals += results[1], other[1]
        found.append((totals[1] - totals[0], info["matched_players"], info["abandoned"]))
    assert found[0][1] == 0
    usual = found[1][0] / (found[1][1] + env.settings.games_of_player * found[1][2])
    games = {0.0: 1.0, 0.6: 2.5, 1.0: 4.0}[stay]
    assert found[0][0] == pytest.approx(usual * games * found[0][2])
    assert 0.0 < usual < 0.9


def check_view(waiting: WaitingPlayers, observation: Any, info: dict[str, Any]) -> None:
    """Recompute the observation and the mask from the waiting players."""
    capacity, length = 6, waiting.settings.game_length
    count = waiting.mu.size
    assert (np.diff(waiting.waited) <= 0).all()
    assert len(set(waiting.player.tolist())) == count == info["waiting"]
    others = [k for k in range(count) if k != waiting.focal]
    gaps = np.abs(waiting.mu - waiting.mu[waiting.focal])
    nearest = sorted(others, key=lambda k: (gaps[k], k))[: capacity - 1]
    assert waiting.filled.tolist() == nearest
    mask = np.arange(capacity) <= len(nearest)
    np.testing.assert_array_equal(waiting.action_mask, mask)
    np.testing.assert_array_equal(info["action_mask"], mask)
    shown = [waiting.focal, *nearest]
    expected = np.zeros(4 * capacity + 3)
    for place, k in enumerate(shown):
        waited = waiting.waited[k]
        expected[place::capacity][:4] = (
            waiting.mu[k], waiting.sigma[k], waited / (waited + length), 1.0
        )  # fmt: skip
    # Nobody joins within a tick, so players behind the focal player still have a step.
    left = count - waiting.focal
    sizes = np.array([count, left, waiting.playing])
    expected[-3:] = sizes / (sizes + capacity)
    np.testing.assert_array_equal(observation, expected.astype(np.float32))
    assert waiting.playing == info["playing"]


def test_the_focal_player_waited_longest_and_is_new_in_each_tick() -> None:
    env = MatchmakingQueueEnv(capacity=8, horizon=40, arrival_rate=2.0)
    env.reset(seed=3)
    rng = np.random.default_rng(1)
    asked: dict[int, list[int]] = {}
    while True:
        waiting = env.waiting_players()
        asked.setdefault(waiting.tick, []).append(int(waiting.player[waiting.focal]))
        joined = waiting.tick - waiting.waited
        before = [
            p for p, t in zip(waiting.player, joined, strict=True) if t < joined[waiting.focal]
        ]
        assert set(before) <= set(asked[waiting.tick])
        action = int(rng.integers(waiting.filled.size + 1))
        if env.step(action)[3]:
            break
    assert all(len(set(who)) == len(who) for who in asked.values())
    assert max(map(len, asked.values())) > 3


def test_costs_of_waiting_and_giving_up() -> None:
    """Two players wait until they give up."""
    env = MatchmakingQueueEnv(
        **ABSOLUTE, arrival_rate=0.0, patience=3.0, waiting_cost=0.1, abandonment_cost=5.0,
        horizon=100,
    )  # fmt: skip
    for seed in range(30):
        env.reset(seed=seed, options={"mu": [0.0, 0.0], "sigma": [1.0, 1.0]})
        total, truncated = 0.0, False
        while not truncated:
            _, reward, _, truncated, info = env.step(0)
            total += reward
        assert info["abandoned"] == 2
        assert total == pytest.approx(-0.1 * 2 * info["mean_wait"] - 2 * 5.0)


@pytest.mark.parametrize("z", [2.5, 0.7, -0.1, -0.3, -0.6, -3.0])
def test_a_game_lasts_its_ticks_and_changes_both_beliefs(z: float) -> None:
    env = MatchmakingQueueEnv(**CLOSED, game_length=4, horizon=30, draw_margin=0.5, tau=0.3)
    env.reset(seed=1, options={**GIVEN, "noise": [z]})
    start = env.waiting_players()
    one, other = 0, int(start.candidates[0])
    assert (start.focal, other) == (0, 3)
    env.step(1)
    while env.waiting_players().tick < 4:
        assert set(env.waiting_players().player) == {1, 2}
        env.step(0)
    after = env.waiting_players()
    assert after.tick == 4
    assert set(after.player) == {0, 1, 2, 3}
    index = {int(player): k for k, player in enumerate(after.player)}
    skills = [after.true_skill[index[k]] for k in (one, other)]
    difference = skills[0] - skills[1] + math.sqrt(2) * BETA * z
    outcome = 0 if abs(difference) <= 0.5 else math.copysign(1, difference)
    mu, sigma = start.mu, np.hypot(start.sigma, 0.3)
    expected = update(mu[0], sigma[0], mu[3], sigma[3], outcome, BETA, 0.5)
    found = [f(index[k]) for k in (one, other) for f in (after.mu.item, after.sigma.item)]
    assert found == pytest.approx(expected, rel=1e-14)
    assert skills != [start.true_skill[0], start.true_skill[3]]
    assert after.waited[index[0]] == 0


def test_a_run_without_any_choice_ends_with_its_first_step() -> None:
    env = MatchmakingQueueEnv(**CLOSED, waiting_cost=0.5, horizon=8)
    for options, cost in ((None, 0.0), ({"mu": [], "sigma": [], "noise": []}, 0.0),
                          ({"mu": [0.0], "sigma": [1.0]}, 4.0)):  # fmt: skip
        observation, info = env.reset(seed=0, options=options)
        assert env.observation_space.contains(observation)
        assert info["tick"] == 8
        assert info["action_mask"].tolist() == [1] + [0] * 15
        assert env.waiting_players().focal == NOBODY
        _, reward, terminated, truncated, _ = env.step(0)
        assert (reward, terminated, truncated) == (-cost, False, True)


def test_neither_actions_nor_growing_arrays_change_log_ons() -> None:

    def met(wait: float) -> dict[int, tuple[float, int]]:
        env = MatchmakingQueueEnv(stay=0.0, patience=math.inf, horizon=12, arrival_rate=20.0)
        env.reset(seed=3)
        rng, found = np.random.default_rng(0), dict[int, tuple[float, int]]()
        while True:
            waiting = env.waiting_players()
            for k, player in enumerate(waiting.player.tolist()):
                now = waiting.true_skill[k], int(waiting.tick - waiting.waited[k])
                assert found.setdefault(player, now) == now
            *_, truncated, info = env.step(0 if rng.random() < wait else 1)
            if truncated:
                assert wait < 0.5 or info["waiting"] > 2 * FIRST_ROOM
                return found

    eager, patient = met(0.1), met(0.99)
    both = set(eager) & set(patient)
    assert len(both) > 60
    assert all(eager[player] == patient[player] for player in both)


def test_newcomers_and_regulars_follow_the_population() -> None:
    """Standardised errors of the beliefs are standard normal for both kinds."""
    env = MatchmakingQueueEnv(
        arrival_rate=4000.0, horizon=1, newcomers=0.3, population=NormalPopulation(25, 8, 2)
    )
    env.reset(seed=0)
    waiting = env.waiting_players()
    new = waiting.sigma == 8.0
    count = waiting.mu.size
    assert count == pytest.approx(4000, abs=5 * math.sqrt(4000))
    assert new.mean() == pytest.approx(0.3, abs=5 * math.sqrt(0.21 / count))
    assert (waiting.mu[new] == 25.0).all()
    assert (waiting.sigma[~new] == 2.0).all()
    assert waiting.true_skill.mean() == pytest.approx(25, abs=5 * 8 / math.sqrt(count))
    z = (waiting.true_skill - waiting.mu) / waiting.sigma
    for kind in (new, ~new):
        size = kind.sum()
        assert z[kind].mean() == pytest.approx(0, abs=5 / math.sqrt(size))
        assert z[kind].std() == pytest.approx(1, abs=5 / math.sqrt(2 * size))


def test_changed_settings() -> None:
    for same in ({}, {"population": "normal"}):
        assert QueueSettings(**same).changed() == {}
    for patience in (None, math.inf):
        assert QueueSettings(patience=patience).patience == math.inf
    rated = QueueSettings(stay=0.5, population=([1.0], [2.0]))
    population = RatedPopulation(np.array([1.0]), np.array([2.0]))
    assert rated.changed() == {"stay": 0.5, "population": population}
    assert "RatedPopulation of 1 players" in str(rated.description()["population"])
    named = QueueSettings(population="matchenv.envs.queue.settings:NormalPopulation:mean=3")
    assert named.population == NormalPopulation(3.0)


RATINGS = np.array([21.0, 13.5, 27.0]), np.array([1.0, 4.0, 2.5])


@pytest.mark.parametrize("given", [NormalPopulation(25.0, 8.0, 2.0), RATINGS])
def test_a_population_has_the_moments_of_its_mixture(given: Any) -> None:
    population, rng = population_of(given), np.random.default_rng(1)
    centre, spread, sigma = population.rows[rng.integers(len(population.rows), size=400_000)].T
    skills = centre + spread * rng.standard_normal(centre.size)
    skills += sigma * rng.standard_normal(centre.size)
    error = population.deviation / math.sqrt(skills.size)
    assert skills.mean() == pytest.approx(population.mean, abs=5 * error)
    assert skills.std() == pytest.approx(population.deviation, abs=5 * error)
    with pytest.raises(ValueError, match="regular_deviation"):
        NormalPopulation(0.0, 1.0, 1.0)


def test_a_table_of_ratings(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("Player,Mu,games,Sigma\nada,25.5,3,2.5\nbo,-1e1,0,8\n")
    for given in (path, str(path)):
        population = population_of(given)
        np.testing.assert_array_equal(population.rows, [[25.5, 0.0, 2.5], [-10.0, 0.0, 8.0]])
    assert str(path) in repr(population)


test_errors_of_rating_tables_name_the_line = refusals(
    ("player,rating\nada,1\n", "population.*no mu and no sigma in line 1"),
    ("mu,sigma\n1,2\nnan,2\n3,1\n", "population.*line 3: mu is 'nan'"),
    ("mu,sigma\n1,2\n1,0\n2,-1\n", "population.*line 3: sigma is '0' and 1 more"),
    ("mu,sigma\n1,2\n\n2,2\n", "population.*line 3: blank line"),
    ("mu,sigma\n1,2,3\n", "population.*line 2: wrong number of columns"),
    ("mu,sigma\n", "population.*at least one player"),
    ("", "population.*empty"),
    ("mu,mu\n1,2\n", "population.*names 'mu' twice"),
    call=population_of,
    file="ratings.csv",
)


def test_a_queue_keeps_visits_only_on_request() -> None:
    assert QueueSimulator(QueueSettings()).new_state(1).visits.size == 0
    assert QueueSimulator(QueueSettings(), keep_visits=True).new_state(1).visits.size > 0
