"""Decisions of a pool against brute force, its refusals, and its file."""

from __future__ import annotations

import itertools
import math
import os
import sqlite3
import struct
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
from matchenv.service import Game, NewPlayer, PlayerExistsError, Pool, UnknownPlayerError
from matchenv.service.splitting import exchange, log_quality
from matchenv.service.storage import JOURNAL_MAGIC, _sum_of
from matchenv.trueskill import match_quality, team_match_quality

BETA = 25 / 6


def filled(count: int, seed: int = 0, **settings: Any) -> Pool:
    rng = np.random.default_rng(seed)
    pool = Pool(**settings)
    pool.add_many(
        NewPlayer(f"p{i}", float(rng.normal(25, 8)), float(rng.uniform(1, 8))) for i in range(count)
    )
    return pool


@pytest.mark.parametrize("rule", ["kg", KnowledgeGradient(multiplier=5, beta=BETA)], ids=repr)
def test_proposals_are_successive_choices_of_the_rule(rule: Any) -> None:
    pool = filled(30, rule=rule, draw_probability=0.0)
    policy = KnowledgeGradient(beta=BETA) if rule == "kg" else rule
    left = [f"p{i}" for i in range(30) if i != 7]
    for _, opponent, quality in pool.propose("p7", 5):
        mu, sigma = np.array([pool["p7"], *(pool[name] for name in left)]).T
        assert opponent == left.pop(int(policy.act(KnowledgeState(mu, sigma), 500)))
        assert quality == match_quality(*pool["p7"], *pool[opponent], BETA)


def test_learned_policies_see_independent_skills() -> None:
    learned = agents.load("ppo-gittins").for_settings(Settings.checked(beta=BETA))
    pool = filled(20, rule=learned)
    mu, sigma = np.array([pool[f"p{i}"] for i in range(20)]).T
    state = KnowledgeState(mu, sigma, np.hypot(sigma[0], sigma[1:]), "full")
    sized = learned.for_settings(Settings.checked(beta=BETA, num_opponents=19))
    opponent = f"p{int(sized.predict(state.to_observation(1.0))[0]) + 1}"
    for same in (pool, filled(20, rule="ppo-gittins")):
        assert same.propose("p0")[0].opponent == opponent


def splits(names: list[str], sizes: list[int]) -> Iterator[list[list[str]]]:
    """Yield all splits into sides of these sizes."""
    sides = range(len(sizes))
    for chosen in itertools.product(sides, repeat=len(names)):
        if [chosen.count(side) for side in sides] == sizes:
            yield [list(itertools.compress(names, map(side.__eq__, chosen))) for side in sides]


def test_matched_pairs_have_the_largest_sum_of_qualities() -> None:
    pool = filled(8, seed=4)
    pool.block("p0", "p1")
    names = [f"p{i}" for i in range(8)]

    def worth(pairs: Any) -> float:
        return sum(match_quality(*pool[one], *pool[other], BETA) for one, other in pairs)

    allowed = [pairs for pairs in splits(names, [2] * 4) if ["p0", "p1"] not in pairs]
    found = pool.match(names)
    assert worth([pair[:2] for pair in found]) == pytest.approx(max(map(worth, allowed)))
    assert all(pair.match_quality > 0.55 for pair in pool.match(dict.fromkeys(names, 0.55)))


@pytest.mark.parametrize(
    ("count", "sides", "party"), [(7, 2, 3), (8, 3, 0), (8, 4, 2), (6, 6, 0), (14, 2, 3)]
)
def test_small_splits_are_optimal_and_larger_ones_nearly(
    count: int, sides: int, party: int
) -> None:
    for seed in range(3):
        pool = filled(count, seed)
        names = [f"p{i}" for i in range(count)]
        found = pool.split(names, sides, [names[:party]] if party else [])
        sizes = [count // sides + (i < count % sides) for i in range(sides)]
        best = max(
            team_match_quality([[pool[name] for name in side] for side in split], BETA)
            for split in splits(names, sizes)
            if any(set(names[:party]) <= set(side) for side in split)
        )
        assert found.match_quality == pytest.approx(best, rel=1e-12 if count <= 12 else 1e-3)
        assert sorted(name for team in found.teams for name in team) == sorted(names)
        assert sorted(map(len, found.teams)) == sorted(sizes)


def test_exchanges_end_where_none_improves() -> None:
    rng, sides = np.random.default_rng(3), 3
    for _ in range(20):
        size = np.array([2, 2, 2, 1, 1, 1, 1, 1, 1])
        units = np.array([rng.normal(25.0, 8.0, 9) * size, (4.0 + BETA**2) * size, BETA**2 * size])
        split = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2])
        before = log_quality(split, units, sides)
        found = exchange(split, size, units, sides)
        assert found == log_quality(split, units, sides) >= before
        for i, j in itertools.combinations(range(9), 2):
            if size[i] == size[j]:
                other = split.copy()
                other[[i, j]] = split[[j, i]]
                assert log_quality(other, units, sides) <= found + 1e-9


def test_a_rule_that_cannot_choose_is_refused_at_once() -> None:
    batch = SimpleNamespace(act=lambda state, games_left: state.mu.shape[2])
    with pytest.raises(ValueError, match="cannot choose one of two players: IndexError"):
        filled(3, 1, rule=batch)


def test_parties_stay_together_and_underflowing_qualities_are_compared() -> None:
    pool = filled(30, 1)
    names = [f"p{i}" for i in range(30)]
    parties = [names[0:4], names[4:7], names[7:9], names[9:14]]
    teams = pool.split(names, 3, parties).teams
    assert [len(team) for team in teams] == [10, 10, 10]
    for party in parties:
        assert any(set(party) <= set(team) for team in teams)
    # Few splits of these parties exist: 3 + 2 + 2, 4 + 3 + 3, and none.
    for sizes, sides in (([3] * 10 + [2] * 20, 10), ([4] * 10 + [3] * 20, 10), ([3] * 14, 6)):
        large, parties, first = filled(sum(sizes), 2), [], 0
        for size in sizes:
            parties.append([f"p{i}" for i in range(first, first + size)])
            first += size
        everyone = [name for party in parties for name in party]
        if sides == 6:
            with pytest.raises(ValueError, match="together must fit into 6 teams of 42 players"):
                large.split(everyone, sides, parties)
            continue
        teams = large.split(everyone, sides, parties).teams
        assert all(any(set(party) <= set(team) for team in teams) for party in parties)
    many = [f"q{i}" for i in range(660)]
    pool.add_many(many)
    duos = [many[i : i + 2] for i in range(0, 660, 2)]
    assert [len(team) for team in pool.split(many, 2, duos).teams] == [330, 330]
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
    before = (pool.standings(), pool.player("a"), pool.games, len(pool))
    for method, arguments, word in BAD_CALLS:
        with pytest.raises(ValueError, match=word):
            getattr(pool, method)(*arguments)
        assert (pool.standings(), pool.player("a"), pool.games, len(pool)) == before
    with pytest.raises(UnknownPlayerError):
        pool.expose("c")
    with pytest.raises(PlayerExistsError):
        pool.add("a")
    for settings, word in (({"beta": 0.0}, "beta"), ({"draw_probability": 1.0}, "draw_prob"),
                           ({"recent": 1.5}, "recent"),
                           ({"mu": -1.0}, "mu must not be"), ({"rule": "nobody"}, "nobody"),
                           ({"rule": 7}, "rule"), ({"rule": "oracle"}, "true skills"),
                           *(({"rule": SimpleNamespace(act=lambda *_, action=action: action)},
                              "action must be") for action in (-1, 1, 0.0))):  # fmt: skip
        with pytest.raises(ValueError, match=word):
            filled(2, **settings).propose("p0")


def test_concurrent_games_are_all_rated_and_a_rule_is_called_once_at_a_time() -> None:
    class Exclusive:
        busy = False

        def act(self, state: Any, games_left: Any) -> int:
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


def test_a_file_has_one_owner_and_its_own_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Pool.open("file:a.db").close()  # a name, although SQLite also reads URIs
    assert [path.name for path in tmp_path.iterdir()] == ["file:a.db"]
    file = tmp_path / "pool.db"
    with Pool.open(file, beta=3.0) as pool:
        file.read_bytes()  # this ends SQLite's locks
        code = f"from matchenv.service import Pool; Pool.open({str(file)!r})"
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert "another process" in other.stderr
        pool.add("a")

        def change_in_a_fork() -> int:
            with pool, pytest.raises(ValueError, match="the process that opened"):
                pool.add("b")
            return 0

        with child(change_in_a_fork) as running:
            assert running.ended().status == 0
        assert (tmp_path / "pool.db-journal").exists()  # recovery after a kill needs it
    for call in (partial(pool.add, "b"), pool.backup):
        with pytest.raises(ValueError, match="the pool must be open"):
            call()
    with pytest.raises(ValueError, match=r"beta must be 3\.0"):
        Pool.open(file, beta=4.0)
    with Pool.open(file, beta=3.0) as pool:
        assert "a" in pool


def test_a_full_disk_is_reported_and_changes_nothing(tmp_path: Path) -> None:
    with Pool.open(tmp_path / "pool.db") as pool:
        pool.add("first")
        run = pool._database.execute
        (pages,) = run("PRAGMA page_count").fetchone()
        run(f"PRAGMA max_page_count={pages}")  # simulates a full disk
        many = [f"p{number}" for number in range(1000)]
        with pytest.raises(OSError, match=r"pool.db could not be written: .* full"):
            pool.add_many(many)
        assert len(pool) == 1
        run(f"PRAGMA max_page_count={1000 * pages}")
        pool.add_many(many)
    with Pool.open(tmp_path / "pool.db") as pool:
        assert len(pool) == 1001


def game(number: int) -> Game:
    return Game([[f"p{number % 20}"], [f"p{(number * 7 + 1) % 20}"]], [0, 1])


def test_a_copy_of_a_live_file_is_a_pool_and_damage_is_detected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Damage: flipped bits in the journal, a changed name, truncation, another kind of file."""
    file, journal = tmp_path / "pool.db", tmp_path / "pool.db-journal"
    Pool.open(file, recent=1).close()
    with closing(sqlite3.connect(file)) as another_program:
        another_program.execute("PRAGMA journal_mode=WAL")  # keeps changes in a second file
    with Pool.open(file, recent=1) as pool:
        pool.add_many([f"p{number}" for number in range(20)])
        for number in range(10):
            pool.rate(game(number))
        good, finished, standings = file.read_bytes(), journal.read_bytes(), pool.standings()
    rng = np.random.default_rng(0)
    for damages in range(20):
        changed = bytearray(finished)
        for place in rng.integers(len(changed), size=damages):
            changed[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(good)
        if damages > 0:
            journal.write_bytes(changed)
        with Pool.open(file) as pool:  # the journal is marked as finished
            assert (pool.games, pool.standings()) == (10, standings)
    journal.unlink(missing_ok=True)
    place = good.rindex(b"p7")
    for bad in (b"", good[:1], good[:4096], good[: len(good) // 2], b"no database " * 100,
                good[:place] + b"q7" + good[place + 2 :]):  # fmt: skip
        file.write_bytes(bad)
        with pytest.raises(ValueError, match="pool's file"):
            Pool.open(file)

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("Read-only file system")

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(FileNotFoundError, match=r"none/pool\.db"):
        Pool.open(tmp_path / "none" / "pool.db")


@pytest.mark.parametrize(
    ("table", "column", "value", "word"),
    [
        *(("players", name, value, word)
          for name in ("mu", "sigma", "seen")
          for value, word in ((math.inf, "finite"), (None, "numbers"), ("x", "numbers"))),
        ("players", "sigma", -8.0, "positive"),
        ("players", "mu", 25, "checksum"),  # is written back as 25.0
        ("players", "name", "\x1b]0;", "control characters"),
        ("players", "region", "\n", "region must be a string"),
        ("players", "games_played", -1, "at least 0"),
        ("players", "recent", "[[1]]", "unhashable"),
        ("players", "recent", '["ann" ]', "checksum"),
        ("players", "blocked", '["bob"]', "must hold players, got {'bob'}"),
        ("pool", "settings", "[" * 100_000, "RecursionError"),
        ("pool", "settings", '{"mu": "x"}', "mu must hold real numbers"),
        ("pool", "games", -1, "games must be an integer of at least 0"),
    ],
)  # fmt: skip
def test_crafted_content_with_its_checksum_is_refused(
    tmp_path: Path, table: str, column: str, value: Any, word: str
) -> None:
    file = tmp_path / "pool.db"
    with Pool.open(file) as pool:
        pool.add("ann")
    with closing(sqlite3.connect(file)) as database:
        database.execute(f"UPDATE {table} SET {column} = ?", (value,))
        rows = database.execute("SELECT * FROM players").fetchall()
        ((settings, games),) = database.execute("SELECT settings, games FROM pool")
        database.execute("UPDATE pool SET checksum = ?", (games + _sum_of([(settings,), *rows]),))
        database.commit()
    with pytest.raises(ValueError, match=f"pool.db: it is damaged: .*{word}") as refused:
        Pool.open(file)
    assert str(refused.value).isprintable()


def test_a_journal_that_makes_sqlite_delete_another_file_is_refused(tmp_path: Path) -> None:
    """See "Super-journal" in SQLite's documentation of its file format."""
    file, other = tmp_path / "pool.db", tmp_path / "other"
    Pool.open(file).close()
    other.touch()
    head = JOURNAL_MAGIC + struct.pack(">5I", 0, 0, file.stat().st_size // 4096, 512, 4096)
    name = os.fsencode(other)
    record = struct.pack(">I", 2**30 // 4096 + 1) + name + struct.pack(">2I", len(name), sum(name))
    crafted = head.ljust(512, b"\0") + record + JOURNAL_MAGIC
    (tmp_path / "pool.db-journal").write_bytes(crafted)
    with pytest.raises(ValueError, match=r"pool\.db-journal must be the journal of one database"):
        Pool.open(file)
    assert other.exists()


@pytest.mark.parametrize("kills", [2, pytest.param(40, marks=pytest.mark.slow)])
def test_every_acknowledged_game_survives_a_kill(tmp_path: Path, kills: int) -> None:
    log, undisturbed = tmp_path / "acknowledged", Pool(recent=1)
    undisturbed.add_many([f"p{i}" for i in range(20)])

    def play() -> int:
        with log.open("a") as acknowledged, Pool.open(tmp_path / "pool.db", recent=1) as pool:
            if "p0" not in pool:
                pool.add_many([f"p{i}" for i in range(20)])
            for number in itertools.count(pool.games):
                pool.rate(game(number))
                print(number + 1, file=acknowledged, flush=True)
        return 0

    for wait in range(kills):
        played = undisturbed.games
        with child(play) as running:
            while running.process.is_alive() and (
                not log.exists() or len(log.read_text().split()) < played + 10 + wait
            ):
                running.process.join(0.002)
            running.process.kill()
            running.process.join()
        acknowledged = int(log.read_text().split()[-1])
        with Pool.open(tmp_path / "pool.db") as pool:
            assert played + 10 <= acknowledged <= pool.games <= acknowledged + 1
            undisturbed.rate([game(number) for number in range(undisturbed.games, pool.games)])
            assert pool.standings() == undisturbed.standings()
