"""The network's formulas against quadrature, and its symmetries."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm

from matchenv import MatchmakingVectorEnv
from matchenv.agents.equivariant.network import EquivariantNetwork, expected_best
from matchenv.agents.equivariant.state import state_of_observations

NOISE = 5.0


def by_quadrature(gap, variance, other, games):
    """E max(other, density after the games), the new mean being normal."""
    spread = variance**2 / (variance + 0.5 * math.pi * NOISE / games)
    left = NOISE + variance - spread

    def best(mean):
        after = norm.pdf(0.0, mean, math.sqrt(left))
        return max(after, other) * norm.pdf(mean, gap, math.sqrt(spread))

    edge = math.sqrt(spread)
    points = sorted(gap + edge * np.linspace(-8, 8, 33))
    return sum(quad(best, low, high, limit=200)[0] for low, high in pairwise(points))


@pytest.mark.parametrize("gap", [0.0, -0.4, 1.5, 4.0])
@pytest.mark.parametrize("variance", [0.05, 1.0, 6.0])
@pytest.mark.parametrize("other", [0.05, 0.15, 0.1784, 0.2])
@pytest.mark.parametrize("games", [1.0, 6.0])
def test_expected_best(gap, variance, other, games):
    ours = expected_best(*(torch.tensor([[x]], dtype=torch.float64)
                           for x in (gap, variance, other, games)))  # fmt: skip
    assert ours.item() == pytest.approx(by_quadrature(gap, variance, other, games), abs=2e-6)


def random_network(seed=0):
    torch.manual_seed(seed)
    network = EquivariantNetwork()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return network


def states(opponents=7, games=25, num_envs=16, **env_kwargs):
    env = MatchmakingVectorEnv(num_envs, num_opponents=opponents, belief="full", **env_kwargs)
    observation, _ = env.reset(seed=3)
    rng = np.random.default_rng(3)
    for _ in range(games):
        observation, *_ = env.step(rng.integers(0, opponents, num_envs))
    read = state_of_observations(observation)
    return torch.from_numpy(read.opponents), torch.from_numpy(read.state)


@pytest.mark.parametrize("prior", ["informative", "equal"])
def test_permuted_opponents_have_permuted_scores_and_one_value(prior):
    network = random_network()
    opponents, state = states(prior=prior)
    order = torch.randperm(7)
    with torch.no_grad():
        scores, value = network.scores(opponents, state), network.state_value(opponents, state)
        permuted = opponents[:, :, order]
        torch.testing.assert_close(
            network.scores(permuted, state), scores[:, order], atol=1e-6, rtol=1e-5
        )
        torch.testing.assert_close(
            network.state_value(permuted, state), value, atol=1e-5, rtol=1e-5
        )


def test_the_scale_of_skills_has_no_up():
    network = random_network()
    opponents, state = states()
    mirrored = opponents.clone()
    mirrored[:, 0] *= -1.0
    with torch.no_grad():
        torch.testing.assert_close(
            network.scores(mirrored, state), network.scores(opponents, state), atol=1e-6, rtol=1e-5
        )


@pytest.mark.parametrize("opponents", [1, 2, 199])
def test_any_number_of_opponents(opponents):
    network = random_network()
    with torch.no_grad():
        scores = network.scores(*states(opponents))
    assert scores.shape == (16, opponents)
    assert bool(torch.isfinite(scores).all())


def test_slopes_are_finite_in_extreme_states():
    network = random_network()
    gaps = torch.tensor([0.0, 1e-6, 3.0, 60.0, -1e4])
    variances = torch.tensor([1e-8, 1e-3, 1.0, 50.0, 1e6])
    opponents = torch.stack(
        torch.meshgrid(gaps, variances, torch.tensor([0.0, 1.0]), indexing="ij")
    ).reshape(1, 3, -1)
    state = torch.tensor([[2.5, 0.0, 0.5, 250.0]])
    scores = network.scores(opponents, state)
    assert bool(torch.isfinite(scores).all())
    (scores.sum() + network.state_value(opponents, state).sum()).backward()
    assert all(bool(torch.isfinite(each.grad).all()) for each in network.parameters()
               if each.grad is not None)  # fmt: skip


def test_nothing_is_gained_where_everything_is_known():
    network = EquivariantNetwork()
    opponents, state = states()
    opponents[:, 1] = 1e-8
    with torch.no_grad():
        scores = network.scores(opponents, state)
    density = torch.exp(-(opponents[:, 0] ** 2) / (2 * NOISE)) / math.sqrt(2 * math.pi * NOISE)
    torch.testing.assert_close(scores, density, atol=1e-5, rtol=1e-4)
