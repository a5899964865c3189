"""A canvas that pygame draws on, with its themes and sizes; and the window that shows pictures.

Shapes are drawn at twice the size, and scaling them down smooths their edges. Text is drawn last,
at its final size, so that it is as sharp as the font allows. Positions are in pixels from the top
left corner.
"""

from __future__ import annotations

import math
import os
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

import numpy as np
import pygame
import pygame.gfxdraw
from numpy.typing import NDArray
from pygame import Rect

from matchenv.envs.core.rendering import Pixels

Floats = NDArray[np.float64]

Colour = tuple[int, int, int]

FONTS = Path(__file__).parent / "fonts"

# Shapes are drawn this many times as large.
SCALE = 2

# pygame holds the corners of an area as 16-bit integers.
FURTHEST = 30_000

# From one line of text to the next, by the size of its letters.
LINE_HEIGHT = 1.21

# Colours of a picture, readable and distinguishable for colour-blind people too: those of Okabe and
# Ito (2008), in two strengths. Nothing depends on colour alone: players are named, outcomes are
# words. "muted" is for explanations and axes, "truth" for quantities under the true skills. Each is
# given for a light and for a dark theme.
COLOURS: dict[str, tuple[Colour, Colour]] = {
    "background": ((255, 255, 255), (15, 20, 26)),
    "ink": ((27, 31, 36), (232, 236, 241)),
    "muted": ((92, 101, 112), (155, 166, 178)),
    "grid": ((226, 230, 235), (42, 50, 60)),
    "player": ((0, 114, 178), (86, 180, 233)),
    "opponent": ((213, 94, 0), (240, 163, 20)),
    "others": ((126, 137, 150), (135, 148, 163)),
    "truth": ((0, 134, 98), (40, 190, 145)),
    "purple": ((168, 72, 128), (222, 140, 190)),
    "olive": ((120, 110, 20), (214, 206, 90)),
}
THEMES = {
    theme: {name: pair[place] for name, pair in COLOURS.items()}
    for place, theme in enumerate(("light", "dark"))
}

# SDL's drivers for machines without a screen.
UNSEEN = ("offscreen", "dummy")
REMEDY = (
    "where there is no screen, write pictures to files (render_mode='rgb_array', "
    "matchenv watch --out FILE.gif) or set SDL_VIDEODRIVER=dummy"
)


class Canvas:
    """A picture in progress.

    Args:
        width: in pixels.
        height: in pixels.
        theme: a name of ``THEMES``.
        scale: of texts and gaps, 1 for those of a picture of 800 x 600; text stays readable.

    Attributes:
        title: size of the title's text; ``body`` is that of names, ``small`` of labels and ticks,
            ``value`` of large numbers.
        gap: empty space at the edges and between parts.
        mark: height of the marks of true skills.
        thick: width of important lines.
    """

    def __init__(self, width: int, height: int, theme: str, scale: float = 1.0) -> None:
        self.size, self.theme = (width, height), THEMES[theme]
        self.title, self.body = max(14, round(20 * scale)), max(12, round(15 * scale))
        self.small, self.value = max(11, round(13 * scale)), max(15, round(23 * scale))
        self.gap, self.mark = max(8, round(20 * scale)), max(5, round(9 * scale))
        self.thick = max(1.6, 2.4 * scale)
        self._shapes = pygame.Surface((SCALE * width, SCALE * height), depth=32)
        self._shapes.fill(self.theme["background"])
        self._texts: list[tuple[Any, tuple[int, int]]] = []

    def pixels(self) -> Pixels:
        """Return the picture, uint8, shape (height, width, 3)."""
        pixels = np.empty((*self.size[::-1], 3), dtype=np.uint8)
        surface = pygame.image.frombuffer(pixels.data, self.size, "RGB")
        surface.blit(pygame.transform.smoothscale(self._shapes, self.size), (0, 0))
        surface.blits(self._texts, doreturn=False)
        return pixels

    def colour(self, name: str, share: float = 1.0) -> Colour:
        """Return a share of a colour of the theme over the background."""
        pairs = zip(self.theme[name], self.theme["background"], strict=True)
        red, green, blue = (round(below + share * (above - below)) for above, below in pairs)
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
        """Write one line with its top at y, and return its width.

        ``anchor`` is the share of the width to the left of x.
        """
        written = _written(text, size, bold, self.colour(colour))
        width: int = written.get_width()
        self._texts.append((written, (round(x - anchor * width), round(y))))
        return width

    def width(self, text: str, size: int, bold: bool = False) -> int:
        """Return the width of a line of text in pixels."""
        return int(_written(text, size, bold, (0, 0, 0)).get_width())

    def shortened(self, text: str, size: int, width: float, bold: bool = False) -> str:
        """Return the text if it is no wider than ``width`` pixels, else its start, an ellipsis."""
        starts = (text[:end].rstrip() + "…" for end in range(len(text) - 1, 0, -1))
        fitting = (each for each in (text, *starts) if self.width(each, size, bold) <= width)
        return next(fitting, "")

    def box(
        self, x: float, y: float, width: float, height: float, colour: str, share: float = 1.0
    ) -> None:
        """Fill a rectangle of whole pixels, at least one wide and high."""
        sides = round(x), round(y), max(1, round(width)), max(1, round(height))
        self._shapes.fill(self.colour(colour, share), [SCALE * side for side in sides])

    def dashes(self, box: Rect, colour: str, dash: int) -> None:
        """Draw a line of dashes along the longer side of a box."""
        x, y, width, height = box
        for start in range(0, max(width, height), 2 * dash):
            if width >= height:
                self.box(x + start, y, min(dash, width - start), height, colour)
            else:
                self.box(x, y + start, width, min(dash, height - start), colour)

    def line(self, x: Floats, y: Floats, width: float, colour: str, share: float = 1.0) -> None:
        """Draw a smooth line through points; one point is a dot."""
        # For pygame a line goes through the centres of pixels.
        points, paint = _points(x - 0.5 / SCALE, y - 0.5 / SCALE), self.colour(colour, share)
        thick = round(SCALE * width)
        if len(points) == 1:
            self.dots(x, y, width / 2, colour, share)
        elif thick <= SCALE:
            pygame.draw.lines(self._shapes, paint, False, points, thick)
        else:
            for start, end in pairwise(points):
                # pygame measures the width along the axis that the line crosses more steeply.
                right, down = abs(end[0] - start[0]), abs(end[1] - start[1])
                across = math.hypot(right, down) / max(right, down, 1e-9)
                pygame.draw.aaline(self._shapes, paint, start, end, max(1, round(thick * across)))
                pygame.draw.circle(self._shapes, paint, end, thick / 2 - 1)

    def area(self, x: Floats, y: Floats, colour: str, opacity: float = 1.0) -> None:
        """Fill a polygon."""
        points = _points(*(np.clip(each, -FURTHEST / SCALE, FURTHEST / SCALE) for each in (x, y)))
        shade = *self.colour(colour), round(255 * opacity)
        pygame.gfxdraw.filled_polygon(self._shapes, points, shade)

    def triangle(self, x: float, y: float, height: float, colour: str) -> None:
        """Draw a triangle that points up, with its tip at (x, y)."""
        sides, down = np.array([0.0, height / 1.7, -height / 1.7]), np.array([0.0, height, height])
        self.area(x + sides, y + down, colour)

    def dots(self, x: Floats, y: Floats, radius: float, colour: str, share: float = 1.0) -> None:
        """Draw discs around points."""
        for place in np.unique(np.round(SCALE * x) + 1j * np.round(SCALE * y)).tolist():
            middle, paint = (place.real, place.imag), self.colour(colour, share)
            pygame.draw.circle(self._shapes, paint, middle, SCALE * radius)

    def clip(self, box: Rect | None) -> None:
        """Draw shapes within a box only; None: everywhere."""
        self._shapes.set_clip(None if box is None else [SCALE * side for side in box])


class Window:
    """A window, opened with the first picture.

    Args:
        caption: in its title bar.
    """

    def __init__(self, caption: str = "matchenv") -> None:
        self.caption = caption
        self._screen: Any = None
        self._clock = pygame.time.Clock()

    def show(self, picture: Pixels, frames_per_second: float) -> list[str]:
        """Show a picture until a frame's time has passed since the end of the last call.

        Args:
            picture: uint8, shape (height, width, 3); the window takes its size.
            frames_per_second: of the film that the pictures make.

        Returns:
            pygame's names of the keys pressed since the last call, ``"close"`` for the window's.

        Raises:
            OSError: if no window can be opened, or none that is seen; it says what helps.
        """
        size = picture.shape[1], picture.shape[0]
        if self._screen is None or self._screen.get_size() != size:
            try:
                pygame.display.init()
                self._screen = pygame.display.set_mode(size)
            except pygame.error as error:
                raise OSError(f"no window can be opened ({error}); {REMEDY}") from error
            pygame.display.set_caption(self.caption)
        if pygame.display.get_driver() in UNSEEN and not os.environ.get("SDL_VIDEODRIVER"):
            raise OSError(f"the window would be invisible; {REMEDY}")
        data = np.ascontiguousarray(picture).data
        self._screen.blit(pygame.image.frombuffer(data, size, "RGB"), (0, 0))
        pygame.display.flip()
        pressed = [
            "close" if event.type == pygame.QUIT else pygame.key.name(event.key)
            for event in pygame.event.get()
            if event.type in (pygame.QUIT, pygame.KEYDOWN)
        ]
        self._clock.tick(frames_per_second)
        return pressed

    def close(self) -> None:
        """Close the window, if it is open."""
        if self._screen is not None:
            self._screen = None
            pygame.display.quit()


def line_height(size: int) -> int:
    """Return the pixels from one line of text to the next."""
    return math.ceil(LINE_HEIGHT * size)


def _points(x: Floats, y: Floats) -> list[tuple[float, float]]:
    return list(zip((SCALE * x).tolist(), (SCALE * y).tolist(), strict=True))


@lru_cache(maxsize=2048)
def _written(string: str, size: int, bold: bool, colour: Colour) -> Any:
    # A font made before ``pygame.quit()``, which anyone may call, would be invalid.
    pygame.font.init()
    face = "Inter-SemiBold.otf" if bold else "Inter-Regular.otf"
    return pygame.font.Font(FONTS / face, size).render(string, True, colour)
