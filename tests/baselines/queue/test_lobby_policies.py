"""Policies of games with more than two seats, and the actions of all policies for single pairs."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from party_queues import THREES, party_queue
from refusals import refusals
from scipy.optimize import Bounds, LinearConstraint, milp

from matchenv.baselines import DrawChance, ThompsonSampling
from matchenv.baselines import queue as rules
from matchenv.baselines.queue.lobbies import Line, LobbyPlanner, line_of, lobby_gains
from matchenv.baselines.queue.planned import checked_lobbies
from matchenv.environments import MATCHMAKING_QUEUE
from matchenv.envs.core.episodes import Episodes
from matchenv.envs.queue import QueueSettings, QueueView, WaitingParties
from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.evaluation.registry import policy_class
from matchenv.trueskill import match_quality, update, win_probability

Floats = NDArray[np.float64]
RECORDED = Path(__file__).parent / "recorded_actions.json"


def actions_of(policy: rules.QueuePolicy, settings: QueueSettings) -> list[str]:
    """Return the actions of a policy in two runs, as hexadecimal digits."""
    episodes = Episodes.of_seeds(QueueSimulator(settings), range(2))
    rng = np.random.default_rng(5)
    actions: list[list[int]] = [[], []]
    while episodes.running.any():
        view = episodes.simulator.view(episodes.state, truth=policy.needs_truth)
        chosen = policy.act(view, rng)
        for row in np.flatnonzero(episodes.running).tolist():
            actions[row].append(int(chosen[row]))
        episodes.step(chosen, strict=True)
    return ["".join(f"{action:x}" for action in run) for run in actions]


def policies_of_pairs() -> dict[str, Any]:
    """Return the policies whose actions were recorded before lobbies existed, by name."""
    policies: dict[str, Any] = {
        "reservation": rules.Reserved(DrawChance()),
        "reservation thompson": rules.Reserved(ThompsonSampling(), 0.4),
        "kg both": rules.QueueKnowledgeGradient(3.0, both=True),
        "random wait": rules.RandomCandidate(0.3),
    }
    for name in MATCHMAKING_QUEUE.policies:
        if name not in policies:
            policy_type: Any = policy_class(name, "MatchmakingQueue-v0")
            policies[name] = policy_type()
    return policies


@pytest.mark.parametrize("name", policies_of_pairs())
def test_single_pairs_have_the_actions_of_the_time_before_lobbies(name: str) -> None:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    for rate in (1.0, 3.0):
        policy = policies_of_pairs()[name]
        actions = actions_of(policy, QueueSettings(arrival_rate=rate, horizon=24))
        assert actions == recorded[f"{name} {rate}"]


@pytest.mark.parametrize("name", MATCHMAKING_QUEUE.policies)
@pytest.mark.parametrize(
    ("num_sides", "side_size", "party_sizes"), [(2, 3, (0.6, 0.3, 0.1)), (3, 2, (0.7, 0.3))]
)
def test_every_policy_fills_lobbies(
    name: str, num_sides: int, side_size: int, party_sizes: tuple[float, ...]
) -> None:
    """Each begins games, with allowed actions only."""
    settings = QueueSettings(
        num_sides=num_sides,
        side_size=side_size,
        party_sizes=party_sizes,
        arrival_rate=4.0,
        horizon=12,
    )
    policy_type: Any = policy_class(name, "MatchmakingQueue-v0")
    arguments = [DrawChance()] if name == "reservation" else []
    policy = policy_type(*arguments)
    episodes = Episodes.of_seeds(QueueSimulator(settings), range(2))
    rng = np.random.default_rng(0)
    while episodes.running.any():
        view = episodes.simulator.view(episodes.state, truth=policy.needs_truth)
        episodes.step(policy.act(view, rng), strict=True)
    assert (episodes.state.clock["games_begun"] > 0).all()


class Plans(rules.PlannedPolicy):
    """A policy with a fixed plan."""

    def __init__(self, lobbies: Any) -> None:
        self.lobbies = lobbies

    def plan(self, waiting: WaitingParties) -> Any:
        return self.lobbies


def queue_of_sizes(sizes: list[int]) -> WaitingParties:
    """Return a queue of parties of these sizes, in games of 3 against 3."""
    rng = np.random.default_rng(0)
    queue = party_queue(rng, len(sizes), QueueSettings(side_size=3))
    size = np.array(sizes)
    return WaitingParties(
        **{**vars(queue), "size": size, "member_mu": None, "member_sigma": None, "member": None}
    )


def test_a_plan_may_name_the_sides() -> None:
    queue = queue_of_sizes([1, 2, 3, 1, 1, 1])
    assert checked_lobbies([[0, 1, 2]], queue) == [[0, 1, 2]]
    assert checked_lobbies([[[0, 1], [2]]], queue) == [[0, 1, 2]]
    assert checked_lobbies(np.array([[2, 1, 3]]), queue) == [[2, 1, 3]]


test_bad_plans = refusals(
    (
        lambda: checked_lobbies([[0, 1, 2], [2, 3, 4, 5]], queue_of_sizes([1, 2, 3, 1, 1, 1])),
        "party 2 in",
    ),
    (lambda: checked_lobbies([[0, 0, 1, 2]], queue_of_sizes([1, 2, 2])), "party 0 once"),
    (lambda: checked_lobbies([[0, 1]], queue_of_sizes([1, 2])), "6 players, got 3 in"),
    (lambda: checked_lobbies([[0, 1, 2]], queue_of_sizes([2, 2, 2])), "without splitting a party"),
    (lambda: checked_lobbies([[0, 7]], queue_of_sizes([3, 3])), "below 2"),
)


@pytest.mark.parametrize("seed", range(3))
def test_planned_lobbies_begin_as_planned(seed: int) -> None:
    """Every game has exactly the parties of a planned lobby, in the tick of the plan."""
    planned: set[frozenset[int]] = set()

    class Recorded(rules.MaximumWeightMatching):
        def plan(self, waiting: WaitingParties) -> Any:
            lobbies = [*super().plan(waiting)]
            planned.update(frozenset(waiting.party[lobby].tolist()) for lobby in lobbies)
            return lobbies

    settings = QueueSettings(
        side_size=2, party_sizes=(0.7, 0.3), arrival_rate=2.0, horizon=20, capacity=32
    )
    episodes = Episodes.of_seeds(QueueSimulator(settings), [seed])
    policy = Recorded(0.3, 0.05)
    begun = 0
    while episodes.running.any():
        view = episodes.simulator.view(episodes.state)
        waiting = view[0]
        action = policy.act(view)
        parties = {*waiting.party[waiting.lobby].tolist(), int(view.party[0, action[0]])}
        before = int(episodes.state.clock["games_begun"][0])
        episodes.step(action, strict=True)
        if episodes.state.clock["games_begun"][0] > before:
            assert frozenset(parties) in planned
            begun += 1
    assert begun > 5


def test_fcfs_and_window_choose_the_nearest_mean_per_player() -> None:
    for seed in range(5):
        queue = party_queue(np.random.default_rng(seed), 9, lobby=(0, 4))
        view = QueueView.of(queue)
        mean = queue.mu[[0, 4]].sum() / queue.size[[0, 4]].sum()
        gaps = np.abs(queue.mu / queue.size - mean)[queue.candidates]
        assert rules.FirstComeFirstServed().act(view) == 1
        assert gaps[0] == gaps.min()
        width = float(gaps[0] - 0.1 * queue.waited[0])
        assert rules.WideningWindow(max(0.0, width - 1e-9), 0.1).act(view) == (width < 0.0)
        assert rules.WideningWindow(max(0.0, width + 1e-9), 0.1).act(view) == 1


def test_a_reservation_applies_when_the_last_seat_is_taken() -> None:
    settings = QueueSettings(side_size=2)
    for lobby, waits in (((0,), False), ((0, 1), False), ((0, 1, 2), True)):
        queue = party_queue(np.random.default_rng(3), 7, settings, lobby)
        view = QueueView.of(queue)
        best = 1 + int(np.argmax(queue.candidate_quality()))
        quality = queue.candidate_quality().max()
        assert rules.ReservedDrawChance(quality - 1e-9, 0.0).act(view) == best
        expected = 0 if waits else best
        assert rules.ReservedDrawChance(quality + 1e-9, 0.0).act(view) == expected


def test_priced_lowers_the_price_by_the_mean_of_the_members() -> None:
    queue = party_queue(np.random.default_rng(1), 8)
    spread = queue.settings.population.deviation
    prices = rules.PricedMatching(0.7, 0.02, 0.03, 0.4).prices(queue)
    for party in range(8):
        members = range(queue.size[party])
        tail = np.mean([0.03 * (queue.member_mu[party, m] / spread) ** 2 for m in members])
        doubt = np.mean([0.4 * queue.member_sigma[party, m] / spread for m in members])
        assert prices[party] == pytest.approx(0.7 - 0.02 * queue.waited[party] - tail - doubt)


def gain_by_enumeration(
    mu: Floats, sigma: Floats, player: int, gap: float, variance: float, beta: float
) -> float:
    """Return the expected gain of a player's best match quality from a game of two sides."""

    def best(own_mu: float, own_sigma: float) -> float:
        others = np.delete(np.arange(mu.size), player)
        return float(match_quality(own_mu, own_sigma, mu[others], sigma[others], beta).max())

    # The player against one opponent whose performance is that of everybody else.
    rest = np.sqrt(variance - sigma[player] ** 2 - 2.0 * beta**2)
    win = win_probability(mu[player], sigma[player], mu[player] - gap, rest, beta)
    expected = 0.0
    for outcome, probability in ((1, win), (-1, 1.0 - win)):
        own = update(mu[player], sigma[player], mu[player] - gap, rest, outcome, beta)
        expected += float(probability) * best(float(own[0]), float(own[1]))
    return expected - best(mu[player], sigma[player])


def test_kg_adds_the_mean_gain_of_the_members() -> None:
    settings = QueueSettings(side_size=2)
    queue = party_queue(np.random.default_rng(5), 8, settings, (0, 1))
    beta = settings.beta
    gains = []
    for candidate in queue.candidates:
        players = [0, 1, int(candidate)]
        variance = (queue.sigma[players] ** 2).sum() * 4 / 3 + 4 * beta**2
        gain = 0.0
        for player in players:
            gain += gain_by_enumeration(queue.mu, queue.sigma, player, 0.0, variance, beta) / 3
        gains.append(gain)
    np.testing.assert_allclose(lobby_gains(queue), gains, rtol=1e-9)
    policy = rules.QueueKnowledgeGradient(5.0, reservation=-9.0)
    expected = queue.candidate_quality() + 5.0 * np.array(gains)
    np.testing.assert_allclose(policy.values(QueueView.of(queue)), expected, rtol=1e-9)


def planner_of(queue: WaitingParties, reservation: float = 0.45) -> LobbyPlanner:
    prices = reservation - 0.05 * queue.waited
    line = line_of(queue, queue.mu, queue.sigma, prices, 0.0)
    return LobbyPlanner(queue.settings, line)


def value_of(queue: WaitingParties, line: Line, lobbies: Any) -> float:
    """Return the sum of qualities minus mean prices, after checking that lobbies are disjoint."""
    value = 0.0
    for lobby in checked_lobbies([lobby.parties for lobby in lobbies], queue):
        price = line.price[lobby].sum() / queue.settings.num_seats
        value += queue.quality_of(lobby) - price
    return value


def all_lobbies(queue: WaitingParties, line: Line) -> dict[int, float]:
    """Return the value of every possible lobby by its parties, as bits."""
    settings = queue.settings
    values = {}
    for number in range(settings.num_sides, settings.num_seats + 1):
        for parties in combinations(range(queue.size.size), number):
            lobby = [*parties]
            if queue.size[lobby].sum() != settings.num_seats:
                continue
            try:
                checked_lobbies([lobby], queue)
            except ValueError:
                continue
            price = line.price[lobby].sum() / settings.num_seats
            values[sum(1 << party for party in lobby)] = queue.quality_of(lobby) - price
    return values


def exact_value(queue: WaitingParties, line: Line) -> float:
    """Return the value of the best disjoint lobbies by mixed integer programming."""
    values = {mask: value for mask, value in all_lobbies(queue, line).items() if value > 0.0}
    masks = np.array([*values])
    contains = (masks >> np.arange(queue.size.size)[:, np.newaxis]) & 1
    done = milp(
        -np.array([*values.values()]),
        integrality=np.ones(masks.size),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(contains, -np.inf, 1),
    )
    assert done.success
    return -float(done.fun)


def exact_value_of_four(queue: WaitingParties, line: Line) -> float:
    """Return the value of at most four disjoint lobbies, by joining the best pairs."""
    lobbies = all_lobbies(queue, line)
    masks = np.array([*lobbies])
    values = np.array([*lobbies.values()])
    # By the parties in up to two lobbies, and then by the parties that these may have.
    pairs = np.zeros(1 << queue.size.size)
    np.maximum.at(pairs, masks, values)
    for k in range(masks.size):
        is_disjoint = masks & masks[k] == 0
        np.maximum.at(pairs, masks[is_disjoint] | masks[k], values[is_disjoint] + values[k])
    within = pairs.copy()
    for party in range(queue.size.size):
        halves = within.reshape(-1, 2, 1 << party)
        halves[:, 1] = np.maximum(halves[:, 1], halves[:, 0])
    return float((pairs + within[::-1]).max())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_plans_of_sixteen_parties_are_within_one_percent_of_the_best(seed: int) -> None:
    queue = party_queue(np.random.default_rng(seed), 16)
    if queue.size.sum() >= 30:
        pytest.skip("five lobbies are possible")
    planner = planner_of(queue)
    best = exact_value_of_four(queue, planner.line)
    value = value_of(queue, planner.line, planner.plan())
    assert 0.99 * best <= value <= best + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_the_plan_is_within_one_percent_of_the_best(seed: int) -> None:
    rng = np.random.default_rng(seed)
    settings = [THREES, QueueSettings(side_size=2, party_sizes=(0.7, 0.3))][seed % 2]
    queue = party_queue(rng, 9, settings)
    planner = planner_of(queue)
    best = exact_value(queue, planner.line)
    value = value_of(queue, planner.line, planner.plan())
    assert 0.99 * best <= value <= best + 1e-9
    # In windows, as in a long queue.
    planner.most = 0
    value = value_of(queue, planner.line, planner.plan())
    assert 0.9 * best <= value <= best + 1e-9


def test_long_queues_are_planned_in_windows() -> None:
    """Nearly all of 300 parties have a lobby, and no lobby is worse than its price."""
    queue = party_queue(np.random.default_rng(2), 300, THREES)
    planner = planner_of(queue, 0.2)
    lobbies = planner.plan()
    assert value_of(queue, planner.line, lobbies) == pytest.approx(
        sum(lobby.value for lobby in lobbies), rel=1e-9
    )
    assert min(lobby.value for lobby in lobbies) > 0.0
    assert len(lobbies) >= 0.97 * queue.size.sum() // 6


def test_the_oracle_plans_by_true_skills() -> None:
    settings = QueueSettings(side_size=2)
    queue = party_queue(np.random.default_rng(0), 8, settings)
    skill = np.array([0.0, 9.0, 0.0, 9.0, 0.0, 9.0, 0.0, 9.0])
    truth = WaitingParties(**{**vars(queue), "true_skill": skill, "member_true_skill": None})
    lobbies = rules.MatchingOracle(0.99, 0.0).plan(truth)
    for lobby in lobbies:
        # Two sides of equal sums: an even number of the strong.
        assert skill[lobby].sum() % 18.0 == 0.0
    assert len([*lobbies]) == 2
