"""Shapes, texts, ticks and colours, against brute force and published formulas."""

import math
from collections.abc import Callable

import numpy as np
import pygame
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygame import Rect

from matchenv.rendering.picture import THEMES, Canvas, Colour, _rendered, tick_step, ticks
from matchenv.rendering.scene import number_text, widened

ROWS, COLUMNS = 40, 60


def covered(draw: Callable[[Canvas], None]) -> np.ndarray:
    """Return the share of ink in each pixel of a picture."""
    canvas = Canvas(COLUMNS, ROWS, "light")
    canvas.theme = {"background": (255, 255, 255), "ink": (0, 0, 0)}
    draw(canvas)
    return 1.0 - canvas.pixels()[:, :, 0] / 255.0


def distances(x: float, y: float) -> np.ndarray:
    """Return the distance of each pixel's centre from a point."""
    columns, rows = np.meshgrid(np.arange(COLUMNS) + 0.5, np.arange(ROWS) + 0.5)
    return np.hypot(columns - x, rows - y)


@pytest.mark.parametrize("slope", [0.0, 0.7, -3.0])
def test_the_width_of_a_line_does_not_depend_on_its_slope(slope: float) -> None:
    x = np.linspace(5.0, 55.0, 30)
    x = x[np.abs(slope * (x - 30.0)) < 14.0]
    y = 20.0 + slope * (x - 30.0)
    found = covered(lambda canvas: canvas.line(x, y, 3.0, "ink"))
    length = math.hypot(x[-1] - x[0], slope * (x[-1] - x[0]))
    assert found.sum() == pytest.approx(3.0 * length, rel=0.12, abs=8.0)
    nearest = np.min([distances(*place) for place in zip(x, y, strict=True)], axis=0)
    assert (found[nearest > 4.0] == 0.0).all()


def test_dots_and_single_points_are_discs_and_areas_are_transparent() -> None:
    place, away = (np.array([30.3]), np.array([17.8])), distances(30.3, 17.8)
    for found in (
        covered(lambda canvas: canvas.dots(*place, 2.5, "ink")),
        covered(lambda canvas: canvas.line(*place, 5.0, "ink")),
    ):
        assert found.sum() == pytest.approx(math.pi * 2.5**2, rel=0.1)
        assert found[away < 1.5].min() == pytest.approx(1.0)
        assert found[away > 3.5].max() == 0.0
    pale = covered(lambda canvas: canvas.area(*np.array([[0, 60, 30], [0, 0, 40]]), "ink", 0.3))
    assert pale.max() == pytest.approx(0.3, abs=0.01)
    assert pale.mean() == pytest.approx(0.15, abs=0.01)


def test_boxes_fill_whole_pixels_inside_the_clip() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.clip(Rect(0, 0, 50, 40))
        canvas.box(40, 10, 0.2, 5.4, "ink")
        canvas.box(48, 20, 9, 1, "ink", 0.5)

    found = covered(draw)
    assert np.unique(found) == pytest.approx([0.0, 0.5, 1.0], abs=0.01)
    assert found[10:15, 40].sum() == 5
    assert found[20, 48:].sum() == found[:, 38:].sum() - 5 == pytest.approx(1.0, abs=0.01)


@given(low=st.floats(-1e6, 1e6), span=st.floats(1e-6, 1e9), most=st.integers(1, 20))
def test_ticks_are_round_evenly_spaced_and_few(low: float, span: float, most: int) -> None:
    high = low + span
    step = tick_step(high - low, most)
    lead = step / 10.0 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(lead - each) for each in (1.0, 2.0, 5.0, 10.0)) < 1e-6
    found = [value for value, _ in ticks(low, high, most)]
    assert len(found) <= most + 1
    slack = 1e-6 * step + 1e-12 * max(abs(low), abs(high))
    assert all(low - slack <= value <= high + slack for value in found)
    assert np.allclose(np.diff(found), step, rtol=1e-6)


def test_formats_of_numbers_and_limits_of_axes() -> None:
    assert [text for _, text in ticks(-7.3, 5.1, 8)] == ["−6", "−4", "−2", "0", "2", "4"]
    assert [text for _, text in ticks(0.0, 0.1, 2)] == ["0.00", "0.05", "0.10"]
    assert [text for _, text in ticks(-2000.0, 0.0, 2)] == ["−2,000", "−1,000", "0"]
    written = {(-0.001, 2): "0.00", (-1.236, 2): "−1.24", (-1e-7, None): "−1e−07"}
    assert {each: number_text(*each) for each in written} == written
    # Limits grow by whole steps.
    assert widened((0.0, 8.0), (1.0, 7.0)) == (0.0, 8.0)
    assert widened((0.0, 8.0), (0.0, 8.5)) == (0.0, 9.0)
    assert widened((0.0, 8.0), (-1.5, 8.0)) == (-2.0, 8.0)


@pytest.mark.parametrize("anchor", [0.0, 0.5, 1.0])
def test_texts_are_anchored(anchor: float) -> None:
    found = covered(lambda canvas: canvas.text(30, 5, "mm", 12, "ink", anchor))
    middle = np.flatnonzero(found.any(axis=0)).mean()
    width = Canvas(COLUMNS, ROWS, "light").width("mm", 12)
    assert middle - 30 == pytest.approx((0.5 - anchor) * width, abs=1.5)


def test_long_texts_end_in_an_ellipsis_and_fonts_have_all_characters() -> None:
    canvas = Canvas(COLUMNS, ROWS, "light")
    short = canvas.shortened("knowledge gradient", 15, 80.0)
    assert short.endswith("…")
    assert canvas.width(short, 15) <= 80
    assert canvas.shortened("knowledge", 15, 500.0) == "knowledge"
    assert canvas.shortened("knowledge", 15, 1.0) == ""
    for bold in (False, True):
        # The first character is missing, and so rendered as a box.
        surfaces = [_rendered(each, 12, bold, (0, 0, 0)) for each in "\u4e2d→↑↓·μσ−–…é%"]
        missing, *rendered = [pygame.image.tobytes(surface, "RGBA") for surface in surfaces]
        assert missing not in rendered


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast ratio of WCAG 2.2."""
    share = np.array([one, other]) / 255.0
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    dark, bright = sorted(linear @ [0.2126, 0.7152, 0.0722])
    return float((bright + 0.05) / (dark + 0.05))


@pytest.mark.parametrize("theme", THEMES)
def test_colours_have_enough_contrast(theme: str) -> None:
    colours = THEMES[theme]
    least = {"ink": 4.5, "muted": 4.5, "truth": 4.5, "player": 3.0, "opponent": 3.0}
    for name, ratio in least.items():
        assert contrast(colours[name], colours["background"]) >= ratio
