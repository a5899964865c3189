"""A canvas for shapes and text, drawn with pygame.

Shapes are drawn at twice the size and scaled down, which smooths their edges. Text is drawn last at
its final size, which keeps it sharp. Coordinates are pixels from the top left corner.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pygame
import pygame.gfxdraw
from pygame import Rect

from matchenv.envs.core.rendering import Pixels
from matchenv.runtime.arrays import Floats

Colour = tuple[int, int, int]

FONTS = Path(__file__).parent / "fonts"
SCALE = 2  # supersampling factor of shapes
FURTHEST = 30_000  # pygame stores the corners of polygons as 16-bit integers
LINE_HEIGHT = 1.21  # distance between lines of text, by the font size
TRIANGLE_ASPECT = 1.7  # height of a triangle, by half its base

# The palette of Okabe and Ito (2008), which colour-blind people can distinguish. Colour never
# carries information alone, and has one meaning in all pictures: "ink" is for the main quantity,
# "muted" for axes, notes and reference lines, "truth" for quantities under the true skills (with
# "uneven" at the low end of a scale), "game" for current games. "second" to "fifth" are lines of
# policies, after "ink".
THEMES: dict[str, dict[str, Colour]] = {
    "light": {
        "background": (255, 255, 255),
        "ink": (27, 31, 36),
        "muted": (92, 101, 112),
        "grid": (226, 230, 235),
        "player": (0, 114, 178),
        "opponent": (213, 94, 0),
        "others": (126, 137, 150),
        "truth": (0, 134, 98),
        "uneven": (92, 20, 70),
        "game": (120, 110, 20),
        "second": (168, 72, 128),
        "third": (124, 84, 40),
        "fourth": (92, 86, 190),
        "fifth": (190, 40, 60),
    },
    "dark": {
        "background": (15, 20, 26),
        "ink": (232, 236, 241),
        "muted": (155, 166, 178),
        "grid": (42, 50, 60),
        "player": (86, 180, 233),
        "opponent": (240, 163, 20),
        "others": (135, 148, 163),
        "truth": (40, 190, 145),
        "uneven": (176, 108, 160),
        "game": (214, 206, 90),
        "second": (222, 140, 190),
        "third": (205, 160, 110),
        "fourth": (160, 156, 245),
        "fifth": (244, 120, 130),
    },
}


class Canvas:
    """A picture in progress.

    Args:
        width: width in pixels.
        height: height in pixels.
        theme: a name in ``THEMES``.
        scale: factor of font sizes and margins, 1 for a picture of 800 x 600; text stays readable.

    Attributes:
        title: font size of titles.
        body: font size of the legend.
        small: font size of labels and ticks.
        value: font size of large numbers.
        gap: margin at the edges and between charts.
        mark: height of the marks of true skills.
        thick: width of important lines.
    """

    def __init__(self, width: int, height: int, theme: str, scale: float = 1.0) -> None:
        self.size = (width, height)
        self.theme = THEMES[theme]
        self.title = max(14, round(20 * scale))
        self.body = max(12, round(15 * scale))
        self.small = max(11, round(13 * scale))
        self.value = max(15, round(23 * scale))
        self.gap = max(8, round(20 * scale))
        self.mark = max(5, round(9 * scale))
        self.thick = max(1.6, 2.4 * scale)
        self._shapes = pygame.Surface((SCALE * width, SCALE * height), depth=32)
        self._shapes.fill(self.theme["background"])
        self._texts: list[tuple[pygame.Surface, tuple[int, int]]] = []

    def pixels(self) -> Pixels:
        """Return the picture, uint8, shape (height, width, 3)."""
        width, height = self.size
        pixels = np.empty((height, width, 3), dtype=np.uint8)
        surface = pygame.image.frombuffer(pixels.data, self.size, "RGB")
        surface.blit(pygame.transform.smoothscale(self._shapes, self.size), (0, 0))
        surface.blits(self._texts, doreturn=False)
        return pixels

    def colour(self, name: str, share: float = 1.0) -> Colour:
        """Blend a share of a colour of the theme with the background."""
        background = self.theme["background"]
        red, green, blue = (
            round(below + share * (above - below))
            for above, below in zip(self.theme[name], background, strict=True)
        )
        return red, green, blue

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: int,
        colour: str,
        anchor: float = 0.0,
        bold: bool = False,
    ) -> int:
        """Draw one line of text with its top at ``y``, and return its width.

        ``anchor`` is the share of the width to the left of ``x``.
        """
        surface = _rendered(text, size, bold, self.colour(colour))
        width: int = surface.get_width()
        self._texts.append((surface, (round(x - anchor * width), round(y))))
        return width

    def width(self, text: str, size: int, bold: bool = False) -> int:
        """Return the width of a line of text in pixels."""
        return int(_rendered(text, size, bold, (0, 0, 0)).get_width())

    def shortened(self, text: str, size: int, width: float, bold: bool = False) -> str:
        """Return the text, cut with an ellipsis if it is wider than ``width`` pixels."""
        if self.width(text, size, bold) <= width:
            return text
        for length in range(len(text) - 1, 0, -1):
            start = text[:length].rstrip() + "…"
            if self.width(start, size, bold) <= width:
                return start
        return ""

    def box(
        self, x: float, y: float, width: float, height: float, colour: str, share: float = 1.0
    ) -> None:
        """Fill a rectangle of whole pixels, at least 1 x 1."""
        box = Rect(round(x), round(y), max(1, round(width)), max(1, round(height)))
        self._shapes.fill(self.colour(colour, share), _scaled(box))

    def line(self, x: Floats, y: Floats, width: float, colour: str, share: float = 1.0) -> None:
        """Draw a smooth line through points; a single point is a dot, twice as thick."""
        if x.size == 1:
            self.dots(x, y, width, colour, share)
            return
        # pygame's lines pass through the centres of pixels.
        points = _points(x - 0.5 / SCALE, y - 0.5 / SCALE)
        paint = self.colour(colour, share)
        thickness = round(SCALE * width)
        if thickness <= SCALE:
            pygame.draw.lines(self._shapes, paint, False, points, thickness)
            return
        for start, end in pairwise(points):
            # pygame measures the width along the axis that the line crosses more steeply.
            right = abs(end[0] - start[0])
            down = abs(end[1] - start[1])
            slant = math.hypot(right, down) / max(right, down, 1e-9)
            across = max(1, round(thickness * slant))
            pygame.draw.aaline(self._shapes, paint, start, end, across)
            pygame.draw.circle(self._shapes, paint, end, thickness / 2 - 1)

    def area(self, x: Floats, y: Floats, colour: str, opacity: float = 1.0) -> None:
        """Fill a polygon."""
        furthest = FURTHEST / SCALE
        points = _points(np.clip(x, -furthest, furthest), np.clip(y, -furthest, furthest))
        paint = (*self.colour(colour), round(255 * opacity))
        pygame.gfxdraw.filled_polygon(self._shapes, points, paint)

    def triangle(self, x: float, y: float, height: float, colour: str) -> None:
        """Draw a triangle with its tip at (x, y), pointing up."""
        half = height / TRIANGLE_ASPECT
        corners_x = np.array([x, x + half, x - half])
        corners_y = np.array([y, y + height, y + height])
        self.area(corners_x, corners_y, colour)

    def dots(self, x: Floats, y: Floats, radius: float, colour: str, share: float = 1.0) -> None:
        """Draw a disc around each point; points on the same pixel are drawn once."""
        paint = self.colour(colour, share)
        centres = np.column_stack((np.round(SCALE * x), np.round(SCALE * y)))
        for centre in np.unique(centres, axis=0).tolist():
            pygame.draw.circle(self._shapes, paint, centre, SCALE * radius)

    def cells(
        self, x: Floats, y: Floats, size: tuple[float, float], shades: Floats, colour: str
    ) -> None:
        """Fill a rectangle around each point.

        Args:
            x: of the centres, shape (n,).
            y: of the centres, shape (n,).
            size: width and height.
            shades: from 0, the colour "uneven", to 1, ``colour``; shape (n,).
            colour: name of a colour.
        """
        ends = np.array([self.theme["uneven"], self.theme[colour]], dtype=np.float64)
        paints = np.round(ends[0] + shades[:, np.newaxis] * (ends[1] - ends[0])).astype(int)
        width, height = size
        # Rounded edges leave no gaps between neighbours.
        left = np.round(SCALE * (x - 0.5 * width)).astype(int)
        right = np.round(SCALE * (x + 0.5 * width)).astype(int)
        top = np.round(SCALE * (y - 0.5 * height)).astype(int)
        bottom = np.round(SCALE * (y + 0.5 * height)).astype(int)
        corners = np.column_stack((left, top, right - left, bottom - top))
        for corner, paint in zip(corners.tolist(), paints.tolist(), strict=True):
            self._shapes.fill(paint, Rect(corner))

    def clip(self, box: Rect) -> None:
        """Restrict shapes to a box."""
        self._shapes.set_clip(_scaled(box))

    def unclip(self) -> None:
        """Allow shapes in the whole picture again."""
        self._shapes.set_clip(None)


def line_height(size: int) -> int:
    """Return the distance between lines of text in pixels."""
    return math.ceil(LINE_HEIGHT * size)


def _scaled(box: Rect) -> Rect:
    """Return a box in the pixels of shapes."""
    return Rect(SCALE * box.x, SCALE * box.y, SCALE * box.width, SCALE * box.height)


def _points(x: Floats, y: Floats) -> list[tuple[float, float]]:
    """Return points in the pixels of shapes."""
    return list(zip((SCALE * x).tolist(), (SCALE * y).tolist(), strict=True))


@lru_cache(maxsize=2048)
def _rendered(text: str, size: int, bold: bool, colour: Colour) -> Any:
    # A font object would not survive a caller's ``pygame.quit()``.
    pygame.font.init()
    face = "Inter-Regular.otf"
    if bold:
        face = "Inter-SemiBold.otf"
    return pygame.font.Font(FONTS / face, size).render(text, True, colour)
