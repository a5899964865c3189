"""What the shared network is told: the right numbers, and nothing that should not matter."""

import numpy as np
import pytest
import torch

from matchenv import MatchmakingVectorEnv
from matchenv.agents.shared.rows import (
    CONTEXT,
    DENSITY,
    FARTHEST,
    ROWS,
    STEEPNESS,
    OpponentNumbers,
    split_numbers,
)
from matchenv.settings import Settings
from matchenv.spaces import observation_space
from matchenv.trueskill import draw_density


def played(games=12, opponents=5, **options):
    """Observations amid episodes, and the settings."""
    env = MatchmakingVectorEnv(32, num_opponents=opponents, horizon=40, **options)
    observation, _ = env.reset(seed=3)
    rng = np.random.default_rng(0)
    for _ in range(games):
        masks = (
            observation[:, -opponents:] if env.settings.pool_changes else np.ones((32, opponents))
        )
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
        observation = env.step(actions)[0]
    return observation, env.settings


def numbers(observation, settings, beta=None):
    extractor = OpponentNumbers(
        observation_space(settings), settings.belief, settings.beta if beta is None else beta
    )
    return split_numbers(extractor(torch.from_numpy(np.asarray(observation, dtype=np.float32))))


@pytest.mark.parametrize("belief", ["factorised", "full"])
def test_the_first_number_is_the_draw_density_below_the_best(belief):
    observation, settings = played(belief=belief)
    rows, online, context = numbers(observation, settings)
    assert rows.shape == (32, ROWS, 5)
    assert context.shape == (32, CONTEXT)
    assert (online == 1.0).all()
    mu, sigma = observation[:, :6].astype(float), observation[:, 6:12].astype(float)
    # Only the variance of the difference counts, however it is shared out.
    halves = observation[:, 12:17].astype(float) / np.sqrt(2.0)
    sigma_0 = sigma[:, :1] if belief == "factorised" else halves
    sigma_k = sigma[:, 1:] if belief == "factorised" else halves
    log_q = np.log(draw_density(mu[:, :1], sigma_0, mu[:, 1:], sigma_k, settings.beta))
    below = STEEPNESS * (log_q.max(axis=1, keepdims=True) - log_q)
    expected = -below / (1.0 + below / FARTHEST)
    np.testing.assert_allclose(rows[:, DENSITY], expected, atol=2e-4)


@pytest.mark.parametrize("belief", ["factorised", "full"])
def test_order_zero_unit_and_end_of_the_scale_do_not_matter(belief):
    observation, settings = played(belief=belief)
    rows, _, context = numbers(observation, settings)

    order = np.array([3, 0, 4, 1, 2])
    permuted = observation.copy()
    for first in (1, 7, 12)[: 3 if belief == "full" else 2]:
        permuted[:, first : first + 5] = observation[:, first : first + 5][:, order]
    again, _, same = numbers(permuted, settings)
    np.testing.assert_allclose(again, rows[:, :, order], atol=1e-4)
    np.testing.assert_allclose(same, context, atol=1e-4)

    shifted, mirrored, scaled = (observation.copy() for _ in range(3))
    shifted[:, :6] += 3.0
    mirrored[:, :6] *= -1.0
    scaled[:, :-1] *= 2.0
    for changed, beta in ((shifted, None), (mirrored, None), (scaled, 2.0 * settings.beta)):
        again, _, same = numbers(changed, settings, beta)
        np.testing.assert_allclose(again, rows, atol=2e-3)
        np.testing.assert_allclose(same, context, atol=2e-3)


def test_who_is_offline_changes_nothing_for_the_others():
    observation, settings = played(belief="full", availability=0.5, mean_stay=5)
    rows, online, _ = numbers(observation, settings)
    np.testing.assert_array_equal(online, observation[:, -5:])
    assert 0.0 < float(online.mean()) < 1.0
    # The best of those online is the one that the others are measured by.
    best = (rows[:, DENSITY] * online - 1e3 * (1.0 - online)).amax(1)
    np.testing.assert_allclose(best, 0.0, atol=1e-6)
    moved = observation.copy()
    offline = np.flatnonzero(online[0].numpy() == 0.0)
    moved[0, 1 + offline] += 50.0  # somebody offline, now far away
    again, _, _ = numbers(moved, settings)
    kept = online[0] == 1.0
    np.testing.assert_allclose(again[0][:, kept], rows[0][:, kept], atol=1e-6)


def test_another_space_is_refused():
    box = observation_space(Settings.checked(num_opponents=3))
    with pytest.raises(ValueError, match="Matchmaking-v0"):
        OpponentNumbers(type(box)(box.low[:-1], box.high[:-1], dtype=np.float32))
