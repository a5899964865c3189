"""Lay out scenes in pictures, and draw them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pygame import Rect

from matchenv.envs.core.rendering import Pixels
from matchenv.rendering.canvas import Canvas, line_height
from matchenv.rendering.chart import draw_chart
from matchenv.rendering.scene import HIGHLIGHTS, Chart, Scene

# Size of a picture with default font sizes and margins.
DESIGN_WIDTH = 800
DESIGN_HEIGHT = 600

# Smaller pictures have no room for readable text.
LEAST_WIDTH = 320
LEAST_HEIGHT = 280

GAP = 2  # pixels between pictures

# Height of the chart below all pictures, by their width, and its least height.
CHART_SHAPE = 0.13
LEAST_CHART_HEIGHT = 120

FOOTER_HEIGHT = 40  # in a picture of the design size
LEAST_FOOTER_HEIGHT = 28

# Parts of a scene, from top to bottom, are this far apart; in gaps of the canvas.
TOP_MARGIN = 0.7
LEGEND_MARGIN = 0.3
MARGIN = 0.8

# Entries of a legend, by the font size: the square, the start of the name, and the next entry.
SQUARE = 0.75
NAME_OFFSET = 1.4
ENTRY_GAP = 1.2


def columns_for(count: int) -> int:
    """Return the number of columns for ``count`` pictures: one row up to three, else two rows."""
    if count <= 3:
        return count
    return math.ceil(count / 2)


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
    columns = columns_for(len(scenes))
    rows = math.ceil(len(scenes) / columns)
    height = max(LEAST_HEIGHT, round(shape * width))
    scale = min(width / DESIGN_WIDTH, height / DESIGN_HEIGHT)

    grid = Rect(0, 0, columns * (width + GAP) - GAP, rows * (height + GAP) - GAP)
    chart_height = 0
    if below is not None:
        chart_height = max(LEAST_CHART_HEIGHT, round(CHART_SHAPE * grid.width))
    footer_height = 0
    if footer is not None:
        footer_height = max(LEAST_FOOTER_HEIGHT, round(FOOTER_HEIGHT * scale))
    chart_box = Rect(0, grid.bottom, grid.width, chart_height)
    footer_box = Rect(0, chart_box.bottom, grid.width, footer_height)

    canvas = Canvas(_even(grid.width), _even(footer_box.bottom), theme, scale)
    canvas.box(*grid.topleft, *grid.size, "grid")
    boxes = []
    for row in range(rows):
        for column in range(columns):
            boxes.append(Rect((width + GAP) * column, (height + GAP) * row, width, height))
    for box in boxes:
        canvas.box(*box.topleft, *box.size, "background")
    for box, scene in zip(boxes, scenes, strict=False):
        draw_scene(canvas, box, scene)
    if below is not None:
        draw_chart_below(canvas, chart_box, below)
    if footer is not None:
        draw_footer(canvas, footer_box, footer)
    return canvas.pixels()


def _even(size: int) -> int:
    return size + size % 2


def draw_chart_below(canvas: Canvas, box: Rect, chart: Chart) -> None:
    """Draw the chart below the scenes, with a line above it."""
    gap = canvas.gap
    canvas.box(box.x, box.y, box.width, GAP, "grid")
    top = box.y + round(0.6 * gap)
    bottom = box.bottom - round(0.3 * gap)
    draw_chart(canvas, Rect(gap, top, box.width - 2 * gap, bottom - top), chart)


def draw_footer(canvas: Canvas, box: Rect, texts: tuple[str, str]) -> None:
    """Draw texts at the left and the right, with a line above them."""
    left, right = texts
    size = canvas.small
    canvas.box(box.x, box.y, box.width, 1, "grid")
    y = box.y + 0.5 * (box.height - line_height(size))
    width = canvas.text(box.right - canvas.gap, y, right, size, "ink", anchor=1.0)
    room = box.width - width - 3 * canvas.gap
    canvas.text(box.x + canvas.gap, y, canvas.shortened(left, size, room), size, "muted")


def draw_scene(canvas: Canvas, box: Rect, scene: Scene) -> None:
    """Draw one scene; text is readable in boxes of at least ``LEAST_WIDTH`` x ``LEAST_HEIGHT``."""
    gap = canvas.gap
    margin = round(MARGIN * gap)
    inner = box.inflate(-2 * gap, 0)
    heading = Rect(inner.x, box.y + round(TOP_MARGIN * gap), inner.width, line_height(canvas.title))
    draw_heading(canvas, heading, scene)
    # A legend of several lines leaves less room for the beliefs.
    top = draw_legend(canvas, inner, heading.bottom + round(LEGEND_MARGIN * gap), scene)

    tiles_height = line_height(canvas.small) + line_height(canvas.value)
    # The three margins are below the beliefs, below the tiles and at the bottom.
    charts_height = box.bottom - top - tiles_height - round(3 * MARGIN * gap)
    beliefs = Rect(inner.x, top, inner.width, round(scene.beliefs_share * charts_height))
    draw_chart(canvas, beliefs, scene.beliefs)
    tiles = Rect(inner.x, beliefs.bottom + margin, inner.width, tiles_height)
    draw_tiles(canvas, tiles, scene.tiles)

    left_chart, right_chart = scene.charts
    y = tiles.bottom + margin
    left_width = round(scene.left_share * (inner.width - 2 * gap))
    right_width = inner.width - 2 * gap - left_width
    height = max(1, box.bottom - y - margin)
    draw_chart(canvas, Rect(inner.x, y, left_width, height), left_chart)
    draw_chart(canvas, Rect(inner.right - right_width, y, right_width, height), right_chart)


def draw_heading(canvas: Canvas, box: Rect, scene: Scene) -> None:
    """Draw the title on the left and the progress on the right."""
    y = box.y + 0.7 * (line_height(canvas.title) - line_height(canvas.body))
    width = canvas.text(box.right, y, scene.progress, canvas.body, "muted", anchor=1.0)
    room = box.width - canvas.gap - width
    title = canvas.shortened(scene.title, canvas.title, room, bold=True)
    canvas.text(box.x, box.y, title, canvas.title, "ink", bold=True)


def draw_legend(canvas: Canvas, box: Rect, y: int, scene: Scene) -> int:
    """Draw the legend from row ``y`` in as many lines as it needs; return the row below it."""
    size = canvas.body
    line = line_height(size)
    side = SQUARE * size
    entries = list(zip(HIGHLIGHTS, scene.highlighted, strict=False))
    entries.append(("others", scene.others))
    if scene.beliefs.marks:
        entries.append(("muted", "true skill"))
    x = float(box.x)
    for colour, name in entries:
        # Rounding the width keeps later entries in place while numbers change.
        width = (NAME_OFFSET + math.ceil(canvas.width(name, size) / size)) * size
        if x > box.x and x + width > box.right:
            x = float(box.x)
            y += line
        top = y + round(0.5 * (line - side))
        if colour == "muted":
            canvas.triangle(x + 0.5 * side, top, side, colour)
        else:
            canvas.box(x, top, side, side, colour)
        canvas.text(x + NAME_OFFSET * size, y, name, size, "ink")
        x += width + ENTRY_GAP * size
    return y + line + round(0.2 * canvas.gap)


def draw_tiles(canvas: Canvas, box: Rect, tiles: Sequence[tuple[str, str]]) -> None:
    """Draw labelled numbers in large type side by side."""
    small = canvas.small
    width = box.width / len(tiles)
    room = width - 0.5 * small
    size = canvas.value
    for _, number in tiles:
        while size > small - 2 and canvas.width(number, size, bold=True) > room:
            size -= 1
    for i, (label, number) in enumerate(tiles):
        x = box.x + width * i
        canvas.text(x, box.y, canvas.shortened(label, small, room), small, "muted")
        canvas.text(x, box.y + line_height(small), number, size, "ink", bold=True)
