"""A canvas: colours, sizes, text, and shapes that pygame draws at twice the size.

pygame is imported by the first picture, so that texts of an episode do without it. Scaling the
shapes down smooths their edges. Text is drawn last, at its final size, so that it is as sharp as
the font allows. Positions are in pixels from the top left corner.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.core.rendering import Pixels

Floats = NDArray[np.float64]
Colour = tuple[int, int, int]
Anchor = Literal["left", "centre", "right"]

FONTS = Path(__file__).parent / "fonts"
ELLIPSIS = "…"

# Shapes are drawn this many times as large.
SCALE = 2

# The sizes below are for a picture of this size; others scale, but text stays readable.
DESIGN_WIDTH, DESIGN_HEIGHT = 800, 600


class Theme(NamedTuple):
    """Colours of a picture, readable and distinguishable for colour-blind people too.

    The strong colours are those of Okabe and Ito (2008), in two strengths: for a light and for a
    dark background. Nothing depends on colour alone: players are named, outcomes are words.

    Attributes:
        background: of the whole picture.
        ink: important text.
        muted: explanations and axes.
        grid: lines behind the data.
        player: player 0, or the focal player of a queue.
        opponent: the chosen opponent.
        others: all other players.
        truth: quantities under the true skills.
        lines: curves of compared policies, one after another.
    """

    background: Colour
    ink: Colour
    muted: Colour
    grid: Colour
    player: Colour
    opponent: Colour
    others: Colour
    truth: Colour
    lines: tuple[Colour, ...]


THEMES = {
    "light": Theme(
        background=(255, 255, 255),
        ink=(27, 31, 36),
        muted=(92, 101, 112),
        grid=(226, 230, 235),
        player=(0, 114, 178),
        opponent=(213, 94, 0),
        others=(126, 137, 150),
        truth=(0, 134, 98),
        lines=((0, 134, 98), (168, 72, 128), (0, 114, 178), (213, 94, 0), (120, 110, 20)),
    ),
    "dark": Theme(
        background=(15, 20, 26),
        ink=(232, 236, 241),
        muted=(155, 166, 178),
        grid=(42, 50, 60),
        player=(86, 180, 233),
        opponent=(240, 163, 20),
        others=(135, 148, 163),
        truth=(40, 190, 145),
        lines=((40, 190, 145), (222, 140, 190), (86, 180, 233), (240, 163, 20), (214, 206, 90)),
    ),
}


class Box(NamedTuple):
    """A rectangle."""

    x: int
    y: int
    width: int
    height: int

    @property
    def right(self) -> int:
        """The column after the last."""
        return self.x + self.width

    @property
    def bottom(self) -> int:
        """The row below the last."""
        return self.y + self.height


class Sizes(NamedTuple):
    """Sizes of text and of empty space, in pixels.

    Attributes:
        title: text of the title.
        body: names.
        small: labels and ticks.
        value: large numbers.
        gap: empty space at the edges and between parts.
        mark: height of the marks of true skills.
        thick: width of important lines.
    """

    title: int
    body: int
    small: int
    value: int
    gap: int
    mark: int
    thick: float

    @classmethod
    def of(cls, width: int, height: int) -> Sizes:
        """Return the sizes for a picture."""
        scale = min(width / DESIGN_WIDTH, height / DESIGN_HEIGHT)
        return cls(
            title=max(14, round(20 * scale)),
            body=max(12, round(15 * scale)),
            small=max(11, round(13 * scale)),
            value=max(15, round(23 * scale)),
            gap=max(8, round(20 * scale)),
            mark=max(5, round(9 * scale)),
            thick=max(1.6, 2.4 * scale),
        )


class Canvas:
    """A picture in progress.

    Args:
        width: in pixels.
        height: in pixels.
        theme: its colours.
        sizes: None for those of a picture of this size.
    """

    def __init__(self, width: int, height: int, theme: Theme, sizes: Sizes | None = None) -> None:
        import pygame

        self.width, self.height, self.theme = width, height, theme
        self.sizes = Sizes.of(width, height) if sizes is None else sizes
        self._shapes = pygame.Surface((SCALE * width, SCALE * height), depth=32)
        self._shapes.fill(theme.background)
        self._texts: list[tuple[Any, tuple[int, int]]] = []

    def pixels(self) -> Pixels:
        """Return the picture, uint8, shape (height, width, 3)."""
        import pygame

        size = self.width, self.height
        pixels = np.empty((self.height, self.width, 3), dtype=np.uint8)
        surface = pygame.image.frombuffer(pixels.data, size, "RGB")
        surface.blit(pygame.transform.smoothscale(self._shapes, size), (0, 0))
        surface.blits(self._texts, doreturn=False)
        return pixels

    def text(
        self,
        x: float,
        y: float,
        string: str,
        size: int,
        colour: Colour,
        *,
        bold: bool = False,
        anchor: Anchor = "left",
    ) -> int:
        """Write one line and return its width.

        Args:
            x: of the line's left end, centre or right end, by ``anchor``.
            y: of its top.
            string: the text.
            size: in pixels.
            colour: of the text.
            bold: semi-bold instead of regular.
            anchor: the point of the line at ``x``.
        """
        written = _written(string, size, bold, colour)
        width: int = written.get_width()
        shift = {"left": 0.0, "centre": width / 2, "right": float(width)}[anchor]
        self._texts.append((written, (round(x - shift), round(y))))
        return width

    def box(self, x: float, y: float, width: float, height: float, colour: Colour) -> None:
        """Fill a rectangle of whole pixels, at least one wide and high."""
        sides = round(x), round(y), max(1, round(width)), max(1, round(height))
        self._shapes.fill(colour, [SCALE * side for side in sides])

    def dashes(self, box: Box, colour: Colour, dash: int = 4) -> None:
        """Draw a line of dashes along the longer side of a box."""
        for start in range(0, max(box.width, box.height), 2 * dash):
            if box.width >= box.height:
                self.box(box.x + start, box.y, min(dash, box.width - start), box.height, colour)
            else:
                self.box(box.x, box.y + start, box.width, min(dash, box.height - start), colour)

    def line(self, x: Floats, y: Floats, colour: Colour, width: float) -> None:
        """Draw a smooth line through points; one point is a dot."""
        import pygame

        # For pygame a line goes through the centres of pixels.
        points = _points(x - 0.5 / SCALE, y - 0.5 / SCALE)
        thick = round(SCALE * width)
        if len(points) == 1:
            self.dots(x, y, width / 2, colour)
        elif thick <= SCALE:
            pygame.draw.lines(self._shapes, colour, False, points, thick)
        else:
            for start, end in pairwise(points):
                # pygame measures the width along the axis that the line crosses more steeply.
                right, down = abs(end[0] - start[0]), abs(end[1] - start[1])
                across = math.hypot(right, down) / max(right, down, 1e-9)
                pygame.draw.aaline(self._shapes, colour, start, end, max(1, round(thick * across)))
                pygame.draw.circle(self._shapes, colour, end, thick / 2 - 1)

    def area(self, x: Floats, y: Floats, colour: Colour, opacity: float = 1.0) -> None:
        """Fill a polygon."""
        import pygame

        points = _points(x, y)
        if opacity == 1.0:
            pygame.draw.polygon(self._shapes, colour, points)
            return
        left, right = self._within(x, self.width)
        top, bottom = self._within(y, self.height)
        layer = pygame.Surface((right - left, bottom - top), pygame.SRCALPHA)
        shifted = [(across - left, down - top) for across, down in points]
        pygame.draw.polygon(layer, (*colour, round(255 * opacity)), shifted)
        self._shapes.blit(layer, (left, top))

    def triangle(self, x: float, y: float, height: float, colour: Colour) -> None:
        """Draw a triangle that points up, with its tip at (x, y)."""
        half = height / 1.7
        self.area(np.array([x, x + half, x - half]), np.array([y, y + height, y + height]), colour)

    def dots(self, x: Floats, y: Floats, radius: float, colour: Colour) -> None:
        """Draw discs around points."""
        import pygame

        for place in np.unique(np.round(SCALE * x) + 1j * np.round(SCALE * y)).tolist():
            centre = place.real, place.imag
            pygame.draw.circle(self._shapes, colour, centre, SCALE * radius)

    def layers(self, box: Box, heights: Floats, colours: Iterable[Colour]) -> None:
        """Colour each point of a box by the number of areas that cover it.

        Args:
            box: the areas are on its lower edge; they hide what is there.
            heights: of each area in pixels, shape (K, SCALE * width of the box).
            colours: for 0 to K areas; points outside all are left as they are.
        """
        import pygame

        highest = min(float(heights.max()), box.height)
        rows, columns = round(SCALE * highest), SCALE * box.width
        tops = np.rint(SCALE * heights).clip(0, rows).astype(np.int64)
        cells = (tops + np.arange(columns) * (rows + 1)).ravel()
        ending = np.bincount(cells, minlength=columns * (rows + 1)).reshape(columns, rows + 1)
        covering = ending[:, :0:-1].cumsum(axis=1)
        table = np.array([self._shapes.map_rgb(colour) for colour in colours], dtype=np.uint32)
        left, bottom = SCALE * box.x, SCALE * box.bottom
        target = pygame.surfarray.pixels2d(self._shapes)
        view = target[left : left + columns, bottom - rows : bottom]
        np.copyto(view, table[covering], where=covering > 0)

    def clip(self, box: Box | None) -> None:
        """Draw shapes within a box only; None: everywhere."""
        self._shapes.set_clip(None if box is None else [SCALE * side for side in box])

    def _within(self, values: Floats, limit: int) -> tuple[int, int]:
        """Return the range of whole positions of a layer that holds values, not empty."""
        low = min(max(int(SCALE * values.min()) - 1, 0), SCALE * limit - 1)
        return low, min(max(int(SCALE * values.max()) + 2, low + 1), SCALE * limit)


def tiled(
    pictures: Sequence[Pixels], colour: Colour, columns: int | None = None, gap: int = 0
) -> Pixels:
    """Return pictures of equal size in rows, from left to right.

    Args:
        pictures: each uint8 of shape (height, width, 3).
        colour: between them, and where the last row has none.
        columns: pictures in a row; None for a shape near a square, rather wide than high.
        gap: pixels between two pictures.
    """
    columns = int(np.ceil(np.sqrt(len(pictures)))) if columns is None else columns
    rows = -(-len(pictures) // columns)
    height, width, _ = pictures[0].shape
    shape = (rows * (height + gap) - gap, columns * (width + gap) - gap, 3)
    whole = np.full(shape, colour, dtype=np.uint8)
    for place, picture in enumerate(pictures):
        y, x = (height + gap) * (place // columns), (width + gap) * (place % columns)
        whole[y : y + height, x : x + width] = picture
    return whole


def mixed(colour: Colour, other: Colour, share: float) -> Colour:
    """Return ``share`` of a colour over another."""
    red, green, blue = (round(b + share * (a - b)) for a, b in zip(colour, other, strict=True))
    return red, green, blue


@lru_cache(maxsize=2048)
def text_width(string: str, size: int, *, bold: bool = False) -> int:
    """Return the width of a line of text in pixels."""
    return int(_font(size, bold).size(string)[0])


@lru_cache(maxsize=64)
def line_height(size: int) -> int:
    """Return the pixels from one line of text to the next."""
    return int(_font(size, False).get_linesize())


def shortened(string: str, size: int, width: float, *, bold: bool = False) -> str:
    """Return the text if it is no wider than ``width`` pixels, else its start and an ellipsis."""
    if text_width(string, size, bold=bold) <= width:
        return string
    for end in range(len(string) - 1, 0, -1):
        start = string[:end].rstrip() + ELLIPSIS
        if text_width(start, size, bold=bold) <= width:
            return start
    return ""


def number_text(value: float, places: int | None) -> str:
    """Return a number with a true minus sign and commas between thousands.

    Args:
        value: the number.
        places: digits after the point; None for three significant digits.
    """
    written = f"{value:.3g}" if places is None else f"{value:,.{places}f}"
    if float(written.replace(",", "")) == 0.0:
        written = written.lstrip("-")
    return written.replace("-", "−")


def _points(x: Floats, y: Floats) -> list[tuple[float, float]]:
    return list(zip((SCALE * x).tolist(), (SCALE * y).tolist(), strict=True))


def _font(size: int, bold: bool) -> Any:
    """Return a new font: one made before ``pygame.quit()``, which anyone may call, is invalid."""
    import pygame

    pygame.font.init()
    face = "Inter-SemiBold.otf" if bold else "Inter-Regular.otf"
    return pygame.font.Font(FONTS / face, size)


@lru_cache(maxsize=512)
def _written(string: str, size: int, bold: bool, colour: Colour) -> Any:
    return _font(size, bold).render(string, True, colour)
