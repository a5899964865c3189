"""Statistical properties of ``matchenv.ranking``: coverage, stopping, clusters, fit, many items.

Tolerances are three standard errors of what is counted, unless stated.
"""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest

from matchenv.belief.joint import NOBODY
from matchenv.ranking import Ranker
from matchenv.ranking import ranker as ranker_module
from matchenv.ranking.clusters import clustered_belief
from matchenv.ranking.games import GameTable, IndexedGame
from matchenv.ranking.model import Model
from matchenv.ranking.simulation import interval_of


class World(NamedTuple):
    """Items with true skills, an advantage of the first, a draw margin and prompts."""

    skills: np.ndarray
    advantage: float = 0.0
    draw_margin: float = 0.0
    effects: np.ndarray | None = None  # of items in prompts, shape (prompts, n)
    beta: float = 1.0

    def play(self, rng: np.random.Generator, i: int, j: int, prompt: int = 0) -> int:
        """Return the outcome of a game; the effects are part of the noise."""
        gap = self.skills[i] - self.skills[j] + self.advantage
        variance = 2.0 * self.beta**2
        if self.effects is not None:
            gap += self.effects[prompt, i] - self.effects[prompt, j]
            variance -= 2.0 * self.effects.var()
        lead = gap + math.sqrt(variance) * rng.normal()
        if abs(lead) <= self.draw_margin:
            return 0
        return 1 if lead > 0.0 else -1


def random_ranker(
    world: World, rng: np.random.Generator, games: int, clusters: bool = False, **options: Any
) -> Ranker:
    """Return a ranker of items "0", "1", ... after games of random pairs."""
    items = world.skills.size
    ranker = Ranker(map(str, range(items)), beta=world.beta, **options)
    prompts = 1 if world.effects is None else len(world.effects)
    recorded = []
    for _ in range(games):
        i, j = rng.choice(items, 2, replace=False).tolist()
        prompt = int(rng.integers(prompts))
        outcome = world.play(rng, i, j, prompt)
        cluster = f"prompt {prompt}" if clusters else None
        recorded.append((str(i), str(j), outcome, False, cluster))
    ranker.record_games(recorded)
    return ranker


def coverage(ranker: Ranker, world: World) -> dict[str, float]:
    """Return the shares of intervals that cover the truth, of each column."""
    skills = world.skills - world.skills.mean()
    places = np.argsort(np.argsort(-skills)) + 1
    covers: dict[str, list[bool]] = {"skill": [], "elo": [], "difference": [], "place": []}
    scale = ranker.elo_per_skill
    for row in ranker.ranking():
        item = int(row.item)
        covers["skill"].append(row.low <= skills[item] <= row.high)
        covers["elo"].append(row.elo_low <= scale * skills[item] <= row.elo_high)
        covers["place"].append(row.best_place <= places[item] <= row.worst_place)
    for row in ranker.ranking("0"):
        if row.item != "0":
            gap = skills[int(row.item)] - skills[0]
            covers["difference"].append(row.low <= gap <= row.high)
    return {name: float(np.mean(column)) for name, column in covers.items()}


SPREADS = [(1.0, 1.0), (3.0, 1.0), (0.3, 1.0), (1.0, 0.2)]


def check_coverage(spread: float, beta: float, runs: int) -> None:
    """Items of a run are not independent: the standard error is that between runs."""
    shares: dict[str, list[float]] = {}
    advantages = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        world = World(spread * rng.normal(size=8), 0.5 * rng.normal(), 0.3 * beta, beta=beta)
        ranker = random_ranker(world, rng, 60, first_advantage=0.5)
        for name, share in coverage(ranker, world).items():
            shares.setdefault(name, []).append(share)
        found = ranker.advantage
        assert found is not None
        advantages.append(found.low <= world.advantage <= found.high)
    shares["advantage"] = [float(covered) for covered in advantages]
    for name, values in shares.items():
        error = max(np.std(values) / math.sqrt(runs), 0.05 / math.sqrt(runs))
        # Places are integers, so their intervals cover more. A normal interval of a posterior that
        # is not quite normal covers up to 2 % less.
        assert np.mean(values) >= 0.93 - 3.0 * error, name
        assert name == "place" or np.mean(values) <= 0.97 + 3.0 * error, name


@pytest.mark.parametrize(("spread", "beta"), SPREADS)
def test_all_printed_intervals_cover(spread: float, beta: float) -> None:
    check_coverage(spread, beta, 12)


@pytest.mark.slow
@pytest.mark.parametrize(("spread", "beta"), SPREADS)
def test_all_printed_intervals_cover_in_many_runs(spread: float, beta: float) -> None:
    check_coverage(spread, beta, 300)


def wrong_among_settled(
    runs: int, spread: float, advantage: float = 0.0, **options: Any
) -> tuple[int, int]:
    """Return how many of some runs settled the best of six items, and how many of those wrongly."""
    settled, wrong = 0, 0
    for seed in range(runs):
        rng = np.random.default_rng(1000 + seed)
        world = World(spread * rng.normal(size=6), advantage)
        ranker = Ranker(map(str, range(6)), goal="best", draw_margin=0.0, **options)
        while ranker.num_games < 400 and not ranker.is_settled():
            for a, b in ranker.next_pairs(4):
                ranker.record(a, b, world.play(rng, int(a), int(b)))
        if ranker.is_settled():
            settled += 1
            wrong += ranker.ranking()[0].item != str(world.skills.argmax())
    return settled, wrong


JUDGE = 0.545  # the first of two equals wins 65 %


def check_stopping(runs: int, spread: float, advantage: float, prior: float) -> None:
    settled, wrong = wrong_among_settled(runs, spread, advantage, first_advantage=prior)
    print(f"spread {spread}, prior {prior}: {settled} of {runs} settled, {wrong} of these wrong")
    error = math.sqrt(0.05 * 0.95 / max(1, settled))
    assert wrong / max(1, settled) <= 0.05 + 3.0 * error
    assert settled > 0


@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_few_of_the_settled_are_wrong_with_a_judge_who_prefers_the_first(prior: float) -> None:
    check_stopping(8, 1.0, JUDGE, prior)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spread", "advantage", "prior", "runs"),
    [
        (1.0, JUDGE, 0.0, 300),
        (1.0, JUDGE, 0.5, 300),
        (3.0, 0.0, 0.0, 300),
        (0.3, 0.0, 0.0, 600),  # a third is settled
    ],
)
def test_few_of_the_settled_are_wrong_in_many_runs(
    spread: float, advantage: float, prior: float, runs: int
) -> None:
    check_stopping(runs, spread, advantage, prior)


# Batches.


def games_until_settled(seed: int, workers: int, *, each: bool) -> int:
    """Return the games until the best of twenty items is settled.

    The k-th game of a pair has the same luck, whatever was played before.

    Args:
        seed: of the skills and games.
        workers: number of pairs in a batch.
        each: whether the rule is checked after each result, rather than after each batch.
    """
    items, indifference = 20, 0.1
    skills = np.random.default_rng([77, seed]).normal(size=items)
    ranker = Ranker(map(str, range(items)), goal="best", sigma=1.0, draw_margin=0.0)
    met: Counter[tuple[int, int]] = Counter()
    while ranker.num_games < 1_500:
        for a, b in ranker.next_pairs(workers, indifference=indifference):
            i, j = sorted((int(a), int(b)))
            luck = np.random.default_rng([seed, i, j, met[i, j]]).normal()
            met[i, j] += 1
            lead = skills[i] - skills[j] + math.sqrt(2.0) * luck
            ranker.record(str(i), str(j), 1 if lead > 0.0 else -1)
            if each and ranker.is_settled(0.95, indifference):
                return ranker.num_games
        if ranker.is_settled(0.95, indifference):
            break
    return ranker.num_games


@pytest.mark.slow
def test_a_batch_costs_few_games_if_the_rule_is_checked_after_each_result() -> None:
    """At most 10 % more than one pair at a time, and three standard errors of 40 rankings."""
    games: dict[str, list[int]] = {"one": [], "batch": [], "each": []}
    for seed in range(40):
        games["one"].append(games_until_settled(seed, 1, each=True))
        games["batch"].append(games_until_settled(seed, 32, each=False))
        games["each"].append(games_until_settled(seed, 32, each=True))
    one = np.array(games["one"], dtype=np.float64)
    for name, column in games.items():
        ratio = np.mean(column) / one.mean()
        error = np.std(np.array(column) - ratio * one) / one.mean() / math.sqrt(len(one))
        median = np.median(column)
        print(
            f"{name}: mean {np.mean(column):.0f}, median {median:.0f}, {ratio:.2f} +- {error:.2f}"
        )
        if name == "each":
            assert ratio <= 1.1 + 3.0 * error
    assert np.mean(games["each"]) < np.mean(games["batch"])


# Clusters.


def test_the_belief_with_effects_is_the_posterior_of_correlated_measurements() -> None:
    """Against the dense formula with one noise covariance over all games."""
    rng = np.random.default_rng(0)
    items, variance = 4, 0.2
    model = Model(sigma=1.3, first_advantage=0.4)
    table = GameTable()
    for _ in range(30):
        i, j = rng.choice(items, 2, replace=False).tolist()
        outcome = int(rng.choice([-1, 1]))
        table.add(IndexedGame(i, j, outcome, int(rng.integers(2)), int(rng.integers(-1, 6))))
    model.fit(table.results(items, has_advantage=True), table.sites(), items)
    mu, covariance = clustered_belief(table, model, items, variance)
    precision, shift = table.unit_sites()
    directions = np.zeros((30, items + 1))
    noise = np.diag(1.0 / precision)
    for g, game in enumerate(table.games):
        directions[g, game.i] = 1.0
        directions[g, game.j] = -1.0
        directions[g, items] = game.advantage
        for h, other in enumerate(table.games):
            if g != h and game.cluster == other.cluster != NOBODY:
                noise[g, h] = variance * (
                    (game.i == other.i) + (game.j == other.j)
                    - (game.i == other.j) - (game.j == other.i)
                )  # fmt: skip
    prior = np.diag([1.0 / 1.3**2] * items + [1.0 / 0.4**2])
    weight = np.linalg.inv(noise)
    exact = np.linalg.inv(prior + directions.T @ weight @ directions)
    exact_mu = exact @ directions.T @ weight @ (shift / precision)
    centre = np.eye(items + 1)
    centre[:items, :items] -= 1.0 / items
    np.testing.assert_allclose(centre @ mu, centre @ exact_mu, atol=1e-8)
    np.testing.assert_allclose(centre @ covariance @ centre, centre @ exact @ centre, atol=1e-8)


def test_votes_on_the_same_prompts_widen_intervals_that_then_cover() -> None:
    """Thirty prompts decide half of the noise: without clusters intervals are much too narrow."""
    covered: dict[bool, list[float]] = {False: [], True: []}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        effects = math.sqrt(0.5) * rng.normal(size=(30, 6))
        world = World(0.7 * rng.normal(size=6), effects=effects)
        games = random_ranker(world, rng, 1500, clusters=True).games
        for clusters in (False, True):
            ranker = Ranker(map(str, range(6)))
            if clusters:
                ranker.record_games(games)
            else:
                ranker.record_games([game._replace(cluster=None) for game in games])
            covered[clusters].append(coverage(ranker, world)["skill"])
            if clusters:
                assert ranker.cluster_deviation == pytest.approx(math.sqrt(0.5), abs=0.25)
    error = np.std(covered[True]) / math.sqrt(12)
    assert np.mean(covered[True]) >= 0.93 - 3.0 * error
    assert np.mean(covered[False]) < 0.85


# The fit of the model.


def refused_share(runs: int, games: int, adaptive: bool) -> float:
    """Return the share of logs that follow the model and have a p-value of at most 5 %."""
    refused = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        world = World(rng.normal(size=6), draw_margin=0.3)
        if adaptive:
            ranker = Ranker(map(str, range(6)), sigma=1.0, draw_margin=0.3)
            while ranker.num_games < games:
                for a, b in ranker.next_pairs(5):
                    ranker.record(a, b, world.play(rng, int(a), int(b)))
        else:
            ranker = random_ranker(world, rng, games)
        refused += ranker.check().p_value <= 0.05
    return refused / runs


@pytest.mark.parametrize("adaptive", [False, True])
def test_games_that_follow_the_model_are_rarely_refused(adaptive: bool) -> None:
    """At most 5 % and three standard errors, of 30 logs."""
    assert refused_share(30, 60, adaptive) <= 0.05 + 3.0 * math.sqrt(0.05 * 0.95 / 30)


@pytest.mark.slow
@pytest.mark.parametrize("adaptive", [False, True])
def test_five_percent_are_refused_at_five_percent(adaptive: bool) -> None:
    assert refused_share(400, 100, adaptive) == pytest.approx(
        0.05, abs=0.01 + 3.0 * math.sqrt(0.05 * 0.95 / 400)
    )


def test_a_cycle_over_two_weak_items_is_found() -> None:
    """Three items beat each other in a circle at 80 %, and two others at 90 %."""
    rng = np.random.default_rng(1)
    ranker = Ranker(list("abcde"), draw_margin=0.0)
    wins = {("a", "b"): 0.8, ("b", "c"): 0.8, ("c", "a"): 0.8}
    wins |= {(strong, weak): 0.9 for strong in "abc" for weak in "de"}
    for pair, probability in wins.items():
        for _ in range(30):
            ranker.record(*pair, 1 if rng.random() < probability else -1)
    check = ranker.check()
    assert check.p_value <= 0.01
    start = check.cycle.index("a")
    assert check.cycle[start:] + check.cycle[:start] == ("a", "b", "c")
    assert 0.0 < check.upsets < 0.5


@pytest.mark.slow
def test_a_cycle_is_rarely_called_settled() -> None:
    """Three items beat each other in a circle at 80 %; the check refuses what would be settled."""
    settled, refused = 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        wins = np.full((5, 5), 0.5)
        for strong, weak in ((0, 1), (1, 2), (2, 0)):
            wins[strong, weak], wins[weak, strong] = 0.8, 0.2
        wins[:3, 3:], wins[3:, :3] = 0.9, 0.1
        ranker = Ranker(map(str, range(5)), goal="best", draw_margin=0.0)
        while ranker.num_games < 600 and not ranker.is_settled():
            for a, b in ranker.next_pairs(2):
                ranker.record(a, b, 1 if rng.random() < wins[int(a), int(b)] else -1)
        if ranker.is_settled():
            settled += 1
            refused += ranker.check().p_value < 0.05
    print(f"settled {settled} of 60, refused {refused}")
    assert settled - refused <= 0.05 * 60 + 3.0 * math.sqrt(60 * 0.05 * 0.95)


# Estimates of the games that are left.


def play_best(ranker: Ranker, world: World, rng: np.random.Generator, indifference: float) -> None:
    """Play the pair that should play next."""
    ((a, b),) = ranker.next_pairs(1, indifference=indifference)
    ranker.record(a, b, world.play(rng, int(a), int(b)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("items", "options", "games", "runs"),
    [(6, {"goal": "best"}, 31, 450), (10, {"goal": "top", "k": 3}, 61, 150)],
)
def test_games_needed_covers_eighty_percent(
    items: int, options: dict[str, Any], games: int, runs: int
) -> None:
    """The 80 % interval covers 80 +- 5 %, and two standard errors, each of 2 and 3 %.

    The estimate is asked for after 0 to ``games`` - 1 games; settled rankings do not count.
    """
    covered = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        world = World(rng.normal(size=items))
        ranker = Ranker(map(str, range(items)), sigma=1.0, draw_margin=0.0, **options)
        for _ in range(seed % games):
            play_best(ranker, world, rng, 0.2)
        estimate = ranker.games_needed(indifference=0.2)
        if estimate.games == 0:
            continue
        before = ranker.num_games
        while not ranker.is_settled(indifference=0.2):
            play_best(ranker, world, rng, 0.2)
        covered.append(estimate.low <= ranker.num_games - before <= estimate.high)
    error = math.sqrt(0.8 * 0.2 / len(covered))
    print(f"{100.0 * np.mean(covered):.1f} % of {len(covered)}, +- {100.0 * error:.1f} %")
    assert np.mean(covered) == pytest.approx(0.8, abs=0.05 + 2.0 * error)


@pytest.mark.parametrize("mean", [3, 30, 1000])
def test_the_interval_of_equal_and_different_counts_has_eighty_percent(mean: int) -> None:
    """Within 4 %, and three standard errors; small counts are often equal."""
    rng = np.random.default_rng(mean)
    inside = []
    for _ in range(400):
        low, high = interval_of(rng.geometric(1.0 / mean, 99).tolist(), 0.2)
        further = rng.geometric(1.0 / mean, 100)
        inside.append(np.mean((low <= further) & (further <= high)))
    error = np.std(inside) / math.sqrt(len(inside))
    assert np.mean(inside) == pytest.approx(0.8, abs=0.04 + 3.0 * error)


def test_games_needed_has_limits() -> None:
    most = (1_000_000,) * 3  # or more
    assert Ranker(["a", "b"], beta=1e6, sigma=1.0).games_needed() == most
    assert Ranker(map(str, range(200)), sigma=1.0).games_needed() == most
    settled = Ranker(["a", "b"])
    settled.record_games([("a", "b", 1)] * 50)
    assert settled.games_needed() == (0, 0, 0)


# Many items.


def test_the_sparse_belief_is_that_of_all_covariances(monkeypatch: pytest.MonkeyPatch) -> None:
    """Means and the pairs of the goal; variances within 3 %."""
    rng = np.random.default_rng(0)
    world = World(rng.normal(size=150), 0.3, 0.3)
    options: dict[str, Any] = {"goal": "top", "k": 5, "first_advantage": 0.5}
    dense = random_ranker(world, rng, 1500, **options)
    monkeypatch.setattr(ranker_module, "DENSE_ITEMS", 100)
    sparse = Ranker(map(str, range(150)), **options)
    sparse.record_games(dense.games)
    assert not sparse.keeps_covariances
    for extra in dense.games[:5]:
        dense.record(extra.first, extra.second, extra.outcome)
        sparse.record(extra.first, extra.second, extra.outcome)
        sparse.is_settled()  # learns the game
    assert sparse.sigma == pytest.approx(dense.sigma, rel=0.02)
    assert sparse.draw_margin == pytest.approx(dense.draw_margin, rel=0.02)
    of_dense = {row.item: row for row in dense.ranking("7")}
    for row in sparse.ranking("7"):
        other = of_dense[row.item]
        assert abs(row.mean - other.mean) <= 0.05 * max(other.deviation, 0.1)
        assert row.deviation == pytest.approx(other.deviation, rel=0.03)
    assert {frozenset(pair) for pair in sparse.next_pairs(4)} == {
        frozenset(pair) for pair in dense.next_pairs(4)
    }
    open_dense = {frozenset(pair) for pair in dense.unsettled()}
    open_sparse = {frozenset(pair) for pair in sparse.unsettled()}
    assert len(open_dense ^ open_sparse) <= 0.02 * len(open_dense)
    own, other_advantage = sparse.advantage, dense.advantage
    assert own is not None
    assert other_advantage is not None
    np.testing.assert_allclose(own, other_advantage, atol=0.01)
    for call in (sparse.check, sparse.games_needed, lambda: sparse.belief):
        with pytest.raises(ValueError, match="needs all covariances"):
            call()


def test_the_order_of_many_items_has_the_belief_of_the_full_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its fit starts at the sites of the sparse belief and ends earlier."""
    rng = np.random.default_rng(0)
    world = World(rng.normal(size=150), 0.3, 0.3)
    options: dict[str, Any] = {"sigma": 1.0, "draw_margin": 0.3, "first_advantage": 0.5}
    full = random_ranker(world, rng, 1500, **options)
    means, covariances = full.belief
    monkeypatch.setattr(ranker_module, "DENSE_ITEMS", 100)
    many = Ranker(map(str, range(150)), **options)
    many.record_games(full.games)
    many_means, many_covariances = many.belief
    deviations = np.sqrt(np.diagonal(covariances))
    assert np.abs((many_means - means) / deviations).max() < 0.01
    np.testing.assert_allclose(np.diagonal(many_covariances), deviations**2, rtol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("items", "games", "limits", "options"),
    [
        (50_000, 500_000, (1.0, 4.0), {"goal": "best"}),
        (50_000, 500_000, (1.0, 4.0), {"goal": "top", "k": 10}),
        (10_000, 100_000, (30.0, 6.0), {"goal": "order"}),
    ],
)
def test_many_items_need_little_time_and_memory(
    items: int, games: int, limits: tuple[float, float], options: dict[str, Any]
) -> None:
    """Limits are seconds of processor time of a game and the next choice, and gigabytes."""
    resource = pytest.importorskip("resource")
    rng = np.random.default_rng(0)
    world = World(rng.normal(size=items), draw_margin=0.3)
    pairs = rng.integers(items, size=(games, 2))
    recorded = []
    for i, j in pairs[pairs[:, 0] != pairs[:, 1]].tolist():
        recorded.append((str(i), str(j), world.play(rng, i, j)))
    ranker = Ranker(map(str, range(items)), **options)
    ranker.record_games(recorded)
    start = time.process_time()
    ranker.fit()
    print(f"fit of {items:,} items: {time.process_time() - start:.1f} s")
    ranker.next_pairs()  # compiles
    ranker.record("0", "1", 1)
    start = time.process_time()
    ranker.next_pairs()
    taken = time.process_time() - start
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"a game and the next choice: {taken:.2f} s; {gigabytes:.1f} GB at most so far")
    assert taken < limits[0]
    assert gigabytes < limits[1] or sys.platform != "linux"
