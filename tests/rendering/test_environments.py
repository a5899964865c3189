"""Render modes of the environments, and the wrappers and libraries that ask for pictures."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import HumanRendering, RecordVideo
from gymnasium.wrappers.vector import RecordVideo as VectorRecordVideo

import matchenv
from matchenv.envs.core.rendering import MOST_IN_GRID, SHARED_SIZE, SINGLE_SIZE
from matchenv.rendering import RENDER_FPS, RENDER_MODES, MissingRenderPackage

pygame = pytest.importorskip("pygame")

SMALL = {"num_opponents": 5, "horizon": 4}
SINGLE_SHAPE = (SINGLE_SIZE[1], SINGLE_SIZE[0], 3)
SHARED_SHAPE = (SHARED_SIZE[1], SHARED_SIZE[0], 3)


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    """A warning is an error, as long as it is about us or what we are asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*(minimum|maximum) value is -?infinity.*")
        warnings.filterwarnings("ignore", category=ResourceWarning)
        warnings.filterwarnings("ignore", category=DeprecationWarning, module="moviepy|imageio")
        yield


@pytest.fixture(autouse=True)
def fast_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    from matchenv.rendering import window

    monkeypatch.setattr(window.time, "sleep", lambda seconds: None)


def play(env: Any, games: int = 3) -> None:
    env.reset(seed=1)
    for game in range(games):
        env.step(game % SMALL["num_opponents"])


def test_a_picture_is_an_array_that_follows_the_games() -> None:
    env = gym.make("Matchmaking-v0", render_mode="rgb_array", **SMALL)
    env.reset(seed=1)
    first = env.render()
    assert first.shape == SINGLE_SHAPE
    assert first.dtype == np.uint8
    env.step(0)
    second = env.render()
    assert (first != second).any()
    np.testing.assert_array_equal(second, env.render())
    env.reset(seed=1)
    np.testing.assert_array_equal(env.render(), first)


def test_pictures_change_nothing_in_the_episode() -> None:
    plain = gym.make("Matchmaking-v0", **SMALL)
    drawn = gym.make("Matchmaking-v0", render_mode="rgb_array", **SMALL)
    for env in (plain, drawn):
        env.reset(seed=7)
    for action in (1, 1, 0, 4):
        drawn.render()
        mine, theirs = plain.step(action), drawn.step(action)
        np.testing.assert_array_equal(mine[0], theirs[0])
        assert mine[1:3] == theirs[1:3]


def test_true_skills_can_be_hidden() -> None:
    """Two truths under one belief look the same before the first game when hidden."""
    pictures: dict[bool, list[Any]] = {True: [], False: []}
    for shown, found in pictures.items():
        env = gym.make("Matchmaking-v0", render_mode="rgb_array", render_true_skill=shown, **SMALL)
        for shift in (0.0, 1.5):
            mu = np.linspace(-2.0, 2.0, 6)
            options = {"mu": mu, "sigma": np.full(6, 1.5), "true_skill": mu + shift}
            env.reset(seed=3, options=options)
            found.append(env.render())
    assert (pictures[True][0] != pictures[True][1]).any()
    np.testing.assert_array_equal(*pictures[False])


def test_lists_of_pictures_come_from_gymnasiums_wrapper() -> None:
    env = gym.make("Matchmaking-v0", render_mode="rgb_array_list", **SMALL)
    play(env, 3)
    frames = env.render()
    assert [frame.shape for frame in frames] == [SINGLE_SHAPE] * 4


def test_a_window_shows_every_state_by_itself() -> None:
    env = gym.make("Matchmaking-v0", render_mode="human", **SMALL)
    twin = gym.make("Matchmaking-v0", render_mode="rgb_array", **SMALL)
    play(env)
    play(twin)
    assert env.render() is None
    shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    np.testing.assert_array_equal(shown, twin.render())
    env.close()
    assert not pygame.display.get_init()
    env.close()


def test_gymnasiums_checker_finds_nothing_in_any_mode() -> None:
    for mode in RENDER_MODES:
        check_env(gym.make("Matchmaking-v0", render_mode=mode, **SMALL).unwrapped)
    assert gym.spec("Matchmaking-v0").make().metadata["render_fps"] == RENDER_FPS >= 30


def test_human_rendering_twice_in_one_process() -> None:
    """Its end calls pygame.quit(), and pictures are wanted after that too."""
    for _ in range(2):
        env = HumanRendering(gym.make("Matchmaking-v0", render_mode="rgb_array", **SMALL))
        env.metadata = env.metadata | {"render_fps": 10_000}
        play(env)
        env.close()


def test_record_video(tmp_path: Path) -> None:
    pytest.importorskip("moviepy")
    from moviepy import VideoFileClip

    env = RecordVideo(
        gym.make("Matchmaking-v0", render_mode="rgb_array", **SMALL),
        str(tmp_path / "video"),
        episode_trigger=lambda episode: True,
    )
    play(env, 4)
    env.close()
    (path,) = (tmp_path / "video").glob("*.mp4")
    with VideoFileClip(str(path)) as clip:
        assert tuple(clip.size) == SINGLE_SIZE
        assert round(clip.fps * clip.duration) == 5


@pytest.mark.parametrize("native", [True, False])
def test_record_video_of_vector_environments(tmp_path: Path, native: bool) -> None:
    pytest.importorskip("moviepy")
    env = gym.make_vec(
        "Matchmaking-v0",
        num_envs=3,
        render_mode="rgb_array",
        vectorization_mode="vector_entry_point" if native else "sync",
        **SMALL,
    )
    env = VectorRecordVideo(
        env, str(tmp_path / "video"), video_length=2, step_trigger=lambda n: n == 0
    )
    env.reset(seed=0)
    for _ in range(4):
        env.step(np.zeros(3, dtype=np.int64))
    env.close()
    assert len(list((tmp_path / "video").glob("*.mp4"))) == 1


def test_vector_pictures_are_one_for_each() -> None:
    env = gym.make_vec("Matchmaking-v0", num_envs=8, render_mode="rgb_array", **SMALL)
    env.reset(seed=5)
    env.step(np.arange(8) % 5)
    frames = env.render()
    assert isinstance(frames, tuple)
    assert [frame.shape for frame in frames] == [SHARED_SHAPE] * 8
    assert (frames[0] != frames[1]).any()


def test_the_grid_holds_the_first_environments() -> None:
    env = gym.make_vec("Matchmaking-v0", num_envs=8, render_mode="rgb_array", **SMALL)
    env.reset(seed=5)
    env.step(np.arange(8) % 5)
    grid, frames = env.unwrapped.render_grid(), env.render()
    height, width = SHARED_SHAPE[:2]
    assert MOST_IN_GRID == 6
    assert grid.shape == (2 * height + 2, 3 * width + 4, 3)
    for place in range(MOST_IN_GRID):
        y, x = (height + 2) * (place // 3), (width + 2) * (place % 3)
        np.testing.assert_array_equal(grid[y : y + height, x : x + width], frames[place])


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_the_window_of_a_vector_environment_shows_the_grid(mode: str) -> None:
    arguments = {"num_envs": 2, "autoreset_mode": mode, **SMALL}
    env = matchenv.MatchmakingVectorEnv(render_mode="human", **arguments)
    twin = matchenv.MatchmakingVectorEnv(render_mode="rgb_array", **arguments)
    for each in (env, twin):
        each.reset(seed=0)
        for _ in range(6):  # beyond an episode's end
            each.step(np.array([1, 2]))
    assert env.render() is None
    shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    np.testing.assert_array_equal(shown, twin.render_grid())
    env.close()
    assert not pygame.display.get_init()


def test_a_grid_needs_a_mode_with_pictures() -> None:
    env = matchenv.MatchmakingVectorEnv(2, render_mode="ansi", **SMALL)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"render_mode must be .* got 'ansi'"):
        env.render_grid()


def test_pictures_before_the_first_reset_are_refused() -> None:
    env = matchenv.MatchmakingEnv(render_mode="rgb_array", **SMALL)
    with pytest.raises(gym.error.ResetNeeded):
        env.render()
    many = matchenv.MatchmakingVectorEnv(2, render_mode="rgb_array", **SMALL)
    with pytest.raises(gym.error.ResetNeeded):
        many.render()
    with pytest.raises(gym.error.ResetNeeded):
        many.render_grid()


@pytest.mark.parametrize("make", [matchenv.MatchmakingEnv, matchenv.MatchmakingVectorEnv])
@pytest.mark.parametrize("mode", ["video", "rgb", "", 3])
def test_unknown_modes_are_named(make: Any, mode: Any) -> None:
    with pytest.raises(
        ValueError, match=r"render_mode must be None or 'human', 'rgb_array', 'ansi'"
    ):
        make(render_mode=mode)


@pytest.mark.parametrize("shown", [None, 1, "no"])
def test_bad_switches_are_named(shown: Any) -> None:
    with pytest.raises(ValueError, match="render_true_skill must be True or False"):
        matchenv.MatchmakingEnv(render_true_skill=shown)


@pytest.mark.parametrize("mode", ["rgb_array", "human"])
def test_without_pygame_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    for make in (matchenv.MatchmakingEnv, matchenv.MatchmakingVectorEnv):
        with pytest.raises(ImportError, match=r'pygame.*pip install "matchenv\[render\]"'):
            make(render_mode=mode)
        make(render_mode="ansi")
        make()
    assert issubclass(MissingRenderPackage, TypeError)


def test_no_screen_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_screen(size: Any) -> None:
        raise pygame.error("No available video device")

    monkeypatch.setattr(pygame.display, "set_mode", no_screen)
    env = matchenv.MatchmakingEnv(render_mode="human", **SMALL)
    with pytest.raises(OSError, match="SDL_VIDEODRIVER=dummy"):
        env.reset(seed=0)


@pytest.mark.parametrize("missing", [False, True])
def test_stable_baselines3_has_nothing_to_say(
    monkeypatch: pytest.MonkeyPatch, missing: bool
) -> None:
    """It asks for rgb_array by itself, and does without where pygame is missing."""
    pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.env_util import make_vec_env

    if missing:
        monkeypatch.setitem(sys.modules, "pygame", None)
    env = make_vec_env("Matchmaking-v0", n_envs=2, env_kwargs=SMALL)
    env.reset()
    env.step(np.zeros(2, dtype=np.int64))
    assert env.render_mode == (None if missing else "rgb_array")
    if not missing:
        picture = env.render()
        assert picture.shape == (2 * SINGLE_SHAPE[0], SINGLE_SHAPE[1], 3)
    env.close()


@pytest.mark.parametrize("native", [True, False])
def test_stable_baselines3s_recorder(tmp_path: Path, native: bool) -> None:
    """What rl_zoo3's record_video calls."""
    pytest.importorskip("stable_baselines3")
    pytest.importorskip("moviepy")
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecVideoRecorder

    from matchenv.agents.vec_env import MatchmakingVecEnv

    env: Any
    if native:
        env = MatchmakingVecEnv(8, render_mode="rgb_array", **SMALL)
        height, width = SHARED_SHAPE[:2]
        env.reset()
        assert env.render().shape == (2 * height + 2, 3 * width + 4, 3)
    else:
        env = make_vec_env("Matchmaking-v0", env_kwargs=SMALL)
    recorder = VecVideoRecorder(env, str(tmp_path), lambda step: step == 0, video_length=3)
    recorder.reset()
    for _ in range(4):
        recorder.step(np.zeros(env.num_envs, dtype=np.int64))
    recorder.close()
    assert len(list(tmp_path.glob("*.mp4"))) == 1
