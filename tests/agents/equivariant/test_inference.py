"""The compiled choice against the network in torch, in float64, and the bounds of float32."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from matchenv import MatchmakingVectorEnv, agents
from matchenv.agents.equivariant import scores
from matchenv.agents.equivariant.inference import all_scores, highest_scores
from matchenv.agents.equivariant.network import EquivariantNetwork
from matchenv.agents.equivariant.policy import network_of
from matchenv.agents.equivariant.scores import SEGMENT, Weights, weights_of
from matchenv.agents.equivariant.screening import HUGE, find_candidates
from matchenv.agents.equivariant.state import StateBatch, state_of_observations

EVERYBODY = np.ones(0, dtype=bool)


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
    found = all_scores(states.opponents, states.state, allowed, weights)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    chosen = highest_scores(states.opponents, states.state, allowed, weights)
    np.testing.assert_array_equal(chosen, found.argmax(axis=1))
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


def bounds_of(states: StateBatch, weights: Weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lower and upper bounds of all scores, shape (n, M), and how many candidates they leave."""
    count = states.opponents.shape[2]
    segments = scores.segments_for(count)
    work = np.empty((segments, scores.SEGMENT_NUMBERS), np.float32)
    totals = np.empty(scores.TOTAL_NUMBERS, np.float32)
    places, candidates = np.empty(count, np.int64), np.empty(count, np.int64)
    floors, ceilings, left = [], [], []
    for opponents, state in zip(states.opponents, states.state, strict=True):
        size = scores.lay_out(opponents, EVERYBODY, work, places)
        field = scores.field_of(work, size, totals)
        terms = scores.terms_of(state, field, weights, work)
        # Without a lower bound, where the field is too far to tell, there are no others either.
        work[:, scores.SCORES : scores.SCORES + SEGMENT] = -HUGE
        work[:, scores.CEILINGS : scores.CEILINGS + SEGMENT] = HUGE
        left.append(find_candidates(work, totals, size, field, terms, weights, candidates))
        for found, row in ((floors, scores.SCORES), (ceilings, scores.CEILINGS)):
            found.append(work[:, row : row + SEGMENT].ravel()[:count].astype(float))
    return np.array(floors), np.array(ceilings), np.array(left)


def strange_states(count: int, opponents: int, seed: int) -> StateBatch:
    """States over many orders of magnitude, far beyond those of play."""
    rng = np.random.default_rng(seed)
    numbers = np.empty((count, 3, opponents))
    size = 10.0 ** rng.uniform(-3.0, 1.5, (count, 1))
    numbers[:, 0] = size * rng.normal(size=(count, opponents)) + rng.normal(size=(count, 1))
    middle = rng.uniform(-6.0, 3.0, (count, 1))
    numbers[:, 1] = 10.0 ** (middle + rng.uniform(-1.0, 1.0, (count, opponents)))
    numbers[:, 2] = rng.random((count, opponents)) ** rng.integers(1, 6, (count, 1))
    state = np.stack(
        [
            10.0 ** rng.uniform(-5.0, 2.0, count),
            rng.choice([0.0, 4.0], count),
            rng.random(count),
            10.0 ** rng.uniform(-1.0, 3.5, count),
        ],
        axis=1,
    )
    return StateBatch(numbers.astype(np.float32), state.astype(np.float32))


def check_bounds(states: StateBatch, network: EquivariantNetwork) -> np.ndarray:
    """That all bounds hold; returns errors as shares of the bounds on them."""
    weights = weights_of(network)
    floors, ceilings, left = bounds_of(states, weights)
    everybody = np.ones((len(states.state), 0), dtype=bool)
    exact = all_scores(states.opponents, states.state, everybody, weights)
    assert (floors <= exact).all()
    assert (exact <= ceilings).all()
    assert (left >= 1).all()
    chosen = highest_scores(states.opponents, states.state, everybody, weights)
    np.testing.assert_array_equal(chosen, exact.argmax(axis=1))
    known = floors > -HUGE
    middle, half = 0.5 * (floors + ceilings), 0.5 * (ceilings - floors)
    return np.abs(exact - middle)[known] / half[known]


@pytest.mark.parametrize("network", [shipped(), shaken(1), shaken(2)], ids=["shipped", "a", "b"])
@pytest.mark.parametrize("opponents", [2, 49, 130])
def test_bounds_hold_in_strange_states(opponents: int, network: EquivariantNetwork) -> None:
    errors = check_bounds(strange_states(1500, opponents, opponents), network)
    # The count of roundings is of the worst that can happen; twice that is allowed for.
    assert errors.max() < 0.5


def test_bounds_hold_in_play_and_leave_one_opponent() -> None:
    states = states_of_play(49, 120, 16, shipped())
    assert check_bounds(states, shipped()).max() < 0.5
    left = bounds_of(states, weights_of(shipped()))[2]
    assert (left == 1).mean() > 0.97


def test_many_and_equal_opponents() -> None:
    """Many near the best, and opponents who are all the same."""
    network = shipped()
    many = strange_states(3, 5000, 5)
    many.opponents[:, 1] = np.linspace(1.9, 2.1, 5000)
    check_bounds(many, network)
    same = StateBatch(np.repeat(many.opponents[:, :, :1], 70, axis=2), many.state)
    weights, everybody = weights_of(network), np.ones((3, 0), dtype=bool)
    assert highest_scores(same.opponents, same.state, everybody, weights).tolist() == [0, 0, 0]


@pytest.mark.slow
def test_a_hundred_thousand_states() -> None:
    network = shipped()
    states = states_of_play(49, 500, 200, network)
    for first in range(0, len(states.state), 10_000):
        part = StateBatch(*(x[first : first + 10_000] for x in (states.opponents, states.state)))
        check(part, np.ones((len(part.state), 49), dtype=bool), network)
