"""KG against the paper's formulas by enumeration, and its search against its rule."""

import math
from typing import Any

import numpy as np
import pytest
from dense_belief import DISCOUNTED, DenseBelief, covariance_of, states_after_games
from numpy.typing import NDArray

from matchenv.baselines import KnowledgeGradient
from matchenv.baselines import knowledge_gradient_rule as rule
from matchenv.baselines.knowledge_gradient import (
    knowledge_gradient_action,
    knowledge_gradient_actions,
    score_bounds,
)
from matchenv.belief import GameConstants
from matchenv.envs.one_player.simulator import MatchmakingView

Floats = NDArray[np.float64]
BETA = math.sqrt(2.5)
BELIEFS = pytest.mark.parametrize("belief", ["factorised", "full"])

# Means, deviations, and those of s_0 - s_k: none on the factorised belief.
Numbers = tuple[Floats, Floats, Floats]


@pytest.mark.parametrize(
    ("belief", "tau"), [("factorised", 0.0), ("factorised", 0.3), ("full", 0.0), (DISCOUNTED, 0.3)]
)
@pytest.mark.parametrize(
    ("opponents", "games", "options", "multiplier", "margin"),
    [
        (1, 4, {}, 99.0, 0.7),
        (2, 1, {"multiplier": 20}, 20.0, 0.7),
        (7, 20, {}, 99.0, 0.0),
        (7, 20, {"discount": 0.9}, 9.0, 0.7),
        (7, 20, {"finite_horizon": True}, 36.0, 0.0),
        (7, 20, {"finite_horizon": True, "scale": 0.1}, 3.6, 0.0),
        (3, 9, {"discount": 0.0}, 0.0, 0.0),
    ],
)
def test_kg_equals_the_enumeration(
    belief: str, tau: float, opponents: int, games: int, options: Any, multiplier: float,
    margin: float, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """In batches of two states of seven opponents, where the belief's own update is used."""
    monkeypatch.setattr(rule, "MOST_STATES", 14)
    batch = states_after_games(belief, 5, opponents, games, BETA)
    policy = KnowledgeGradient(**options, draw_margin=margin, belief=belief, tau=tau)
    scores, actions = policy.scores(batch, 37), policy.act(MatchmakingView(batch, 37))
    for b in range(5):
        dense = DenseBelief(batch.mu[b], covariance_of(batch[b]), BETA, margin, belief, tau)
        # Eq. (12) and (13) over opponents, outcomes and next opponents.
        best = [sum(chance * after.densities.max() for chance, after in dense.after(j).values())
                for j in range(1, opponents + 1)]  # fmt: skip
        expected = dense.densities + multiplier * np.array(best)
        np.testing.assert_allclose(scores[b], expected, rtol=1e-9)
        assert actions[b] == scores[b].argmax()


KINDS = ("in play", "far from everybody", "all equal", "nearly equal", "few values", "on a lattice",
         "any scale", "shifted", "underflowing")  # fmt: skip


def made(kind: str, rng: np.random.Generator, rows: int, count: int) -> Any:
    """Random states of one of the ``KINDS``.

    Returns means, player 0's deviation, the opponents' prior deviations and their slacks on the
    full belief, which are 1 before the first game against player 0.
    """
    mu = 2.0 * rng.normal(size=(rows, count + 1))
    own = np.where(rng.random(rows) < 0.3, 1.5, rng.uniform(0.05, 1.0, rows))
    prior = np.sqrt(rng.uniform(2.0, 3.0, (rows, count)))
    prior = np.where(rng.random(prior.shape) < 0.3, rng.uniform(0.1, 1.0, prior.shape), prior)
    slack = np.where(rng.random(prior.shape) < 0.5, 1.0, rng.uniform(0.0, 1.0, prior.shape))
    match kind:
        case "far from everybody":
            mu[:, 0] += rng.choice([-1.0, 1.0], rows) * 10.0 ** rng.uniform(0.0, 2.5, rows)
        case "all equal":
            mu[:, 1:], prior, slack = mu[:, 1:2], np.full_like(prior, 1.5), np.full_like(slack, 0.6)
        case "nearly equal":  # the bounds leave most opponents, so the sorted orders are used
            mu[:, 1:] = mu[:, 1:2] + (mu[:, 1:] - mu[:, 1:2]) * 10.0 ** rng.uniform(-12.0, -1.0)
            prior = prior if rng.random() < 0.5 else np.full_like(prior, 1.5)
        case "few values":  # ties: mirrored gaps, duplicates, known skills
            mu = rng.integers(-2, 3, mu.shape).astype(float)
            own, prior = rng.choice([0.25, 1.0], rows), rng.choice([0.5, 1.0, 2.0], prior.shape)
            slack = rng.choice([0.0, 0.25, 1.0], prior.shape)
        case "on a lattice":  # player 0 on or between the others: scores in mirrored pairs
            mu[:] = np.arange(count + 1) * 0.5
            mu[:, 0] = rng.integers(0, 2 * count + 2, rows) * 0.25
            mu, same = rng.permuted(mu, axis=1), np.ones((rows, count))
            own, prior, slack = np.full(rows, 1.5), 1.5 * same, same
        case "any scale":
            mu *= 0.5 * 10.0 ** rng.uniform(-6.0, 8.0, (rows, 1))
            own, prior = (10.0 ** rng.uniform(-6.0, 4.0, size) for size in (rows, prior.shape))
            slack = rng.uniform(0.0, 1.0, prior.shape)
        case "shifted":  # large means, whose differences have few digits
            mu += 10.0 ** rng.uniform(3.0, 17.0, (rows, 1))
        case "underflowing":  # draw densities near the smallest float64, or 0
            mu[:, 1:] = rng.choice([-1.0, 1.0], prior.shape) * rng.uniform(80.0, 95.0, prior.shape)
            own, prior = 0.1 * own, 0.1 * prior
    return mu, own, prior, slack


def numbers_of(belief: str, mu: Floats, own: Floats, prior: Floats, slack: Floats) -> Numbers:
    """Arguments for a belief; half of the full states are rounded to float32, like observations."""
    if belief == "factorised":
        return mu, np.column_stack((own, prior)), np.empty((len(mu), 0))
    square, rest = np.square(own)[:, None], slack * np.square(prior)
    sigma = np.column_stack((own, np.sqrt((1.0 - slack) ** 2 * square + rest)))
    numbers = mu, sigma, np.sqrt(slack**2 * square + rest)
    for array in numbers:
        array[::2] = array[::2].astype(np.float32)
    return numbers


@BELIEFS
@pytest.mark.parametrize("states", [400, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_the_search_finds_the_rules_opponent(kind: str, states: int, belief: str) -> None:
    """Among 1 to 500 opponents, with and without draws and drift."""
    rng, checked = np.random.default_rng(1), 0
    while checked < states:
        opponents = int(min(500, np.exp(rng.uniform(0.0, np.log(501.0)))))
        rows = max(1, min(states // 20, 20_000 // opponents**2 * 5 + 5))
        tau = rng.choice([0.0, 0.0, 0.3]) if belief == "factorised" else 0.0
        game = GameConstants(BETA, float(rng.choice([0.0, 0.0, 0.4])), float(tau))
        multipliers = rng.choice([0.0, 0.3, 1.0, 20.0, 99.0, 499.0, 1e6], rows)
        numbers = numbers_of(belief, *made(kind, rng, rows, opponents))
        plain = rule.knowledge_gradient_scores(*numbers, multipliers, game).argmax(axis=1)
        found = knowledge_gradient_actions(*numbers, multipliers, game)
        np.testing.assert_array_equal(found, plain)
        checked += rows


@BELIEFS
def test_bounds_are_tight(belief: str) -> None:
    """In play they leave a twentieth of the opponents on average."""
    left, game = [], GameConstants(BETA)
    for games in (0, 10, 60):
        state = states_after_games(belief, 20, 49, games, BETA)
        scores = KnowledgeGradient(belief=belief).scores(state, 500)
        for b in range(20):
            read = rule.read_opponents(state.mu[b], state.sigma[b], state.difference_sigma[b], game)
            left.append(np.count_nonzero(score_bounds(read, 99.0, game) >= scores[b].max()))
    assert np.mean(left) < 2.5


def test_bounds_are_tight_in_a_crowd() -> None:
    """For a newcomer among opponents of many deviations they leave a hundredth."""
    rng, game = np.random.default_rng(1), GameConstants(BETA)
    mu, sigma = 1.5 * rng.normal(size=2001), 10.0 ** rng.uniform(-2.5, 0.5, 2001)
    mu[0], sigma[0] = 0.0, 2.0
    opponents = rule.read_opponents(mu, sigma, np.empty(0), game)
    action = knowledge_gradient_action(opponents, 99.0, game)
    best = opponents.densities[action] + 99.0 * rule.look_ahead(opponents, action, game)
    assert np.count_nonzero(score_bounds(opponents, 99.0, game) >= best) < 20


@pytest.mark.parametrize(("gap", "own", "prior"), [(85.0, 0.1, 0.1), (0.0, 1e4, 1e-3)])
def test_no_bound_is_used_if_digits_are_lost(gap: float, own: float, prior: float) -> None:
    """Densities near the smallest float64, and variances that one game reduces to about 0."""
    mu, sigma = np.array([0.0, gap, gap + 1.0]), np.array([own, prior, prior])
    opponents = rule.read_opponents(mu, sigma, np.empty(0), GameConstants(BETA))
    assert np.isinf(score_bounds(opponents, 99.0, GameConstants(BETA))).all()
