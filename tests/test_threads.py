"""Threads share the rows of a step: the same numbers for any number of them."""

from __future__ import annotations

import copy
import os
import threading

import gymnasium as gym
import numpy as np
import pytest

import matchenv
from matchenv import Settings
from matchenv.evaluation.rollout import Batch
from matchenv.threads import RowThreads, as_num_threads
from matchenv.workers import checked_workers

COUNT = 200  # more than one part, the last one short

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
    many = Batch(Settings.checked(num_opponents=120_000, horizon=1), [1, 2])
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
