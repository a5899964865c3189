"""Policies side by side: the games, the pictures, the window and the films."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.seeding import np_random

pytest.importorskip("pygame")

import pygame

from matchenv.baselines import DrawChance
from matchenv.benchmarks.watch import live
from matchenv.benchmarks.watch.film import LAST_SECONDS, nearest_colours, write_film
from matchenv.benchmarks.watch.live import HELP, Playback, after, commands, pace, watch_live
from matchenv.benchmarks.watch.picture import (
    checked_width,
    columns_for,
    draw_side_by_side,
    on_one_axis,
    panel_size,
    total_differences,
)
from matchenv.benchmarks.watch.stage import MOST_POLICIES, Stage
from matchenv.envs.one_player.env import MatchmakingEnv
from matchenv.evaluation.seeds import episode_seeds
from matchenv.rendering.picture import draw_scene
from matchenv.rendering.theme import DARK, LIGHT
from matchenv.settings import Settings

SETTINGS = Settings.checked(num_opponents=5, horizon=12)


def stage(*policies: str, **arguments: Any) -> Stage:
    return Stage(policies or ("pe", "drawchance"), SETTINGS, **arguments)


def test_a_policy_plays_the_episode_of_the_environment_with_that_seed() -> None:
    shown = stage("drawchance", seed=4, episode=2)
    shown.step(12)
    (scene,) = shown.scenes()
    env = MatchmakingEnv(num_opponents=5, horizon=12)
    env.np_random = np_random(episode_seeds(4, 2, 1)[0])[0]
    env.reset()
    policy = DrawChance()
    for game in range(12):
        action = int(policy.act(env.knowledge_state, env.games_left, None))
        info = env.step(action)[4]
        assert scene.opponents[game] == action
        assert scene.outcomes[game] == info["outcome"]
        assert scene.true_draw_density[game] == pytest.approx(info["true_draw_density"], abs=1e-12)
    np.testing.assert_allclose(scene.mu, env.knowledge_state.mu)
    np.testing.assert_array_equal(scene.true_skill, env.true_skill)


def test_all_policies_meet_the_same_instance() -> None:
    first, second = stage("pe", "random").scenes()
    np.testing.assert_array_equal(first.mu, second.mu)
    np.testing.assert_array_equal(first.true_skill, second.true_skill)


def test_a_policy_does_not_depend_on_who_plays_beside_it() -> None:
    alone, beside = stage("random", seed=3), stage("pe", "random", seed=3)
    for each in (alone, beside):
        each.step(12)
    np.testing.assert_array_equal(alone.scenes()[0].opponents, beside.scenes()[1].opponents)


def test_policies_on_different_beliefs_and_the_oracle_play_together() -> None:
    shown = stage("kg", "kg:belief=full", "oracle")
    shown.step(100)
    assert shown.is_over
    best = shown.scenes()[2].judged_density.sum()
    assert all(scene.judged_density.sum() <= best + 1e-12 for scene in shown.scenes())


def test_the_next_instance_is_another_one() -> None:
    shown = stage(seed=1)
    shown.step(3)
    other = shown.next_instance()
    assert (other.games_played, other.episode) == (0, 1)
    assert (other.scenes()[0].true_skill != shown.scenes()[0].true_skill).all()
    again = stage(seed=1, episode=1)
    np.testing.assert_array_equal(other.scenes()[0].true_skill, again.scenes()[0].true_skill)


def test_hidden_true_skills_stay_hidden() -> None:
    shown = stage(show_true_skill=False)
    shown.step(2)
    assert all(scene.true_skill is None for scene in shown.scenes())


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        ((), "policy must name 1 to"),
        (("pe", "pe"), "none of them twice"),
        (tuple(f"kg:multiplier={m}" for m in range(1, MOST_POLICIES + 2)), "policy must name"),
        (("nobody",), "policy must be one of"),
        (("kg:speed=3",), "speed"),
    ],
)
def test_bad_policies_are_named(policies: Sequence[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Stage(policies, SETTINGS)


@pytest.mark.parametrize("arguments", [{"seed": -1}, {"episode": -1}, {"seed": 0.5}])
def test_bad_numbers_are_named(arguments: dict[str, Any]) -> None:
    (name,) = arguments
    with pytest.raises(ValueError, match=f"{name} must"):
        stage(**arguments)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6])
def test_panels_are_the_policies_own_pictures(count: int) -> None:
    names = ("pe", "drawchance", "kg", "random", "oracle", "kg:multiplier=3")
    shown = stage(*names[:count])
    shown.step(4)
    scenes = shown.scenes()
    picture = draw_side_by_side(scenes, 1000, DARK)
    height, width, _ = picture.shape
    assert width == 1000
    assert height % 2 == 0
    panel, high = panel_size(count, 1000)
    own = draw_scene(on_one_axis(scenes)[-1], panel, high, DARK)
    row, column = divmod(count - 1, columns_for(count))
    y, x = row * (own.shape[0] + 2), column * (panel + 2)
    np.testing.assert_array_equal(picture[y : y + own.shape[0], x : x + panel], own)


def test_panels_share_the_axis() -> None:
    shown = stage("pe", "random")
    shown.step(12)
    own = [scene.skill_range for scene in shown.scenes()]
    low, high = min(each[0] for each in own), max(each[1] for each in own)
    assert [scene.skill_range for scene in on_one_axis(shown.scenes())] == [(low, high)] * 2


def test_differences_are_of_totals() -> None:
    shown = stage("pe", "drawchance", "random")
    shown.step(12)
    first, *others = shown.scenes()
    for values, scene in zip(total_differences(shown.scenes()), others, strict=True):
        expected = [
            sum(scene.true_draw_density[:n]) - sum(first.true_draw_density[:n])
            for n in range(1, 13)
        ]
        np.testing.assert_allclose(values, expected, atol=1e-12)


@pytest.mark.parametrize("count", range(1, MOST_POLICIES + 1))
def test_the_usual_width_suits_a_screen(count: int) -> None:
    width = checked_width(None, count)
    assert checked_width(width, count) == width <= 1440
    rows = -(-count // columns_for(count))
    assert rows * panel_size(count, width)[1] <= 750


@pytest.mark.parametrize("width", [0, 641, -5, 1e9, "wide", 8000])
def test_bad_widths_are_named(width: Any) -> None:
    with pytest.raises(ValueError, match="width must"):
        checked_width(width, 2)


@pytest.mark.parametrize("every", [1, 5, 12])
def test_a_gif_has_a_picture_for_each_moment(tmp_path: Path, every: int) -> None:
    from PIL import Image

    path = tmp_path / "film.gif"
    count = write_film(stage(), path, width=700, every=every, rate=5, quiet=True)
    assert count == {1: 13, 5: 4, 12: 2}[every]
    with Image.open(path) as film:
        assert film.n_frames == count
        assert film.info["duration"] == 200
        assert film.info["loop"] == 0
        shown = stage()
        for place in (0, 1):
            film.seek(place)
            expected = draw_side_by_side(shown.scenes(), 700, LIGHT)
            found = np.asarray(film.convert("RGB"), dtype=int)
            assert found.shape == expected.shape
            # A .gif has few colours, so single pixels differ a little.
            assert np.abs(found - expected).mean() < 1.0
            shown.step(every)
        film.seek(count - 1)
        assert film.info["duration"] == 1000 * LAST_SECONDS
    assert [each.name for each in tmp_path.iterdir()] == ["film.gif"]


def test_colours_become_the_nearest_of_the_palette() -> None:
    rng = np.random.default_rng(0)
    palette = rng.integers(0, 256, (20, 3)).astype(np.uint8)
    known = np.full(2**24, -1, dtype=np.int16)
    for _ in range(2):
        picture = rng.integers(0, 256, (8, 9, 3)).astype(np.uint8)
        found = nearest_colours(picture, palette, known)
        apart = np.linalg.norm(picture[:, :, None].astype(float) - palette, axis=3)
        chosen = np.take_along_axis(apart, found[:, :, None].astype(int), axis=2)[:, :, 0]
        np.testing.assert_array_equal(chosen, apart.min(axis=2))
    np.testing.assert_array_equal(nearest_colours(palette[None], palette, known)[0], range(20))


def test_a_png_is_the_last_moment(tmp_path: Path) -> None:
    from PIL import Image

    path = tmp_path / "picture.png"
    assert write_film(stage(), path, width=700, games=7, every=3, quiet=True) == 1
    shown = stage()
    shown.step(7)
    with Image.open(path) as picture:
        expected = draw_side_by_side(shown.scenes(), 700, LIGHT)
        np.testing.assert_array_equal(np.asarray(picture), expected)


def test_a_film_may_end_before_the_episode(tmp_path: Path) -> None:
    from PIL import Image

    path = tmp_path / "film.gif"
    assert write_film(stage(), path, width=700, games=7, every=3, quiet=True) == 4
    with Image.open(path) as film:
        assert film.n_frames == 4


@pytest.mark.parametrize("name", ["watch.gif", "watch_dark.gif"])
def test_the_readmes_films_are_small(name: str) -> None:
    from PIL import Image

    root = Path(__file__).resolve().parents[2]
    path = root / "docs" / "figures" / name
    assert path.stat().st_size < 2_000_000
    with Image.open(path) as film:
        assert film.n_frames == 101
    assert f"docs/figures/{name}" in (root / "README.md").read_text(encoding="utf-8")


def test_the_same_command_gives_the_same_file(tmp_path: Path) -> None:
    for name in ("one.gif", "two.gif"):
        write_film(stage("random"), tmp_path / name, width=400, every=6, quiet=True)
    assert (tmp_path / "one.gif").read_bytes() == (tmp_path / "two.gif").read_bytes()


def test_an_mp4_can_be_read_back(tmp_path: Path) -> None:
    pytest.importorskip("imageio_ffmpeg")
    import imageio_ffmpeg

    path = tmp_path / "film.mp4"
    count = write_film(stage(), path, width=701, every=4, rate=10, theme="dark", quiet=True)
    assert count == 4
    frames, seconds = imageio_ffmpeg.count_frames_and_secs(str(path))
    assert frames == count + LAST_SECONDS * 10
    assert seconds == pytest.approx(frames / 10, abs=0.11)
    reader = imageio_ffmpeg.read_frames(str(path))
    assert next(reader)["size"][0] == 700


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("film.avi", {}, r"out must end in \.gif, \.mp4, \.png"),
        ("film", {}, "out must end in"),
        ("nowhere/film.gif", {}, "folder that exists"),
        ("film.gif", {"width": 0}, "width must"),
        ("film.gif", {"every": 0}, "every must"),
        ("film.gif", {"every": 13}, "every must"),
        ("film.gif", {"games": 0}, "games must"),
        ("film.gif", {"games": 13}, "games must"),
        ("film.gif", {"rate": 0}, "rate must"),
        ("film.gif", {"rate": 51}, "rate must"),
        ("film.gif", {"theme": "pink"}, "theme must be one of"),
    ],
)
def test_bad_films_are_refused_before_a_game(
    tmp_path: Path, name: str, arguments: dict[str, Any], message: str
) -> None:
    shown = stage()
    with pytest.raises(ValueError, match=message):
        write_film(shown, tmp_path / name, **arguments)
    assert shown.games_played == 0
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_film(tmp_path: Path) -> None:
    (tmp_path / "film.gif").mkdir()
    with pytest.raises(ValueError, match="is a folder"):
        write_film(stage(), tmp_path / "film.gif")


def test_without_the_package_the_remedy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in (("PIL", "film.gif"), ("imageio_ffmpeg", "film.mp4")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ImportError, match=r'pip install "matchenv\[render\]"'):
            write_film(stage(), tmp_path / name)
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(ImportError, match=r'pip install "matchenv\[render\]"'):
        watch_live(stage())


class ScriptedWindow:
    """A window whose user presses keys: a list of them after each picture."""

    is_lost = False

    def __init__(self, *presses: Sequence[str]) -> None:
        self.presses = list(presses)
        self.rates: list[float] = []
        self.pictures: list[Any] = []
        self.closed = False

    def show(self, picture: Any) -> None:
        self.pictures.append(picture)

    def wait(self, frames_per_second: float) -> None:
        self.rates.append(frames_per_second)

    def events(self) -> list[Any]:
        pressed = self.presses.pop(0) if self.presses else ["close"]
        return [
            pygame.event.Event(pygame.QUIT)
            if key == "close"
            else pygame.event.Event(pygame.KEYDOWN, key=pygame.key.key_code(key))
            for key in pressed
        ]

    def close(self) -> None:
        self.closed = True


def played(*presses: Sequence[str]) -> tuple[int, Stage, ScriptedWindow]:
    pygame.display.init()  # names of keys need it
    window = ScriptedWindow(*presses)
    last = watch_live(stage(), width=700, window=window)
    assert window.closed
    return last.games_played, last, window


def test_games_go_on_by_themselves() -> None:
    assert played([], [], [], ["q"])[0] == 4


def test_the_end_stays_on_the_screen() -> None:
    games, last, window = played(*([[]] * 20), ["escape"])
    assert games == 12
    assert last.is_over
    np.testing.assert_array_equal(window.pictures[-1], window.pictures[-2])


def test_a_pause_holds_and_ends() -> None:
    assert played([], ["space"], [], [], ["q"])[0] == 1
    assert played([], ["space"], [], ["space"], ["q"])[0] == 3


def test_steps_are_single_games() -> None:
    games, _, window = played(["right"], [], ["right", "right"], ["q"])
    assert games == 3
    assert (window.pictures[1] != window.pictures[0]).any()
    np.testing.assert_array_equal(window.pictures[1], window.pictures[2])


def test_speed_goes_up_and_down() -> None:
    _, _, window = played([], ["up"], ["down"], ["down"], [], ["q"])
    assert window.rates == [10, 10, 20, 10, 5, 5]
    fastest, slowest = Playback(), Playback()
    for _ in range(20):
        fastest, slowest = after(fastest, "faster"), after(slowest, "slower")
    assert fastest.games_per_second == max(live.SPEEDS)
    assert slowest.games_per_second == min(live.SPEEDS)


@pytest.mark.parametrize("speed", live.SPEEDS)
def test_no_speed_asks_for_more_pictures_than_a_window_shows(speed: int) -> None:
    games, pictures = pace(speed)
    assert games * pictures == pytest.approx(speed)
    assert pictures <= 30


def test_the_next_instance_starts_from_the_beginning() -> None:
    games, last, _ = played([], [], ["n"], ["q"])
    assert last.episode == 1
    assert games == 1


def test_every_letter_can_be_written() -> None:
    from matchenv.rendering.canvas import _font

    shown = stage()
    for text in (HELP, live.status(shown, Playback()), "μ σ − … é"):
        # A letter that the font lacks, as this one, is written as a box.
        lacking = _font(12, False).render("\u4e2d", True, (0, 0, 0))
        for letter in set(text) - {" "}:
            written = _font(12, False).render(letter, True, (0, 0, 0))
            assert pygame.image.tobytes(written, "RGBA") != pygame.image.tobytes(lacking, "RGBA")


def test_keys_are_in_the_window_and_work() -> None:
    for word in ("space", "pause", "→", "↑", "faster", "↓", "slower", "n next", "q quit"):
        assert word in HELP
    pygame.display.init()
    for key, command in live.KEYS.items():
        event = pygame.event.Event(pygame.KEYDOWN, key=pygame.key.key_code(key))
        assert commands([event]) == [command]
    unknown = pygame.event.Event(pygame.KEYDOWN, key=pygame.K_F5)
    assert commands([unknown, pygame.event.Event(pygame.MOUSEMOTION)]) == []


def test_the_window_is_closed_after_an_error() -> None:
    window = ScriptedWindow([])

    def broken(picture: Any) -> None:
        raise KeyboardInterrupt

    window.show = broken  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        watch_live(stage(), window=window)
    assert window.closed


def test_a_real_window_without_a_screen() -> None:
    pygame.display.init()
    pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_q))
    shown = watch_live(stage(), width=700, theme="dark")
    assert shown.games_played <= 1
    assert not pygame.display.get_init()


def test_a_window_that_nobody_sees_is_not_kept_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a screen SDL draws into nowhere; that must be asked for."""
    monkeypatch.delenv("SDL_VIDEODRIVER")
    monkeypatch.setattr(pygame.display, "get_driver", lambda: "offscreen")
    with pytest.raises(OSError, match="SDL_VIDEODRIVER=dummy"):
        watch_live(stage(), width=700)
    assert not pygame.display.get_init()
