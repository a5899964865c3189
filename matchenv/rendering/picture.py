"""Draw scenes with pygame, and show pictures in a window.

Shapes are drawn at twice the size and scaled down, which smooths their edges. Text is drawn last at
its final size, which keeps it sharp. Coordinates are pixels from the top left corner.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

import numpy as np
import pygame
import pygame.gfxdraw
from pygame import Rect

from matchenv.envs.core.rendering import Pixels
from matchenv.rendering.scene import STRONG, Chart, Curve, Limits, Scene, number_text
from matchenv.runtime.arrays import Floats

Colour = tuple[int, int, int]
# Data limits of an axis, the pixel of the lower one, and the length in pixels.
Axis = tuple[Limits, float, float]

FONTS = Path(__file__).parent / "fonts"
SCALE = 2  # supersampling factor of shapes
FURTHEST = 30_000  # pygame stores the corners of polygons as 16-bit integers
LINE_HEIGHT = 1.21  # by the font size
DESIGN_WIDTH, DESIGN_HEIGHT = 800, 600  # size of a picture with default font sizes and margins
LEAST_WIDTH, LEAST_HEIGHT = 320, 280  # smaller pictures have no room for readable text
GAP = 2  # pixels between pictures
CHART_SHAPE = 0.13  # height of the chart below all pictures, by their width
MOST_TICKS = 5  # intervals between the ticks of a vertical axis

# SDL's drivers for machines without a screen.
UNSEEN = ("offscreen", "dummy")
REMEDY = (
    "without a screen, write pictures to files (render_mode='rgb_array', "
    "matchenv watch --out FILE.gif) or set SDL_VIDEODRIVER=dummy"
)

# Colours by name, for the light and the dark theme: the palette of Okabe and Ito (2008), which
# colour-blind people can distinguish. Colour never carries information alone. "muted" is for axes
# and notes, "truth" for quantities under the true skills.
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
    theme: {name: pair[index] for name, pair in COLOURS.items()}
    for index, theme in enumerate(("light", "dark"))
}


def columns_for(count: int) -> int:
    """Return the number of columns for ``count`` pictures: one row up to three, else two rows."""
    return count if count <= 3 else math.ceil(count / 2)


def sheet(
    scenes: Sequence[Scene],
    width: int,
    shape: float,
    theme: str = "light",
    below: Chart | None = None,
    footer: tuple[str, str] | None = None,
) -> Pixels:
    """Draw scenes in a grid.

    Args:
        scenes: one or more; the last row is filled with empty pictures.
        width: width of each scene in pixels.
        shape: height of each scene by its width.
        theme: ``"light"`` or ``"dark"``.
        below: chart below the scenes; None for none.
        footer: texts at the bottom left and right; None for none.

    Returns:
        uint8, shape (height, width, 3), both even.
    """
    columns, height = columns_for(len(scenes)), max(LEAST_HEIGHT, round(shape * width))
    boxes = [
        Rect((width + GAP) * column, (height + GAP) * row, width, height)
        for row in range(math.ceil(len(scenes) / columns))
        for column in range(columns)
    ]
    (right, top), scale = boxes[-1].bottomright, min(width / DESIGN_WIDTH, height / DESIGN_HEIGHT)
    middle = top + (0 if below is None else max(100, round(CHART_SHAPE * right)))
    bottom = middle + (0 if footer is None else max(28, round(40 * scale)))
    canvas = Canvas(right + right % 2, bottom + bottom % 2, theme, scale)
    gap, small = canvas.gap, canvas.small
    canvas.box(0, 0, right, top, "grid")
    for box in boxes:
        canvas.box(*box.topleft, *box.size, "background")
    for box, scene in zip(boxes, scenes, strict=False):
        draw_scene(canvas, box, scene)
    if below is not None:
        canvas.box(0, top, right, GAP, "grid")
        start, end = top + round(0.6 * gap), middle - round(0.3 * gap)
        draw_chart(canvas, Rect(gap, start, right - 2 * gap, end - start), below)
    if footer is not None:
        canvas.box(0, middle, right, 1, "grid")
        y = middle + 0.5 * (bottom - middle - line_height(small))
        canvas.text(gap, y, footer[0], small, "muted")
        canvas.text(right - gap, y, footer[1], small, "ink", 1.0)
    return canvas.pixels()


def draw_scene(canvas: Canvas, box: Rect, scene: Scene) -> None:
    """Draw one scene; text is readable in boxes of at least ``LEAST_WIDTH`` x ``LEAST_HEIGHT``."""
    gap, title, body = canvas.gap, canvas.title, canvas.body
    inner = box.inflate(-2 * gap, 0)
    y = box.y + round(0.7 * gap)
    baseline = y + 0.7 * (line_height(title) - line_height(body))
    width = canvas.text(inner.right, baseline, scene.progress, body, "muted", 1.0)
    name = canvas.shortened(scene.title, title, inner.width - gap - width, bold=True)
    canvas.text(inner.x, y, name, title, "ink", bold=True)
    # A legend of several lines leaves less room for the beliefs.
    y = draw_legend(canvas, inner, y + line_height(title) + round(0.3 * gap), scene)
    tiles_height = line_height(canvas.small) + line_height(canvas.value)
    height = round(0.6 * (box.bottom - y - tiles_height - round(2.4 * gap)))
    draw_chart(canvas, Rect(inner.x, y, inner.width, height), scene.beliefs)
    y += height + round(0.8 * gap)
    draw_tiles(canvas, Rect(inner.x, y, inner.width, tiles_height), scene.tiles)
    y, half = y + tiles_height + round(0.8 * gap), (inner.width - 2 * gap) // 2
    height = max(1, box.bottom - y - round(0.8 * gap))
    for x, chart in zip((inner.x, inner.right - half), scene.charts, strict=True):
        draw_chart(canvas, Rect(x, y, half, height), chart)


def draw_legend(canvas: Canvas, box: Rect, y: int, scene: Scene) -> int:
    """Draw the legend from row ``y`` in as many lines as it needs; return the row below it."""
    size = canvas.body
    line, side, x = line_height(size), 0.75 * size, float(box.x)
    legend = [*zip(STRONG, scene.strong, strict=False), ("others", scene.others)]
    for colour, name in [*legend, ("muted", "true skill")] if scene.beliefs.marks else legend:
        # Rounding the width keeps later entries in place while numbers change.
        width = (1.4 + math.ceil(canvas.width(name, size) / size)) * size
        if x > box.x and x + width > box.right:
            x, y = float(box.x), y + line
        top = y + round(0.5 * (line - side))
        if colour == "muted":
            canvas.triangle(x + 0.5 * side, top, side, colour)
        else:
            canvas.box(x, top, side, side, colour)
        canvas.text(x + 1.4 * size, y, name, size, "ink")
        x += width + 1.2 * size
    return y + line + round(0.2 * canvas.gap)


def draw_tiles(canvas: Canvas, box: Rect, tiles: Sequence[tuple[str, str]]) -> None:
    """Draw labelled numbers in large type side by side."""
    small, share = canvas.small, box.width / len(tiles)
    room, size = share - 0.5 * small, canvas.value
    while size > small - 2 and any(canvas.width(text, size, bold=True) > room for _, text in tiles):
        size -= 1
    for i, (label, text) in enumerate(tiles):
        x = box.x + share * i
        canvas.text(x, box.y, canvas.shortened(label, small, room), small, "muted")
        canvas.text(x, box.y + line_height(small), text, size, "ink", bold=True)


def draw_chart(canvas: Canvas, box: Rect, chart: Chart) -> None:
    """Draw a chart in a box, with its titles, ticks and marks."""
    small, line = canvas.small, line_height(canvas.small)
    # Half a line of the head is for the label of the top tick.
    head, drop = (round(1.5 * line) if chart.titles else 0), (canvas.mark + 4 if chart.marks else 3)
    rows = max(8, box.height - head - drop - line)
    most = min(MOST_TICKS, max(1, round(rows / (1.4 * small))))
    numbers = ticks(*chart.y, most) if chart.unit else []
    margin = max((canvas.width(text, small) + 8 for _, text in numbers), default=0)
    plot = Rect(box.x + margin, box.y + head, max(8, box.width - margin), rows)
    horizontal, vertical = (chart.x, plot.x, plot.width), (chart.y, plot.bottom, -rows)
    left = box.x
    for text, colour in chart.titles:
        title = canvas.shortened(text, small, box.right - left)
        if title != text and left > box.x:
            break
        left += canvas.text(left, box.y, title, small, colour) + small
    for value, text in numbers:
        y = float(pixel(value, vertical))
        canvas.box(plot.x, y, plot.width, 1, "grid")
        canvas.text(plot.x - 8, y - line / 2, text, small, "muted", 1.0)
    canvas.clip(None if chart.unit else plot)
    for curve in chart.curves:
        draw_curve(canvas, curve, horizontal, vertical)
    canvas.clip(None)
    for values, colour, strength in chart.marks:
        for x in pixel(values, horizontal).tolist():
            if strength == 1.0:
                for y in range(plot.y, plot.bottom - 2, 6):
                    canvas.box(x, y, 1, 3, colour)
                canvas.triangle(round(x) + 0.5, plot.bottom + 2, canvas.mark, colour)
            elif plot.x <= x < plot.right:
                canvas.box(math.floor(x), plot.bottom + 3, 1, canvas.mark - 1, colour, strength)
    draw_axis(canvas, horizontal, plot.bottom, drop, chart.unit)


def draw_curve(canvas: Canvas, curve: Curve, horizontal: Axis, vertical: Axis) -> None:
    """Draw one curve of a chart."""
    x, y = pixel(curve.x, horizontal), pixel(curve.y, vertical)
    (_, units), _, length = horizontal
    if curve.style == "area":
        canvas.area(x, y, curve.colour, curve.strength)
    elif curve.style == "dots":
        radius = float(np.clip(2.6 * (50.0 / units) ** 0.25, 1.0, 2.6))
        canvas.dots(x, y, radius, curve.colour, curve.strength)
    elif x.size:
        every = math.ceil(x.size / (SCALE * length))  # one point per column is enough
        width = canvas.thick if curve.style == "line" else 1.0
        canvas.line(x[::every], y[::every], width, curve.colour, curve.strength)


def draw_axis(canvas: Canvas, axis: Axis, y: int, drop: int, unit: str) -> None:
    """Draw a horizontal axis in row ``y``, tick labels ``drop`` rows below, and its label."""
    (low, high), start, length = axis
    small, right = canvas.small, start + length
    canvas.box(start, y, length, 1, "muted")
    label, most = "skill", max(2, int(length) // (4 * small))
    if unit:
        label = f"{high:,.0f} {unit}{'s' if high != 1 else ''}"
        most = min(int(high), max(1, int(length) // (5 * small)))
        canvas.box(right - 1, y, 1, 4, "muted")
    width = canvas.text(right, y + drop, label, small, "muted", 1.0)
    free = start - canvas.gap
    for value, text in ticks(low, high, most):
        x, half = float(pixel(value, axis)), canvas.width(text, small) / 2
        if x - half >= free and x + half <= right - width - 0.7 * small:
            canvas.box(x, y, 1, 4, "muted")
            canvas.text(x, y + drop, text, small, "muted", 0.5)
            free = x + half + 0.5 * small


def pixel(value: Floats | float, axis: Axis) -> Floats:
    """Return the pixel coordinates of values on an axis."""
    (low, high), start, length = axis
    return start + (np.asarray(value, dtype=np.float64) - low) / (high - low) * length


def tick_step(span: float, most: int) -> float:
    """Return the smallest 1, 2 or 5 times a power of ten that divides a span into <= ``most``."""
    least = span / max(1, most)
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= least * (1.0 - 1e-9))


def ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Return at most ``most`` + 1 round values in [low, high], and their labels."""
    step = tick_step(high - low, most)
    places = None if step >= 1e6 or step < 1e-4 else max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(n * step, number_text(n * step, places)) for n in range(first, last + 1)]


class Canvas:
    """A picture in progress.

    Args:
        width: width in pixels.
        height: height in pixels.
        theme: a name in ``THEMES``.
        scale: factor of font sizes and margins, 1 for a picture of 800 x 600; text stays readable.

    Attributes:
        title: font size of titles; ``body`` is that of the legend, ``small`` of labels and ticks,
            ``value`` of large numbers.
        gap: margin at the edges and between parts.
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
        """Blend a share of a colour of the theme with the background."""
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
        starts = (text[:end].rstrip() + "…" for end in range(len(text) - 1, 0, -1))
        fitting = (each for each in (text, *starts) if self.width(each, size, bold) <= width)
        return next(fitting, "")

    def box(
        self, x: float, y: float, width: float, height: float, colour: str, share: float = 1.0
    ) -> None:
        """Fill a rectangle of whole pixels, at least 1 x 1."""
        sides = round(x), round(y), max(1, round(width)), max(1, round(height))
        self._shapes.fill(self.colour(colour, share), [SCALE * side for side in sides])

    def line(self, x: Floats, y: Floats, width: float, colour: str, share: float = 1.0) -> None:
        """Draw a smooth line through points; a single point is a dot, twice as thick."""
        # pygame's lines pass through the centres of pixels.
        points, paint = _points(x - 0.5 / SCALE, y - 0.5 / SCALE), self.colour(colour, share)
        thick = round(SCALE * width)
        if len(points) == 1:
            self.dots(x, y, width, colour, share)
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
        points = _points(*np.clip((x, y), -FURTHEST / SCALE, FURTHEST / SCALE))
        shade = *self.colour(colour), round(255 * opacity)
        pygame.gfxdraw.filled_polygon(self._shapes, points, shade)

    def triangle(self, x: float, y: float, height: float, colour: str) -> None:
        """Draw a triangle with its tip at (x, y), pointing up."""
        sides, down = np.array([0.0, height / 1.7, -height / 1.7]), np.array([0.0, height, height])
        self.area(x + sides, y + down, colour)

    def dots(self, x: Floats, y: Floats, radius: float, colour: str, share: float = 1.0) -> None:
        """Draw a disc around each point."""
        for centre in np.unique(np.round(SCALE * x) + 1j * np.round(SCALE * y)).tolist():
            middle, paint = (centre.real, centre.imag), self.colour(colour, share)
            pygame.draw.circle(self._shapes, paint, middle, SCALE * radius)

    def clip(self, box: Rect | None) -> None:
        """Restrict shapes to a box; None for the whole picture."""
        self._shapes.set_clip(None if box is None else [SCALE * side for side in box])


class NoScreenError(OSError):
    """No visible window can be opened."""


class Window:
    """A window that opens with its first picture.

    Args:
        caption: text of the title bar.
    """

    def __init__(self, caption: str = "matchenv") -> None:
        self.caption = caption
        self._clock = pygame.time.Clock()

    def show(self, picture: Pixels, frames_per_second: float) -> list[str]:
        """Show a picture, then wait until a frame's time has passed since the last call.

        Args:
            picture: uint8, shape (height, width, 3); the window takes its size.
            frames_per_second: frame rate.

        Returns:
            pygame's names of the keys pressed since the last call; ``"close"`` if the window was
            closed.

        Raises:
            NoScreenError: if no visible window can be opened; the message names alternatives.
        """
        size = picture.shape[1], picture.shape[0]
        screen = pygame.display.get_surface()
        if screen is None or screen.get_size() != size:
            try:
                pygame.display.init()
                screen = pygame.display.set_mode(size)
            except pygame.error as error:
                raise NoScreenError(f"no window can be opened ({error}); {REMEDY}") from error
            pygame.display.set_caption(self.caption)
        if pygame.display.get_driver() in UNSEEN and not os.environ.get("SDL_VIDEODRIVER"):
            raise NoScreenError(f"the window would be invisible; {REMEDY}")
        data = np.ascontiguousarray(picture).data
        screen.blit(pygame.image.frombuffer(data, size, "RGB"), (0, 0))
        pygame.display.flip()
        pressed = [
            "close" if event.type == pygame.QUIT else pygame.key.name(event.key)
            for event in pygame.event.get()
            if event.type in (pygame.QUIT, pygame.KEYDOWN)
        ]
        self._clock.tick(frames_per_second)
        return pressed

    def close(self) -> None:
        """Close the window if it is open."""
        pygame.display.quit()


def line_height(size: int) -> int:
    """Return the distance between lines of text in pixels."""
    return math.ceil(LINE_HEIGHT * size)


def _points(x: Floats, y: Floats) -> list[tuple[float, float]]:
    return list(zip((SCALE * x).tolist(), (SCALE * y).tolist(), strict=True))


@lru_cache(maxsize=2048)
def _rendered(string: str, size: int, bold: bool, colour: Colour) -> Any:
    # A font object would not survive a caller's ``pygame.quit()``.
    pygame.font.init()
    face = "Inter-SemiBold.otf" if bold else "Inter-Regular.otf"
    return pygame.font.Font(FONTS / face, size).render(string, True, colour)
