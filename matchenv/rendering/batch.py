"""What every environment keeps and calls to show a batch of episodes, in every render mode."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.core.rendering import RENDER_FPS, Renderer, checked_render_mode

if TYPE_CHECKING:
    from matchenv.rendering.window import Window

Pixels = NDArray[np.uint8]
Frame = Pixels | str

# One picture alone, and one among several.
SINGLE_SIZE = (800, 600)
SHARED_SIZE = (480, 360)

# Environments in a grid: more would be too small to read.
MOST_IN_GRID = 6


class RenderedBatch(Renderer):
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
    def text(self, state: Any, row: int) -> str:
        """Describe one episode."""

    @abstractmethod
    def picture(self, state: Any, row: int) -> Pixels:
        """Draw one episode, uint8, shape (height, width, 3)."""

    def title_of(self, row: int) -> str:
        """Return the title over the picture of one episode."""
        return self.title if self.count == 1 else f"environment {row}"

    def frame(self, state: Any, row: int) -> Frame:
        """Return one episode as the render mode shows it: a text with ``"ansi"``, else pixels."""
        return self.text(state, row) if self.render_mode == "ansi" else self.picture(state, row)

    def grid(self, state: Any) -> Pixels:
        """Return the pictures of the first episodes in rows, uint8, shape (height, width, 3)."""
        from matchenv.rendering.picture import tiled
        from matchenv.rendering.theme import LIGHT

        count = min(MOST_IN_GRID, self.count)
        return tiled([self.picture(state, row) for row in range(count)], LIGHT.grid, gap=2)

    def show(self, state: Any) -> None:
        """Show the current pictures in the window, for a frame's time, in human mode."""
        if self.render_mode != "human":
            return
        if self._window is None:
            from matchenv.rendering.window import Window

            self._window = Window(self.title)
        self._window.show(self.grid(state))
        self._window.events()
        self._window.wait(RENDER_FPS)

    def close(self) -> None:
        """Close the window, if one is open."""
        if self._window is not None:
            self._window.close()
            self._window = None
