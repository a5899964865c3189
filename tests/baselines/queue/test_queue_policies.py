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
from matchenv.envs.queue.settings import QueueSettings
from matchenv.envs.queue.view import NOBODY, QueueView, WaitingPlayers
from matchenv.evaluation.registry import POLICIES, QUEUE, policy_class
from matchenv.trueskill import match_quality, update, win_probability

Floats = NDArray[np.float64]
SEEDS = range(6)


def queue_of(rng: np.random.Generator, count: int, **changes: Any) -> WaitingPlayers:
    """A queue of ``count`` players, the longest waiting first; the focal player is the first."""
    settings = changes.pop("settings", QueueSettings(capacity=max(2, count)))
    new = rng.random(count) < 0.3
    mu = np.where(new, 0.0, rng.normal(0.0, 2.0, count))
    sigma = np.where(new, 2.5, rng.uniform(0.5, 1.0, count))
    fields = {
        "mu": mu,
        "sigma": sigma,
        "waited": np.sort(rng.integers(0, 9, count))[::-1].copy(),
        "player": rng.permutation(5 * count)[:count],
        "focal": 0,
        "tick": 3,
        "playing": 0,
        "settings": settings,
        "true_skill": rng.normal(mu, sigma),
        **changes,
    }
    others = np.delete(np.arange(count), fields["focal"])
    gaps = np.abs(fields["mu"][others] - fields["mu"][fields["focal"]])
    nearest = others[np.argsort(gaps, kind="stable")][: settings.num_candidates]
    candidates = np.full(settings.num_candidates, NOBODY)
    candidates[: nearest.size] = nearest
    return WaitingPlayers(candidates=candidates, **fields)


def best_pairs(weights: Floats) -> list[tuple[int, int]]:
    """The maximum-weight matching by the blossom algorithm of networkx."""
    graph = networkx.Graph()
    for i, j in np.argwhere(np.triu(weights, 1) > 0.0).tolist():
        graph.add_edge(i, j, weight=float(weights[i, j]))
    return [*networkx.max_weight_matching(graph)]


def ask(policy: rules.QueuePolicy, queue: WaitingPlayers) -> int:
    return policy.choose(queue, np.random.default_rng(1))


def quality(queue: WaitingPlayers, i: int, j: int) -> float:
    return float(
        match_quality(queue.mu[i], queue.sigma[i], queue.mu[j], queue.sigma[j], queue.settings.beta)
    )


def gain(queue: WaitingPlayers, i: int, j: int) -> float:
    """Expected gain of the best match quality of i from a game against j."""
    beta = queue.settings.beta
    others = [k for k in range(queue.mu.size) if k != i]
    best = max(quality(queue, i, k) for k in others)
    wins = win_probability(queue.mu[i], queue.sigma[i], queue.mu[j], queue.sigma[j], beta)
    expected = 0.0
    for outcome, probability in ((1, wins), (-1, 1.0 - wins)):
        mu, sigma = queue.mu.copy(), queue.sigma.copy()
        mu[i], sigma[i], mu[j], sigma[j] = update(mu[i], sigma[i], mu[j], sigma[j], outcome, beta)
        after = replace(queue, mu=mu, sigma=sigma)
        expected += probability * max(quality(after, i, k) for k in others)
    return float(expected - best)


@pytest.mark.parametrize("seed", SEEDS)
def test_nearest_mean_window_and_best_quality_above_a_falling_reservation(seed: int) -> None:
    queue = queue_of(np.random.default_rng(seed), 7)
    gaps = np.abs(queue.mu[1:] - queue.mu[0])
    assert ask(rules.FirstComeFirstServed(), queue) == 1
    assert queue.candidates[0] == 1 + np.argmin(gaps)
    assert ask(rules.WideningWindow(0.2, 0.1), queue) == (gaps.min() <= 0.2 + 0.1 * queue.waited[0])

    qualities = [quality(queue, 0, k) for k in queue.candidates]
    asked = 0.8 - 0.03 * queue.waited[0]
    expected = 1 + int(np.argmax(qualities)) if max(qualities) >= asked else 0
    assert ask(rules.ReservedDrawChance(0.8, 0.03), queue) == expected
    assert ask(rules.QueueKnowledgeGradient(0.0, reservation=0.8, fall=0.03), queue) == expected


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("both", [False, True])
def test_kg_adds_the_gain(seed: int, both: bool) -> None:
    queue = queue_of(np.random.default_rng(seed), 6)
    policy = rules.QueueKnowledgeGradient(4.0, both=both, reservation=0.0, fall=0.0)
    values = []
    for k in queue.candidates:
        learnt = gain(queue, 0, k)
        if both:
            learnt = 0.5 * (learnt + gain(queue, k, 0))
        values.append(quality(queue, 0, k) + 4.0 * learnt)
    np.testing.assert_allclose(policy.values(QueueView.of(queue)), values, rtol=1e-10)
    assert ask(policy, queue) == 1 + int(np.argmax(values))


@pytest.mark.parametrize("count", [2, 3, 6, 8])
@pytest.mark.parametrize("multiplier", [0.0, 3.0])
def test_the_plan_is_optimal_for_every_focal_player(count: int, multiplier: float) -> None:
    queue = queue_of(np.random.default_rng(count), count)
    weights = np.zeros((count, count))
    for i, j in combinations(range(count), 2):
        waited = 0.5 * (queue.waited[i] + queue.waited[j])
        learnt = 0.5 * (gain(queue, i, j) + gain(queue, j, i)) if multiplier else 0.0
        weights[i, j] = quality(queue, i, j) + multiplier * learnt - (0.4 - 0.02 * float(waited))
    partners = {a: b for i, j in best_pairs(weights) for a, b in ((i, j), (j, i))}
    assert partners
    policy = rules.KnowledgeMatching(multiplier, reservation=0.4, fall=0.02)
    for focal in range(count):
        asked = queue_of(np.random.default_rng(count), count, focal=focal)
        choice = ask(policy, asked)
        chosen = int(asked.candidates[choice - 1]) if choice else NOBODY
        assert chosen == partners.get(focal, NOBODY)


@pytest.mark.parametrize("seed", SEEDS)
def test_priced_pairs_players_if_the_quality_exceeds_the_mean_price(seed: int) -> None:
    queue = queue_of(np.random.default_rng(seed), 2)
    spread = queue.settings.population.deviation
    asked = 0.7 - 0.02 * queue.waited - 0.03 * (queue.mu / spread) ** 2 - 0.4 * queue.sigma / spread
    policy = rules.PricedMatching(0.7, 0.02, 0.03, 0.4)
    np.testing.assert_allclose(policy.prices(queue), asked, rtol=1e-12)
    assert ask(policy, queue) == int(quality(queue, 0, 1) > asked.mean())
    plain = rules.PricedMatching(0.45, 0.05, tail=0.0, newcomer=0.0)
    queue = queue_of(np.random.default_rng(seed), 12)
    np.testing.assert_array_equal(plain.plan(queue), rules.MaximumWeightMatching().plan(queue))


class Counting(rules.MaximumWeightMatching):
    plans = 0

    def plan(self, waiting: WaitingPlayers) -> Any:
        self.plans += 1
        return super().plan(waiting)


def test_a_plan_is_made_once_per_tick() -> None:
    env, policy = MatchmakingQueueEnv(horizon=40, arrival_rate=2.0), Counting()
    env.reset(seed=0)
    ticks, truncated = set(), False
    while not truncated:
        waiting = env.waiting_players()
        ticks.add(waiting.tick)
        truncated = env.step(policy.choose(waiting))[3]
    assert policy.plans == len(ticks)


def test_the_oracle_uses_true_skills() -> None:
    queue = queue_of(np.random.default_rng(3), 4)
    true = np.array([0.0, 5.0, 0.1, 5.1])
    queue = replace(queue, true_skill=true, mu=np.array([0.0, 0.0, 9.0, 9.0]))
    assert queue.candidates[ask(rules.MatchingOracle(0.5, 0.0), queue) - 1] == 2


@pytest.mark.parametrize("seed", SEEDS)
def test_a_one_player_policy_chooses_among_the_candidates(seed: int) -> None:
    queue = queue_of(np.random.default_rng(seed), 7)
    order = np.concatenate(([0], queue.candidates))
    state = KnowledgeState(queue.mu[order], queue.sigma[order])
    for policy in (PointEstimate(), DrawChance(), KnowledgeGradient(multiplier=20)):
        expected = 1 + int(policy.act(state, 20))
        assert ask(rules.Reserved(policy, 0.0), queue) == expected
        opponent = order[expected]
        pair = queue.mu[0], queue.sigma[0], queue.mu[opponent], queue.sigma[opponent]
        quality = match_quality(*pair, queue.settings.beta)
        assert ask(rules.Reserved(policy, quality - 1e-9, 0.0), queue) == expected
        assert ask(rules.Reserved(policy, quality + 1e-9, 0.0), queue) == 0
    thompson = rules.Reserved(ThompsonSampling(), 0.0)
    assert thompson.stochastic
    assert 1 <= ask(thompson, queue) <= 6


def test_reserved_supports_other_beliefs_and_third_party_policies() -> None:
    queue = queue_of(np.random.default_rng(4), 7)
    assert ask(rules.Reserved(DrawChance(belief="full"), 0.0), queue) == ask(
        rules.ReservedDrawChance(0.0), queue
    )

    class ThirdParty:
        action = 2

        def predict(self, observation: Any) -> Any:
            assert observation.shape == (1, 2 * 7 + 1)
            return np.array([self.action]), None

    theirs = ThirdParty()
    assert ask(rules.Reserved(theirs, 0.0), queue) == 3
    theirs.action = -1
    with pytest.raises(ValueError, match="actions must be in"):
        ask(rules.Reserved(theirs, 0.0), queue)


def test_random_candidate_is_uniform() -> None:
    queue = queue_of(np.random.default_rng(5), 5)
    rng, policy = np.random.default_rng(6), rules.RandomCandidate(wait=0.2)
    counts = np.bincount([policy.choose(queue, rng) for _ in range(5000)], minlength=5)
    # Four standard errors.
    np.testing.assert_allclose(counts / 5000, 0.2, atol=4 * np.sqrt(0.16 / 5000))


def waiting_at_reset(
    mu: list[float], sigma: float | list[float] = 0.5, true: Any = None, beta: float = 1.5
) -> WaitingPlayers:
    env = MatchmakingQueueEnv(arrival_rate=0.0, beta=beta)
    sigma = (np.ones(len(mu)) * sigma).tolist()
    env.reset(seed=0, options={"mu": mu, "sigma": sigma, "true_skill": true})
    return env.waiting_players()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("mu", ([0.0, 0.1, 3.0], [0.0, 3.0, 0.1])),
        ("mu", ([0.0, 1.0, 0.1], [0.0, 1.0])),
        ("sigma", ([2.0, 2.0, 0.1], [2.0, 0.1, 2.0])),
        ("beta", (4.0, 0.1)),
        ("true", ([0.0, 0.1, 3.0], [0.0, 3.0, 0.1])),
    ],
)
def test_the_plan_of_another_queue_is_not_followed(name: str, values: Any) -> None:
    kind = rules.MatchingOracle if name == "true" else rules.MaximumWeightMatching
    policy = kind()
    for value in (*values, values[0]):
        queue = waiting_at_reset(**{"mu": [0.0, 0.5, 0.1], name: value})
        assert policy.choose(queue) == kind().choose(queue)


def test_a_plan_without_one_of_a_pair_is_not_followed() -> None:
    env, policy = MatchmakingQueueEnv(arrival_rate=0.0), rules.MaximumWeightMatching()
    env.reset(seed=0, options={"mu": [0.0, 0.1, 0.2, 0.3], "sigma": [0.5] * 4})
    assert policy.choose(env.waiting_players()) == 1
    env.step(2)
    assert policy.choose(env.waiting_players()) == 1


def test_a_player_without_candidates_waits() -> None:
    queue, empty = queue_of(np.random.default_rng(7), 1), waiting_at_reset([])
    assert empty.focal == NOBODY
    for name in POLICIES[QUEUE]:
        kind = policy_class(name, QUEUE)
        policy = kind(PointEstimate()) if name == "reservation" else kind()  # type: ignore[call-arg]
        assert ask(policy, queue) == ask(policy, empty) == 0
        assert repr(policy).startswith(kind.__name__)


def value_of(partners: Any, weights: Floats) -> float:
    """The sum of weights of a matching, after checking that it is one."""
    paired = np.flatnonzero(partners != NOBODY)
    np.testing.assert_array_equal(partners[partners[paired]], paired)
    assert (partners[paired] != paired).all()
    first = paired[partners[paired] > paired]
    assert (weights[first, partners[first]] > 0.0).all()
    return float(weights[first, partners[first]].sum())


def band_of(weights: Floats, width: int) -> Floats:
    count = len(weights)
    band = np.full((count, width), np.nan)
    for d in range(1, min(width, count - 1) + 1):
        band[: count - d, d - 1] = np.diagonal(weights, d)
    return band


@pytest.mark.parametrize("count", [1, 2, 3, 6, 9])
def test_band_matching_is_optimal_within_the_band(count: int) -> None:
    """For random, equal and no positive weights."""
    normal = np.random.default_rng(count).normal(size=(5, count, count))
    flat = np.array([1.0, 0.0, -1.0])[:, None, None] + np.zeros((count, count))
    every = [*(normal + normal.swapaxes(1, 2)), *flat]
    for width, weights in zip((1, 2, 4, 9, 12, 3, 3, 3), every, strict=True):
        actual = value_of(band_matching(band_of(weights, width)), weights)
        near = np.abs(np.subtract.outer(np.arange(count), np.arange(count))) <= width
        inside = np.where(near, weights, -1.0)
        best = sum(inside[pair] for pair in best_pairs(inside))
        assert actual == pytest.approx(best, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("reservation", [0.2, 0.85])
def test_the_band_is_near_optimal_in_large_queues(reservation: float) -> None:
    queue = queue_of(np.random.default_rng(7), 60)
    order = np.argsort(queue.mu)
    mu, sigma, bonus = queue.mu[order], queue.sigma[order], 0.005 * queue.waited[order]
    quality = match_quality(mu[:, None], sigma[:, None], mu, sigma, queue.settings.beta)
    weights = quality + bonus[:, None] + bonus - reservation
    exact = sum(weights[pair] for pair in best_pairs(weights))
    band = value_of(band_matching(band_of(weights, 9)), weights)
    assert 0.99 * exact <= band <= (1.0 + 1e-9) * exact


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


@pytest.mark.parametrize("seed", SEEDS)
def test_plain_matching_ignores_what_games_teach(seed: int) -> None:
    queue = queue_of(np.random.default_rng(seed), 4)
    best = max(quality(queue, i, j) for i, j in combinations(range(4), 2))
    assert (rules.MaximumWeightMatching(best + 1e-9, 0.0).plan(queue) == NOBODY).all()
    assert (rules.MaximumWeightMatching(best - 1e-9, 0.0).plan(queue) != NOBODY).any()
