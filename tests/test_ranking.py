"""``matchenv.ranking.Ranker``: posterior, batches of pairs, stopping rule, state file."""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from matchenv.belief.joint import NOBODY, difference_variance
from matchenv.ranking import Game, Ranker
from matchenv.ranking.dense import DenseBelief
from matchenv.ranking.games import GameTable, IndexedGame
from matchenv.ranking.model import Model
from matchenv.ranking.sparse import SparseBelief

NAMES = [f"model-{k}" for k in range(8)]


def play(rng: np.random.Generator, gap: float, draw_margin: float = 0.0) -> int:
    """Return the outcome of a game between items whose skills differ by ``gap``, for beta 1."""
    lead = gap + math.sqrt(2.0) * rng.normal()
    if abs(lead) <= draw_margin:
        return 0
    return 1 if lead > 0.0 else -1


def played(games: int, seed: int = 0, **options: Any) -> tuple[Ranker, np.ndarray]:
    """Return a ranker after games of its own choice, and the true skills."""
    rng = np.random.default_rng(seed)
    skills = rng.normal(size=len(NAMES))
    ranker = Ranker(NAMES, **{"sigma": 1.0, "draw_margin": 0.0, **options})
    for _ in range(games):
        ((a, b),) = ranker.next_pairs()
        gap = skills[NAMES.index(a)] - skills[NAMES.index(b)]
        ranker.record(a, b, play(rng, gap, ranker.draw_margin))
    return ranker, skills


def random_games(count: int, seed: int = 0, names: list[str] = NAMES) -> list[Game]:
    """Return games of random pairs between items with normal skills, with draws."""
    rng = np.random.default_rng(seed)
    skills = rng.normal(size=len(names))
    games = []
    for _ in range(count):
        i, j = rng.choice(len(names), 2, replace=False)
        games.append(Game(names[i], names[j], play(rng, skills[i] - skills[j], 0.4)))
    return games


# The posterior and its intervals.


def test_the_interval_of_two_items_shrinks_with_their_games() -> None:
    """A game shows a difference, and the ranking is relative to the mean."""
    widths = []
    for games in (100, 1_000, 10_000):
        ranker = Ranker(["a", "b"], sigma=1.0, draw_margin=0.0)
        ranker.record_games([("a", "b", 1), ("b", "a", 1)] * (games // 2))
        rows = ranker.ranking()
        assert rows[0].mean == pytest.approx(-rows[1].mean)
        widths.append(rows[0].high - rows[0].low)
    # The information of an even game about s_a - s_b is 1 / (pi beta^2), and a is half of it.
    for games, width in zip((100, 1_000, 10_000), widths, strict=True):
        assert width == pytest.approx(1.96 * math.sqrt(math.pi / games), rel=0.03)


def test_a_reference_has_skill_0_and_its_elo() -> None:
    ranker, _ = played(60)
    plain = {row.item: row for row in ranker.ranking()}
    rows = {row.item: row for row in ranker.ranking("model-3", 1000.0)}
    anchor = rows["model-3"]
    assert (anchor.mean, anchor.deviation, anchor.elo) == (0.0, 0.0, 1000.0)
    _, covariance = ranker.belief
    for name, row in rows.items():
        move = np.eye(8)[NAMES.index(name)] - np.eye(8)[3]
        assert row.mean == pytest.approx(plain[name].mean - plain["model-3"].mean)
        assert row.deviation == pytest.approx(math.sqrt(move @ covariance @ move), abs=1e-7)
        assert row.elo_high - row.elo == pytest.approx(ranker.elo_per_skill * (row.high - row.mean))


@pytest.mark.parametrize("draw_margin", [0.0, 0.5])
def test_elo_has_the_slope_of_an_even_game(draw_margin: float) -> None:
    ranker = Ranker(["a", "b"], beta=0.7, draw_margin=draw_margin)
    step = 1e-5
    scale = math.sqrt(2.0) * 0.7
    scores = [
        0.5 * (norm.cdf((gap - draw_margin) / scale) + norm.cdf((gap + draw_margin) / scale))
        for gap in (-step, step)
    ]
    points = ranker.elo_per_skill * step
    elo = [1.0 / (1.0 + 10.0 ** (-own / 400.0)) for own in (-points, points)]
    assert scores[1] - scores[0] == pytest.approx(elo[1] - elo[0], rel=1e-6)


def test_places_and_top_probabilities_match_posterior_draws() -> None:
    ranker, _ = played(120, goal="top", k=3)
    rows = ranker.ranking()
    assert [row.place for row in rows] == list(range(1, 9))
    assert sum(row.top for row in rows) == pytest.approx(3.0)
    mu, covariance = ranker.belief
    draws = np.random.default_rng(1).multivariate_normal(mu, covariance, 20_000)
    places = np.argsort(np.argsort(-draws, axis=1), axis=1) + 1
    for row in rows:
        own = places[:, NAMES.index(row.item)]
        assert row.top == pytest.approx((own <= 3).mean(), abs=0.03)
        assert np.mean((own >= row.best_place) & (own <= row.worst_place)) > 0.93
        assert row.low == pytest.approx(row.mean - 1.959964 * row.deviation)


def test_the_order_of_games_and_the_way_of_recording_do_not_matter() -> None:
    games = random_games(100)
    together = Ranker(NAMES)
    together.record_games(games)
    backwards = Ranker(NAMES)
    for game in games[::-1]:
        backwards.record(game.first, game.second, game.outcome)
    for ranker in (together, backwards):
        ranker.fit()
    np.testing.assert_allclose(together.belief[0], backwards.belief[0], atol=1e-4)
    np.testing.assert_allclose(together.belief[1], backwards.belief[1], atol=1e-4)
    assert together.sigma == pytest.approx(backwards.sigma, rel=1e-3)


def test_adding_an_item_late_equals_adding_it_first() -> None:
    early = Ranker(NAMES, sigma=1.0)
    late = Ranker(NAMES[:5], sigma=1.0)
    for ranker in (early, late):
        ranker.record("model-0", "model-1", 1)
    late.add(*NAMES[5:])
    for ranker in (early, late):
        ranker.record("model-7", "model-0", 1)
    np.testing.assert_allclose(early.belief[1], late.belief[1], atol=1e-6)
    # A new item has the largest uncertainty and plays next.
    settled, _ = played(300)
    settled.add("new")
    assert "new" in settled.next_pairs()[0]


# Estimated constants.


@pytest.mark.parametrize("spread", [0.3, 3.0])
def test_sigma_and_margin_are_those_of_the_games(spread: float) -> None:
    """The standard error of log(sigma) from n skills is at least 1 / sqrt(2 n)."""
    rng = np.random.default_rng(2)
    names = [f"{k}" for k in range(40)]
    skills = spread * rng.normal(size=40)
    ranker = Ranker(names)
    games = []
    for _ in range(6_000):
        i, j = rng.choice(40, 2, replace=False)
        games.append((names[i], names[j], play(rng, skills[i] - skills[j], 0.5)))
    ranker.record_games(games)
    assert ranker.sigma == pytest.approx(np.std(skills, ddof=1), rel=0.15)
    assert ranker.draw_margin == pytest.approx(0.5, abs=0.06)  # standard error about 0.02
    given = Ranker(names, sigma=10.0 * spread, draw_margin=0.5)
    given.record_games(games)
    assert "is far from what the games say" in given.warnings()[0]
    assert not any("far from" in message for message in ranker.warnings())


def test_games_without_draws_have_no_margin_until_the_first_draw() -> None:
    ranker = Ranker(NAMES)
    ranker.record_games([("model-0", "model-1", 1)] * 100)
    assert ranker.draw_margin == 0.0
    ranker.record("model-0", "model-2", 0)
    assert ranker.draw_margin > 0.0
    assert np.isfinite(ranker.belief[0]).all()


def test_the_output_says_when_beta_is_small() -> None:
    ranker = Ranker(NAMES, beta=0.2, sigma=1.0)
    assert "95 % intervals of items with few games cover less" in ranker.warnings()[0]


# Who is named first.


def test_sides_are_balanced() -> None:
    ranker, _ = played(200)
    sides = Counter()
    pairs = Counter()
    for first, second, *_ in ranker.games:
        sides[first] += 1
        sides[second] -= 1
        pairs[first, second] += 1
        pairs[second, first] -= 1
    assert max(abs(lead) for lead in pairs.values()) <= 1
    assert max(abs(lead) for lead in sides.values()) <= 4
    # Between items and pairs that are balanced, chance decides, from the seed.
    firsts = [Ranker(NAMES, seed=seed).next_pairs()[0][0] for seed in range(100)]
    assert 30 <= firsts.count("model-0") <= 70  # four standard deviations
    assert Ranker(NAMES, seed=5).next_pairs(9) == Ranker(NAMES, seed=5).next_pairs(9)


def test_the_advantage_of_the_first_is_part_of_the_belief() -> None:
    """A judge prefers the first at 65 % between equals, in games with random sides."""
    rng = np.random.default_rng(4)
    advantage = math.sqrt(2.0) * norm.ppf(0.65)
    ranker = Ranker(NAMES, first_advantage=0.5, draw_margin=0.0)
    neutral = Ranker(NAMES, first_advantage=0.5, draw_margin=0.0)
    for _ in range(800):
        i, j = rng.choice(8, 2, replace=False)
        outcome = play(rng, 0.3 * (i - j) + advantage)
        ranker.record(NAMES[i], NAMES[j], outcome)
        neutral.record(NAMES[i], NAMES[j], outcome, neutral=True)
    found = ranker.advantage
    assert found is not None
    assert found.low < advantage < found.high
    assert found.high - found.low < 0.5
    assert found.win_probability == pytest.approx(0.65, abs=0.06)
    assert any("the item named first wins" in message for message in ranker.warnings())
    assert neutral.advantage is not None
    assert neutral.advantage.mean == 0.0
    assert Ranker(NAMES).advantage is None


# Choosing pairs.


def test_both_beliefs_expect_as_much_of_a_game_whose_first_item_is_favoured() -> None:
    """The sparse variances are within a few percent; a game with a sure result teaches little."""
    rng = np.random.default_rng(5)
    model = Model(first_advantage=3.0)
    skills = rng.normal(size=12)
    table = GameTable()
    for _ in range(60):
        i, j = rng.choice(12, 2, replace=False).tolist()
        outcome = play(rng, skills[i] - skills[j] + 2.5)
        table.add(IndexedGame(i, j, outcome, advantage=1, cluster=NOBODY))
    dense = DenseBelief(12, model)
    sparse = SparseBelief(12, model, 3)
    dense.fit(table)
    sparse.fit(table)
    for i in range(1, 5):
        dense_after = dense.copy()
        sparse_after = sparse.copy()
        dense_after.expect((i, 0), first=True)
        sparse_after.expect((i, 0), first=True)
        left = difference_variance(dense_after.covariance, i, 0)
        left /= difference_variance(dense.covariance, i, 0)
        sparse_left = sparse_after.variances(0)[i] / sparse.variances(0)[i]
        assert sparse_left == pytest.approx(left, rel=0.02)


def test_a_batch_is_spread_and_accounts_for_pending_games() -> None:
    ranker, _ = played(30)
    batch = ranker.next_pairs(8)
    assert len({frozenset(pair) for pair in batch}) > 4
    assert batch[:1] == ranker.next_pairs(1)
    assert ranker.next_pairs(4, pending=batch[:4]) == batch[4:]
    assert ranker.num_games == 30


@pytest.mark.parametrize("goal", ["order", "best"])
def test_people_play_one_game_at_a_time(goal: str) -> None:
    ranker, _ = played(30, goal=goal)
    pairs = ranker.next_pairs(9, pending=[(NAMES[0], NAMES[1])], disjoint=True)
    seated = [name for pair in pairs for name in pair]
    assert len(seated) == len(set(seated)) == 2 * ((len(NAMES) - 2) // 2)
    assert not {NAMES[0], NAMES[1]} & set(seated)
    assert ranker.next_pairs(1, disjoint=True) == ranker.next_pairs(1)


def test_barred_pairs_and_retired_items_do_not_play() -> None:
    ranker, _ = played(30, goal="best")
    wanted = frozenset(ranker.next_pairs()[0])
    ranker.barred_pairs = [tuple(wanted)]
    assert wanted not in {frozenset(pair) for pair in ranker.next_pairs(20)}
    leader = ranker.ranking()[0].item
    ranker.retire(leader)
    rows = ranker.ranking()
    assert (rows[-1].item, rows[-1].place, rows[-1].top) == (leader, 0, 0.0)
    assert rows[-1].games > 0
    assert leader not in {name for pair in ranker.next_pairs(20) for name in pair}
    assert not any(leader in pair for pair in ranker.unsettled())
    assert sum(row.top for row in rows) == pytest.approx(1.0)
    assert ranker.retired == [leader]
    pair = Ranker(["a", "b"])
    with pytest.raises(ValueError, match="must leave at least 2 items"):
        pair.retire("a")


def test_indifference_moves_games_away_from_equal_items() -> None:
    ranker = Ranker(["a", "b", "c"], sigma=1.0)
    ranker.record_games([("a", "b", 1), ("b", "a", 1)] * 40 + [("a", "c", 1), ("b", "c", 1)] * 3)
    assert set(ranker.next_pairs()[0]) == {"a", "b"}
    assert "c" in ranker.next_pairs(indifference=0.5)[0]


# The stopping rule.


def doubts_of(ranker: Ranker, cut: int, indifference: float) -> np.ndarray:
    """Return P(misordered by more than the indifference) of each pair across the cut."""
    mu, covariance = ranker.belief
    doubts = []
    for i, j in combinations(range(len(mu)), 2):
        move = np.eye(len(mu))[i] - np.eye(len(mu))[j]
        crosses = (np.sum(mu > mu[i]) < cut) != (np.sum(mu > mu[j]) < cut)
        if cut == 0 or crosses:
            lead = (abs(mu[i] - mu[j]) + indifference) / np.sqrt(move @ covariance @ move)
            doubts.append(norm.cdf(-lead))
    return np.array(doubts)


@pytest.mark.parametrize(
    ("options", "cut"), [({}, 0), ({"goal": "best"}, 1), ({"goal": "top", "k": 2}, 2)]
)
def test_settled_pairs_have_a_bounded_expected_loss(options: dict[str, Any], cut: int) -> None:
    ranker, _ = played(120, **options)
    for confidence in (0.5, 0.9, 0.99):
        unsettled = ranker.unsettled(confidence, indifference=0.1)
        doubts = np.sort(doubts_of(ranker, cut, 0.1))[::-1]
        settled = doubts[len(unsettled) :].sum()
        assert settled <= 0.8 * (1.0 - confidence) + 1e-9
        assert not unsettled or doubts[len(unsettled) - 1 :].sum() > 0.8 * (1.0 - confidence)
        assert ranker.is_settled(confidence, 0.1) == (not unsettled)
    assert len(ranker.unsettled(1.0)) == np.count_nonzero(doubts)


# Games and options at any time.


def test_games_can_be_read_and_removed() -> None:
    games = random_games(40)
    ranker = Ranker(NAMES)
    ranker.record_games(games)
    assert ranker.games == games
    ranker.record("model-0", "model-1", 1, neutral=True, cluster="prompt 7")
    assert ranker.games[-1] == Game("model-0", "model-1", 1, True, "prompt 7")
    assert ranker.remove(-1).cluster == "prompt 7"
    assert ranker.remove(3) == games[3]
    other = Ranker(NAMES)
    other.record_games(games[:3] + games[4:])
    for each in (ranker, other):
        each.fit()
    np.testing.assert_allclose(ranker.belief[0], other.belief[0], atol=1e-4)


def test_options_can_be_changed_at_any_time() -> None:
    games = random_games(60)
    changed = Ranker(NAMES)
    changed.record_games(games)
    changed.set_options(sigma=2.0, draw_margin=0.3, goal="top", k=3)
    fresh = Ranker(NAMES, sigma=2.0, draw_margin=0.3, goal="top", k=3)
    fresh.record_games(games)
    np.testing.assert_allclose(changed.belief[0], fresh.belief[0], atol=1e-5)
    assert len(changed.unsettled()) == len(fresh.unsettled())
    changed.set_options(goal="best")
    assert changed.k == 1
    for bad in ({"draw_margin": 0.0}, {"goal": "top"}, {"sigma": -1.0}, {"surprise": 1}):
        with pytest.raises(ValueError, match="must be"):
            changed.set_options(**bad)
    assert (changed.goal, changed.sigma) == ("best", 2.0)


def test_save_and_load_round_trip(tmp_path: Path) -> None:
    ranker = Ranker(NAMES, goal="top", k=3, beta=0.7, first_advantage=0.4, seed=3)
    ranker.record_games(random_games(40))
    ranker.record("model-0", "model-1", 1, cluster="prompt 7")
    ranker.barred_pairs = [("model-1", "model-2")]
    ranker.retire("model-5")
    path = tmp_path / "ranking.json"
    ranker.save(path)
    loaded = Ranker.load(path)
    assert loaded.games == ranker.games
    assert loaded.barred_pairs == ranker.barred_pairs
    assert loaded.retired == ["model-5"]
    assert (loaded.sigma, loaded.draw_margin) == (ranker.sigma, ranker.draw_margin)
    np.testing.assert_allclose(loaded.belief[0], ranker.belief[0], atol=1e-3)
    loaded.record("model-0", "model-1", 0)
    loaded.save(path)
    assert Ranker.load(path).num_games == 42


@pytest.mark.parametrize(
    "change",
    [
        {"version": 1}, {"items": ["a"]}, {"items": "ab"}, {"items": ["a", 3]}, {"beta": -1.0},
        {"games": [[0, 9, 1, 1, -1]]}, {"games": [[0, 0, 1, 1, -1]]},
        {"games": [[0, 1, 5, 1, -1]]}, {"games": [[0]]}, {"games": 3}, {"surprise": 1},
        {"goal": "worst"}, {"retired": [7]}, {"estimates": {}},
    ],
)  # fmt: skip
def test_load_rejects_other_files(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "ranking.json"
    Ranker(["a", "b"]).save(path)
    state = json.loads(path.read_text())
    del state["checksum"]
    path.write_text(json.dumps({**state, **change}))
    with pytest.raises(ValueError, match=r"ranking\.json must be a file that Ranker\.save"):
        Ranker.load(path)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda _: Ranker(["a"]), "items must be at least two names"),
        (lambda _: Ranker("ab"), "items must be at least two names"),
        (lambda _: Ranker(np.array("ab")), "items must be at least two names"),
        (lambda _: Ranker(["a", "a"]), "item must be a new name"),
        (lambda _: Ranker(["a", ""]), "item must be a new name"),
        (lambda _: Ranker(NAMES, goal="top"), "k must be given"),
        (lambda _: Ranker(NAMES, goal="top", k=8), "k must be below the number of items"),
        (lambda _: Ranker(NAMES, first_advantage=-1.0), "first_advantage must not be negative"),
        (lambda _: Ranker(map(str, range(10_001))), "items must be at most 10,000"),
        (lambda ranker: ranker.record("model-0", "x", 1), "b must be an item"),
        (lambda ranker: ranker.record(3, "model-0", 1), "a must be an item"),
        (lambda ranker: ranker.record("model-0", "model-0", 1), "b must be another item"),
        (lambda ranker: ranker.record("model-0", "model-1", 2), "outcome must be an integer"),
        (lambda ranker: ranker.record("model-0", "model-1", 0), "outcome must be 1 or -1 with"),
        (lambda ranker: ranker.record("model-0", "model-1", 1, cluster=3), "cluster must be"),
        (lambda ranker: ranker.record("model-0", "model-1", 1, neutral=3), "neutral must be"),
        (lambda ranker: ranker.record_games([(*NAMES[:2], 1), ("x", "y", 1)]), "a must be an item"),
        (lambda ranker: ranker.record_games([NAMES[:2]]), "games must hold"),
        (lambda ranker: ranker.remove(0), "index must be that of a game"),
        (lambda ranker: ranker.retire("x"), "item must be an item"),
        (lambda ranker: ranker.add("model-0"), "item must be a new name"),
        (lambda ranker: ranker.ranking("x"), "reference must be an item"),
        (lambda ranker: ranker.check(), "check needs games"),
        (lambda ranker: ranker.is_settled(indifference=-1.0), "indifference"),
        (lambda ranker: ranker.unsettled(confidence=1.5), "confidence"),
        (lambda ranker: ranker.next_pairs(0), "count"),
        (lambda ranker: ranker.next_pairs(1, [("model-0",)]), "pending must hold"),
        (lambda ranker: ranker.next_pairs(1, None), "pending must hold tuples"),
        (lambda ranker: ranker.record_games(5), "games must hold tuples"),
    ],
)
def test_bad_arguments_raise_and_change_nothing(call: Any, message: str) -> None:
    ranker = Ranker(NAMES, draw_margin=0.0)
    with pytest.raises(ValueError, match=message):
        call(ranker)
    assert ranker.ranking() == Ranker(NAMES, draw_margin=0.0).ranking()
