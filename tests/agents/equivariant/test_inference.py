"""The compiled choice against the network in torch, in float64."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from matchenv import MatchmakingVectorEnv, agents
from matchenv.agents.equivariant.inference import all_scores, highest_scores, weights_of
from matchenv.agents.equivariant.network import EquivariantNetwork
from matchenv.agents.equivariant.policy import network_of
from matchenv.agents.equivariant.state import StateBatch, state_of_observations


def shipped() -> EquivariantNetwork:
    return network_of(agents.load("equivariant").network)


def shaken(seed: int) -> EquivariantNetwork:
    torch.manual_seed(seed)
    network = EquivariantNetwork()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return network


def states_of_play(
    opponents: int, games: int, num_envs: int, network: EquivariantNetwork
) -> StateBatch:
    """States of episodes in which the network itself chooses, but for some random choices."""
    env = MatchmakingVectorEnv(num_envs, num_opponents=opponents, horizon=2 * games, belief="full")
    rng = np.random.default_rng(opponents)
    observation, _ = env.reset(seed=opponents)
    found = []
    for _ in range(games):
        read = state_of_observations(observation)
        found.append(read)
        allowed = rng.random((num_envs, opponents)) < 0.7
        allowed[:, 0] = True
        actions = highest_scores(read.opponents, read.state, allowed, weights_of(network))
        observation, *_ = env.step(actions)
    return StateBatch(
        np.concatenate([each.opponents for each in found]),
        np.concatenate([each.state for each in found]),
    )


def check(states: StateBatch, allowed: np.ndarray, network: EquivariantNetwork) -> None:
    exact = copy.deepcopy(network).double()
    with torch.inference_mode():
        expected = (
            exact.scores(
                torch.from_numpy(states.opponents).double(),
                torch.from_numpy(states.state).double(),
                torch.from_numpy(allowed),
            )
            .masked_fill(torch.from_numpy(~allowed), -torch.inf)
            .numpy()
        )
    weights = weights_of(network)
    scores = all_scores(states.opponents, states.state, allowed, weights)
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    chosen = highest_scores(states.opponents, states.state, allowed, weights)
    np.testing.assert_array_equal(chosen, scores.argmax(axis=1))
    # Scores that differ by rounding alone may be in either order.
    rows = np.arange(chosen.size)
    assert (expected.max(axis=1) - expected[rows, chosen] < 1e-6).all()


@pytest.mark.parametrize("opponents", [1, 2, 9, 49])
@pytest.mark.parametrize("network", [shipped(), shaken(1), shaken(2)], ids=["shipped", "a", "b"])
def test_scores_and_choices_are_those_of_torch(opponents: int, network: EquivariantNetwork) -> None:
    states = states_of_play(opponents, 40, 8, network)
    allowed = np.ones((len(states.state), opponents), dtype=bool)
    check(states, allowed, network)
    allowed = np.random.default_rng(0).random(allowed.shape) < 0.3
    allowed[:, -1] = True
    check(states, allowed, network)


def test_equal_opponents_go_to_the_lowest() -> None:
    opponents = np.tile(np.array([[0.3], [2.0], [0.1]], dtype=np.float32), (1, 1, 6))
    state = np.array([[1.0, 0.0, 0.5, 250.0]], dtype=np.float32)
    allowed = np.array([[False, False, True, True, False, True]])
    assert highest_scores(opponents, state, allowed, weights_of(shipped())).tolist() == [2]


@pytest.mark.slow
def test_a_hundred_thousand_states() -> None:
    network = shipped()
    states = states_of_play(49, 500, 200, network)
    for first in range(0, len(states.state), 10_000):
        part = StateBatch(*(x[first : first + 10_000] for x in (states.opponents, states.state)))
        check(part, np.ones((len(part.state), 49), dtype=bool), network)
