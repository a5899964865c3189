"""Threads share the rows of a step: the same numbers for any number of them."""

from __future__ import annotations

import copy
import os
import signal
import subprocess
import sys
import threading
import time

import gymnasium as gym
import numpy as np
import pytest

import matchenv
from matchenv import Settings
from matchenv.evaluation.rollout import Batch
from matchenv.runtime.parallel import checked_workers
from matchenv.sharing import CHUNK, END, FIRST, MOST_CHUNKS
from matchenv.threads import RowThreads, as_num_threads

COUNT = 3 * CHUNK - 50  # more than one part, the last one short

CASES = [
    {"belief": "factorised"},
    {"belief": "factorised", "tau": 0.1, "draw_margin": 0.5},
    {"belief": "full", "draw_margin": 0.5},
    {"belief": "printed"},
    {"belief": "factorised", "noise": "opponent"},
    {"belief": "factorised", "availability": 0.5, "mean_stay": 3.0, "turnover": 0.1},
    {"belief": "factorised", "max_episode_steps": 5, "reward": "true_draw_density"},
]


def assert_equal(a, b) -> None:
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_equal(a[key], b[key])
    elif isinstance(a, tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_equal(x, y)
    elif a.dtype == object:
        for x, y in zip(a, b, strict=True):
            assert (x is None and y is None) or np.array_equal(x, y)
    else:
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("options", CASES, ids=str)
def test_any_number_of_threads_gives_the_same_numbers(options, mode) -> None:
    envs = [
        matchenv.MatchmakingVectorEnv(
            COUNT, num_opponents=4, horizon=7, autoreset_mode=mode, num_threads=threads, **options
        )
        for threads in (1, 2, 3)
    ]
    first, *others = envs
    found = first.reset(seed=3)
    for env in others:
        assert_equal(found, env.reset(seed=3))
    # Some begin again in the middle, so that episodes end at different steps.
    mask = np.arange(COUNT) % 3 == 0
    rng = np.random.default_rng(0)
    for step in range(20):
        if step == 3:
            resets = [env.reset(seed=9, options={"reset_mask": mask.copy()}) for env in envs]
            for each in resets[1:]:
                assert_equal(resets[0], each)
        masks = first.action_masks()
        actions = np.array([rng.choice(np.flatnonzero(row)) for row in masks])
        found = first.step(actions)
        for env in others:
            assert_equal(found, env.step(actions))
    for env in envs:
        env.close()


def test_noise_of_long_episodes_is_the_same(monkeypatch) -> None:
    monkeypatch.setattr("matchenv.episodes.NOISE_BLOCK", 4)
    envs = [
        matchenv.MatchmakingVectorEnv(COUNT, num_opponents=3, horizon=30, num_threads=threads)
        for threads in (1, 2)
    ]
    for env in envs:
        env.reset(seed=1)
    for step in range(40):
        actions = np.full(COUNT, step % 3)
        assert_equal(envs[0].step(actions), envs[1].step(actions))


def test_observations_are_the_callers_own() -> None:
    env = matchenv.MatchmakingVectorEnv(COUNT, num_opponents=3, num_threads=2)
    env.reset(seed=0)
    before = env.step(np.zeros(COUNT, dtype=np.int64))[0]
    kept = before.copy()
    env.step(np.zeros(COUNT, dtype=np.int64))
    assert np.array_equal(before, kept)


def test_gymnasium_passes_it_on() -> None:
    env = gym.make_vec("Matchmaking-v0", num_envs=3, num_threads=2)
    assert env.unwrapped.num_threads == 2
    env.reset(seed=0)
    env.step(env.action_space.sample())
    env.close()


@pytest.mark.parametrize("bad", [0, -1, 1.5, "many", None, True])
def test_bad_numbers_of_threads_are_refused(bad) -> None:
    with pytest.raises(ValueError, match="num_threads must be 'auto' or an integer of at least 1"):
        matchenv.MatchmakingVectorEnv(2, num_threads=bad)


def test_auto_takes_threads_where_they_pay(monkeypatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert as_num_threads("auto", 1, 49) == 1
    assert as_num_threads("auto", 1024, 49) == 1
    assert as_num_threads("auto", 10**9, 49) == checked_workers(None)
    assert Batch(Settings.checked(num_opponents=3), [1, 2]).episodes.threads.threads == 1
    many = Batch(Settings.checked(num_opponents=60_000, horizon=1), [1, 2])
    assert many.episodes.threads.threads == min(2, checked_workers(None))


def test_auto_leaves_cores_to_others(monkeypatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert as_num_threads("auto", 10**9, 49) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert as_num_threads("auto", 10**9, 49) == checked_workers(None)
    monkeypatch.setattr("matchenv.threads.parent_process", lambda: "a pool")
    assert as_num_threads("auto", 10**9, 49) == 1


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200, 4096])
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_parts_cover_every_row_once(count, threads) -> None:
    parts = RowThreads(threads).parts(count)
    assert len(parts) <= threads
    assert [row for part in parts for row in range(count)[part]] == list(range(count))


def test_all_threads_have_ended_their_work_when_one_fails() -> None:
    threads, done = RowThreads(3), []

    def work(part: slice) -> None:
        if part.start == 0:
            raise KeyError("first")
        threading.Event().wait(0.05)
        done.append(part)
        if part.start == 64:
            raise ValueError("second")

    with pytest.raises(KeyError):
        threads.each(work, 192)
    assert len(done) == 2
    with pytest.raises(ValueError, match="second"):
        threads.each(lambda part: work(part) if part.start else None, 192)
    threads.end()


def test_close_ends_the_threads_and_copies_have_their_own() -> None:
    env = matchenv.MatchmakingVectorEnv(COUNT, num_opponents=3, num_threads=2)
    env.reset(seed=0)
    actions = np.zeros(COUNT, dtype=np.int64)
    env.step(actions)
    other = copy.deepcopy(env)
    assert_equal(env.step(actions), other.step(actions))
    names = [thread.name for thread in threading.enumerate()]
    assert sum(name.startswith("matchenv-rows") for name in names) >= 2
    before = len(names)
    env.close()
    other.close()
    assert len(threading.enumerate()) == before - 2


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_starts_threads_of_its_own() -> None:
    env = matchenv.MatchmakingVectorEnv(COUNT, num_opponents=3, num_threads=2)
    env.reset(seed=0)
    actions = np.zeros(COUNT, dtype=np.int64)
    env.step(actions)
    child = os.fork()
    if child == 0:
        env.step(actions)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    env.close()


def stepped(count: int, threads: int, steps: int, **options) -> list:
    """All that an environment gives, with actions that depend on nothing else."""
    env = matchenv.MatchmakingVectorEnv(count, num_opponents=3, num_threads=threads, **options)
    found = [env.reset(seed=4)]
    found += [env.step((np.arange(count) + step) % 3) for step in range(steps)]
    env.close()
    return found


def chunks_of_the_leader(env: matchenv.MatchmakingVectorEnv) -> int:
    """In the last round: where its chunks and those of the others meet."""
    return (int(env._episodes.threads._board[0]) >> FIRST) & MOST_CHUNKS


def test_other_threads_take_their_part_of_a_step() -> None:
    env = matchenv.MatchmakingVectorEnv(20 * CHUNK, num_opponents=3, num_threads=2)
    env.reset(seed=0)
    actions = np.zeros(20 * CHUNK, dtype=np.int64)
    shares = []
    for _ in range(3000):
        env.step(actions)
        shares.append(chunks_of_the_leader(env))
        if 0 < shares[-1] < 20:
            break
        if env._episodes.games_played[0] == 500:
            env.reset()
    assert 0 < shares[-1] < 20
    env.close()


def test_an_idle_environment_keeps_no_thread_busy() -> None:
    env = matchenv.MatchmakingVectorEnv(COUNT, num_opponents=3, num_threads=3)
    env.reset(seed=0)
    env.step(np.zeros(COUNT, dtype=np.int64))
    following = env._episodes.threads._following
    assert len(following) == 2
    for future in following:
        assert future.exception(timeout=30) is None
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.1
    env.close()


def test_too_few_cores_are_not_kept_from_their_work(monkeypatch) -> None:
    monkeypatch.setattr("matchenv.runtime.parallel.checked_workers", lambda workers: 1)
    env = matchenv.MatchmakingVectorEnv(COUNT, num_opponents=3, num_threads=2)
    env.reset(seed=0)
    env.step(np.zeros(COUNT, dtype=np.int64))
    assert env._episodes.threads._looks == 0
    env.close()
    assert_equal(stepped(COUNT, 2, 5)[-1], stepped(COUNT, 1, 5)[-1])


def test_environments_side_by_side_give_what_each_gives_alone() -> None:
    alone = stepped(COUNT, 1, 60)
    found: list = [None] * 3

    def play(which: int) -> None:
        found[which] = stepped(COUNT, 2, 60)

    players = [threading.Thread(target=play, args=(which,)) for which in range(3)]
    for player in players:
        player.start()
    for player in players:
        player.join()
    for each in found:
        for a, b in zip(each, alone, strict=True):
            assert_equal(a, b)


def test_steps_and_resets_in_turns_share_their_threads() -> None:
    """A reset's work is Python's: who follows the rounds of steps must leave them for it."""
    env = matchenv.MatchmakingVectorEnv(COUNT, num_opponents=3, num_threads=2)
    actions = np.zeros(COUNT, dtype=np.int64)
    other = matchenv.MatchmakingVectorEnv(COUNT, num_opponents=3)
    for seed in range(30):
        assert_equal(env.reset(seed=seed), other.reset(seed=seed))
        assert_equal(env.step(actions), other.step(actions))
        assert env._episodes.threads._board[END] == 0
    env.close()


def test_a_round_without_memory_is_an_error() -> None:
    threads = RowThreads(2)
    with pytest.raises(MemoryError):
        threads.share(lambda *_: False, lambda *_: None, (), ())
    threads.end()


def test_ctrl_c_waits_for_the_threads() -> None:
    threads, done = RowThreads(2), []

    def work(part: slice) -> None:
        if part.start == 0:
            return
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(0.05)
        done.append(part)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            threads.each(work, 128)
        assert len(done) == 1
    finally:
        signal.signal(signal.SIGINT, before)
    threads.end()


def test_a_program_ends_without_close() -> None:
    code = (
        "import matchenv, numpy as np\n"
        f"env = matchenv.MatchmakingVectorEnv({COUNT}, num_opponents=3, num_threads=2)\n"
        "env.reset(seed=0)\n"
        f"env.step(np.zeros({COUNT}, dtype=np.int64))\n"
        "print('played')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == "played\n"
