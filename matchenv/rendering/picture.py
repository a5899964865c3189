"""A scene as a picture; several pictures side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from matchenv.rendering.axis import number_text
from matchenv.rendering.canvas import Canvas, line_height, shortened, text_width
from matchenv.rendering.charts import draw_density, draw_total
from matchenv.rendering.layout import Box, Parts, Sizes
from matchenv.rendering.scene import Scene
from matchenv.rendering.skills import draw_skills, player_text
from matchenv.rendering.theme import LIGHT, Colour, Theme
from matchenv.runtime.checks import as_integer

Pixels = NDArray[np.uint8]

WIDTH, HEIGHT = 800, 600

# Smaller pictures have no room for letters that can be read.
LEAST_WIDTH, LEAST_HEIGHT = 320, 280

OUTCOMES = {1: "won", -1: "lost", 0: "draw"}

# What a legend shows before a name.
SWATCH, MARK = "swatch", "mark"
Entry = tuple[str, Colour, str]


def draw_scene(
    scene: Scene, width: int = WIDTH, height: int = HEIGHT, theme: Theme = LIGHT
) -> Pixels:
    """The picture of one moment of an episode.

    Args:
        scene: what to show.
        width: in pixels, at least ``LEAST_WIDTH``.
        height: in pixels, at least ``LEAST_HEIGHT``.
        theme: colours.

    Returns:
        uint8, shape (height, width, 3): red, green, blue. The same scene gives the same picture.

    Raises:
        ValueError: for a size that is too small.
    """
    width = as_integer("width", width, LEAST_WIDTH)
    height = as_integer("height", height, LEAST_HEIGHT)
    canvas = Canvas(width, height, theme.background)
    sizes = Sizes.of(width, height)
    lines = legend_lines(legend(scene, theme), width - 2 * sizes.gap, sizes.body)
    parts = Parts.of(width, height, sizes, len(lines))
    played = f"game {scene.games_played:,} of {scene.horizon:,}"
    draw_title(canvas, parts.title, scene.title, played, theme, sizes)
    draw_legend(canvas, parts.legend, lines, theme, sizes)
    draw_skills(canvas, parts.skills, scene, theme, sizes)
    _draw_tiles(canvas, parts.tiles, scene, theme, sizes)
    draw_density(canvas, parts.density, scene, theme, sizes)
    draw_total(canvas, parts.total, scene, theme, sizes)
    return canvas.pixels


def grid_shape(count: int) -> tuple[int, int]:
    """Rows and columns for ``count`` pictures: as square as can be, rather wide than high."""
    columns = math.ceil(math.sqrt(count))
    return math.ceil(count / columns), columns


def tiled(
    pictures: Sequence[Pixels], colour: Colour, columns: int | None = None, gap: int = 0
) -> Pixels:
    """Pictures of equal size in rows, from left to right.

    Args:
        pictures: each uint8 of shape (height, width, 3).
        colour: between them, and where the last row has none.
        columns: pictures in a row; None for a shape near a square.
        gap: pixels between two pictures.
    """
    if columns is None:
        columns = grid_shape(len(pictures))[1]
    rows = math.ceil(len(pictures) / columns)
    height, width, _ = pictures[0].shape
    whole = np.empty(
        (rows * (height + gap) - gap, columns * (width + gap) - gap, 3), dtype=np.uint8
    )
    whole[:] = colour
    for place, picture in enumerate(pictures):
        y, x = (height + gap) * (place // columns), (width + gap) * (place % columns)
        whole[y : y + height, x : x + width] = picture
    return whole


def legend(scene: Scene, theme: Theme) -> list[Entry]:
    """Who is who: what to show before each name, its colour and the name."""
    entries = [(SWATCH, theme.player, player_text(scene, 0))]
    others = scene.mu.size - 1
    if scene.opponent is not None:
        entries.append((SWATCH, theme.opponent, player_text(scene, scene.opponent)))
        others -= 1
    if others:
        name = "all others" if scene.opponent is not None else "opponents"
        entries.append((SWATCH, theme.others, f"{name} ({others:,})"))
    if scene.true_skill is not None:
        entries.append((MARK, theme.muted, "true skill"))
    return entries


def legend_lines(entries: Sequence[Entry], width: float, size: int) -> list[list[Entry]]:
    """The entries in as many lines as their widths need."""
    lines: list[list[Entry]] = [[]]
    used = 0.0
    for entry in entries:
        wide = _entry_width(entry[2], size)
        if lines[-1] and used + wide - size > width:
            lines.append([])
            used = 0.0
        lines[-1].append(entry)
        used += wide
    return lines


def _entry_width(name: str, size: int) -> float:
    return 1.4 * size + text_width(name, size) + 1.6 * size


def draw_title(
    canvas: Canvas, box: Box, title: str, progress: str, theme: Theme, sizes: Sizes
) -> None:
    """Write what is shown on the left, and how far it is on the right."""
    wide = text_width(progress, sizes.body)
    drop = 0.7 * (line_height(sizes.title) - line_height(sizes.body))
    canvas.text(box.right, box.y + drop, progress, sizes.body, theme.muted, anchor="right")
    title = shortened(title, sizes.title, box.width - wide - sizes.gap, bold=True)
    canvas.text(box.x, box.y, title, sizes.title, theme.ink, bold=True)


def draw_legend(
    canvas: Canvas, box: Box, lines: Sequence[Sequence[Entry]], theme: Theme, sizes: Sizes
) -> None:
    """Draw the lines that ``legend_lines`` gives."""
    size, line = sizes.body, line_height(sizes.body)
    side = 0.75 * size
    for number, entries in enumerate(lines):
        x, y = float(box.x), box.y + number * line
        for kind, colour, name in entries:
            top = y + 0.5 * (line - side)
            if kind == MARK:
                canvas.triangle(x + 0.5 * side, round(top), side, colour)
            else:
                canvas.box(x, top, side, side, colour)
            canvas.text(x + 1.4 * size, y, name, size, theme.ink)
            x += _entry_width(name, size)


def _draw_tiles(canvas: Canvas, box: Box, scene: Scene, theme: Theme, sizes: Sizes) -> None:
    true = "true " if scene.true_draw_density is not None else ""
    last, ratio, density = "–", "–", "–"
    if scene.opponent is not None and scene.win_ratio is not None:
        last = f"{OUTCOMES[int(scene.outcomes[-1])]} vs {scene.opponent:,}"
        ratio = f"{100.0 * scene.win_ratio:.0f} %"
        density = _density_text(float(scene.judged_density[-1]))
    tiles = [
        ("last game", last),
        ("win ratio", ratio),
        (f"{true}q of last", density),
        (f"total {true}q", _density_text(float(scene.judged_density.sum()))),
        ("games left", f"{scene.games_left:,}"),
    ]
    # The first tile changes its width from game to game; its place is kept for the widest.
    draw_tiles(canvas, box, tiles, f"lost vs {scene.mu.size - 1:,}", theme, sizes)


def draw_tiles(
    canvas: Canvas,
    box: Box,
    tiles: Sequence[tuple[str, str]],
    widest: str,
    theme: Theme,
    sizes: Sizes,
) -> None:
    """Write numbers in large letters side by side.

    Args:
        canvas: what to draw on.
        box: where.
        tiles: a label and a number's text each.
        widest: the widest text of the first.
        theme: colours.
        sizes: of letters.
    """
    value_size, widths = _tile_widths([widest, *(each[1] for each in tiles[1:])], tiles, box, sizes)
    gap = (box.width - sum(widths)) / (len(tiles) - 1)
    x = float(box.x)
    for (label, value), wide in zip(tiles, widths, strict=True):
        canvas.text(x, box.y, label, sizes.small, theme.muted)
        top = box.y + line_height(sizes.small)
        canvas.text(x, top, value, value_size, theme.ink, bold=True)
        x += wide + gap


def _tile_widths(
    values: Sequence[str], tiles: Sequence[tuple[str, str]], box: Box, sizes: Sizes
) -> tuple[int, list[int]]:
    """The largest letters with which the values fit beside one another, and their widths."""
    widths: list[int] = []
    for size in range(sizes.value, sizes.small - 3, -1):
        widths = [
            max(text_width(label, sizes.small), text_width(value, size, bold=True))
            for (label, _), value in zip(tiles, values, strict=True)
        ]
        if sum(widths) + sizes.small * (len(widths) - 1) <= box.width:
            return size, widths
    return sizes.small - 2, widths


def _density_text(value: float) -> str:
    if value != 0.0 and not 0.001 <= abs(value) < 1e6:
        return number_text(value, None)
    return number_text(value, 3 if abs(value) < 1.0 else 2)
