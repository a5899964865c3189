"""A picture to draw on: text and rectangles by pygame, smooth curves as coverage of pixels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import as_file, files
from typing import Any, Literal

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

import numpy as np
import pygame
import pygame.font
import pygame.image
from numpy.typing import NDArray

from matchenv.rendering.theme import Colour
from matchenv.runtime.compile import compiled

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]
Anchor = Literal["left", "centre", "right"]
ELLIPSIS = "…"


class Canvas:
    """A picture in progress. Positions are in pixels from the top left corner.

    Args:
        width: in pixels.
        height: in pixels.
        background: its colour at first.

    Attributes:
        pixels: the picture, uint8, shape (height, width, 3).
    """

    def __init__(self, width: int, height: int, background: Colour) -> None:
        self.width = width
        self.height = height
        self.pixels: Pixels = np.empty((height, width, 3), dtype=np.uint8)
        # pygame and numpy write into the same memory.
        self.surface = pygame.image.frombuffer(self.pixels.data, (width, height), "RGB")
        self.surface.fill(background)

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
        """Write one line and give its width.

        Args:
            x: of the left end, the centre or the right end, as ``anchor`` says.
            y: of the top of the line.
            string: what to write.
            size: of the letters, in pixels.
            colour: of the letters.
            bold: half bold instead of regular.
            anchor: which point of the line ``x`` is.
        """
        written = _written(string, size, bold, colour)
        width = written.get_width()
        shift = {"left": 0.0, "centre": width / 2, "right": float(width)}[anchor]
        self.surface.blit(written, (round(x - shift), round(y)))
        return width

    def box(self, x: float, y: float, width: float, height: float, colour: Colour) -> None:
        """Fill a rectangle."""
        corner = round(x), round(y)
        self.surface.fill(colour, (*corner, max(1, round(width)), max(1, round(height))))

    def dashes(self, x: float, y: float, length: float, colour: Colour, dash: int = 4) -> None:
        """A horizontal line of dashes, one pixel high, from ``x`` on."""
        self.pixels[round(y), _dashes(x, length, dash)] = colour

    def upright_dashes(
        self, x: float, y: float, length: float, colour: Colour, dash: int = 4
    ) -> None:
        """A vertical line of dashes, one pixel wide, from ``y`` down."""
        self.pixels[_dashes(y, length, dash), round(x)] = colour

    def polyline(self, points: Sequence[tuple[float, float]], colour: Colour) -> None:
        """A smooth line of one pixel through points."""
        pygame.draw.aalines(self.surface, colour, False, points)

    def triangle(self, x: float, y: float, size: float, colour: Colour) -> None:
        """A triangle that points up, with its tip at (x, y), smooth at its edges."""
        tip_x, tip_y = round(x), round(y)
        rows = np.arange(np.ceil(size))[:, np.newaxis] + 0.5
        half = np.ceil(size / 1.6)
        columns = np.abs(np.arange(-half, half + 1.0))[np.newaxis]
        coverage = np.clip(rows / 1.7 + 0.5 - columns, 0.0, 1.0)
        self.cover(int(tip_x - half), tip_y, coverage, colour)

    def cover(self, x: int, y: int, coverage: Floats, colour: Colour) -> None:
        """Mix a colour into the pixels from (x, y) on; what lies outside is left away.

        Args:
            x: left column.
            y: top row.
            coverage: shape (rows, columns), 0 leaves a pixel as it is, 1 replaces it.
            colour: what to mix in.
        """
        _mix(self.pixels, np.ascontiguousarray(coverage, dtype=np.float64), x, y, *colour)


@compiled
def _mix(pixels: Pixels, coverage: Floats, x: int, y: int, red: int, green: int, blue: int) -> None:
    """Mix a colour into pixels, as ``Canvas.cover`` says; each pixel is looked at once."""
    height, width, _ = pixels.shape
    rows, columns = coverage.shape
    for row in range(max(0, -y), min(rows, height - y)):
        for column in range(max(0, -x), min(columns, width - x)):
            part = coverage[row, column]
            if part > 0.0:
                pixel = pixels[y + row, x + column]
                pixel[0] = np.uint8(pixel[0] + (red - pixel[0]) * part + 0.5)
                pixel[1] = np.uint8(pixel[1] + (green - pixel[1]) * part + 0.5)
                pixel[2] = np.uint8(pixel[2] + (blue - pixel[2]) * part + 0.5)


def _dashes(start: float, length: float, dash: int) -> NDArray[np.int64]:
    steps = np.arange(int(length))
    return round(start) + steps[steps % (2 * dash) < dash]


@lru_cache(maxsize=2048)
def text_width(string: str, size: int, *, bold: bool = False) -> int:
    """Pixels that a line of text is wide."""
    return int(_font(size, bold).size(string)[0])


@lru_cache(maxsize=64)
def line_height(size: int) -> int:
    """Pixels from one line of text to the next."""
    return int(_font(size, False).get_linesize())


def shortened(string: str, size: int, width: float, *, bold: bool = False) -> str:
    """The text if it is no wider than ``width`` pixels, else its start and an ellipsis."""
    if text_width(string, size, bold=bold) <= width:
        return string
    for end in range(len(string) - 1, 0, -1):
        start = string[:end].rstrip() + ELLIPSIS
        if text_width(start, size, bold=bold) <= width:
            return start
    return ""


def mixed(colour: Colour, other: Colour, part: float) -> Colour:
    """``part`` of a colour over the other."""
    red, green, blue = (round(b + part * (a - b)) for a, b in zip(colour, other, strict=True))
    return red, green, blue


# Labels repeat from frame to frame; numbers do not, so the oldest are forgotten.
_MOST_TEXTS = 512
_texts: dict[tuple[str, int, bool, Colour], Any] = {}
_fonts: dict[tuple[int, bool], Any] = {}


def _font(size: int, bold: bool) -> Any:
    if not pygame.font.get_init():
        pygame.font.init()
    font = _fonts.get((size, bold))
    if font is None or not _is_alive(font):
        face = "Inter-SemiBold.otf" if bold else "Inter-Regular.otf"
        with as_file(files("matchenv.rendering") / "fonts" / face) as path:
            font = _fonts[size, bold] = pygame.font.Font(str(path), size)
    return font


def _is_alive(font: Any) -> bool:
    """False for a font of before ``pygame.quit()``, which anybody may call at any time."""
    try:
        font.get_height()
    except pygame.error:
        return False
    return True


def _written(string: str, size: int, bold: bool, colour: Colour) -> Any:
    key = (string, size, bold, colour)
    if key not in _texts:
        if len(_texts) >= _MOST_TEXTS:
            del _texts[next(iter(_texts))]
        _texts[key] = _font(size, bold).render(string, True, colour)
    return _texts[key]
