"""Numbers drawn in compiled code: those of NumPy's generators, bit for bit, and their states."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from matchenv import MatchmakingEnv, MatchmakingVectorEnv
from matchenv import episode_numbers as numbers
from matchenv.episode_state import episode_state, restore_episodes

# NumPy draws from the tail where a normal number is beyond this: once in 3,900.
TAIL = 3.6541528853610088


def generators_of(seeds: Any) -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in seeds]


def states(generators: list[np.random.Generator]) -> list[Any]:
    return [each.bit_generator.state for each in generators]


def test_compiled_code_draws_here() -> None:
    assert numbers._draws_as_numpy()


def test_many_seeds_give_numpys_numbers_and_states() -> None:
    count, size = 300, 2001
    ours, theirs = generators_of(range(count)), generators_of(range(count))
    for each in ours + theirs:
        each.integers(10, dtype=np.int32)  # leaves half a word behind
    normals, uniforms, noise = np.empty((count, 11)), np.empty((count, 7)), np.empty((count, size))
    drawn = numbers.EpisodeNumbers(count)
    for _ in range(2):
        drawn.begin(ours, np.arange(count), normals, uniforms, noise)
        np.testing.assert_array_equal(normals, [each.standard_normal(11) for each in theirs])
        np.testing.assert_array_equal(uniforms, [each.random(7) for each in theirs])
        np.testing.assert_array_equal(noise, [each.standard_normal(size) for each in theirs])
        assert (noise > TAIL).sum() > 20
        assert (noise < -TAIL).sum() > 20
        assert states(ours) == states(theirs)
    # Other numbers go on from there, the half word included.
    assert [each.integers(10, dtype=np.int32) for each in ours] == [
        each.integers(10, dtype=np.int32) for each in theirs
    ]


def test_some_episodes_go_on_and_the_others_are_left_alone() -> None:
    ours, theirs = generators_of(range(9)), generators_of(range(9))
    noise = np.zeros((9, 50))
    chosen = np.array([1, 4, 7])
    numbers.EpisodeNumbers(9).go_on(ours, chosen, noise)
    for row in range(9):
        expected = theirs[row].standard_normal(50) if row in chosen else np.zeros(50)
        np.testing.assert_array_equal(noise[row], expected)
    assert states(ours) == states(theirs)


class Louder(np.random.Generator):
    """A generator of a user's own."""

    def standard_normal(self, *arguments: Any, **options: Any) -> Any:
        out = super().standard_normal(*arguments, **options)
        out *= 2.0
        return out


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: np.random.Generator(np.random.MT19937(seed)),
        lambda seed: np.random.Generator(np.random.PCG64DXSM(seed)),
        lambda seed: Louder(np.random.PCG64(seed)),
    ],
    ids=["MT19937", "PCG64DXSM", "own"],
)
def test_other_generators_draw_as_they_do(make: Any) -> None:
    ours, theirs = ([make(seed) for seed in range(5)] for _ in range(2))
    normals, uniforms, noise = np.empty((5, 4)), np.empty((5, 3)), np.empty((5, 6))
    numbers.EpisodeNumbers(5).begin(ours, np.arange(5), normals, uniforms, noise)
    for row, each in enumerate(theirs):
        for found in (normals[row], uniforms[row], noise[row]):
            expected = np.empty_like(found)
            draw = each.random if np.shares_memory(found, uniforms) else each.standard_normal
            draw(out=expected)
            np.testing.assert_array_equal(found, expected)


def test_a_generator_that_is_exchanged_is_seen() -> None:
    ours = generators_of(range(3))
    drawn, noise = numbers.EpisodeNumbers(3), np.empty((3, 5))
    drawn.go_on(ours, np.arange(3), noise)
    ours[1] = np.random.default_rng(99)
    drawn.go_on(ours, np.arange(3), noise)
    np.testing.assert_array_equal(noise[1], np.random.default_rng(99).standard_normal(5))
    ours[2] = np.random.Generator(np.random.MT19937(5))
    drawn.go_on(ours, np.arange(3), noise)
    expected = np.random.Generator(np.random.MT19937(5)).standard_normal(5)
    np.testing.assert_array_equal(noise[2], expected)
    # What the user sets by itself is where it goes on from.
    ours[1].bit_generator.state = np.random.default_rng(7).bit_generator.state
    drawn.go_on(ours, np.array([1]), noise)
    np.testing.assert_array_equal(noise[1], np.random.default_rng(7).standard_normal(5))


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"]
)
def test_a_copy_draws_from_its_own_generators(copied: Any) -> None:
    env = MatchmakingVectorEnv(4, num_opponents=3, horizon=5)
    env.reset(seed=2)
    before = states(env.generators)
    other = copied(env)
    found = other.reset()[0]
    assert states(env.generators) == before
    np.testing.assert_array_equal(env.reset()[0], found)
    assert states(env.generators) == states(other.generators)


def test_a_restored_environment_draws_from_the_generators_of_the_state() -> None:
    env = MatchmakingVectorEnv(4, num_opponents=3, horizon=5)
    env.reset(seed=2)
    state = episode_state(env)
    found = env.reset()[0]
    restore_episodes(env, state)
    np.testing.assert_array_equal(env.reset()[0], found)


@pytest.mark.parametrize("tau", [0.0, 0.3])
def test_environments_draw_as_numpy_alone_would(monkeypatch: Any, tau: float) -> None:
    """Instances and noise, over blocks of noise, in both environments."""
    monkeypatch.setattr("matchenv.episodes.NOISE_BLOCK", 4)

    def played() -> list[Any]:
        vector = MatchmakingVectorEnv(3, num_opponents=3, horizon=9, tau=tau)
        scalar = MatchmakingEnv(num_opponents=3, horizon=9, tau=tau)
        found = [vector.reset(seed=5)[0], scalar.reset(seed=6)[0]]
        for step in range(9):
            found += [vector.step(np.full(3, step % 3))[0], scalar.step(step % 3)[0]]
        np.testing.assert_array_equal(found[1], found[0][1])
        return [*found, vector.true_skill]

    ours = played()
    monkeypatch.setattr(numbers, "_draws_as_numpy", lambda: False)
    for a, b in zip(ours, played(), strict=True):
        np.testing.assert_array_equal(a, b)
