"""Render modes of the environments, also through wrappers and other libraries."""

import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pygame
import pytest
from gymnasium.error import DependencyNotInstalled
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import HumanRendering
from stable_baselines3.common import env_util

import matchenv
from matchenv.agents.vec_env import MatchmakingVecEnv
from matchenv.envs import environment_named
from matchenv.rendering import RENDER_FPS
from matchenv.rendering.renderer import MOST_IN_GRID
from matchenv.rendering.window import Window

SMALL = {"num_opponents": 5, "horizon": 4}
OPTIONS = {
    "Matchmaking-v0": SMALL,
    "MatchmakingQueue-v0": {"capacity": 5, "horizon": 20},
    "Ranking-v0": {"num_items": 5, "horizon": 20},
}
SINGLE_SHAPE = (600, 800, 3)
SHARED_SHAPE = (360, 480, 3)
every_environment = pytest.mark.parametrize("env_id", OPTIONS)
one_and_several = pytest.mark.parametrize("count", [None, 2])


# Warnings are errors, except those that do not concern rendering.
pytestmark = pytest.mark.filterwarnings(
    "error", "ignore:.*(minimum|maximum) value is -?infinity", "ignore::ResourceWarning"
)


@pytest.fixture(autouse=True)
def fast_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchenv.rendering.renderer.RENDER_FPS", 10_000)


def made(env_id: str, mode: str | None = "rgb_array", count: int | None = None, **more: Any) -> Any:
    """Make a scalar environment, or a native vector environment of ``count``."""
    options = {**OPTIONS[env_id], **more}
    if count is None:
        return gym.make(env_id, render_mode=mode, **options)
    return gym.make_vec(env_id, num_envs=count, render_mode=mode, **options)


def bare(env_id: str, count: int | None, **options: Any) -> Any:
    """Make the same environment without Gymnasium's wrappers."""
    environment = environment_named(env_id)
    if count is None:
        return environment.part("env")(**options)
    return environment.part("vector_env")(num_envs=count, **options)


def play(env: Any, steps: int = 3) -> None:
    env.reset(seed=1)
    env.action_space.seed(0)
    for _ in range(steps):
        env.step(env.action_space.sample())


@every_environment
def test_pictures_follow_the_steps_and_do_not_change_the_episode(env_id: str) -> None:
    env = made(env_id)
    unrendered = made(env_id, None)
    for environment in (env, unrendered):
        environment.action_space.seed(0)
        environment.reset(seed=1)
    first, *later = pictures_of_steps(env, unrendered, steps=4)
    for picture in later:
        assert (picture != first).any()
    env.reset(seed=1)
    np.testing.assert_array_equal(env.render(), first)


def pictures_of_steps(env: Any, unrendered: Any, steps: int) -> list[Any]:
    """Return the picture before each step, after checking that rendering changes no step."""
    pictures = []
    for _ in range(steps):
        picture = env.render()
        assert picture.shape == SINGLE_SHAPE
        assert picture.dtype == np.uint8
        np.testing.assert_array_equal(picture, env.render())
        pictures.append(picture)
        result = env.step(env.action_space.sample())
        expected = unrendered.step(unrendered.action_space.sample())
        np.testing.assert_array_equal(result[0], expected[0])
        assert result[1:4] == expected[1:4]
    return pictures


@every_environment
@one_and_several
def test_human_mode_shows_every_state_without_render(env_id: str, count: int | None) -> None:
    env = made(env_id, "human", count)
    twin = made(env_id, "rgb_array", count)
    if count is None:
        steps = 4
        picture_of_twin = twin.render
    else:
        steps = 6  # beyond an episode's end
        picture_of_twin = twin.unwrapped.render_grid
    play(env, steps)
    play(twin, steps)
    assert env.render() is None
    screen = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    np.testing.assert_array_equal(screen, picture_of_twin())
    for _ in range(2):
        env.close()
        assert not pygame.display.get_init()


@one_and_several
@pytest.mark.parametrize("mode", ["ansi", "rgb_array", "human"])
def test_teams_are_rendered_in_any_mode(mode: str, count: int | None) -> None:
    env = made("MatchmakingQueue-v0", mode, count, side_size=2, party_sizes=(0.5, 0.5))
    play(env, 1)
    first = env.render()
    play(env, 60)
    last = env.render()
    if mode == "human":
        assert first is last is None
    else:
        assert not np.array_equal(first, last)
    env.close()


@pytest.mark.parametrize(
    ("env_id", "mode", "options"),
    [
        ("Matchmaking-v0", "ansi", {"availability": 0.5, "mean_stay": 3.0}),
        ("MatchmakingQueue-v0", "rgb_array", {}),
        ("Ranking-v0", "human", {}),
    ],
)
def test_gymnasiums_checker_passes_in_any_mode(
    env_id: str, mode: str, options: dict[str, float]
) -> None:
    env = made(env_id, mode, **options).unwrapped
    assert env.metadata["render_fps"] == RENDER_FPS >= 30
    check_env(env)


def test_human_rendering_works_after_pygame_quit() -> None:
    for _ in range(2):
        env = HumanRendering(made("Matchmaking-v0"))
        env.metadata = env.metadata | {"render_fps": 10_000}
        play(env)
        env.close()


@every_environment
def test_the_grid_shows_the_first_environments(env_id: str) -> None:
    env = made(env_id, count=8)
    play(env)
    grid = env.unwrapped.render_grid()
    frames = env.render()
    assert isinstance(frames, tuple)
    assert [frame.shape for frame in frames] == [SHARED_SHAPE] * 8
    height, width, _ = SHARED_SHAPE
    assert MOST_IN_GRID == 6
    assert grid.shape == (2 * height + 2, 3 * width + 4, 3)
    for i in range(MOST_IN_GRID):
        row, column = divmod(i, 3)
        y = (height + 2) * row
        x = (width + 2) * column
        # Coordinates are rounded to pixels of the whole picture.
        differing = grid[y : y + height, x : x + width] != frames[i]
        assert differing.mean() < 0.02


@every_environment
def test_a_vector_environment_of_one_looks_like_the_scalar_one(env_id: str) -> None:
    vector = made(env_id, count=1)
    scalar = made(env_id)
    vector.reset(seed=5)
    scalar.reset(seed=5)
    np.testing.assert_array_equal(vector.render()[0], scalar.render())


@every_environment
@one_and_several
def test_bad_modes_and_rendering_before_reset_are_refused(env_id: str, count: int | None) -> None:
    env = bare(env_id, count, render_mode="rgb_array")
    with pytest.raises(gym.error.ResetNeeded):
        env.render()
    if count is not None:
        with pytest.raises(gym.error.ResetNeeded):
            env.render_grid()
    for mode in ("video", "", 3):
        with pytest.raises(ValueError, match=r"render_mode must be one of 'human', 'rgb_array'"):
            bare(env_id, count, render_mode=mode)
    with pytest.raises(ValueError, match="render_true_skill must be True or False, got 1"):
        bare(env_id, count, render_true_skill=1)


@every_environment
@one_and_several
def test_without_pygame_texts_work_and_errors_name_the_extra(
    monkeypatch: pytest.MonkeyPatch, env_id: str, count: int | None
) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    for mode in ("rgb_array", "human"):
        with pytest.raises(
            DependencyNotInstalled, match=r'pygame.*pip install "matchenv\[render\]"'
        ):
            bare(env_id, count, render_mode=mode)
    bare(env_id, count)
    env = bare(env_id, count, render_mode="ansi", **OPTIONS[env_id])
    env.reset(seed=0)
    progress = f" 0 of {OPTIONS[env_id]['horizon']}"
    if count is None:
        assert env.render().splitlines()[0].endswith(progress)
        return
    descriptions = env.render()
    assert len(descriptions) == count
    for description in descriptions:
        assert description.splitlines()[0].endswith(progress)
    with pytest.raises(ValueError, match=r"render_mode must be .* got 'ansi'"):
        env.render_grid()


def test_a_window_returns_pressed_keys() -> None:
    window = Window("caption")
    picture = np.zeros((20, 30, 3), dtype=np.uint8)
    assert window.show(picture, 1000) == []
    names = ["space", "right", "up", "down", "n", "q", "escape"]
    for name in names:
        pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.key.key_code(name)))
    for other in (pygame.MOUSEMOTION, pygame.QUIT):
        pygame.event.post(pygame.event.Event(other))
    assert window.show(picture, 1000) == [*names, "close"]
    window.close()


def no_screen(size: Any) -> None:
    raise pygame.error("No available video device")


def test_without_a_screen_episodes_go_on_after_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pygame.display, "set_mode", no_screen)
    env = matchenv.MatchmakingEnv(render_mode="human", **SMALL)
    with pytest.warns(UserWarning, match="SDL_VIDEODRIVER=dummy"):
        observation, _ = env.reset(seed=0)
    expected, _ = matchenv.MatchmakingEnv(**SMALL).reset(seed=0)
    np.testing.assert_array_equal(observation, expected)
    env.step(0)
    assert env.render() is None
    env.close()


@pytest.mark.parametrize("env_id", ["Matchmaking-v0", "MatchmakingQueue-v0", "Ranking-v0"])
def test_check_env_passes_without_a_screen(env_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pygame.display, "set_mode", no_screen)
    env = gym.make(env_id, horizon=20).unwrapped
    with pytest.warns(UserWarning, match="render_mode='human' shows nothing"):
        check_env(env)


def test_a_missing_screen_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    picture = np.zeros((20, 30, 3), dtype=np.uint8)
    with monkeypatch.context() as patch:
        patch.setattr(pygame.display, "set_mode", no_screen)
        with pytest.raises(OSError, match="SDL_VIDEODRIVER=dummy"):
            Window("caption").show(picture, 1000)
    # SDL's invisible drivers are refused unless requested.
    monkeypatch.delenv("SDL_VIDEODRIVER")
    monkeypatch.setattr(pygame.display, "get_driver", lambda: "offscreen")
    with pytest.raises(OSError, match="SDL_VIDEODRIVER=dummy"):
        Window("caption").show(picture, 1000)


def test_environments_of_stable_baselines3_render_or_do_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It requests rgb_array by itself, and continues without pictures if pygame is missing."""
    env = MatchmakingVecEnv(8, render_mode="rgb_array", **SMALL)
    env.reset()
    assert env.render().shape == (2 * SHARED_SHAPE[0] + 2, 3 * SHARED_SHAPE[1] + 4, 3)
    for mode in ("rgb_array", None):
        assert env_util.make_vec_env("Matchmaking-v0", 1, env_kwargs=SMALL).render_mode == mode
        monkeypatch.setitem(sys.modules, "pygame", None)
