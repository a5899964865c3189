"""The queue's policies against their rules, and matchings against exact ones."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import networkx
import numpy as np
import pytest
from numpy.typing import NDArray
from refusals import refusals

from matchenv import MatchmakingQueueEnv
from matchenv.baselines import DrawChance, KnowledgeGradient, PointEstimate, ThompsonSampling
from matchenv.baselines import queue as rules
from matchenv.baselines.queue.matching import band_matching
from matchenv.belief.knowledge import KnowledgeState
from matchenv.environments import MATCHMAKING_QUEUE
from matchenv.envs.core.episodes import Episodes
from matchenv.envs.one_player.simulator import MatchmakingView
from matchenv.envs.queue import NOBODY, QueueSettings, QueueView, WaitingParties
from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.evaluation.registry import policy_class
from matchenv.trueskill import match_quality, update, win_probability

Floats = NDArray[np.float64]
SEEDS = range(6)


def queue_of(rng: np.random.Generator, count: int, focal: int = 0) -> WaitingParties:
    """Return a queue of ``count`` random players, the longest waiting first."""
    is_newcomer = rng.random(count) < 0.3
    mu = np.where(is_newcomer, 0.0, rng.normal(0.0, 2.0, count))
    sigma = np.where(is_newcomer, 2.5, rng.uniform(0.5, 1.0, count))
    waited = np.sort(rng.integers(0, 9, count))[::-1].copy()
    party = rng.permutation(5 * count)[:count]
    others = np.delete(np.arange(count), focal)
    gaps = np.abs(mu[others] - mu[focal])
    return WaitingParties(
        mu=mu,
        sigma=sigma,
        waited=waited,
        party=party,
        focal=focal,
        candidates=others[np.argsort(gaps, kind="stable")],
        tick=3,
        playing=0,
        settings=QueueSettings(capacity=max(2, count)),
        true_skill=rng.normal(mu, sigma),
    )


def best_pairs(weights: Floats) -> list[tuple[int, int]]:
    """Return the maximum-weight matching by the blossom algorithm of networkx."""
    graph = networkx.Graph()
    for i, j in np.argwhere(np.triu(weights, 1) > 0.0).tolist():
        graph.add_edge(i, j, weight=float(weights[i, j]))
    return [*networkx.max_weight_matching(graph)]


def action_of(policy: rules.QueuePolicy, queue: WaitingParties) -> int:
    """Return the action of a policy in one queue."""
    return int(policy.act(QueueView.of(queue), np.random.default_rng(1))[0])


def quality_of(queue: WaitingParties, i: int, j: int) -> float:
    quality = match_quality(
        queue.mu[i], queue.sigma[i], queue.mu[j], queue.sigma[j], queue.settings.beta
    )
    return float(quality)


def best_quality(queue: WaitingParties, i: int) -> float:
    """Return the match quality of i's best game."""
    return max(quality_of(queue, i, k) for k in range(queue.mu.size) if k != i)


def gain_of(queue: WaitingParties, i: int, j: int) -> float:
    """Return the expected gain of the best match quality of i from a game against j."""
    beta = queue.settings.beta
    win = win_probability(queue.mu[i], queue.sigma[i], queue.mu[j], queue.sigma[j], beta)
    expected = 0.0
    for outcome, probability in ((1, win), (-1, 1.0 - win)):
        mu = queue.mu.copy()
        sigma = queue.sigma.copy()
        mu[i], sigma[i], mu[j], sigma[j] = update(mu[i], sigma[i], mu[j], sigma[j], outcome, beta)
        expected += probability * best_quality(replace(queue, mu=mu, sigma=sigma), i)
    return float(expected - best_quality(queue, i))


@pytest.mark.parametrize("seed", SEEDS)
def test_nearest_mean_window_and_best_quality_above_a_falling_reservation(seed: int) -> None:
    queue = queue_of(np.random.default_rng(seed), 7)
    nearest = np.abs(queue.mu[1:] - queue.mu[0]).min()
    assert action_of(rules.FirstComeFirstServed(), queue) == 1
    window = 0.2 + 0.1 * queue.waited[0]
    assert action_of(rules.WideningWindow(0.2, 0.1), queue) == (nearest <= window)

    qualities = [quality_of(queue, 0, k) for k in queue.candidates]
    expected = 0
    if max(qualities) >= 0.8 - 0.03 * queue.waited[0]:
        expected = 1 + int(np.argmax(qualities))
    assert action_of(rules.ReservedDrawChance(0.8, 0.03), queue) == expected
    without_gain = rules.QueueKnowledgeGradient(0.0, reservation=0.8, fall=0.03)
    assert action_of(without_gain, queue) == expected


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("both", [False, True])
def test_kg_adds_the_gain(seed: int, both: bool) -> None:
    queue = queue_of(np.random.default_rng(seed), 6)
    policy = rules.QueueKnowledgeGradient(4.0, both=both, reservation=0.0, fall=0.0)
    values = []
    for k in queue.candidates:
        gain = gain_of(queue, 0, k)
        if both:
            gain = 0.5 * (gain + gain_of(queue, k, 0))
        values.append(quality_of(queue, 0, k) + 4.0 * gain)
    np.testing.assert_allclose(policy.values(QueueView.of(queue)), values, rtol=1e-10)
    assert action_of(policy, queue) == 1 + int(np.argmax(values))


@pytest.mark.parametrize("count", [2, 3, 6, 8])
@pytest.mark.parametrize("multiplier", [0.0, 3.0])
def test_the_plan_is_optimal_for_every_focal_player(count: int, multiplier: float) -> None:
    queue = queue_of(np.random.default_rng(count), count)
    weights = np.zeros((count, count))
    for i, j in combinations(range(count), 2):
        weights[i, j] = quality_of(queue, i, j) - 0.4
        weights[i, j] += 0.02 * 0.5 * float(queue.waited[i] + queue.waited[j])
        if multiplier > 0.0:
            gain = 0.5 * (gain_of(queue, i, j) + gain_of(queue, j, i))
            weights[i, j] += multiplier * gain
    partners = {}
    for i, j in best_pairs(weights):
        partners[i] = j
        partners[j] = i
    assert partners
    policy = rules.KnowledgeMatching(multiplier, reservation=0.4, fall=0.02)
    for focal in range(count):
        queue = queue_of(np.random.default_rng(count), count, focal)
        action = action_of(policy, queue)
        if action == 0:
            assert focal not in partners
        else:
            assert queue.candidates[action - 1] == partners[focal]


@pytest.mark.parametrize("seed", SEEDS)
def test_plain_matching_ignores_what_games_teach(seed: int) -> None:
    queue = queue_of(np.random.default_rng(seed), 4)
    best = max(best_quality(queue, i) for i in range(4))
    assert not [*rules.MaximumWeightMatching(best + 1e-9, 0.0).plan(queue)]
    assert [*rules.MaximumWeightMatching(best - 1e-9, 0.0).plan(queue)]


@pytest.mark.parametrize("seed", SEEDS)
def test_priced_pairs_players_if_the_quality_exceeds_the_mean_price(seed: int) -> None:
    queue = queue_of(np.random.default_rng(seed), 2)
    spread = queue.settings.population.deviation
    tail = 0.03 * (queue.mu / spread) ** 2
    newcomer = 0.4 * queue.sigma / spread
    prices = 0.7 - 0.02 * queue.waited - tail - newcomer
    policy = rules.PricedMatching(0.7, 0.02, 0.03, 0.4)
    np.testing.assert_allclose(policy.prices(queue), prices, rtol=1e-12)
    assert action_of(policy, queue) == int(quality_of(queue, 0, 1) > prices.mean())


def test_priced_without_its_prices_is_matching() -> None:
    for seed in SEEDS:
        queue = queue_of(np.random.default_rng(seed), 12)
        plain = rules.PricedMatching(0.45, 0.05, tail=0.0, newcomer=0.0)
        np.testing.assert_array_equal(plain.plan(queue), rules.MaximumWeightMatching().plan(queue))


class Counting(rules.MaximumWeightMatching):
    """A policy that counts its plans."""

    plans = 0

    def plan(self, waiting: WaitingParties) -> Any:
        self.plans += 1
        return super().plan(waiting)


def test_a_plan_is_made_once_per_tick() -> None:
    """The number of plans is the number of ticks with a choice, in all queues together."""
    policy = Counting()
    episodes = Episodes.of_seeds(QueueSimulator(QueueSettings(horizon=40)), range(5))
    ticks = set()
    while episodes.running.any():
        tick = episodes.state.clock["tick"]
        for row in np.flatnonzero(episodes.running).tolist():
            ticks.add((row, int(tick[row])))
        episodes.step(policy.act(episodes.simulator.view(episodes.state)), strict=True)
    assert policy.plans == len(ticks)


def waiting_at_reset(
    mu: list[float], sigma: Any = 0.5, true_skill: Any = None, beta: float = 1.5
) -> WaitingParties:
    """Return the players of a new run with the same key."""
    env = MatchmakingQueueEnv(arrival_rate=0.0, beta=beta)
    sigmas = np.broadcast_to(sigma, len(mu)).copy()
    env.reset(seed=0, options={"mu": mu, "sigma": sigmas, "true_skill": true_skill})
    return env.waiting_parties()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("mu", ([0.0, 0.1, 3.0], [0.0, 3.0, 0.1])),
        ("mu", ([0.0, 1.0, 0.1], [0.0, 1.0])),
        ("sigma", ([2.0, 2.0, 0.1], [2.0, 0.1, 2.0])),
        ("beta", (4.0, 0.1)),
        ("true_skill", ([0.0, 0.1, 3.0], [0.0, 3.0, 0.1])),
    ],
)
def test_the_plan_of_another_queue_is_not_followed(name: str, values: Any) -> None:
    """The run and the tick are the same, but not the players."""
    policy_type = rules.MaximumWeightMatching
    if name == "true_skill":
        policy_type = rules.MatchingOracle
    policy = policy_type()
    for value in (*values, values[0]):
        options: dict[str, Any] = {"mu": [0.0, 0.5, 0.1], name: value}
        queue = waiting_at_reset(**options)
        assert action_of(policy, queue) == action_of(policy_type(), queue)


def test_a_player_whose_partner_has_left_waits_for_the_next_tick() -> None:
    env = MatchmakingQueueEnv(arrival_rate=0.0, game_length=50, patience=np.inf)
    policy = rules.MaximumWeightMatching()
    env.reset(seed=0, options={"mu": [0.0, 0.1, 0.2, 0.3], "sigma": [0.5] * 4})
    # The plan pairs players 0 and 1, but 0 plays 2.
    assert action_of(policy, env.waiting_parties()) == 1
    env.step(2)
    waiting = env.waiting_parties()
    assert waiting.party.tolist() == [1, 3]
    assert waiting.tick == 0
    assert action_of(policy, waiting) == 0
    env.step(0)
    assert action_of(policy, env.waiting_parties()) == 0
    env.step(0)
    assert env.waiting_parties().tick == 1
    assert action_of(policy, env.waiting_parties()) == 1


def test_the_oracle_uses_true_skills() -> None:
    queue = queue_of(np.random.default_rng(3), 4)
    queue = replace(
        queue, true_skill=np.array([0.0, 5.0, 0.1, 5.1]), mu=np.array([0.0, 0.0, 9.0, 9.0])
    )
    action = action_of(rules.MatchingOracle(0.5, 0.0), queue)
    assert queue.candidates[action - 1] == 2


def test_the_oracle_needs_a_view_with_true_skills() -> None:
    env = MatchmakingQueueEnv(arrival_rate=2.0)
    env.reset(seed=0)
    assert rules.MatchingOracle.needs_truth
    with pytest.raises(AttributeError, match="needs_truth"):
        rules.MatchingOracle().act(env.simulator.view(env.episodes.state))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "policy", [PointEstimate(), DrawChance(), KnowledgeGradient(multiplier=20)]
)
def test_a_one_player_policy_chooses_among_the_candidates(policy: Any, seed: int) -> None:
    queue = queue_of(np.random.default_rng(seed), 7)
    order = np.concatenate(([0], queue.candidates))
    state = KnowledgeState(queue.mu[order], queue.sigma[order])
    expected = 1 + int(policy.act(MatchmakingView(state, 20)))
    assert action_of(rules.Reserved(policy, 0.0), queue) == expected
    quality = quality_of(queue, 0, order[expected])
    assert action_of(rules.Reserved(policy, quality - 1e-9, 0.0), queue) == expected
    assert action_of(rules.Reserved(policy, quality + 1e-9, 0.0), queue) == 0


def test_reserved_is_stochastic_if_its_policy_is() -> None:
    queue = queue_of(np.random.default_rng(1), 7)
    policy = rules.Reserved(ThompsonSampling(), 0.0)
    assert policy.stochastic
    assert not rules.Reserved(PointEstimate()).stochastic
    assert 1 <= action_of(policy, queue) <= 6


def test_reserved_supports_other_beliefs() -> None:
    queue = queue_of(np.random.default_rng(4), 7)
    full = rules.Reserved(DrawChance(belief="full"), 0.0)
    assert action_of(full, queue) == action_of(rules.ReservedDrawChance(0.0), queue)


def test_reserved_supports_policies_that_read_observations() -> None:
    queue = queue_of(np.random.default_rng(4), 7)

    class ThirdParty:
        action = 2

        def predict(self, observation: Any) -> Any:
            assert observation.shape == (1, 2 * 7 + 1)
            return np.array([self.action]), None

    policy = ThirdParty()
    assert action_of(rules.Reserved(policy, 0.0), queue) == 3
    policy.action = -1
    with pytest.raises(ValueError, match="actions must be in"):
        action_of(rules.Reserved(policy, 0.0), queue)


def test_random_candidate_is_uniform() -> None:
    view = QueueView.of(queue_of(np.random.default_rng(5), 5))
    rng = np.random.default_rng(6)
    policy = rules.RandomCandidate(wait=0.2)
    actions = [int(policy.act(view, rng)[0]) for _ in range(5000)]
    counts = np.bincount(actions, minlength=5)
    # Four standard errors.
    np.testing.assert_allclose(counts / 5000, 0.2, atol=4 * np.sqrt(0.16 / 5000))


@pytest.mark.parametrize("name", MATCHMAKING_QUEUE.policies)
def test_a_player_without_candidates_waits(name: str) -> None:
    alone = queue_of(np.random.default_rng(7), 1)
    empty = waiting_at_reset([])
    assert empty.focal == NOBODY
    policy_type: Any = policy_class(name, "MatchmakingQueue-v0")
    arguments = [PointEstimate()] if name == "reservation" else []
    policy = policy_type(*arguments)
    assert action_of(policy, alone) == 0
    assert action_of(policy, empty) == 0
    assert repr(policy).startswith(policy_type.__name__)


def value_of(partners: Any, weights: Floats) -> float:
    """Return the sum of weights of a matching, after checking that it is one."""
    paired = np.flatnonzero(partners != NOBODY)
    np.testing.assert_array_equal(partners[partners[paired]], paired)
    assert (partners[paired] != paired).all()
    first = paired[partners[paired] > paired]
    assert (weights[first, partners[first]] > 0.0).all()
    return float(weights[first, partners[first]].sum())


def band_of(weights: Floats, width: int) -> Floats:
    """Return the weights of pairs at most ``width`` ranks apart, shape (n, width)."""
    count = len(weights)
    band = np.full((count, width), np.nan)
    for d in range(1, min(width, count - 1) + 1):
        band[: count - d, d - 1] = np.diagonal(weights, d)
    return band


def check_band_matching(weights: Floats, width: int) -> None:
    """Compare the matching with the exact one among pairs in the band."""
    ranks = np.arange(len(weights))
    is_near = np.abs(np.subtract.outer(ranks, ranks)) <= width
    inside = np.where(is_near, weights, -1.0)
    best = sum(inside[pair] for pair in best_pairs(inside))
    value = value_of(band_matching(band_of(weights, width)), weights)
    assert value == pytest.approx(best, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 6, 9])
def test_band_matching_is_optimal_within_the_band(count: int) -> None:
    rng = np.random.default_rng(count)
    for width in (1, 2, 4, 9, 12):
        normal = rng.normal(size=(count, count))
        check_band_matching(normal + normal.T, width)
    for weight in (1.0, 0.0, -1.0):
        check_band_matching(np.full((count, count), weight), 3)


@pytest.mark.parametrize("reservation", [0.2, 0.85])
def test_the_band_is_near_optimal_in_large_queues(reservation: float) -> None:
    queue = queue_of(np.random.default_rng(7), 60)
    order = np.argsort(queue.mu)
    mu = queue.mu[order]
    sigma = queue.sigma[order]
    bonus = 0.005 * queue.waited[order]
    quality = match_quality(mu[:, None], sigma[:, None], mu, sigma, queue.settings.beta)
    weights = quality + bonus[:, None] + bonus - reservation
    exact = sum(weights[pair] for pair in best_pairs(weights))
    value = value_of(band_matching(band_of(weights, 9)), weights)
    assert 0.99 * exact <= value <= (1.0 + 1e-9) * exact


test_bad_options = refusals(
    (lambda: rules.WideningWindow(width=-1.0), "width"),
    (lambda: rules.WideningWindow(growth=float("nan")), "growth"),
    (lambda: rules.ReservedDrawChance(fall=-0.1), "fall"),
    (lambda: rules.ReservedDrawChance(reservation=float("inf")), "reservation"),
    (lambda: rules.QueueKnowledgeGradient(multiplier=-1.0), "multiplier"),
    (lambda: rules.QueueKnowledgeGradient(both="no"), "both"),
    (lambda: rules.PricedMatching(tail=-1.0), "tail"),
    (lambda: rules.PricedMatching(newcomer=float("inf")), "newcomer"),
    (lambda: rules.KnowledgeMatching(multiplier=float("nan")), "multiplier"),
    (lambda: rules.RandomCandidate(wait=1.0), "wait"),
    (lambda: rules.Reserved("thompson"), "policy"),
    (lambda: rules.Reserved(PointEstimate(), games_left=0), "games_left"),
)
