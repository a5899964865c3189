"""Draw charts on a canvas: titles, curves, axes, and marks of true skills."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from pygame import Rect

from matchenv.rendering.canvas import SCALE, Canvas, line_height
from matchenv.rendering.scene import Chart, Curve, Marks, number_text
from matchenv.runtime.arrays import Floats

LEAST_PLOT = 8  # least width and height of the area of the curves
MOST_TICKS = 5  # intervals between the ticks of a vertical axis
TICK = 4  # length of a tick of a horizontal axis
LABEL_GAP = 8  # between an axis and its labels

# Height of the titles' row in lines; half a line is for the label of the top tick.
TITLES_LINES = 1.5

# Dots shrink with the number of units, so that those of neighbours stay apart.
LARGEST_DOT = 2.6
SMALLEST_DOT = 1.0
UNITS_OF_LARGEST_DOT = 50.0

LEAST_CELL = 2.0  # width and height in pixels, at least

# Dashes of the line above the true skill of a highlighted player.
DASH = 3
DASH_PERIOD = 6

# Tolerance of divisions that should give whole numbers.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Axis:
    """An axis: limits of the values, and where they lie in the picture."""

    low: float
    high: float
    start: float  # pixel of the lower limit
    length: float  # pixels to the upper limit, negative upwards

    def pixel(self, value: float) -> float:
        """Return the pixel coordinate of a value."""
        return float(self.start + (value - self.low) / (self.high - self.low) * self.length)

    def pixels(self, values: Floats) -> Floats:
        """Return the pixel coordinates of values."""
        return self.start + (values - self.low) / (self.high - self.low) * self.length


class Tick(NamedTuple):
    """A value on an axis, and its label."""

    value: float
    label: str


def draw_chart(canvas: Canvas, box: Rect, chart: Chart) -> None:
    """Draw a chart in a box, with its titles, ticks and marks."""
    line = line_height(canvas.small)
    titles_height = 0
    if chart.titles:
        titles_height = round(TITLES_LINES * line)
    if chart.heading:
        titles_height += line
    label_distance = 3
    if chart.marks:
        label_distance = canvas.mark + 4
    height = max(LEAST_PLOT, box.height - titles_height - label_distance - line)
    value_ticks = [Tick(*tick) for tick in chart.y_ticks]
    if chart.unit and not value_ticks:
        value_ticks = _value_ticks(canvas, chart, height)
    margin = 0
    for tick in value_ticks:
        margin = max(margin, canvas.width(tick.label, canvas.small) + LABEL_GAP)
    width = max(LEAST_PLOT, box.width - margin)
    plot = Rect(box.x + margin, box.y + titles_height, width, height)
    horizontal = Axis(*chart.x, start=plot.x, length=plot.width)
    vertical = Axis(*chart.y, start=plot.bottom, length=-height)

    draw_titles(canvas, box, chart)
    draw_grid(canvas, plot, vertical, value_ticks)
    if not chart.unit:
        canvas.clip(plot)
    for curve in chart.curves:
        draw_curve(canvas, curve, horizontal, vertical)
    canvas.unclip()
    for marks in chart.marks:
        draw_marks(canvas, plot, horizontal, marks)
    draw_axis(canvas, horizontal, plot.bottom, label_distance, chart.unit)


def _value_ticks(canvas: Canvas, chart: Chart, height: int) -> list[Tick]:
    """Return the ticks of a vertical axis of ``height`` pixels."""
    fitting = round(height / (1.4 * canvas.small))
    low, high = chart.y
    return ticks(low, high, min(MOST_TICKS, max(1, fitting)))


def draw_titles(canvas: Canvas, box: Rect, chart: Chart) -> None:
    """Draw the heading, and below it the titles side by side, as far as they have room."""
    size = canvas.small
    x = box.x
    y = box.y
    if chart.heading:
        heading = canvas.shortened(chart.heading, size, box.width)
        canvas.text(x, y, heading, size, "muted")
        y += line_height(size)
    for title, colour in chart.titles:
        fitting = canvas.shortened(title, size, box.right - x)
        if fitting != title and x > box.x:
            break
        x += canvas.text(x, y, fitting, size, colour) + size


def draw_grid(canvas: Canvas, plot: Rect, axis: Axis, value_ticks: list[Tick]) -> None:
    """Draw a horizontal line at each tick of the vertical axis, and its label on the left."""
    size = canvas.small
    x = plot.x - LABEL_GAP
    for tick in value_ticks:
        y = axis.pixel(tick.value)
        canvas.box(plot.x, y, plot.width, 1, "grid")
        canvas.text(x, y - line_height(size) / 2, tick.label, size, "muted", anchor=1.0)


def draw_curve(canvas: Canvas, curve: Curve, horizontal: Axis, vertical: Axis) -> None:
    """Draw one curve of a chart."""
    x = horizontal.pixels(curve.x)
    y = vertical.pixels(curve.y)
    if curve.style == "area":
        canvas.area(x, y, curve.colour, curve.strength)
    elif curve.style == "dots":
        units = horizontal.high - horizontal.low
        radius = LARGEST_DOT * (UNITS_OF_LARGEST_DOT / units) ** 0.25
        radius = min(LARGEST_DOT, max(SMALLEST_DOT, radius))
        canvas.dots(x, y, radius, curve.colour, curve.strength)
    elif curve.shades is not None:
        width = horizontal.length / (horizontal.high - horizontal.low)
        height = -vertical.length / (vertical.high - vertical.low)
        size = (max(LEAST_CELL, width), max(LEAST_CELL, height))
        canvas.cells(x, y, size, curve.shades, curve.colour)
    elif x.size > 0:
        stride = math.ceil(x.size / (SCALE * horizontal.length))  # one point per column is enough
        width = 1.0
        if curve.style == "line":
            width = canvas.thick
        canvas.line(x[::stride], y[::stride], width, curve.colour, curve.strength)


def draw_marks(canvas: Canvas, plot: Rect, axis: Axis, marks: Marks) -> None:
    """Mark true skills below a plot; those of highlighted players with a dashed line above."""
    for x in axis.pixels(marks.values).tolist():
        if marks.strength == 1.0:
            for y in range(plot.y, plot.bottom - 2, DASH_PERIOD):
                canvas.box(x, y, 1, DASH, marks.colour)
            canvas.triangle(round(x) + 0.5, plot.bottom + 2, canvas.mark, marks.colour)
        elif plot.x <= x < plot.right:
            y = plot.bottom + 3
            canvas.box(math.floor(x), y, 1, canvas.mark - 1, marks.colour, marks.strength)


def draw_axis(canvas: Canvas, axis: Axis, y: int, label_distance: int, unit: str) -> None:
    """Draw a horizontal axis with its ticks and its label.

    Args:
        canvas: the canvas.
        axis: the axis.
        y: row of the axis.
        label_distance: rows from the axis to the labels.
        unit: singular unit of the axis; "" for a skill axis.
    """
    size = canvas.small
    right = axis.start + axis.length
    label_y = y + label_distance
    canvas.box(axis.start, y, axis.length, 1, "muted")
    if unit:
        if axis.high != 1:
            unit += "s"
        label = f"{axis.high:,.0f} {unit}"
        most = min(int(axis.high), max(1, int(axis.length) // (5 * size)))
        canvas.box(right - 1, y, 1, TICK, "muted")
    else:
        label = "skill"
        most = max(2, int(axis.length) // (4 * size))
    label_width = canvas.text(right, label_y, label, size, "muted", anchor=1.0)

    # Labels of ticks must lie between these columns.
    free = axis.start - canvas.gap
    end = right - label_width - 0.7 * size
    for tick in ticks(axis.low, axis.high, most):
        x = axis.pixel(tick.value)
        half = canvas.width(tick.label, size) / 2
        if x - half >= free and x + half <= end:
            canvas.box(x, y, 1, TICK, "muted")
            canvas.text(x, label_y, tick.label, size, "muted", anchor=0.5)
            free = x + half + 0.5 * size


def tick_step(span: float, most: int) -> float:
    """Return the smallest 1, 2 or 5 times a power of ten that divides a span into <= ``most``."""
    least = span / max(1, most)
    power = 10.0 ** math.floor(math.log10(least))
    for multiple in (1.0, 2.0, 5.0):
        if multiple * power >= least * (1.0 - ROUNDING):
            return multiple * power
    return 10.0 * power


def ticks(low: float, high: float, most: int) -> list[Tick]:
    """Return at most ``most`` + 1 round values in [low, high], and their labels."""
    step = tick_step(high - low, most)
    places = None
    if 1e-4 <= step < 1e6:
        places = max(0, -math.floor(math.log10(step) + ROUNDING))
    first = math.ceil(low / step - ROUNDING)
    last = math.floor(high / step + ROUNDING)
    return [Tick(n * step, number_text(n * step, places)) for n in range(first, last + 1)]
