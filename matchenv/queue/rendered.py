"""What the queue's environments keep and call to show their runs, in every render mode."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from matchenv.queue.queues import Queues
from matchenv.queue.state import TICK, WAITING
from matchenv.queue.text import describe_queue
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


class RenderedQueues:
    """The pictures and texts of a batch of queues.

    Without a render mode nothing is kept and every call does nothing.

    Args:
        render_mode: None or one of ``RENDER_MODES``.
        queues: what to show.

    Raises:
        ValueError: for an unknown mode.
        MissingRenderPackage: for pictures where pygame is not installed.
    """

    def __init__(self, render_mode: str | None, queues: Queues) -> None:
        self.render_mode = checked_render_mode(render_mode)
        self.queues = queues
        count = 0 if self.render_mode is None else queues.count
        # How many waited when each tick was last looked at.
        self._lengths: list[array[float]] = [array("d") for _ in range(count)]
        self._window: Window | None = None

    def begin(self, rows: NDArray[np.int64]) -> None:
        """The runs of ``rows`` have begun anew."""
        if self._lengths:
            for row in rows.tolist():
                del self._lengths[row][:]
                self._remember(row)

    def add(self, idle: NDArray[np.bool_]) -> None:
        """A choice was carried out in every queue that is not idle, shape (B,)."""
        for row in range(len(self._lengths)):
            if not idle[row]:
                self._remember(row)

    def frame(self, row: int) -> Frame:
        """One run as the render mode shows it: a text with ``"ansi"``, else a picture."""
        return self.text(row) if self.render_mode == "ansi" else self.picture(row)

    def text(self, row: int) -> str:
        """One run in words."""
        return describe_queue(self.queues.waiting_players(row))

    def picture(self, row: int) -> Pixels:
        """One run's picture, uint8, shape (height, width, 3)."""
        from matchenv.queue.picture import QueueScene, draw_queue

        infos = {name: value[row].item() for name, value in self.queues.infos().items()
                 if value.ndim == 1}  # fmt: skip
        scene = QueueScene(
            self.queues.waiting_players(row),
            self.queues.games(row),
            np.array(self._lengths[row]),
            infos["matched_players"],
            infos["abandoned"],
            infos["mean_wait"],
            "MatchmakingQueue-v0" if len(self._lengths) == 1 else f"environment {row}",
        )
        return draw_queue(scene, *(SINGLE_SIZE if len(self._lengths) == 1 else SHARED_SIZE))

    def show(self) -> None:
        """In human mode, show the present pictures in the window, for a frame's time."""
        if self.render_mode != "human":
            return
        if self._window is None:
            from matchenv.rendering.window import Window

            self._window = Window("MatchmakingQueue-v0")
        self._window.show(self.grid())
        self._window.events()
        self._window.wait(RENDER_FPS)

    def grid(self) -> Pixels:
        """The pictures of the first environments in rows, uint8, shape (height, width, 3)."""
        from matchenv.rendering.picture import tiled
        from matchenv.rendering.theme import LIGHT

        count = min(MOST_IN_GRID, len(self._lengths))
        return tiled([self.picture(row) for row in range(count)], LIGHT.grid, gap=2)

    def close(self) -> None:
        """Close the window, if one is open."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def _remember(self, row: int) -> None:
        numbers, lengths = self.queues.batch.numbers[row], self._lengths[row]
        tick = min(int(numbers[TICK]), self.queues.settings.horizon - 1)
        del lengths[tick:]
        lengths.extend([float(numbers[WAITING])] * (tick + 1 - len(lengths)))
