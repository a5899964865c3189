"""What every environment keeps and calls to show a batch of episodes, in every render mode."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchenv.rendering.modes import RENDER_FPS, checked_render_mode

if TYPE_CHECKING:
    from matchenv.rendering.window import Window

Pixels = NDArray[np.uint8]
Frame = Pixels | str

# One picture alone, and one among several.
SINGLE_SIZE = (800, 600)
SHARED_SIZE = (480, 360)

# Environments in a grid: more would be too small to read.
MOST_IN_GRID = 6


class RenderedBatch(ABC):
    """The pictures and texts of a batch of episodes.

    Without a render mode nothing is kept and every call does nothing.

    Args:
        render_mode: None or one of ``RENDER_MODES``.
        count: episodes.

    Attributes:
        render_mode: as given.
        count: episodes to show; 0 without a render mode.
        size: width and height of one picture.

    Raises:
        ValueError: for an unknown mode.
        MissingRenderPackage: for pictures where pygame is not installed.
    """

    title: ClassVar[str]

    def __init__(self, render_mode: str | None, count: int) -> None:
        self.render_mode = checked_render_mode(render_mode)
        self.count = 0 if self.render_mode is None else count
        self.size = SINGLE_SIZE if self.count == 1 else SHARED_SIZE
        self._window: Window | None = None

    @abstractmethod
    def begin(self, rows: NDArray[np.int64]) -> None:
        """The episodes of ``rows`` have begun anew."""

    @abstractmethod
    def text(self, row: int) -> str:
        """One episode in words."""

    @abstractmethod
    def picture(self, row: int) -> Pixels:
        """One episode's picture, uint8, shape (height, width, 3)."""

    def title_of(self, row: int) -> str:
        """What is written over the picture of one episode."""
        return self.title if self.count == 1 else f"environment {row}"

    def frame(self, row: int) -> Frame:
        """One episode as the render mode shows it: a text with ``"ansi"``, else a picture."""
        return self.text(row) if self.render_mode == "ansi" else self.picture(row)

    def grid(self) -> Pixels:
        """The pictures of the first episodes in rows, uint8, shape (height, width, 3)."""
        from matchenv.rendering.picture import tiled
        from matchenv.rendering.theme import LIGHT

        count = min(MOST_IN_GRID, self.count)
        return tiled([self.picture(row) for row in range(count)], LIGHT.grid, gap=2)

    def show(self) -> None:
        """In human mode, show the present pictures in the window, for a frame's time."""
        if self.render_mode != "human":
            return
        if self._window is None:
            from matchenv.rendering.window import Window

            self._window = Window(self.title)
        self._window.show(self.grid())
        self._window.events()
        self._window.wait(RENDER_FPS)

    def close(self) -> None:
        """Close the window, if one is open."""
        if self._window is not None:
            self._window.close()
            self._window = None
