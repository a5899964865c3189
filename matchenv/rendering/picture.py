"""Draw scenes with pygame: titles, legends, beliefs along the skill axis, large numbers, charts.

The window that shows pictures is here, too.

Shapes are drawn at twice the size, and scaling them down smooths their edges. Text is drawn last,
at its final size, so that it is as sharp as the font allows. Positions are in pixels from the top
left corner.
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
from matchenv.rendering.scene import STRONG, Chart, Curve, Floats, Limits, Scene, number_text

Colour = tuple[int, int, int]
# Ends of an axis, the pixel where it starts, and its length.
Axis = tuple[Limits, float, float]

FONTS = Path(__file__).parent / "fonts"

# Shapes are drawn this many times as large.
SCALE = 2

# pygame holds the corners of an area as 16-bit integers.
FURTHEST = 30_000

# From one line of text to the next, by the size of its letters.
LINE_HEIGHT = 1.21

# Texts and gaps have their usual sizes in a picture of this size.
DESIGN_WIDTH, DESIGN_HEIGHT = 800, 600

# Smaller pictures have no room for readable text.
LEAST_WIDTH, LEAST_HEIGHT = 320, 280

# Between pictures, in pixels; height of the chart below them by the width of all.
GAP = 2
CHART_SHAPE = 0.13

# Steps between the numbers of an upright axis, at most.
MOST_TICKS = 5

# SDL's drivers for machines without a screen.
UNSEEN = ("offscreen", "dummy")
REMEDY = (
    "where there is no screen, write pictures to files (render_mode='rgb_array', "
    "matchenv watch --out FILE.gif) or set SDL_VIDEODRIVER=dummy"
)

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


def columns_for(count: int) -> int:
    """Return the pictures in a row: all up to three, else two rows."""
    return count if count <= 3 else math.ceil(count / 2)


def sheet(
    scenes: Sequence[Scene],
    wide: int,
    shape: float,
    theme: str = "light",
    below: Chart | None = None,
    footer: tuple[str, str] | None = None,
) -> Pixels:
    """Draw scenes side by side.

    Args:
        scenes: at least one; the last row is filled up with empty ones.
        wide: width of a scene in pixels.
        shape: height of a scene by its width.
        theme: ``"light"`` or ``"dark"``.
        below: a chart below them; None for none.
        footer: text at the bottom left and right; None for none.

    Returns:
        uint8, shape (height, width, 3), both even.
    """
    columns, high = columns_for(len(scenes)), max(LEAST_HEIGHT, round(shape * wide))
    places = [
        Rect((wide + GAP) * column, (high + GAP) * row, wide, high)
        for row in range(math.ceil(len(scenes) / columns))
        for column in range(columns)
    ]
    (width, top), scale = places[-1].bottomright, min(wide / DESIGN_WIDTH, high / DESIGN_HEIGHT)
    middle = top + (0 if below is None else max(100, round(CHART_SHAPE * width)))
    bottom = middle + (0 if footer is None else max(28, round(40 * scale)))
    canvas = Canvas(width + width % 2, bottom + bottom % 2, theme, scale)
    gap, small = canvas.gap, canvas.small
    canvas.box(0, 0, width, top, "grid")
    for place in places:
        canvas.box(*place.topleft, *place.size, "background")
    for place, scene in zip(places, scenes, strict=False):
        draw_scene(canvas, place, scene)
    if below is not None:
        canvas.box(0, top, width, GAP, "grid")
        start, end = top + round(0.6 * gap), middle - round(0.3 * gap)
        draw_chart(canvas, Rect(gap, start, width - 2 * gap, end - start), below)
    if footer is not None:
        canvas.box(0, middle, width, 1, "grid")
        y = middle + 0.5 * (bottom - middle - line_height(small))
        canvas.text(gap, y, footer[0], small, "muted")
        canvas.text(width - gap, y, footer[1], small, "ink", 1.0)
    return canvas.pixels()


def draw_scene(canvas: Canvas, box: Rect, scene: Scene) -> None:
    """Draw one scene; texts are readable in a box of ``LEAST_WIDTH`` and ``LEAST_HEIGHT``."""
    gap, title, body = canvas.gap, canvas.title, canvas.body
    inner = box.inflate(-2 * gap, 0)
    y = box.y + round(0.7 * gap)
    drop = 0.7 * (line_height(title) - line_height(body))
    wide = canvas.text(inner.right, y + drop, scene.progress, body, "muted", 1.0)
    name = canvas.shortened(scene.title, title, inner.width - gap - wide, bold=True)
    canvas.text(inner.x, y, name, title, "ink", bold=True)
    # A legend of more lines leaves less room for the beliefs.
    y = draw_legend(canvas, inner, y + line_height(title) + round(0.3 * gap), scene)
    tiles_height = line_height(canvas.small) + line_height(canvas.value)
    high = round(0.6 * (box.bottom - y - tiles_height - round(2.4 * gap)))
    draw_chart(canvas, Rect(inner.x, y, inner.width, high), scene.beliefs)
    y += high + round(0.8 * gap)
    draw_tiles(canvas, Rect(inner.x, y, inner.width, tiles_height), scene.tiles)
    y, half = y + tiles_height + round(0.8 * gap), (inner.width - 2 * gap) // 2
    high = max(1, box.bottom - y - round(0.8 * gap))
    for x, chart in zip((inner.x, inner.right - half), scene.charts, strict=True):
        draw_chart(canvas, Rect(x, y, half, high), chart)


def draw_legend(canvas: Canvas, box: Rect, y: int, scene: Scene) -> int:
    """Draw names from row y in as many lines as they need, and return the row below them."""
    size = canvas.body
    line, side, x = line_height(size), 0.75 * size, float(box.x)
    legend = [*zip(STRONG, scene.strong, strict=False), ("others", scene.others)]
    for colour, name in [*legend, ("muted", "true skill")] if scene.beliefs.marks else legend:
        # A width in steps leaves the entries after it where they are when most numbers change.
        wide = (1.4 + math.ceil(canvas.width(name, size) / size)) * size
        if x > box.x and x + wide > box.right:
            x, y = float(box.x), y + line
        top = y + round(0.5 * (line - side))
        if colour == "muted":
            canvas.triangle(x + 0.5 * side, top, side, colour)
        else:
            canvas.box(x, top, side, side, colour)
        canvas.text(x + 1.4 * size, y, name, size, "ink")
        x += wide + 1.2 * size
    return y + line + round(0.2 * canvas.gap)


def draw_tiles(canvas: Canvas, box: Rect, tiles: Sequence[tuple[str, str]]) -> None:
    """Write numbers in large letters side by side."""
    small, share = canvas.small, box.width / len(tiles)
    room, size = share - 0.5 * small, canvas.value
    while size > small - 2 and any(canvas.width(text, size, bold=True) > room for _, text in tiles):
        size -= 1
    for place, (label, text) in enumerate(tiles):
        x, label = box.x + share * place, canvas.shortened(label, small, room)
        canvas.text(x, box.y, label, small, "muted")
        canvas.text(x, box.y + line_height(small), text, size, "ink", bold=True)


def draw_chart(canvas: Canvas, box: Rect, chart: Chart) -> None:
    """Draw a chart with its titles, numbers and marks in a box."""
    small, line = canvas.small, line_height(canvas.small)
    head, drop = (line + 4 if chart.titles else 0), (canvas.mark + 4 if chart.marks else 3)
    rows = max(8, box.height - head - drop - line)
    most = min(MOST_TICKS, max(1, round(rows / (1.4 * small))))
    numbers = ticks(*chart.y, most) if chart.unit else []
    margin = max((canvas.width(text, small) + 8 for _, text in numbers), default=0)
    plot = Rect(box.x + margin, box.y + head, max(8, box.width - margin), rows)
    along, upright = (chart.x, plot.x, plot.width), (chart.y, plot.bottom, -rows)
    left = box.x
    for text, name in chart.titles:
        whole = canvas.shortened(text, small, box.right - left)
        if whole != text and left > box.x:
            break
        left += canvas.text(left, box.y, whole, small, name) + small
    for value, text in numbers:
        y = float(pixel(value, upright))
        canvas.box(plot.x, y, plot.width, 1, "grid")
        canvas.text(plot.x - 8, y - line / 2, text, small, "muted", 1.0)
    canvas.clip(None if chart.unit else plot)
    for curve in chart.curves:
        draw_curve(canvas, curve, along, upright)
    canvas.clip(None)
    for values, name, strength in chart.marks:
        for x in pixel(values, along).tolist():
            if strength == 1.0:
                for y in range(plot.y, plot.bottom - 2, 6):
                    canvas.box(x, y, 1, 3, name)
                canvas.triangle(round(x) + 0.5, plot.bottom + 2, canvas.mark, name)
            elif plot.x <= x < plot.right:
                canvas.box(math.floor(x), plot.bottom + 3, 1, canvas.mark - 1, name, strength)
    draw_axis(canvas, along, plot.bottom, drop, chart.unit)


def draw_curve(canvas: Canvas, curve: Curve, along: Axis, upright: Axis) -> None:
    """Draw one curve of a chart."""
    x, y, paint = pixel(curve.x, along), pixel(curve.y, upright), (curve.colour, curve.strength)
    (_, units), _, length = along
    if curve.style == "area":
        canvas.area(x, y, *paint)
    elif curve.style == "dots":
        canvas.dots(x, y, float(np.clip(2.6 * (50.0 / units) ** 0.25, 1.0, 2.6)), *paint)
    elif x.size:
        # More points than the canvas has columns would show no more.
        every = math.ceil(x.size / (SCALE * length))
        canvas.line(x[::every], y[::every], canvas.thick if curve.style == "line" else 1.0, *paint)


def draw_axis(canvas: Canvas, axis: Axis, y: int, drop: int, unit: str) -> None:
    """Draw a line in row y, numbers ``drop`` rows below, and a label at the right."""
    (low, high), start, length = axis
    small, right = canvas.small, start + length
    canvas.box(start, y, length, 1, "muted")
    label, most = "skill", max(2, int(length) // (4 * small))
    if unit:
        label = f"{high:,.0f} {unit}{'s' if high != 1 else ''}"
        most = min(int(high), max(1, int(length) // (5 * small)))
        canvas.box(right - 1, y, 1, 4, "muted")
    wide = canvas.text(right, y + drop, label, small, "muted", 1.0)
    free = start - canvas.gap
    for value, written in ticks(low, high, most):
        x, half = float(pixel(value, axis)), canvas.width(written, small) / 2
        if x - half >= free and x + half <= right - wide - 0.7 * small:
            canvas.box(x, y, 1, 4, "muted")
            canvas.text(x, y + drop, written, small, "muted", 0.5)
            free = x + half + 0.5 * small


def pixel(value: Floats | float, axis: Axis) -> Floats:
    """Return where each value lies on an axis."""
    (low, high), start, length = axis
    return start + (np.asarray(value, dtype=np.float64) - low) / (high - low) * length


def tick_step(span: float, most: int) -> float:
    """Return the least step of 1, 2 or 5 times a power of ten with at most ``most`` in a span."""
    least = span / max(1, most)
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= least * (1.0 - 1e-9))


def ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Return at most ``most`` + 1 round values from ``low`` to ``high``, and their texts."""
    step = tick_step(high - low, most)
    places = None if step >= 1e6 or step < 1e-4 else max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(n * step, number_text(n * step, places)) for n in range(first, last + 1)]


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
        points = _points(*np.clip((x, y), -FURTHEST / SCALE, FURTHEST / SCALE))
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
        screen = pygame.display.get_surface()
        if screen is None or screen.get_size() != size:
            try:
                pygame.display.init()
                screen = pygame.display.set_mode(size)
            except pygame.error as error:
                raise OSError(f"no window can be opened ({error}); {REMEDY}") from error
            pygame.display.set_caption(self.caption)
        if pygame.display.get_driver() in UNSEEN and not os.environ.get("SDL_VIDEODRIVER"):
            raise OSError(f"the window would be invisible; {REMEDY}")
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
        """Close the window, if it is open."""
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
