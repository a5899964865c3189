"""What is drawn where."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pygame")

from matchenv.rendering.axis import Axis
from matchenv.rendering.canvas import Canvas, line_height, shortened, text_width
from matchenv.rendering.layout import Box, Parts, Sizes
from matchenv.rendering.picture import (
    LEAST_HEIGHT,
    LEAST_WIDTH,
    draw_scene,
    grid_shape,
    legend,
    legend_lines,
    tiled,
)
from matchenv.rendering.scene import Scene
from matchenv.rendering.theme import DARK, LIGHT, THEMES, Colour, Theme

SceneMaker = Callable[..., Scene]
WIDTH, HEIGHT = 800, 600
SIZES = [(800, 600), (480, 360), (LEAST_WIDTH, LEAST_HEIGHT), (1280, 720)]


def skills_box(scene: Scene, width: int = WIDTH, height: int = HEIGHT) -> Box:
    sizes = Sizes.of(width, height)
    lines = legend_lines(legend(scene, LIGHT), width - 2 * sizes.gap, sizes.body)
    return Parts.of(width, height, sizes, len(lines)).skills


def distance(pixels: Any, colour: Colour) -> Any:
    return np.abs(pixels.astype(int) - np.array(colour)).max(axis=-1)


def two_apart(**changes: Any) -> Scene:
    """Player 0 at -3, opponent 1 at 3, opponent 2 at 0; the last game was against 1."""
    scene = Scene(
        mu=np.array([-3.0, 3.0, 0.0]),
        sigma=np.array([0.5, 0.5, 0.4]),
        horizon=10,
        beta=1.0,
        first_sigma=1.0,
        skill_range=(-6.0, 6.0),
        opponents=np.array([0]),
        outcomes=np.array([1]),
        draw_density=np.array([0.1]),
        true_draw_density=np.array([0.2]),
        true_skill=np.array([-4.9, 5.1, 1.1]),
    )
    return replace(scene, **changes)


@pytest.mark.parametrize(("num_opponents", "games"), [(1, 0), (9, 1), (49, 40), (1000, 40)])
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_every_size_gives_a_picture_of_that_size(
    make_scene: SceneMaker, num_opponents: int, games: int, width: int, height: int
) -> None:
    picture = draw_scene(make_scene(num_opponents, games), width, height)
    assert picture.shape == (height, width, 3)
    assert picture.dtype == np.uint8
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 20


def test_the_same_scene_gives_the_same_picture(make_scene: SceneMaker) -> None:
    np.testing.assert_array_equal(draw_scene(make_scene(seed=4)), draw_scene(make_scene(seed=4)))
    assert (draw_scene(make_scene(seed=4)) != draw_scene(make_scene(seed=5))).any()


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_bells_of_those_who_play_have_their_colours(theme: Theme) -> None:
    scene = two_apart()
    box = skills_box(scene)
    axis = Axis(*scene.skill_range, box.width)
    picture = draw_scene(scene, theme=theme)
    for mu, colour in ((-3.0, theme.player), (3.0, theme.opponent)):
        column = picture[box.y : box.y + box.height // 2, box.x + int(axis.at(mu))]
        assert distance(column, colour).min() < 12, "no outline of its colour"
        # The area between outline and axis is the colour, paler.
        inside = picture[box.y + box.height // 2, box.x + int(axis.at(mu))].astype(float)
        towards = np.array(colour) - np.array(theme.background, dtype=float)
        share = (inside - theme.background) @ towards / (towards @ towards)
        assert 0.15 < share < 0.6
    nobody = picture[box.y + box.height // 2, box.x + int(axis.at(-5.5))]
    assert tuple(nobody) == theme.background


def test_the_others_are_pale() -> None:
    scene = two_apart()
    box = skills_box(scene)
    x = box.x + int(Axis(*scene.skill_range, box.width).at(0.0))
    inside = draw_scene(scene)[box.y + box.height // 2, x].astype(int)
    assert 2 < np.abs(inside - 255).max() < 60


def test_a_wider_belief_is_a_wider_bell() -> None:
    def columns(sigma: float) -> int:
        scene = two_apart(sigma=np.array([sigma, 0.5, 0.4]), true_skill=None)
        box = skills_box(scene)
        row = draw_scene(scene)[box.y + int(0.6 * box.height), box.x : box.x + box.width // 2]
        return int((row != 255).any(axis=-1).sum())

    assert columns(0.2) < columns(0.5) < columns(1.0)


def test_true_skills_are_marked_where_they_are_and_only_when_shown() -> None:
    shown, hidden = two_apart(), two_apart(true_skill=None, true_draw_density=None)
    box = skills_box(shown)
    axis = Axis(*shown.skill_range, box.width)
    with_marks, without = draw_scene(shown), draw_scene(hidden)
    for skill, colour in ((-4.9, LIGHT.player), (5.1, LIGHT.opponent)):
        x = box.x + round(float(axis.at(skill)))
        near = np.s_[box.y : box.bottom + 1, x - 6 : x + 7]
        below = distance(with_marks[near][-40:], colour) < 12
        assert below.sum() > 20, "no triangle"
        assert (distance(without[near][-40:], colour) >= 12).all()
        # The dashes above it are far from every bell.
        assert (without[box.y : box.y + 40, x] == 255).all()
        assert (with_marks[box.y : box.y + 40, x] != 255).any()
    x = box.x + int(axis.at(1.1))
    rug = np.s_[box.bottom - 30 : box.bottom - 16, x - 1 : x + 2]
    assert (distance(with_marks[rug], LIGHT.others) < 40).any()


def test_nothing_hidden_shows(make_scene: SceneMaker) -> None:
    """Other truths, same beliefs: the pictures without true skills are equal."""
    scene = make_scene(show_true_skill=False)
    assert scene.true_skill is None
    text = {entry[2] for entry in legend(scene, LIGHT)}
    assert not any("true" in each for each in text)


def written_boxes(
    monkeypatch: pytest.MonkeyPatch, scene: Scene, width: int, height: int
) -> list[tuple[str, float, float, float, float]]:
    """Each text of a picture and the rectangle that its letters take."""
    boxes = []
    original = Canvas.text

    def text(self: Canvas, x: float, y: float, string: str, size: int, *rest: Any, **named: Any):
        wide = original(self, x, y, string, size, *rest, **named)
        shift = {"left": 0.0, "centre": wide / 2, "right": wide}[named.get("anchor", "left")]
        # Lines stand apart by more than their letters are high.
        free = 0.2 * line_height(size)
        boxes.append((string, x - shift, y + free, x - shift + wide, y + line_height(size) - free))
        return wide

    monkeypatch.setattr(Canvas, "text", text)
    draw_scene(scene, width, height)
    return boxes


@pytest.mark.parametrize(
    ("num_opponents", "horizon"), [(1, 1), (9, 40), (49, 500), (1000, 1_000_000)]
)
@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("shown", [True, False])
def test_no_text_lies_on_another_or_is_cut(
    make_scene: SceneMaker,
    monkeypatch: pytest.MonkeyPatch,
    num_opponents: int,
    width: int,
    height: int,
    shown: bool,
    horizon: int,
) -> None:
    scene = make_scene(
        num_opponents, min(horizon, 3), horizon=horizon, show_true_skill=shown, rank="top"
    )
    scene = replace(scene, title="knowledge_gradient:finite_horizon=True,belief=full " * 3)
    boxes = written_boxes(monkeypatch, scene, width, height)
    assert len(boxes) > 15
    for string, left, top, right, bottom in boxes:
        assert left >= 0, string
        assert right <= width, string
        assert top >= 0, string
        assert bottom <= height, string
    for one, other in itertools.combinations(boxes, 2):
        apart = one[3] <= other[1] or other[3] <= one[1] or one[4] <= other[2] or other[4] <= one[2]
        assert apart, (one, other)


def test_the_numbers_are_those_of_the_scene(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = two_apart(
        opponents=np.array([0, 1, 0]),
        outcomes=np.array([1, -1, 0]),
        draw_density=np.array([0.1, 0.2, 0.3]),
        true_draw_density=np.array([0.01, 0.02, 0.035]),
    )
    said = [box[0] for box in written_boxes(monkeypatch, scene, WIDTH, HEIGHT)]
    for text in (
        "draw vs 1",
        "33 %",
        "0.035",
        "0.065",
        "7",
        "game 3 of 10",
        "player 0   μ −3.00  σ 0.50",
    ):
        assert text in said
    assert "total true q" in said
    hidden = replace(scene, true_skill=None, true_draw_density=None)
    said = [box[0] for box in written_boxes(monkeypatch, hidden, WIDTH, HEIGHT)]
    assert "0.600" in said
    assert not any("true" in text for text in said)


@pytest.mark.parametrize(
    ("mu", "sigma", "range_"),
    [
        (np.array([1e30, -1e30]), np.array([1e28, 1.0]), (-1.1e30, 1.1e30)),
        (np.zeros(2), np.full(2, 1e-30), (-1e-6, 1e-6)),
        (np.zeros(2), np.array([1e-30, 1e3]), (-2500.0, 2500.0)),
    ],
)
def test_extreme_beliefs_are_drawn_without_a_warning(
    mu: np.ndarray, sigma: np.ndarray, range_: tuple[float, float]
) -> None:
    scene = two_apart(
        mu=mu, sigma=sigma, skill_range=range_, true_skill=mu, first_sigma=float(np.median(sigma))
    )
    with np.errstate(all="raise", under="ignore"):
        assert draw_scene(scene).shape == (HEIGHT, WIDTH, 3)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ((0, 600), "width must be"),
        ((800, 0), "height must be"),
        ((800, -1), "height must be"),
        ((LEAST_WIDTH - 1, 600), f"width must be .*{LEAST_WIDTH}"),
        ((800.5, 600), "width must be"),
    ],
)
def test_bad_sizes_are_named(size: tuple[Any, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw_scene(two_apart(), *size)


def test_pictures_in_rows() -> None:
    pictures = [np.full((2, 3, 3), value, dtype=np.uint8) for value in (1, 2, 3)]
    whole = tiled(pictures, (9, 9, 9), gap=1)
    assert whole.shape == (5, 7, 3)
    assert (whole[:2, :3] == 1).all()
    assert (whole[:2, 4:] == 2).all()
    assert (whole[3:, :3] == 3).all()
    assert (whole[3:, 4:] == 9).all()
    assert (whole[:, 3] == 9).all()
    assert [grid_shape(count) for count in (1, 2, 3, 4, 5, 6)] == [
        (1, 1), (1, 2), (2, 2), (2, 2), (2, 3), (2, 3)
    ]  # fmt: skip


def test_long_titles_end_in_an_ellipsis() -> None:
    short = shortened("knowledge gradient", 15, 80.0)
    assert short.endswith("…")
    assert text_width(short, 15) <= 80
    assert shortened("knowledge", 15, 500.0) == "knowledge"
    assert shortened("knowledge", 15, 1.0) == ""


def contrast(one: Colour, other: Colour) -> float:
    """Contrast ratio of WCAG 2.2."""

    def luminance(colour: Colour) -> float:
        share = np.array(colour) / 255.0
        linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_can_be_read(theme: Theme) -> None:
    for text in (theme.ink, theme.muted, theme.truth):
        assert contrast(text, theme.background) >= 4.5
    for line in (theme.player, theme.opponent):
        assert contrast(line, theme.background) >= 3.0


# Machado, Oliveira and Fernandes (2009), severity 1, on linear light.
BLINDNESS = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                   [0.004733, 0.691367, 0.303900]],
}  # fmt: skip


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("kind", BLINDNESS)
def test_players_are_told_apart_without_some_cones(theme: Theme, kind: str) -> None:
    def seen(colour: Colour) -> np.ndarray:
        share = np.array(colour) / 255.0
        linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
        return np.clip(np.array(BLINDNESS[kind]) @ linear, 0.0, 1.0) ** (1 / 2.2)

    for one, other in itertools.combinations((theme.player, theme.opponent, theme.others), 2):
        assert np.linalg.norm(seen(one) - seen(other)) > 0.2
