"""Sides, parties and lobbies of ``MatchmakingQueue-v0``."""

import itertools
import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from refusals import refusals

from matchenv import MatchmakingQueueEnv, MatchmakingQueueVectorEnv
from matchenv.envs.core.episodes import Episodes
from matchenv.envs.queue import NOBODY, QueueSettings, QueueView, WaitingParties
from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.trueskill import rate
from matchenv.trueskill.probabilities import first_place_probability, team_match_quality

CLOSED: dict[str, Any] = {
    "arrival_rate": 0.0, "patience": math.inf, "stay": 1.0, "reward": "match_quality",
    "waiting_cost": 0.0,
}  # fmt: skip


@cache
def fits_sides(sizes: tuple[int, ...], free: tuple[int, ...]) -> bool:
    """Return whether parties fit into sides with free seats, by trying every side for each."""
    if not sizes:
        return True
    for side, seats in enumerate(free):
        if sizes[0] <= seats:
            left = sorted((*free[:side], seats - sizes[0], *free[side + 1 :]))
            if fits_sides(sizes[1:], tuple(left)):
                return True
    return False


SHAPES = [(2, 2), (2, 3), (3, 2), (2, 4), (3, 3), (4, 1)]


@pytest.mark.parametrize(("num_sides", "side_size"), SHAPES)
def test_masks_are_right_in_every_lobby(num_sides: int, side_size: int) -> None:
    """Enumerate all joins from queues that have every size of party."""
    num_seats = num_sides * side_size
    sizes = sorted(num_sides * [*range(1, side_size + 1)], reverse=True)
    shares = [1 / side_size] * side_size
    env = MatchmakingQueueEnv(
        **CLOSED, num_sides=num_sides, side_size=side_size, party_sizes=shares, capacity=64
    )
    for founder in range(1, side_size + 1):
        rest = sizes.copy()
        rest.remove(founder)
        party_size = [founder, *rest]
        zeros = np.zeros(sum(party_size))
        start = {"mu": zeros, "sigma": zeros + 1.0, "party_size": party_size}
        # Equal means, so candidates are in the order of the line.
        lobbies: list[tuple[int, ...]] = [()]
        visited = set()
        while lobbies:
            joined = lobbies.pop()
            env.reset(seed=0, options=start)
            for size in joined:
                waiting = env.waiting_parties()
                action = 1 + waiting.size[waiting.candidates].tolist().index(size)
                env.step(action)
            waiting = env.waiting_parties()
            left = rest.copy()
            for size in joined:
                left.remove(size)
            expected = set()
            for size in set(left):
                lobby = tuple(sorted((founder, *joined, size), reverse=True))
                if fits_sides(lobby, (side_size,) * num_sides):
                    expected.add(size)
            if not expected:
                # The lobby has dissolved.
                assert waiting.focal != 0
                continue
            assert waiting.size[waiting.lobby].tolist() == [founder, *joined]
            allowed = set(waiting.size[waiting.candidates].tolist())
            assert allowed == expected
            assert waiting.candidates.size == sum(size in expected for size in left)
            for size in allowed:
                lobby = tuple(sorted((*joined, size)))
                if lobby not in visited and founder + sum(lobby) < num_seats:
                    visited.add(lobby)
                    lobbies.append((*joined, size))


def best_quality(parties: list[list[tuple[float, float]]], beta: float, shape: Any) -> float:
    """Return the highest match quality of all splits of whole parties into sides."""
    num_sides, side_size = shape
    best = 0.0
    for sides in itertools.product(range(num_sides), repeat=len(parties)):
        teams: list[list[tuple[float, float]]] = [[] for _ in range(num_sides)]
        for party, side in zip(parties, sides, strict=True):
            teams[side].extend(party)
        if all(len(team) == side_size for team in teams):
            best = max(best, team_match_quality(teams, beta))
    return best


def members_of(waiting: WaitingParties, party: int) -> list[tuple[float, float]]:
    """Return the beliefs about the members of a party."""
    size = waiting.size[party]
    beliefs = zip(waiting.member_mu[party, :size], waiting.member_sigma[party, :size], strict=True)
    return list(beliefs)


TEAMS: list[dict[str, Any]] = [
    {"side_size": 2, "party_sizes": (0.7, 0.3)},
    {"side_size": 3, "party_sizes": (0.5, 0.3, 0.2), "draw_margin": 0.6},
    {"num_sides": 3, "side_size": 2, "party_sizes": (0.6, 0.4), "draw_margin": 0.3},
    {"num_sides": 4},
]


@pytest.mark.parametrize("options", TEAMS)
def test_a_game_follows_the_formulas(options: dict[str, Any]) -> None:
    """Split, forecasts, reward, order of finish and beliefs against trueskill's functions."""
    config = QueueSettings(**options)
    shape = (config.num_sides, config.side_size)
    num_seats = config.num_seats
    env = MatchmakingQueueEnv(**CLOSED, **options, game_length=1, capacity=20, horizon=1000)
    rng = np.random.default_rng(0)
    for seed in range(6):
        sizes = rng.permutation(config.side_size) + 1
        party_size = [*sizes.tolist(), *[1] * (num_seats - int(sizes.sum()))]
        start = {
            "mu": rng.normal(0.0, 2.0, num_seats),
            "sigma": rng.uniform(0.5, 2.0, num_seats),
            "party_size": party_size,
        }
        _, info = env.reset(seed=seed, options=start)
        before = env.waiting_parties()
        parties = {int(k): members_of(before, i) for i, k in enumerate(before.party)}
        reward = 0.0
        while info["match_quality"] == 0.0:
            _, reward, _, _, info = env.step(1)
        quality = best_quality(list(parties.values()), config.beta, shape)
        assert info["match_quality"] == pytest.approx(quality, rel=1e-12)
        assert reward == pytest.approx(num_seats * quality, rel=1e-12)
        teams = []
        for numbers in info["parties"]:
            teams.append([belief for k in numbers[numbers != NOBODY] for belief in parties[int(k)]])
        assert team_match_quality(teams, config.beta) == pytest.approx(quality, rel=1e-12)
        forecasts = first_place_probability(teams, config.beta, draw_margin=config.draw_margin)
        assert info["win_probability"] == pytest.approx(forecasts, abs=1e-9)
        check_learning(env, teams, info["parties"], config)


def check_learning(
    env: MatchmakingQueueEnv, teams: Any, parties: Any, config: QueueSettings
) -> None:
    """Check that the beliefs after a game are those of some order of finish."""
    after = env.waiting_parties()
    new = {int(k): members_of(after, i) for i, k in enumerate(after.party)}
    sides = []
    for numbers in parties:
        sides.append([belief for k in numbers[numbers != NOBODY] for belief in new[int(k)]])
    found = np.array([belief for side in sides for belief in side])
    matches = 0
    for ranks in set(itertools.product(range(config.num_sides), repeat=config.num_sides)):
        if sorted(set(ranks)) != list(range(len(set(ranks)))):
            continue
        if config.draw_margin == 0.0 and len(set(ranks)) < config.num_sides:
            continue
        rated = rate(teams, ranks, beta=config.beta, draw_margin=config.draw_margin)
        expected = np.array([belief for side in rated for belief in side])
        matches += np.allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert matches == 1


def test_a_bonus_of_parties_counts_in_forecasts_if_beliefs_know_it() -> None:
    options: dict[str, Any] = {
        **CLOSED,
        "side_size": 2,
        "party_sizes": (0.5, 0.5),
        "game_length": 1,
    }
    start = {"mu": np.zeros(4), "sigma": np.ones(4), "true_skill": np.zeros(4)}
    chances = {}
    for knows in (False, True):
        env = MatchmakingQueueEnv(**options, party_bonus=1.5, belief_knows_party=knows)
        env.reset(seed=0, options={**start, "party_size": [2, 1, 1]})
        waiting = env.waiting_parties()
        assert waiting.mu.tolist() == [3.0 * knows, 0.0, 0.0]
        assert waiting.true_skill.tolist() == [3.0, 0.0, 0.0]
        assert waiting.member_mu[0].tolist() == [0.0, 0.0]
        env.step(1)
        info = env.step(1)[4]
        chances[knows] = info["win_probability"][0]
        assert info["true_win_probability"][0] > 0.5
    assert chances[False] == 0.5
    assert chances[True] > 0.6


def test_win_probabilities_against_simulated_performances() -> None:
    """Simulate performances of three sides of two with a party, under beliefs and true skills."""
    beta = 1.2
    env = MatchmakingQueueEnv(
        **CLOSED, num_sides=3, side_size=2, party_sizes=(0.5, 0.5), party_bonus=0.8,
        belief_knows_party=True, beta=beta, draw_margin=0.4,
    )  # fmt: skip
    rng = np.random.default_rng(1)
    mu, sigma, skill = rng.normal(0, 1.5, 6), rng.uniform(0.3, 2.0, 6), rng.normal(0, 1.5, 6)
    options = {"mu": mu, "sigma": sigma, "true_skill": skill, "party_size": [2, 1, 1, 1, 1]}
    _, info = env.reset(seed=2, options=options)
    waiting = env.waiting_parties()
    members = dict(zip(waiting.party.tolist(), waiting.member.tolist(), strict=True))
    while info["match_quality"] == 0.0:
        info = env.step(1)[4]
    count = 400_000
    bonus = np.where(np.arange(6) < 2, 0.8, 0.0)
    for name, skills in (
        ("win_probability", mu + bonus + sigma * rng.normal(size=(count, 6))),
        ("true_win_probability", np.broadcast_to(skill + bonus, (count, 6))),
    ):
        played = skills + beta * rng.normal(size=(count, 6))
        sides = []
        for numbers in info["parties"]:
            players = [m for k in numbers if k != NOBODY for m in members[int(k)] if m != NOBODY]
            sides.append(played[:, players].sum(axis=1))
        performances = np.array(sides)
        for side in range(3):
            others = np.delete(performances, side, axis=0).max(axis=0)
            share = (performances[side] > others + 0.4).mean()
            assert info[name][side] == pytest.approx(share, abs=5 * 0.5 / math.sqrt(count))


def test_outcomes_follow_the_true_win_probabilities() -> None:
    """Count the winners of many games of three sides; a winner has the highest mean after it."""
    count = 4000
    env = MatchmakingQueueVectorEnv(count, **CLOSED, num_sides=3, game_length=1, horizon=3)
    skills = np.array([1.0, 0.0, -0.8])
    env.reset(seed=0, options={"mu": np.zeros(3), "sigma": np.ones(3), "true_skill": skills})
    env.step(np.ones(count, dtype=np.int64))
    infos = env.step(np.ones(count, dtype=np.int64))[4]
    assert (infos["parties"][:, :, 0] == [0, 1, 2]).all()
    chances = infos["true_win_probability"][0]
    state = env.episodes.state
    order = state.players["number"][:, :3].argsort(axis=1)
    mu = np.take_along_axis(state.players["mu"][:, :3], order, axis=1)
    won = np.bincount(mu.argmax(axis=1), minlength=3) / count
    assert won == pytest.approx(chances, abs=5 * 0.5 / math.sqrt(count))


def test_a_dissolved_lobby_keeps_the_line() -> None:
    """The founder waits; those who had joined found the next lobbies in their order."""
    env = MatchmakingQueueEnv(**CLOSED, side_size=2, capacity=8)
    env.reset(seed=0, options={"mu": np.arange(6.0), "sigma": np.ones(6)})
    founders = []
    for _ in range(6):
        waiting = env.waiting_parties()
        founders.append(int(waiting.party[waiting.focal]))
        assert waiting.party.tolist() == [0, 1, 2, 3, 4, 5]
        env.step(1)
        assert env.waiting_parties().lobby_size == 2
        env.step(1)
        assert env.waiting_parties().free_seats == 1
        env.step(0)
    assert founders == [0, 1, 2, 3, 4, 5]
    assert env.waiting_parties().tick == 1


@pytest.mark.parametrize("options", TEAMS)
def test_observations_and_views_are_the_waiting_parties(options: dict[str, Any]) -> None:
    config = QueueSettings(**options)
    capacity = 6
    env = MatchmakingQueueVectorEnv(
        8, **options, capacity=capacity, arrival_rate=4.0, patience=6.0, horizon=12
    )
    observations, _ = env.reset(seed=2)
    rng = np.random.default_rng(3)
    lobbies = 0
    for _ in range(60):
        view = env.simulator.view(env.episodes.state, truth=True)
        for row in range(8):
            waiting = view[row]
            of_one = QueueView.of(waiting)
            for name in ("mu", "sigma", "waited", "party", "size", "quality", "true_skill"):
                np.testing.assert_allclose(
                    getattr(view, name)[row], getattr(of_one, name)[0], rtol=1e-12, atol=1e-12
                )
            assert view.free_seats[row] == waiting.free_seats
            entries = np.flatnonzero(view.size[row] > 0)
            length = config.game_length
            seen = observations[row].reshape(-1)
            sections = seen[: 6 * capacity].reshape(6, capacity)
            np.testing.assert_array_equal(sections[0], view.mu[row].astype(np.float32))
            np.testing.assert_array_equal(
                sections[1][entries], view.sigma[row][entries].astype(np.float32)
            )
            np.testing.assert_array_equal(sections[3], view.size[row] > 0)
            expected = view.size[row] / config.side_size
            np.testing.assert_array_equal(sections[4], expected.astype(np.float32))
            np.testing.assert_array_equal(sections[5], view.quality[row].astype(np.float32))
            if waiting.focal != NOBODY:
                shown = [waiting.focal, *waiting.candidates]
                waits = waiting.waited[shown]
                expected = (waits / (waits + length)).astype(np.float32)
                np.testing.assert_array_equal(sections[2][: len(shown)], expected)
                per_player = view.mu[row] / np.maximum(view.size[row], 1)
                gaps = np.abs(per_player - per_player[0])[entries[1:]]
                assert (np.diff(gaps) >= 0.0).all()
            counts = np.array([waiting.size.sum(), waiting.playing])
            np.testing.assert_array_equal(
                seen[[6 * capacity, 6 * capacity + 2]],
                (counts / (counts + capacity)).astype(np.float32),
            )
            assert seen[-1] == np.float32(view.lobby_size[row] / config.num_seats)
            lobbies += waiting.lobby.size > 1
        masks = env.action_masks()
        actions = (rng.random(8) * masks.sum(axis=1)).astype(np.int64)
        actions = np.where(rng.random(8) < 0.8, np.maximum(actions, masks[:, 1]), actions)
        observations = env.step(actions)[0]
        assert env.observation_space.contains(observations)
    assert lobbies > 20


def test_arrival_rates_repeat_each_day() -> None:
    """Log-ons in each tick of the day are Poisson with the rate of that tick."""
    rates = (0.0, 3.0, 0.5, 0.0, 1.5)
    env = MatchmakingQueueVectorEnv(
        300, arrival_rate=rates, horizon=100, patience=1.0, capacity=2, side_size=16
    )
    env.keep_visits()
    env.reset(seed=1)
    running = np.ones(300, dtype=bool)
    while running.any():
        running &= ~env.step(np.zeros(300, dtype=np.int64))[3]
    visits = env.taken_visits()
    joined = visits["tick"] - visits["waited"] + 1
    per_tick = np.bincount((joined % 5).astype(int), minlength=5)
    days = 300 * 20
    expected = days * np.array(rates)
    assert (np.abs(per_tick - expected) <= 5 * np.sqrt(expected)).all()


def test_party_sizes_and_numbers() -> None:
    shares = np.array([0.5, 0.0, 0.3, 0.2])
    env = MatchmakingQueueEnv(
        side_size=4, party_sizes=shares, arrival_rate=3000.0, horizon=1, patience=math.inf
    )
    env.reset(seed=0)
    waiting = env.waiting_parties()
    count = waiting.size.size
    found = np.bincount(waiting.size, minlength=5)[1:] / count
    assert found == pytest.approx(shares, abs=5 * 0.5 / math.sqrt(count))
    assert waiting.party.tolist() == list(range(count))
    members = waiting.member[waiting.member != NOBODY]
    assert members.tolist() == list(range(members.size))
    np.testing.assert_allclose(waiting.mu, waiting.member_mu.sum(axis=1), rtol=1e-12)
    squares = (waiting.member_sigma**2).sum(axis=1)
    np.testing.assert_allclose(waiting.sigma, np.sqrt(squares), rtol=1e-12)


def conserved(env: MatchmakingQueueVectorEnv, infos: dict[str, Any]) -> None:
    """Check that players, parties and seats are conserved, and that parties are whole."""
    config = env.simulator.settings
    state = env.episodes.state
    departed = infos["matched_players"] + infos["abandoned"]
    np.testing.assert_array_equal(infos["queued"], departed + infos["waiting"])
    assert (infos["matched_players"] % config.num_seats == 0).all()
    assert (infos["playing"] % config.num_seats == 0).all()
    began = infos["match_quality"] > 0.0
    sizes = infos["party_sizes"][began].sum(axis=2)
    assert (sizes == config.side_size).all()
    for row in range(len(state.clock)):
        waiting = env.simulator.waiting_parties(state, row)
        clock = state.clock[row]
        assert waiting.size.sum() == clock["waiting"]
        assert len(set(waiting.lobby.tolist())) == waiting.lobby.size
        in_games = []
        for k in range(clock["num_games"]):
            column = (clock["oldest"] + k) % state.games.shape[1]
            sides = np.zeros(config.num_sides, dtype=int)
            slot = state.games["party"][row, column]
            while slot != NOBODY:
                party = state.players[row, slot]
                sides[party["side"]] += party["size"]
                in_games.append(int(party["party"]))
                slot = party["next_party"]
            assert (sides == config.side_size).all()
        numbers = waiting.party.tolist() + in_games
        assert len(set(numbers)) == len(numbers)
        members = waiting.member[waiting.member != NOBODY]
        assert members.size == np.unique(members).size == clock["waiting"]
        free = state.room - clock["waiting"] - clock["playing"]
        assert clock["num_free"] == free


PARAMETERS = st.fixed_dictionaries(
    {
        "shape": st.sampled_from([(2, 2), (2, 3), (3, 2), (2, 5), (5, 1), (8, 8)]),
        "arrival_rate": st.sampled_from([0.5, 4.0, (0.0, 9.0, 1.0)]),
        "patience": st.sampled_from([2.0, 15.0, math.inf]),
        "game_length": st.integers(1, 8),
        "stay": st.sampled_from([0.0, 0.7]),
        "capacity": st.integers(2, 9),
        "tau": st.sampled_from([0.0, 0.2]),
        "draw_margin": st.sampled_from([0.0, 0.5]),
    }
)


class QueuesOfParties(RuleBasedStateMachine):
    """Three queues, in which hypothesis chooses who joins which lobby."""

    @initialize(options=PARAMETERS, seed=st.integers(0, 2**32))
    def start(self, options: dict[str, Any], seed: int) -> None:
        options = options.copy()
        num_sides, side_size = options.pop("shape")
        largest = min(side_size, 3)
        self.env = MatchmakingQueueVectorEnv(
            3, num_sides=num_sides, side_size=side_size, party_sizes=[1 / largest] * largest,
            horizon=40, invalid_action="error", **options,
        )  # fmt: skip
        self.rng = np.random.default_rng(seed)
        self.infos = self.env.reset(seed=seed)[1]
        self.over = np.zeros(3, dtype=bool)
        # Members of each party by its number, in the current run of each queue.
        self.members: list[dict[int, list[int]]] = [{}, {}, {}]

    def step(self, actions: list[int]) -> None:
        """Step all queues; a run that was over begins anew instead."""
        for row in np.flatnonzero(self.over).tolist():
            self.members[row] = {}
        observations, *_, self.over, self.infos = self.env.step(np.array(actions))
        assert np.isfinite(observations).all()

    def nearest(self) -> list[int]:
        """Return the actions that add the nearest candidate, or 0 where there is none."""
        return self.env.action_masks()[:, 1].astype(int).tolist()

    def rows_with_a_choice(self) -> list[int]:
        """Return the queues whose runs go on and whose lobby has a candidate."""
        rows: list[int] = np.flatnonzero(self.env.action_masks()[:, 1] & ~self.over).tolist()
        return rows

    @precondition(lambda self: self.rows_with_a_choice())
    @rule(data=st.data())
    def join(self, data: st.DataObject) -> None:
        """Add a candidate to the lobby of one queue, and the nearest ones to the others."""
        row = data.draw(st.sampled_from(self.rows_with_a_choice()))
        before = self.env.waiting_parties(row)
        candidate = data.draw(st.integers(0, before.candidates.size - 1))
        actions = self.nearest()
        actions[row] = 1 + candidate
        self.step(actions)
        lobby = before.party[before.lobby].tolist()
        lobby.append(int(before.party[before.candidates[candidate]]))
        after = self.env.waiting_parties(row)
        if self.infos["match_quality"][row] > 0.0:
            assert before.size[before.candidates[candidate]] == before.free_seats
            numbers = self.infos["parties"][row]
            assert sorted(numbers[numbers != NOBODY].tolist()) == sorted(lobby)
            if after.tick == before.tick:
                assert not set(lobby) & set(after.party.tolist())
        elif after.tick == before.tick:
            # The lobby is open, or nobody fits it and another party founds one.
            is_open = after.party[after.lobby].tolist() == lobby
            assert is_open or after.party[after.focal] != lobby[0]
            assert set(lobby) <= set(after.party.tolist())

    @precondition(lambda self: self.rows_with_a_choice())
    @rule(data=st.data())
    def dissolve(self, data: st.DataObject) -> None:
        """Dissolve the lobby of one queue: its parties keep their places in the line."""
        row = data.draw(st.sampled_from(self.rows_with_a_choice()))
        before = self.env.waiting_parties(row)
        actions = self.nearest()
        actions[row] = 0
        self.step(actions)
        after = self.env.waiting_parties(row)
        if after.tick == before.tick:
            assert after.party.tolist() == before.party.tolist()
            assert after.lobby.size == 1
            assert after.focal > before.focal

    @rule(data=st.data())
    def choose_what_is_forbidden(self, data: st.DataObject) -> None:
        """Choose a forbidden action in one queue: nothing changes in any."""
        forbidden = np.argwhere(~self.env.action_masks() & ~self.over[:, np.newaxis]).tolist()
        if not forbidden:
            return
        row, action = data.draw(st.sampled_from(forbidden))
        before = [self.env.waiting_parties(queue) for queue in range(3)]
        actions = self.nearest()
        actions[row] = action
        with pytest.raises(ValueError, match="action"):
            self.env.step(np.array(actions))
        for queue, waiting in enumerate(before):
            after = self.env.waiting_parties(queue)
            for name in ("party", "lobby", "candidates", "waited", "mu"):
                np.testing.assert_array_equal(getattr(after, name), getattr(waiting, name))

    @rule(steps=st.integers(1, 5), wait=st.sampled_from([0.02, 0.3]))
    def play(self, steps: int, wait: float) -> None:
        """Step all queues several times with random actions."""
        for _ in range(steps):
            candidates = self.env.action_masks()[:, 1:].sum(axis=1)
            actions = 1 + (self.rng.random(3) * candidates).astype(np.int64)
            waits = (self.rng.random(3) < wait) | (candidates == 0)
            self.step(np.where(waits, 0, actions).tolist())

    @invariant()
    def everything_is_conserved(self) -> None:
        conserved(self.env, self.infos)

    @invariant()
    def parties_keep_their_members(self) -> None:
        for row in range(3):
            waiting = self.env.waiting_parties(row)
            members = self.members[row]
            numbers = waiting.party.tolist()
            for number, size, players in zip(numbers, waiting.size, waiting.member, strict=True):
                party = players[:size].tolist()
                assert NOBODY not in party
                assert (players[size:] == NOBODY).all()
                assert members.setdefault(number, party) == party

    @invariant()
    def masks_allow_the_nearest_parties_that_fit(self) -> None:
        config = self.env.settings
        masks = self.env.action_masks()
        for row in range(3):
            waiting = self.env.waiting_parties(row)
            count = waiting.candidates.size
            allowed = np.arange(config.capacity) <= count
            np.testing.assert_array_equal(masks[row], allowed)
            if waiting.focal == NOBODY or count == 0:
                continue
            lobby = waiting.size[waiting.lobby].tolist()
            fits = []
            for party in range(waiting.size.size):
                sizes = sorted([*lobby, int(waiting.size[party])], reverse=True)
                is_other = party not in waiting.lobby
                free = (config.side_size,) * config.num_sides
                fits.append(is_other and fits_sides(tuple(sizes), free))
            expected = np.flatnonzero(fits)
            assert count == min(expected.size, config.num_candidates)
            assert set(waiting.candidates) <= set(expected)
            means = waiting.mu / waiting.size
            mean = waiting.mu[waiting.lobby].sum() / waiting.lobby_size
            gaps = np.abs(means - mean)
            left_out = np.setdiff1d(expected, waiting.candidates)
            assert (np.diff(gaps[waiting.candidates]) >= -1e-9).all()
            assert gaps[left_out].min(initial=math.inf) >= gaps[waiting.candidates].max() - 1e-9


TestQueuesOfParties = QueuesOfParties.TestCase
QueuesOfParties.TestCase.settings = settings(
    max_examples=12, stateful_step_count=30, deadline=None, derandomize=True
)


def test_littles_law_by_size_of_party() -> None:
    """The mean number of waiting parties of a size is their rate times their mean wait.

    The number comes from the lengths of stay in the queue, tick by tick; the wait from the visits.
    """
    horizon = 400
    config = QueueSettings(
        side_size=3, party_sizes=(0.6, 0.3, 0.1), arrival_rate=1.0, patience=25.0, horizon=horizon
    )
    simulator = QueueSimulator(config, keep_visits=True)
    episodes = Episodes.of_seeds(simulator, range(20))
    rng = np.random.default_rng(0)
    waiting_parties = np.zeros((20, 4))
    last = np.zeros(20, dtype=np.int64)
    sizes = np.zeros((20, 4))
    while episodes.running.any():
        masks = episodes.masks()
        joined = masks[:, 1] & (rng.random(20) < 0.97)
        episodes.step(joined.astype(np.int64), strict=True)
        visits = simulator.taken_visits(episodes.state)
        runs = visits["environment"].astype(int)
        size = visits["party_size"].astype(int)
        np.add.at(waiting_parties, (runs, size), visits["waited"] / size)
        np.add.at(sizes, (runs, size), 1.0 / size)
        last = episodes.state.clock["tick"]
    assert (last == horizon).all()
    left = np.zeros((20, 4))
    still = np.zeros((20, 4))
    for row in range(20):
        waiting = simulator.waiting_parties(episodes.state, row)
        np.add.at(left[row], waiting.size, waiting.waited)
        np.add.at(still[row], waiting.size, 1.0)
    for size in (1, 2, 3):
        length = (waiting_parties + left)[:, size] / horizon
        rate = (sizes + still)[:, size] / horizon
        wait = waiting_parties[:, size].sum() / sizes[:, size].sum()
        law = length - rate * wait
        error = law.std(ddof=1) / math.sqrt(20)
        edge = (left[:, size] / horizon).mean() + (still[:, size] / horizon).mean() * wait
        assert abs(law.mean()) <= 4.5 * error + edge
        assert sizes[:, size].sum() > 100


def test_the_wait_of_two_against_two_is_that_of_a_batch_queue() -> None:
    """Exchangeable players, a game at every fourth log-on: the mean wait is 3 / (2 r) ticks.

    Log-ons are at any time within a tick, and a game begins at its start: rare log-ons make the
    difference small, and each tick counts from its end.
    """
    rate = 0.05
    config = QueueSettings(
        side_size=2, arrival_rate=rate, patience=math.inf, stay=0.0, game_length=1, horizon=40_000
    )
    simulator = QueueSimulator(config, keep_visits=True)
    episodes = Episodes.of_seeds(simulator, range(8))
    while episodes.running.any():
        episodes.step(episodes.masks()[:, 1].astype(np.int64), strict=True)
    visits = simulator.taken_visits(episodes.state)
    waits = visits["waited"][visits["served"] > 0].reshape(-1, 4).mean(axis=1)
    error = waits.std(ddof=1) / math.sqrt(waits.size)
    assert waits.size > 3000
    assert waits.mean() == pytest.approx(3.0 / (2.0 * rate), abs=4.5 * error)


@pytest.mark.slow
@pytest.mark.parametrize("options", TEAMS)
def test_conservation_over_a_million_ticks(options: dict[str, Any]) -> None:
    env = MatchmakingQueueVectorEnv(100, **options, horizon=10_000, arrival_rate=0.5, patience=20.0)
    infos = env.reset(seed=5)[1]
    rng = np.random.default_rng(6)
    config = env.simulator.settings
    over = np.zeros(100, dtype=bool)
    steps = 0
    while not over.all():
        masks = env.action_masks()
        actions = masks[:, 1] & (rng.random(100) < 0.95) & ~over
        *_, truncated, infos = env.step(actions.astype(np.int64))
        over |= truncated
        departed = infos["matched_players"] + infos["abandoned"]
        np.testing.assert_array_equal(infos["queued"], departed + infos["waiting"])
        assert (infos["playing"] % config.num_seats == 0).all()
        clock = env.episodes.state.clock
        free = env.episodes.state.room - clock["waiting"] - clock["playing"]
        np.testing.assert_array_equal(clock["num_free"], free)
        steps += 1
        if steps % 2000 == 0:
            conserved(env, infos)


test_bad_teams_raise = refusals(
    ({"num_sides": 1}, r"num_sides must be an integer in \[2, 8\], got 1"),
    ({"num_sides": 9}, r"num_sides must be an integer in \[2, 8\], got 9"),
    ({"side_size": 17}, r"side_size must be an integer in \[1, 16\], got 17"),
    (
        {"num_sides": 8, "side_size": 9},
        "num_sides times side_size must be at most 64 seats, got 8 sides of 9 players",
    ),
    ({"party_sizes": (0.5, 0.4)}, "party_sizes must be shares .* with sum 1"),
    ({"party_sizes": (1.5, -0.5)}, "party_sizes must not be negative"),
    ({"party_sizes": 1.0}, "party_sizes must be shares"),
    ({"party_sizes": ()}, "party_sizes must be shares"),
    (
        {"side_size": 2, "party_sizes": (0.5, 0.2, 0.3)},
        "party_sizes must be shares of sizes up to side_size=2, got parties of 3 players",
    ),
    (
        {"side_size": 3, "party_sizes": (0.0, 1.0)},
        "party_sizes must hold sizes that fill a side together",
    ),
    ({"party_bonus": math.nan}, "party_bonus must be finite"),
    ({"belief_knows_party": 1}, "belief_knows_party must be True or False"),
    ({"arrival_rate": [1.0, -1.0]}, "arrival_rate must be at least 0"),
    ({"arrival_rate": []}, "arrival_rate must be one number, or"),
    ({"arrival_rate": [[1.0]]}, "arrival_rate must be one number, or"),
    call=lambda options: QueueSettings.checked(**options),
)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"party_size": [2, 2]}, "'party_size'.* with sum 3"),
        ({"party_size": [3]}, "'party_size'.* sizes from 1 to side_size=2"),
        ({"party_size": [1.5, 1.5]}, "'party_size'"),
        ({"party_size": [[2, 1]]}, r"party_size.*shape"),
    ],
)
def test_bad_parties_at_a_reset_change_nothing(bad: dict[str, Any], message: str) -> None:
    env = MatchmakingQueueEnv(side_size=2, party_sizes=(0.5, 0.5))
    env.reset(seed=0)
    before = env.waiting_parties().mu
    with pytest.raises(ValueError, match=message):
        env.reset(options={"mu": np.zeros(3), "sigma": np.ones(3), **bad})
    with pytest.raises(ValueError, match="'mu'"):
        env.reset(options={"party_size": [1]})
    np.testing.assert_array_equal(env.waiting_parties().mu, before)
    three = MatchmakingQueueEnv(num_sides=3)
    with pytest.raises(ValueError, match="'noise' only with num_sides=2"):
        three.reset(options={"noise": [0.0]})
