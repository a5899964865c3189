"""The pool: ratings, proposals, pairs, and what it refuses."""

from __future__ import annotations

import itertools
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchenv import Settings
from matchenv.baselines import DrawChance, KnowledgeGradient, RandomOpponent
from matchenv.belief.knowledge import KnowledgeState
from matchenv.ratings.leaderboard import Leaderboard
from matchenv.service import Game, NewPlayer, PlayerExistsError, Pool, UnknownPlayerError
from matchenv.trueskill import match_quality, rate

DAY = 86_400.0


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def filled(count: int, seed: int = 0, **settings: Any) -> Pool:
    rng = np.random.default_rng(seed)
    pool = Pool(**settings)
    pool.add_many(
        NewPlayer(f"p{i}", float(rng.normal(25, 8)), float(rng.uniform(1, 8))) for i in range(count)
    )
    return pool


def test_ratings_are_those_of_the_leaderboard() -> None:
    rng = np.random.default_rng(1)
    names = [f"p{i}" for i in range(12)]
    pool, board = Pool(), Leaderboard()
    pool.add_many(names)
    games = []
    for _ in range(60):
        chosen = rng.permutation(names)[: rng.integers(2, 9)].tolist()
        cut = int(rng.integers(1, len(chosen)))
        games.append(Game([chosen[:cut], chosen[cut:]], rng.integers(0, 2, 2).tolist()))
    for game in games:
        board.update(*game)
    pool.rate(games)
    assert {name: pool[name] for name in names} == {name: board[name] for name in names}
    assert [line.name for line in pool.standings()] == [line.name for line in board.standings()]
    assert pool.games == 60


def test_proposals_are_the_rules_choices_one_after_the_other() -> None:
    for rule in (None, "kg", KnowledgeGradient(multiplier=5, beta=25 / 6)):
        pool = filled(30, rule=rule, draw_probability=0.0, tau=0.0)
        policy: Any = (
            DrawChance(beta=25 / 6)
            if rule is None
            else rule
            if not isinstance(rule, str)
            else KnowledgeGradient(beta=25 / 6)
        )
        left = [f"p{i}" for i in range(30) if i != 7]
        for found in pool.propose("p7", 5):
            beliefs = np.array([pool["p7"], *(pool[name] for name in left)])
            choice = int(policy.act(KnowledgeState(beliefs[:, 0], beliefs[:, 1]), 500))
            assert found.opponent == left.pop(choice)
            assert found.match_quality == match_quality(*pool["p7"], *pool[found.opponent], 25 / 6)


def test_a_learned_policy_takes_ratings_without_covariances_or_says_why_not() -> None:
    pytest.importorskip("sb3_contrib")
    from matchenv.agents import load

    learned = load("ppo-gittins").for_settings(Settings.checked(beta=25 / 6))
    pool = filled(20, rule=learned)
    beliefs = np.array([pool[f"p{i}"] for i in range(20)])
    differences = np.hypot(beliefs[0, 1], beliefs[1:, 1])
    state = KnowledgeState(beliefs[:, 0], beliefs[:, 1], differences, "full")
    sized = learned.for_settings(Settings.checked(beta=25 / 6, num_opponents=19))
    choice = int(sized.predict(state.to_observation(1.0))[0])
    assert pool.propose("p0")[0].opponent == f"p{choice + 1}"
    by_name = filled(20, rule="ppo-gittins")
    assert by_name.propose("p0")[0].opponent == f"p{choice + 1}"


def test_nobody_is_proposed_across_regions_blocks_and_last_games() -> None:
    pool = Pool(recent=2)
    pool.add_many(
        [NewPlayer(name, region="eu") for name in "abcde"] + [NewPlayer("x", region="us"), "y"]
    )

    def met(name: str) -> set[str]:
        return {each.opponent for each in pool.propose(name, 9)}

    assert met("a") == set("bcde")
    assert met("x") == met("y") == set()
    pool.block("a", "b")
    assert met("a") == set("cde")
    assert met("b") == set("cde")
    for other in "cde":
        pool.rate(Game([["a"], [other]], [0, 1]))
    assert met("a") == {"c"}
    assert met("c") == {"b", "d", "e"}
    assert {frozenset(pair[:2]) for pair in pool.match(["a", "b", "d", "e"])} == {
        frozenset("be")
    } or len(pool.match(["a", "b", "d", "e"])) == 1
    pool.remove("d")
    assert met("a") == {"c"}
    pool.unblock("a", "b")
    assert met("a") == {"b", "c"}
    assert {each.opponent for each in pool.propose("a", 9, among=["b", "x"])} == {"b"}


def test_pairs_have_the_greatest_sum_of_qualities() -> None:
    pool = filled(8, seed=4)
    pool.block("p0", "p1")
    names = [f"p{i}" for i in range(8)]

    def pairings(left: list[str]) -> Any:
        if not left:
            yield []
        for other in left[1:]:
            for rest in pairings([name for name in left[1:] if name != other]):
                yield [(left[0], other), *rest]

    def worth(pairs: Any) -> float:
        return sum(match_quality(*pool[one], *pool[other], 25 / 6) for one, other in pairs)

    allowed = [pairs for pairs in pairings(names) if ("p0", "p1") not in pairs]
    found = pool.match(names)
    assert worth([pair[:2] for pair in found]) == pytest.approx(max(map(worth, allowed)))
    asked = dict.fromkeys(names, 0.55)
    assert all(pair.match_quality > 0.55 for pair in pool.match(asked))


def test_many_who_wait_never_meet_whom_they_must_not() -> None:
    pool = filled(400, seed=3, recent=3)
    rng = np.random.default_rng(5)
    names = [f"p{i}" for i in range(400)]
    order = sorted(names, key=lambda name: pool[name].mu)
    for one, other in itertools.pairwise(order):
        pool.block(one, other)
    pool.rate([Game([[a], [b]], [0, 1]) for a, b in rng.permutation(names).reshape(-1, 2).tolist()])
    pairs = pool.match(names)
    assert len(pairs) > 190
    assert len({name for pair in pairs for name in pair[:2]}) == 2 * len(pairs)
    neighbours = {frozenset(pair) for pair in itertools.pairwise(order)}
    for one, other, _ in pairs:
        assert frozenset((one, other)) not in neighbours
        assert other not in pool.player(one).recent


def test_time_without_games_makes_beliefs_wider() -> None:
    clock = Clock()
    pool = Pool(clock=clock, drift_per_day=0.5)
    pool.add("a", 30.0, 2.0)
    pool.add("b", 25.0, 3.0)
    clock.now = 8 * DAY
    assert pool["a"].sigma == pytest.approx(np.sqrt(4.0 + 8 * 0.25), rel=1e-14)
    assert pool.standings()[0].sigma == pool["a"].sigma
    wide = [tuple(pool["a"]), tuple(pool["b"])]
    pool.rate(Game([["a"], ["b"]], [1, 2]))
    expected = rate([[wide[0]], [wide[1]]], [1, 2], beta=25 / 6, tau=25 / 300, draw_probability=0.1)
    assert pool["a"] == expected[0][0]
    assert pool.propose("a")[0].match_quality == match_quality(*pool["a"], *pool["b"], 25 / 6)
    clock.now = 0.0  # a clock that went back takes nothing away
    assert pool["a"] == expected[0][0]


def test_a_newcomer_is_exposed_at_zero() -> None:
    pool = Pool(mu=30.0, sigma=4.0)
    pool.add("a")
    pool.add("b", 40.0, 2.0)
    assert pool.expose("a") == 0.0
    assert pool.expose("b") == 40.0 - 7.5 * 2.0
    assert [line.exposed for line in pool.standings()] == [25.0, 0.0]


def test_equal_players_stand_by_name() -> None:
    pool = Pool()
    pool.add_many(["c", "a", "b"])
    assert [line.name for line in pool.standings()] == ["a", "b", "c"]
    assert [line.name for line in pool.standings(2)] == ["a", "b"]


def bad_calls(pool: Pool) -> dict[str, tuple[Any, str]]:
    nan = float("nan")
    return {
        "unknown": (lambda: pool.rate(Game([["a"], ["eve"]], [1, 2])), "eve"),
        "unknown later": (
            lambda: pool.rate([Game([["a"], ["b"]], [1, 2]), Game([["a"], ["eve"]], [1, 2])]),
            r"games\[1\].*eve",
        ),
        "itself": (lambda: pool.rate(Game([["a"], ["a"]], [1, 2])), "twice"),
        "nan rank": (lambda: pool.rate(Game([["a"], ["b"]], [1, nan])), "ranks"),
        "few ranks": (lambda: pool.rate(Game([["a"], ["b"]], [1])), "ranks"),
        "no side": (lambda: pool.rate(Game([], [])), "teams"),
        "empty side": (lambda: pool.rate(Game([["a"], []], [1, 2])), "teams"),
        "names as text": (lambda: pool.rate(Game("ab", [1, 2])), "teams"),
        "no games": (lambda: pool.rate([]), "games"),
        "no game": (lambda: pool.rate(7), "games"),  # type: ignore[arg-type]
        "again": (lambda: pool.add("a"), "'a'"),
        "twice": (lambda: pool.add_many(["x", "x"]), "'x'"),
        "control": (lambda: pool.add("x\x1b[2J"), "control"),
        "empty name": (lambda: pool.add(" "), "name"),
        "no name": (lambda: pool.add(3), "name"),  # type: ignore[arg-type]
        "long name": (lambda: pool.add("x" * 201), "200"),
        "nan mu": (lambda: pool.add("x", nan), "mu"),
        "true mu": (lambda: pool.add("x", True), "mu"),
        "sigma 0": (lambda: pool.add("x", 1.0, 0.0), "sigma"),
        "bad region": (lambda: pool.add("x", region="\n"), "region"),
        "remove": (lambda: pool.remove("eve"), "eve"),
        "propose": (lambda: pool.propose("eve"), "eve"),
        "k": (lambda: pool.propose("a", 0), "k must"),
        "among itself": (lambda: pool.propose("a", among=["a"]), "among"),
        "waiting twice": (lambda: pool.match(["a", "a"]), "'a'"),
        "waiting nan": (lambda: pool.match({"a": nan, "b": 0.0}), "waiting"),
        "block itself": (lambda: pool.block("a", "a"), "other"),
        "split one": (lambda: pool.split(["a"]), "players"),
        "split sides": (lambda: pool.split(["a", "b"], 3), "sides"),
        "split party": (lambda: pool.split(["a", "b"], 2, [["eve"]]), "together"),
        "split all together": (lambda: pool.split(["a", "b"], 2, [["a", "b"]]), "together"),
        "split number": (lambda: pool.split(["a", "b"], 2, 7), "together"),  # type: ignore[arg-type]
        "limit": (lambda: pool.standings(0), "limit"),
    }


@pytest.mark.parametrize("case", bad_calls(Pool()))
def test_bad_input_is_named_and_changes_nothing(case: str) -> None:
    pool = Pool(clock=lambda: 0.0)
    pool.add_many(["a", "b"])
    before = (pool.standings(), pool.player("a"), pool.games, len(pool))
    call, word = bad_calls(pool)[case]
    with pytest.raises(ValueError, match=word):
        call()
    assert (pool.standings(), pool.player("a"), pool.games, len(pool)) == before


def test_errors_say_whether_a_name_is_missing_or_taken() -> None:
    pool = Pool()
    pool.add("a")
    with pytest.raises(UnknownPlayerError):
        pool.expose("b")
    with pytest.raises(PlayerExistsError):
        pool.add("a")


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"beta": 0.0}, "beta"),
        ({"draw_probability": 1.0}, "draw_probability"),
        ({"drift_per_day": -1.0}, "drift_per_day"),
        ({"recent": 1.5}, "recent"),
        ({"colour": 1}, "colour"),
        ({"rule": "nobody"}, "nobody"),
        ({"rule": 7}, "rule"),
        ({"rule": "oracle"}, "true skills"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        Pool(**settings)


def test_threads_lose_no_game() -> None:
    pool = filled(40, rule=RandomOpponent(seed=1))

    def play(first: int) -> None:
        for i in range(50):
            name = f"p{first + i % 10}"
            opponent = pool.propose(name)[0].opponent
            pool.rate(Game([[name], [opponent]], [0, 1]))
            pool.standings(3)

    threads = [threading.Thread(target=play, args=(10 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert pool.games == 200
    assert sum(line.games_played for line in pool.standings()) == 400


def test_a_file_holds_everything(tmp_path: Path) -> None:
    file = tmp_path / "pool.db"
    clock = Clock()
    with Pool.open(file, clock=clock, recent=2, drift_per_day=0.1) as pool:
        pool.add_many([NewPlayer(name, region="eu") for name in "abcd"] + ["e", "f"])
        pool.rate([Game([["a", "b"], ["c", "d"]], [0, 0]), Game([["a"], ["b"]], [0, 1])])
        pool.block("c", "d")
        pool.remove("e")
        clock.now = DAY
        shown = {name: pool.player(name) for name in "abcdf"}
        offered = {name: pool.propose(name, 9) for name in "abcdf"}
    for _ in range(2):
        with Pool.open(file, clock=clock) as again:
            assert {name: again.player(name) for name in "abcdf"} == shown
            assert {name: again.propose(name, 9) for name in "abcdf"} == offered
            assert again.games == 2
            assert "e" not in again
            assert again.settings.recent == 2
            again.add("e")
            again.remove("e")


def test_a_file_is_open_once_and_keeps_its_settings(tmp_path: Path) -> None:
    file = tmp_path / "pool.db"
    with Pool.open(file, beta=3.0) as pool:
        with pytest.raises(ValueError, match="another process"):
            Pool.open(file)
        pool.add("a")
    with pytest.raises(ValueError, match="the pool must be open"):
        pool.add("b")
    with pytest.raises(ValueError, match=r"beta must be 3\.0"):
        Pool.open(file, beta=4.0)
    with Pool.open(file, beta=3.0) as pool:
        assert "a" in pool


def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "pool.db"
    with Pool.open(file) as pool:
        pool.add_many([f"player {i}" for i in range(500)])
    good = file.read_bytes()
    place = good.rindex(b"player 7")
    file.write_bytes(good[:place] + b"prayer 7" + good[place + 8 :])
    with pytest.raises(ValueError, match="damaged"):
        Pool.open(file)
    file.write_bytes(b"a text that is no database " * 100)
    with pytest.raises(ValueError, match="pool's file"):
        Pool.open(file)
    with pytest.raises(ValueError, match="folder"):
        Pool.open(tmp_path / "none" / "pool.db")


def played_file(folder: Path, games: int) -> tuple[Path, list[bytes]]:
    """A pool's file, and its content and its journal's after the last game of a live pool."""
    file = folder / "pool.db"
    with Pool.open(file, recent=1) as pool:
        pool.add_many([f"p{number}" for number in range(20)])
        for number in range(games):
            pool.rate(Game([[f"p{number % 20}"], [f"p{(number * 7 + 1) % 20}"]], [0, 1]))
        contents = [file.read_bytes(), (folder / "pool.db-journal").read_bytes()]
    return file, contents


def test_a_copy_of_a_live_pools_file_has_everything_acknowledged(tmp_path: Path) -> None:
    for games in (0, 1, 30):
        folder = tmp_path / str(games)
        folder.mkdir()
        file, (copy, _) = played_file(folder, games)
        (folder / "copy.db").write_bytes(copy)
        with Pool.open(folder / "copy.db") as copied, Pool.open(file) as pool:
            assert copied.games == games
            assert copied.standings() == pool.standings()


def test_a_changed_bit_after_a_kill_loses_no_game_in_silence(tmp_path: Path) -> None:
    """Neither in the file nor in the journal, which a killed process leaves beside it."""
    file, contents = played_file(tmp_path, 30)
    with Pool.open(file) as pool:
        right = pool.standings()
    rng, opened = np.random.default_rng(0), 0
    for trial in range(200):
        changed = [bytearray(content) for content in contents]
        content = changed[trial % 2]
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        file.write_bytes(changed[0])
        (tmp_path / "pool.db-journal").write_bytes(changed[1])
        with suppress(ValueError), Pool.open(file) as pool:
            assert pool.games == 30
            assert pool.standings() == right
            opened += 1
    assert opened >= 100  # every one of the journal, which says that it is over


def test_what_is_left_of_a_file_is_no_new_pool(tmp_path: Path) -> None:
    file, (content, _) = played_file(tmp_path, 30)
    for length in (0, 1, 4096, len(content) // 2, len(content) - 4096):
        file.write_bytes(content[:length])
        with pytest.raises(ValueError, match="pool's file"):
            Pool.open(file)
