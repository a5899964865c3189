"""Decisions of a pool against brute force, its refusals, and its file."""

from __future__ import annotations

import itertools
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from fault_injection import child

from matchenv import Settings, agents
from matchenv.baselines import KnowledgeGradient
from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.one_player.simulator import MatchmakingView
from matchenv.service import (
    Game,
    GameExistsError,
    NewPlayer,
    PlayerExistsError,
    Pool,
    RatedGame,
    UnknownPlayerError,
)
from matchenv.service.splitting import exchange, log_quality
from matchenv.trueskill import match_quality, team_match_quality

BETA = 25 / 6


def names_of(count: int) -> list[str]:
    """Return the names p0, p1 and so on."""
    return [f"p{i}" for i in range(count)]


def filled(count: int, seed: int = 0, **settings: Any) -> Pool:
    rng = np.random.default_rng(seed)
    pool = Pool(**settings)
    players = []
    for name in names_of(count):
        mu = float(rng.normal(25, 8))
        sigma = float(rng.uniform(1, 8))
        players.append(NewPlayer(name, mu, sigma))
    pool.add_many(players)
    return pool


@pytest.mark.parametrize("rule", ["kg", KnowledgeGradient(multiplier=5, beta=BETA)], ids=repr)
def test_proposals_are_successive_choices_of_the_rule(rule: Any) -> None:
    pool = filled(30, rule=rule, draw_probability=0.0)
    policy = KnowledgeGradient(beta=BETA) if rule == "kg" else rule
    left = names_of(30)
    left.remove("p7")
    for _, opponent, quality in pool.propose("p7", 5):
        mu, sigma = np.array([pool["p7"], *(pool[name] for name in left)]).T
        view = MatchmakingView(KnowledgeState(mu, sigma), 500)
        assert opponent == left.pop(int(policy.act(view)))
        assert quality == match_quality(*pool["p7"], *pool[opponent], BETA)


def test_learned_policies_see_independent_skills() -> None:
    learned = agents.load("ppo-gittins").for_settings(Settings.checked(beta=BETA))
    pool = filled(20, rule=learned)
    mu, sigma = np.array([pool[name] for name in names_of(20)]).T
    state = KnowledgeState(mu, sigma, np.hypot(sigma[0], sigma[1:]), "full")
    sized = learned.for_settings(Settings.checked(beta=BETA, num_opponents=19))
    opponent = f"p{int(sized.predict(state.to_observation(1.0))[0]) + 1}"
    for same in (pool, filled(20, rule="ppo-gittins")):
        assert same.propose("p0")[0].opponent == opponent


def splits(names: list[str], sizes: list[int]) -> Iterator[list[list[str]]]:
    """Yield all splits into sides of these sizes."""
    for side_of_each in itertools.product(range(len(sizes)), repeat=len(names)):
        teams: list[list[str]] = [[] for _ in sizes]
        for name, side in zip(names, side_of_each, strict=True):
            teams[side].append(name)
        if [len(team) for team in teams] == sizes:
            yield teams


def test_matched_pairs_have_the_largest_sum_of_qualities() -> None:
    pool = filled(8, seed=4)
    pool.block("p0", "p1")
    names = names_of(8)

    def worth(pairs: Any) -> float:
        return sum(match_quality(*pool[one], *pool[other], BETA) for one, other in pairs)

    allowed = []
    for pairs in splits(names, [2] * 4):
        if ["p0", "p1"] not in pairs:
            allowed.append(worth(pairs))
    matched = pool.match(names)
    assert worth([(pair.player, pair.opponent) for pair in matched]) == pytest.approx(max(allowed))
    assert all(pair.match_quality > 0.55 for pair in pool.match(dict.fromkeys(names, 0.55)))


@pytest.mark.parametrize(
    ("count", "sides", "party"), [(7, 2, 3), (8, 3, 0), (8, 4, 2), (6, 6, 0), (14, 2, 3)]
)
def test_small_splits_are_optimal_and_larger_ones_nearly(
    count: int, sides: int, party: int
) -> None:
    for seed in range(3):
        pool = filled(count, seed)
        names = names_of(count)
        together = names[:party]
        parties = [together] if party else []
        split = pool.split(names, sides, parties)
        sizes = [count // sides + (i < count % sides) for i in range(sides)]
        best = 0.0
        for teams in splits(names, sizes):
            if any(set(together) <= set(team) for team in teams):
                beliefs = [[pool[name] for name in team] for team in teams]
                best = max(best, team_match_quality(beliefs, BETA))
        tolerance = 1e-12 if count <= 12 else 1e-3
        assert split.match_quality == pytest.approx(best, rel=tolerance)
        assert sorted(itertools.chain(*split.teams)) == sorted(names)
        assert sorted(len(team) for team in split.teams) == sorted(sizes)


def test_exchanges_end_where_none_improves() -> None:
    rng = np.random.default_rng(3)
    sides = 3
    for _ in range(20):
        size = np.array([2, 2, 2, 1, 1, 1, 1, 1, 1])
        units = np.array([rng.normal(25.0, 8.0, 9) * size, (4.0 + BETA**2) * size, BETA**2 * size])
        split = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2])
        before = log_quality(split, units, sides)
        after = exchange(split, size, units, sides)
        assert after == log_quality(split, units, sides) >= before
        for i, j in itertools.combinations(range(9), 2):
            if size[i] == size[j]:
                other = split.copy()
                other[[i, j]] = split[[j, i]]
                assert log_quality(other, units, sides) <= after + 1e-9


def test_a_rule_that_cannot_choose_is_refused_at_once() -> None:
    batch = SimpleNamespace(act=lambda view, rng: view.knowledge_state.mu.shape[2])
    with pytest.raises(ValueError, match="cannot choose one of two players: IndexError"):
        filled(3, 1, rule=batch)


def are_together(parties: list[list[str]], teams: list[list[str]]) -> bool:
    """Return whether each party is in one team."""
    together = []
    for party in parties:
        together.append(any(set(party) <= set(team) for team in teams))
    return all(together)


def test_parties_stay_together() -> None:
    pool = filled(30, 1)
    names = names_of(30)
    parties = [names[0:4], names[4:7], names[7:9], names[9:14]]
    teams = pool.split(names, 3, parties).teams
    assert [len(team) for team in teams] == [10, 10, 10]
    assert are_together(parties, teams)


def parties_of(sizes: list[int]) -> list[list[str]]:
    """Return parties of these sizes of the players p0, p1 and so on."""
    names = (f"p{i}" for i in itertools.count())
    return [list(itertools.islice(names, size)) for size in sizes]


@pytest.mark.parametrize(("sizes", "sides"), [([3] * 10 + [2] * 20, 10), ([4] * 10 + [3] * 20, 10)])
def test_parties_that_fit_in_few_ways(sizes: list[int], sides: int) -> None:
    """Teams of 3 + 2 + 2 players, or of 4 + 3 + 3."""
    parties = parties_of(sizes)
    everyone = list(itertools.chain(*parties))
    assert are_together(parties, filled(sum(sizes), 2).split(everyone, sides, parties).teams)


def test_parties_that_do_not_fit() -> None:
    parties = parties_of([3] * 14)
    everyone = list(itertools.chain(*parties))
    with pytest.raises(ValueError, match="together must fit into 6 teams of 42 players"):
        filled(42, 2).split(everyone, 6, parties)


def test_many_parties() -> None:
    parties = parties_of([2] * 330)
    everyone = list(itertools.chain(*parties))
    teams = filled(660, 1).split(everyone, 2, parties).teams
    assert [len(team) for team in teams] == [330, 330]


def test_qualities_that_underflow_are_compared() -> None:
    pool = Pool()
    for name, mu in (("a", 1e6), ("b", 0.0), ("c", 5.0), ("d", -1e6)):
        pool.add(name, mu, 1.0)
    assert sorted(map(sorted, pool.split(list("abcd")).teams)) == [["a", "d"], ["b", "c"]]


NAN = float("nan")
# Method, arguments, and a part of the message.
BAD_CALLS: list[tuple[str, tuple[Any, ...], str]] = [
    ("rate", (Game([["a"], ["eve"]], [1, 2]),), "eve"),
    ("rate", ([Game([["a"], ["b"]], [1, 2]), Game([["a"], ["eve"]], [1, 2])],), r"games\[1\].*eve"),
    ("rate", (Game([["a"], ["a"]], [1, 2]),), "twice"),
    ("rate", (Game([["a"], ["b"]], [1, NAN]),), "ranks"),
    ("rate", (Game([["a"], ["b"]], cast(Any, None)),), "ranks must be one number per side"),
    ("rate", (Game([], []),), "teams"),
    ("rate", (Game("ab", [1, 2]),), "teams"),
    ("rate", (Game([["a"], []], [1, 2]),), r"teams\[1\] must contain at least one name"),
    ("rate", (Game([["a"], ["b"]], [1, 2], id=""),), "id must be a string of 1 to 200"),
    ("rate", (Game(cast(Any, 7), [1, 2], id="x"),), "lists of names and numbers"),
    ("rate", ([],), "games"),
    ("rate", (7,), "games"),
    ("add", ("a",), "'a'"),
    ("add", ("x\x1b[2J",), "control"),
    ("add", (" ",), "name"),
    ("add", (3,), "name"),
    ("add", ("x" * 201,), "200"),
    ("add", ("x", NAN), "mu"),
    ("add", ("x", True), "mu"),
    ("add", ("x", 1.0, 0.0), "sigma"),
    ("add", ("x", None, None, "\n"), "region"),
    ("add_many", (["x", "x"],), "'x' twice"),
    ("remove", ("eve",), "eve"),
    ("propose", ("eve",), "eve"),
    ("propose", ("a", 0), "k must"),
    ("propose", ("a", 1, ["a"]), "among"),
    ("match", (["a", "a"],), "'a' twice"),
    ("match", ({"a": NAN, "b": 0.0},), "waiting"),
    ("block", ("a", "a"), "other"),
    ("split", (["a"],), "players"),
    ("split", (["a", "b"], 3), "sides"),
    ("split", (["a", "b"], 2, [["eve"]]), "together"),
    ("split", (["a", "b"], 2, 7), "together"),
    ("split", (["a", "b"], 2, [["a", "b"]]), "together"),
    ("standings", (0,), "limit"),
]


def test_bad_arguments_are_refused_and_change_nothing() -> None:
    pool = Pool(clock=lambda: 0.0)
    pool.add_many(["a", "b"])
    before = pool.backup()
    for method, arguments, word in BAD_CALLS:
        with pytest.raises(ValueError, match=word):
            getattr(pool, method)(*arguments)
        assert pool.backup() == before
    with pytest.raises(UnknownPlayerError):
        pool.expose("c")
    with pytest.raises(PlayerExistsError):
        pool.add("a")


BAD_SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"beta": 0.0}, "beta"),
    ({"draw_probability": 1.0}, "draw_prob"),
    ({"recent": 1.5}, "recent"),
    ({"mu": -1.0}, "mu must not be"),
    ({"rule": "nobody"}, "nobody"),
    ({"rule": 7}, "rule"),
    ({"rule": "oracle"}, "true skills"),
]


@pytest.mark.parametrize(("settings", "word"), BAD_SETTINGS)
def test_bad_settings_are_refused(settings: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        Pool(**settings)


@pytest.mark.parametrize("action", [-1, 1, 0.0])
def test_a_choice_that_is_no_opponent_is_refused(action: Any) -> None:
    rule = SimpleNamespace(act=lambda *_: action)
    with pytest.raises(ValueError, match="action must be"):
        filled(2, rule=rule).propose("p0")


def test_a_new_player_has_exposed_0_until_the_first_game() -> None:
    """The prior describes newcomers, so it does not drift; other beliefs do."""
    day = itertools.count(1)
    pool = Pool(mu=30.0, sigma=7.0, drift_per_day=0.5, clock=lambda: 86_400.0 * next(day))
    pool.add("new")
    pool.add("known", 40.0, 2.0)
    assert pool.expose("new") == 0.0
    assert pool["new"].sigma == 7.0
    assert pool.standings()[1].exposed == 0.0
    assert pool["known"].sigma > 2.0
    pool.add("other")
    pool.rate(Game([["new"], ["other"]], [1, 2]))
    rated = pool["new"].sigma
    assert pool["new"].sigma > rated


IDENTIFIED = Game([["p0", "p1"], ["p2", "p3"]], [1, 2], id="final")


def test_a_repeated_game_returns_the_first_answer_and_rates_nothing() -> None:
    pool = filled(4)
    first = pool.rate(IDENTIFIED)
    assert first == [RatedGame(1, {name: pool[name] for name in names_of(4)})]
    pool.rate(Game([["p0"], ["p1"]], [1, 2]))
    before = (pool.standings(), pool.games)
    assert pool.rate(IDENTIFIED) == first
    assert pool.rate([IDENTIFIED, IDENTIFIED]) == first * 2
    assert (pool.standings(), pool.games) == before
    # New games beside a repeated one are rated.
    another = IDENTIFIED._replace(id="another")
    rated = pool.rate([another, IDENTIFIED, another])
    assert [game.number for game in rated] == [3, 1, 3]
    assert pool.games == 3


@pytest.mark.parametrize(
    "other",
    [
        IDENTIFIED._replace(ranks=[2, 1]),
        IDENTIFIED._replace(teams=[["p0", "p1"], ["p2"]]),
        IDENTIFIED._replace(weights=[[1, 1], [1, 0.5]]),
    ],
)
def test_another_game_with_a_known_id_is_refused(other: Game) -> None:
    pool = filled(4)
    with pytest.raises(GameExistsError, match=r"games\[1\]: .*'final' is the id of a different"):
        pool.rate([IDENTIFIED, other])
    assert pool.games == 0
    pool.rate(IDENTIFIED)
    before = pool.standings()
    with pytest.raises(GameExistsError, match="'final'"):
        pool.rate([IDENTIFIED._replace(id="new"), other])
    assert (pool.standings(), pool.games) == (before, 1)


def test_ids_survive_restarts_backups_and_the_removal_of_players(tmp_path: Path) -> None:
    with Pool.open(tmp_path / "pool.db") as pool:
        pool.add_many(names_of(4))
        first = pool.rate(IDENTIFIED)
        pool.remove("p0")
        (tmp_path / "backup.db").write_bytes(pool.backup())
    for name in ("pool.db", "backup.db"):
        with Pool.open(tmp_path / name) as pool:
            # Numbers of any type are compared by value.
            ranks = [np.int32(1), np.float32(2)]
            assert pool.rate(IDENTIFIED._replace(ranks=ranks)) == first
            assert pool.games == 1


def test_a_check_of_games_changes_nothing() -> None:
    pool = filled(4)
    before = pool.standings()
    pool.check([IDENTIFIED, IDENTIFIED])
    with pytest.raises(UnknownPlayerError, match=r"games\[1\]: 'eve'"):
        pool.check([IDENTIFIED, Game([["p0"], ["eve"]], [1, 2])])
    assert (pool.standings(), pool.games) == (before, 0)


def test_concurrent_games_are_all_rated_and_a_rule_is_called_once_at_a_time() -> None:
    class Exclusive:
        busy = False

        def act(self, view: Any, rng: Any) -> int:
            assert not self.busy
            self.busy = True
            time.sleep(0.0)  # lets other threads run
            self.busy = False
            return 0

    pool = filled(40, rule=Exclusive())

    def play(first: int) -> None:
        for i in range(100):
            name = f"p{first + i % 10}"
            opponent = pool.propose(name)[0].opponent
            pool.rate(Game([[name], [opponent]], [0, 1]))
            pool.standings(3)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(play, (0, 10, 20, 30)))
    assert pool.games == 400
    assert sum(line.games_played for line in pool.standings()) == 800


def test_a_file_has_one_owner_and_its_own_settings(tmp_path: Path) -> None:
    file = tmp_path / "pool.db"
    with Pool.open(file, beta=3.0) as pool:
        code = f"from matchenv.service import Pool; Pool.open({str(file)!r})"
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert "must not be open in another process" in other.stderr
        pool.add("a")
    for call in (partial(pool.add, "b"), pool.backup, partial(pool.rate, IDENTIFIED)):
        with pytest.raises(ValueError, match="the pool must be open"):
            call()
    with pytest.raises(ValueError, match=r"beta must be 3\.0"):
        Pool.open(file, beta=4.0)
    with Pool.open(file, beta=3.0) as pool:
        assert "a" in pool


def test_a_lost_file_is_noticed(tmp_path: Path) -> None:
    """Changes of a removed file would be acknowledged and lost."""
    file = tmp_path / "pool.db"
    with Pool.open(file) as pool:
        pool.add("a")
        assert not pool.has_lost_file()
        file.rename(tmp_path / "elsewhere.db")
        assert pool.has_lost_file()
        Pool.open(file).close()  # another pool in its place
        assert pool.has_lost_file()
        with pytest.raises(OSError, match=r"pool\.db could not be written: it has been moved"):
            pool.add("b")
        assert "b" not in pool
    assert not Pool().has_lost_file()


def test_a_full_disk_is_reported_and_changes_nothing(tmp_path: Path) -> None:
    with Pool.open(tmp_path / "pool.db") as pool:
        pool.add("first")
        run = pool._storage._database.execute
        (pages,) = run("PRAGMA page_count").fetchone()
        run(f"PRAGMA max_page_count={pages}")  # simulates a full disk
        many = names_of(1000)
        with pytest.raises(OSError, match=r"pool.db could not be written: .* full"):
            pool.add_many(many)
        assert len(pool) == 1
        run(f"PRAGMA max_page_count={1000 * pages}")
        pool.add_many(many)
    with Pool.open(tmp_path / "pool.db") as pool:
        assert len(pool) == 1001


def game(number: int) -> Game:
    return Game([[f"p{number % 20}"], [f"p{(number * 7 + 1) % 20}"]], [0, 1])


def test_a_copy_of_a_live_file_is_a_pool(tmp_path: Path) -> None:
    file = tmp_path / "pool.db"
    with Pool.open(file, recent=1) as pool:
        pool.add_many(names_of(20))
        for number in range(10):
            pool.rate(game(number))
        copies = [file.read_bytes(), pool.backup()]
        standings = pool.standings()
    for number, content in enumerate(copies):
        copy = tmp_path / f"copy{number}.db"
        copy.write_bytes(content)
        with Pool.open(copy) as pool:
            assert (pool.games, pool.standings()) == (10, standings)


def test_files_that_are_no_pools_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "pool.db"
    with Pool.open(file) as pool:
        pool.add_many(names_of(200))
    good = file.read_bytes()
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as another_program:
        another_program.execute("CREATE TABLE players (name)")
    cut_off = [good[:1], good[:4096], good[: len(good) // 2]]
    for bad in (*cut_off, b"no database " * 100, other.read_bytes()):
        file.write_bytes(bad)
        with pytest.raises(ValueError, match=r"pool\.db must be a pool's file"):
            Pool.open(file)
    with pytest.raises(OSError, match=r"none/pool\.db cannot be opened"):
        Pool.open(tmp_path / "none" / "pool.db")


@pytest.mark.parametrize("kills", [2, pytest.param(40, marks=pytest.mark.slow)])
def test_every_game_is_rated_once_by_a_client_that_repeats_after_a_kill(
    tmp_path: Path, kills: int
) -> None:
    """Each start repeats the game after the last acknowledged one, by its id."""
    log = tmp_path / "acknowledged"
    log.touch()
    undisturbed = Pool(recent=1)
    undisturbed.add_many(names_of(20))

    def acknowledged() -> int:
        return len(log.read_text().splitlines())

    def play() -> int:
        with log.open("a") as lines, Pool.open(tmp_path / "pool.db", recent=1) as pool:
            if "p0" not in pool:
                pool.add_many(names_of(20))
            for number in itertools.count(acknowledged()):
                pool.rate(game(number)._replace(id=f"game {number}"))
                print(number, file=lines, flush=True)
        return 0

    for wait in range(kills):
        played = acknowledged()
        with child(play) as running:
            while running.process.is_alive() and acknowledged() < played + 10 + wait:
                running.process.join(0.002)
            running.process.kill()
            running.process.join()
        with Pool.open(tmp_path / "pool.db") as pool:
            assert played + 10 <= acknowledged() <= pool.games <= acknowledged() + 1
            games = [game(number) for number in range(undisturbed.games, pool.games)]
            undisturbed.rate(games)
            assert pool.standings() == undisturbed.standings()
