"""What ``MatchmakingQueue-v0`` keeps and calls to show its runs, in every render mode."""

from __future__ import annotations

from array import array
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from matchenv.queue.queues import Queues
from matchenv.queue.rendered_batch import Pixels, RenderedBatch
from matchenv.queue.state import TICK, WAITING
from matchenv.queue.text import describe_queue


class RenderedQueues(RenderedBatch):
    """The pictures and texts of a batch of queues.

    Args:
        render_mode: None or one of ``RENDER_MODES``.
        queues: what to show.

    Raises:
        ValueError: for an unknown mode.
        MissingRenderPackage: for pictures where pygame is not installed.
    """

    title: ClassVar[str] = "MatchmakingQueue-v0"

    def __init__(self, render_mode: str | None, queues: Queues) -> None:
        super().__init__(render_mode, queues.count)
        self.queues = queues
        # How many waited when each tick was last looked at.
        self._lengths: list[array[float]] = [array("d") for _ in range(self.count)]

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
            self.title_of(row),
        )
        return draw_queue(scene, *self.size)

    def _remember(self, row: int) -> None:
        numbers, lengths = self.queues.batch.numbers[row], self._lengths[row]
        tick = min(int(numbers[TICK]), self.queues.settings.horizon - 1)
        del lengths[tick:]
        lengths.extend([float(numbers[WAITING])] * (tick + 1 - len(lengths)))
