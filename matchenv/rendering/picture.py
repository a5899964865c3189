"""Draw scenes: title, legend, beliefs along the skill axis, large numbers, charts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from pygame import Rect

from matchenv.envs.core.rendering import Pixels
from matchenv.rendering.canvas import SCALE, Canvas, line_height
from matchenv.rendering.scene import Chart, Curve, Entry, Floats, Limits, Scene, number_text

# Texts and gaps have their usual sizes in a picture of this size.
DESIGN_WIDTH, DESIGN_HEIGHT = 800, 600

# Smaller pictures have no room for readable text.
LEAST_WIDTH, LEAST_HEIGHT = 320, 280

# Between pictures, in pixels; height of the chart below them by the width of all.
GAP = 2
CHART_SHAPE = 0.13

# Steps between the numbers of an upright axis, at most.
MOST_TICKS = 5


# Ends of an axis, the pixel where it starts, and its length.
Axis = tuple[Limits, float, float]


def pixel(value: Floats | float, axis: Axis) -> Floats:
    """Return where each value lies on an axis."""
    (low, high), start, length = axis
    return start + (np.asarray(value, dtype=np.float64) - low) / (high - low) * length


def columns_for(count: int) -> int:
    """Return the pictures in a row: all up to three, else two rows."""
    return count if count <= 3 else math.ceil(count / 2)


def sheet_width(count: int, width: int) -> int:
    """Return the width of a sheet on which each of ``count`` pictures has this width."""
    return columns_for(count) * (width + GAP) - GAP


def sheet(
    scenes: Sequence[Scene],
    width: int,
    shape: float,
    theme: str = "light",
    below: Chart | None = None,
    footer: tuple[str, str] | None = None,
) -> Pixels:
    """Draw scenes side by side.

    Args:
        scenes: at least one; the last row is filled up with empty ones.
        width: in pixels.
        shape: height of a scene by its width.
        theme: ``"light"`` or ``"dark"``.
        below: a chart below them; None for none.
        footer: text at the bottom left and right; None for none.

    Returns:
        uint8, shape (height, width, 3); the height is even.
    """
    columns = columns_for(len(scenes))
    wide = (width - (columns - 1) * GAP) // columns
    high = max(LEAST_HEIGHT, round(shape * wide))
    places = [
        Rect((wide + GAP) * column, (high + GAP) * row, wide, high)
        for row in range(math.ceil(len(scenes) / columns))
        for column in range(columns)
    ]
    top, scale = places[-1].bottom, min(wide / DESIGN_WIDTH, high / DESIGN_HEIGHT)
    middle = top + (0 if below is None else max(100, round(CHART_SHAPE * width)))
    bottom = middle + (0 if footer is None else max(28, round(40 * scale)))
    canvas = Canvas(width, bottom + bottom % 2, theme, scale)
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
    y += line_height(title) + round(0.3 * gap)
    # A legend of more lines leaves less room for the beliefs.
    shown = [("muted", "true skill", "")] if scene.beliefs.marks else []
    y = _draw_legend(canvas, inner, y, [*scene.legend, *shown]) + round(0.2 * gap)
    tiles_height = line_height(canvas.small) + line_height(canvas.value)
    high = round(0.6 * (box.bottom - y - tiles_height - round(2.4 * gap)))
    draw_chart(canvas, Rect(inner.x, y, inner.width, high), scene.beliefs)
    tiles = Rect(inner.x, y + high + round(0.8 * gap), inner.width, tiles_height)
    _draw_tiles(canvas, tiles, scene.tiles)
    y, half = tiles.bottom + round(0.8 * gap), (inner.width - 2 * gap) // 2
    high = max(1, box.bottom - y - round(0.8 * gap))
    for x, chart in zip((inner.x, inner.right - half), scene.charts, strict=True):
        draw_chart(canvas, Rect(x, y, half, high), chart)


def _draw_legend(canvas: Canvas, box: Rect, y: int, legend: Sequence[Entry]) -> int:
    """Draw entries from row y in as many lines as they need, and return the row below them."""
    size = canvas.body
    line, side = line_height(size), 0.75 * size
    x = float(box.x)
    for colour, name, widest in legend:
        wide = 1.4 * size + max(canvas.width(name, size), canvas.width(widest, size))
        if x > box.x and x + wide + 0.6 * size > box.right:
            x, y = float(box.x), y + line
        top = y + round(0.5 * (line - side))
        if colour == "muted":
            canvas.triangle(x + 0.5 * side, top, side, colour)
        else:
            canvas.box(x, top, side, side, colour)
        canvas.text(x + 1.4 * size, y, name, size, "ink")
        x += wide + 1.6 * size
    return y + line


def _draw_tiles(canvas: Canvas, box: Rect, tiles: Sequence[tuple[str, str]]) -> None:
    """Write numbers in large letters side by side."""
    small, share = canvas.small, box.width / len(tiles)
    room, y = share - 0.5 * small, box.y + line_height(small)
    size = canvas.value
    while size > small - 2 and any(canvas.width(text, size, bold=True) > room for _, text in tiles):
        size -= 1
    for place, (label, text) in enumerate(tiles):
        x, label = box.x + share * place, canvas.shortened(label, small, room)
        canvas.text(x, box.y, label, small, "muted")
        canvas.text(x, y, text, size, "ink", bold=True)


def draw_chart(canvas: Canvas, box: Rect, chart: Chart) -> None:
    """Draw a chart with its titles, numbers and marks in a box."""
    small, line = canvas.small, line_height(canvas.small)
    head = line + 4 if chart.titles else 0
    drop = canvas.mark + 4 if chart.marks else 3
    rows = max(8, box.height - head - drop - line)
    numbers: list[tuple[float, str]] = []
    if chart.unit:
        # Above a level with a name is the name.
        highest = chart.level[0] if chart.level is not None and chart.level[1] else chart.y[1]
        most = min(MOST_TICKS, max(1, round(rows / (1.4 * small))))
        numbers = [each for each in ticks(*chart.y, most) if each[0] <= highest]
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
    if chart.level is not None:
        y = float(pixel(chart.level[0], upright))
        canvas.dashes(Rect(plot.x, round(y), plot.width, 1), "muted", 4)
        canvas.text(plot.right, y - line, chart.level[1], small, "muted", 1.0)
    canvas.clip(None if chart.unit else plot)
    for curve in chart.curves:
        _draw_curve(canvas, curve, along, upright)
    canvas.clip(None)
    for value, name, strength in chart.marks:
        x = float(pixel(value, along))
        if strength == 1.0:
            canvas.dashes(Rect(round(x), plot.y, 1, rows), name, 3)
            canvas.triangle(round(x) + 0.5, plot.bottom + 2, canvas.mark, name)
        elif plot.x <= x < plot.right:
            canvas.box(math.floor(x), plot.bottom + 3, 1, canvas.mark - 1, name, strength)
    _draw_axis(canvas, along, plot.bottom, drop, chart.unit)


def _draw_curve(canvas: Canvas, curve: Curve, along: Axis, upright: Axis) -> None:
    x, y, paint = pixel(curve.x, along), pixel(curve.y, upright), (curve.colour, curve.strength)
    (_, units), _, length = along
    most = round(SCALE * length)
    if curve.style == "area":
        canvas.area(x, y, *paint)
    elif curve.style == "dots":
        canvas.dots(x, y, float(np.clip(2.6 * (50.0 / units) ** 0.25, 1.0, 2.6)), *paint)
    elif x.size:
        if x.size > most:
            shown = np.linspace(0, x.size - 1, most)
            x, y = (np.interp(shown, np.arange(x.size), each) for each in (x, y))
        canvas.line(x, y, canvas.thick if curve.style == "line" else 1.0, *paint)


def _draw_axis(canvas: Canvas, axis: Axis, y: int, drop: int, unit: str) -> None:
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
    for value, written in ticks(low, high, most):
        x, half = float(pixel(value, axis)), canvas.width(written, small) / 2
        if x - half >= start - canvas.gap and x + half <= right - wide - 0.7 * small:
            canvas.box(x, y, 1, 4, "muted")
            canvas.text(x, y + drop, written, small, "muted", 0.5)


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
