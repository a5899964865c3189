"""Where things stand in a picture, and how large letters are."""

from __future__ import annotations

from dataclasses import dataclass

from matchenv.rendering.canvas import line_height

# Sizes below are meant for a picture of this size; others scale, but letters stay readable.
DESIGN_WIDTH, DESIGN_HEIGHT = 800, 600


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels: left, top, width and height."""

    x: int
    y: int
    width: int
    height: int

    @property
    def bottom(self) -> int:
        """The row below the last."""
        return self.y + self.height

    @property
    def right(self) -> int:
        """The column after the last."""
        return self.x + self.width


@dataclass(frozen=True)
class Sizes:
    """Sizes of letters and of empty space, in pixels.

    Attributes:
        title: letters of the title.
        body: letters of names.
        small: letters of labels and ticks.
        value: letters of the large numbers.
        gap: empty space at the edges and between parts.
        mark: height of the marks of true skills.
        thick: thickness of lines that matter.
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
        """The sizes for a picture of so many pixels."""
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


@dataclass(frozen=True)
class Parts:
    """The rectangles of one picture, from top to bottom.

    Attributes:
        title: title and games left.
        legend: who is who.
        skills: the skill axis with its bells, marks and ticks.
        tiles: the large numbers.
        density: q of every game.
        total: the running total of q.
    """

    title: Box
    legend: Box
    skills: Box
    tiles: Box
    density: Box
    total: Box

    @classmethod
    def of(cls, width: int, height: int, sizes: Sizes, legend_lines: int) -> Parts:
        """Divide a picture; a legend of more lines leaves less for the bells."""
        left, right = sizes.gap, width - sizes.gap
        across = right - left
        y = round(0.7 * sizes.gap)
        title = Box(left, y, across, line_height(sizes.title))
        y = title.bottom + round(0.3 * sizes.gap)
        legend = Box(left, y, across, legend_lines * line_height(sizes.body))
        y = legend.bottom + round(0.2 * sizes.gap)
        tiles_height = line_height(sizes.small) + line_height(sizes.value)
        rest = height - y - tiles_height - round(2.4 * sizes.gap)
        skills = Box(left, y, across, round(0.6 * rest))
        y = skills.bottom + round(0.8 * sizes.gap)
        tiles = Box(left, y, across, tiles_height)
        y = tiles.bottom + round(0.8 * sizes.gap)
        half = (across - 2 * sizes.gap) // 2
        charts = max(1, height - y - round(0.8 * sizes.gap))
        density = Box(left, y, half, charts)
        total = Box(right - half, y, half, charts)
        return cls(title, legend, skills, tiles, density, total)
