"""The renderer of ``MatchmakingQueue-v0``."""

from __future__ import annotations

from array import array
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.envs.queue.state import State
from matchenv.queue.text import describe_queue
from matchenv.rendering.batch import Pixels, RenderedBatch


class RenderedQueues(RenderedBatch):
    """Pictures and texts of a batch of queues.

    Args:
        simulator: of the queues.
        render_mode: one of ``RENDER_MODES``.
        count: queues.
    """

    title: ClassVar[str] = "MatchmakingQueue-v0"

    def __init__(self, simulator: QueueSimulator, render_mode: str, count: int) -> None:
        super().__init__(render_mode, count)
        self.simulator = simulator
        # How many waited when each tick was last looked at.
        self._lengths: list[array[float]] = [array("d") for _ in range(count)]

    def begin(self, state: State, rows: NDArray[np.int64]) -> None:
        """Note that the runs of ``rows`` have begun."""
        for row in rows.tolist():
            del self._lengths[row][:]
            self._remember(state, row)

    def add(self, state: State, actions: NDArray[np.int64], running: NDArray[np.bool_]) -> None:
        """Note the lengths of the running queues after a choice."""
        for row in np.flatnonzero(running).tolist():
            self._remember(state, row)

    def text(self, state: State, row: int) -> str:
        """Describe one queue."""
        return describe_queue(self.simulator.waiting_players(state, row))

    def picture(self, state: State, row: int) -> Pixels:
        """Draw one queue, uint8, shape (height, width, 3)."""
        from matchenv.queue.picture import QueueScene, draw_queue

        facts = {name: values[row].item() for name, values in self.simulator.facts(state).items()}
        scene = QueueScene(
            self.simulator.waiting_players(state, row),
            self.simulator.games(state, row),
            np.array(self._lengths[row]),
            facts["matched_players"],
            facts["abandoned"],
            facts["mean_wait"],
            self.title_of(row),
        )
        return draw_queue(scene, *self.size)

    def _remember(self, state: State, row: int) -> None:
        queue, lengths = state.queue[row], self._lengths[row]
        tick = min(int(queue["tick"]), self.simulator.settings.horizon - 1)
        del lengths[tick:]
        lengths.extend([float(queue["waiting"])] * (tick + 1 - len(lengths)))
