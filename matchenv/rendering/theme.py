"""Colours of a picture: light or dark, told apart by colour-blind people too.

The strong colours are those of Okabe and Ito (2008), in two strengths: for paper and for a
dark screen. Nothing is told by colour alone: players are named, outcomes are words.
"""

from __future__ import annotations

from dataclasses import dataclass

Colour = tuple[int, int, int]


@dataclass(frozen=True)
class Theme:
    """The colours of one picture, red, green and blue from 0 to 255.

    Attributes:
        background: of the whole picture.
        ink: text that matters.
        muted: text that explains, axes.
        grid: lines behind the data.
        player: player 0.
        opponent: the chosen opponent.
        others: everybody else.
        truth: draw density under the true skills.
        lines: of policies that are compared, one after another.
    """

    background: Colour
    ink: Colour
    muted: Colour
    grid: Colour
    player: Colour
    opponent: Colour
    others: Colour
    truth: Colour
    lines: tuple[Colour, ...]

    @property
    def colours(self) -> list[Colour]:
        """All of them."""
        single = [value for value in vars(self).values() if value is not self.lines]
        return [*single, *self.lines]


LIGHT = Theme(
    background=(255, 255, 255),
    ink=(27, 31, 36),
    muted=(92, 101, 112),
    grid=(226, 230, 235),
    player=(0, 114, 178),
    opponent=(213, 94, 0),
    others=(126, 137, 150),
    truth=(0, 134, 98),
    lines=((0, 134, 98), (168, 72, 128), (0, 114, 178), (213, 94, 0), (120, 110, 20)),
)

DARK = Theme(
    background=(15, 20, 26),
    ink=(232, 236, 241),
    muted=(155, 166, 178),
    grid=(42, 50, 60),
    player=(86, 180, 233),
    opponent=(240, 163, 20),
    others=(135, 148, 163),
    truth=(40, 190, 145),
    lines=((40, 190, 145), (222, 140, 190), (86, 180, 233), (240, 163, 20), (214, 206, 90)),
)

THEMES = {"light": LIGHT, "dark": DARK}
