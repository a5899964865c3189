"""Common random numbers for each opponent: their law, and what they have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from matchenv import MatchmakingEnv, MatchmakingVectorEnv, Settings
from matchenv.counter_numbers import mixed, normal_number, uniform_number
from matchenv.episode_state import episode_state, restore_episodes
from matchenv.evaluation.rollout import Batch


def test_the_generator_is_splitmix64() -> None:
    """Its first numbers from the seed 1234567, as its authors' C code gives them."""
    golden, seed, mask = 0x9E3779B97F4A7C15, 1234567, 2**64 - 1
    states = [np.uint64((seed + k * golden) & mask) for k in range(1, 4)]
    assert [int(mixed(state)) for state in states] == [
        6457827717110365317, 3203168211198807973, 9817491932198370423,
    ]  # fmt: skip


@pytest.mark.parametrize("key", [0, 1, 2**63 + 5])
def test_the_numbers_follow_their_laws(key: int) -> None:
    places = range(20_000)
    uniforms = np.array([uniform_number(np.uint64(key), place) for place in places])
    normals = np.array([normal_number(np.uint64(key), place) for place in places])
    assert stats.kstest(uniforms, "uniform").pvalue > 1e-4
    assert stats.kstest(normals, "norm").pvalue > 1e-4
    for lag in (1, 2, 49):
        assert abs(np.corrcoef(normals[:-lag], normals[lag:])[0, 1]) < 4.5 / len(places) ** 0.5


def outcomes(choices: Any, tau: float = 0.0, **options: Any) -> list[list[tuple[int, float]]]:
    """What the k-th game against each opponent gave, opponent by opponent, in one episode."""
    settings = Settings.checked(
        num_opponents=3, horizon=len(choices), noise="opponent", tau=tau, **options
    )
    batch = Batch(settings, [5])
    found: list[list[tuple[int, float]]] = [[] for _ in range(3)]
    for choice in choices:
        played = batch.play(np.array([choice]))
        skill = float(batch.episodes.true_skill[0, choice + 1])
        found[choice].append((int(played.outcomes[0]), skill))
    return found


@pytest.mark.parametrize("options", [{}, {"draw_margin": 0.7}, {"horizon_block": True}])
def test_the_kth_game_against_each_has_the_same_outcome_in_any_order(options: Any) -> None:
    rng = np.random.default_rng(3)
    games = 1500 if options.pop("horizon_block", False) else 60
    choices = np.repeat(np.arange(3), games // 3)
    first, second = (outcomes(rng.permutation(choices), **options) for _ in range(2))
    assert first == second == outcomes(choices, **options)
    assert len({outcome for games in first for outcome, _ in games}) > 1


def test_an_opponents_drift_is_of_the_games_with_it() -> None:
    rng = np.random.default_rng(4)
    choices = np.repeat(np.arange(3), 20)
    first, second = (outcomes(rng.permutation(choices), tau=0.4) for _ in range(2))
    assert [[skill for _, skill in games] for games in first] == [
        [skill for _, skill in games] for games in second
    ]


def test_noise_is_standard_normal_over_episodes_and_instances_are_those_of_noise_by_game() -> None:
    count, games = 400, 20
    batches = [
        Batch(Settings.checked(num_opponents=4, horizon=games, noise=noise, tau=0.1), range(count))
        for noise in ("opponent", "game")
    ]
    np.testing.assert_array_equal(*[batch.episodes.players for batch in batches])
    rng = np.random.default_rng(5)
    for _ in range(games):
        batches[0].play(rng.integers(4, size=count))
    by_opponent, by_game = (batch.episodes._noise[:count, :games] for batch in batches)
    for channel in (0, 2):
        assert stats.kstest(by_opponent[..., channel].ravel(), "norm").pvalue > 1e-4
        assert not np.isin(by_opponent[..., channel], by_game[..., channel]).any()
    # Player 0's drift is by game, whatever is chosen.
    np.testing.assert_array_equal(by_opponent[..., 1], by_game[..., 1])
    both = np.corrcoef(by_opponent[..., 0].ravel(), by_opponent[..., 2].ravel())[0, 1]
    assert abs(both) < 4.5 / np.sqrt(count * games)


def test_all_environments_play_the_same_games_and_go_on_from_a_state() -> None:
    options: Any = {"num_opponents": 4, "horizon": 9, "noise": "opponent"}
    vector = MatchmakingVectorEnv(num_envs=3, **options)
    scalar = MatchmakingEnv(**options)
    vector.reset(seed=[7, 8, 9])
    scalar.reset(seed=8)
    rng = np.random.default_rng(6)
    actions = rng.integers(4, size=(9, 3))
    for step in range(4):
        vector.step(actions[step])
        scalar.step(int(actions[step, 1]))
    state = episode_state(vector)
    rest = [vector.step(actions[step])[0] for step in range(4, 9)]
    other = MatchmakingVectorEnv(num_envs=3, **options)
    other.reset(seed=1)
    restore_episodes(other, state)
    for step in range(4, 9):
        again = other.step(actions[step])[0]
        np.testing.assert_array_equal(again, rest[step - 4])
        np.testing.assert_array_equal(scalar.step(int(actions[step, 1]))[0], again[1])


def test_another_noise_is_refused() -> None:
    with pytest.raises(ValueError, match="noise must be one of 'game', 'opponent', got 'none'"):
        Settings.checked(noise="none")
