"""What ``Matchmaking-v0`` keeps and calls to show its episodes, in every render mode."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.one_player.simulator import OnePlayer, State
from matchenv.rendering.batch import Pixels, RenderedBatch
from matchenv.rendering.scene import EpisodeRecord, Scene
from matchenv.rendering.text import describe_state

Floats = NDArray[np.float64]


class RenderedEpisodes(RenderedBatch):
    """Pictures and texts of a batch of episodes.

    Args:
        simulator: of the episodes.
        render_mode: one of ``RENDER_MODES``.
        count: episodes.
        render_true_skill: show true skills and true q.
    """

    title: ClassVar[str] = "Matchmaking-v0"

    def __init__(
        self, simulator: OnePlayer, render_mode: str, count: int, *, render_true_skill: bool = True
    ) -> None:
        super().__init__(render_mode, count)
        self.simulator = simulator
        settings = simulator.settings
        self._records = [
            EpisodeRecord(
                settings.horizon, settings.beta, self.title_of(row), bool(render_true_skill)
            )
            for row in range(count)
        ]

    def begin(self, state: State, rows: NDArray[np.int64]) -> None:
        """Note that the episodes of ``rows`` have begun."""
        for row in rows.tolist():
            self._records[row].begin(*state.players[row].T.copy())

    def add(self, state: State, actions: NDArray[np.int64], running: NDArray[np.bool_]) -> None:
        """Note the games just played."""
        facts = self.simulator.facts(state)
        games = zip(
            self._records,
            running.tolist(),
            actions.tolist(),
            facts["outcome"].tolist(),
            facts["draw_density"].tolist(),
            facts["true_draw_density"].tolist(),
            strict=True,
        )
        for record, runs, *game in games:
            if runs:
                record.add(*game)

    def scene(self, state: State, row: int) -> Scene:
        """Return the content of the picture of one episode."""
        return self._records[row].scene(*state.players[row].T.copy(), self._online(state, row))

    def picture(self, state: State, row: int) -> Pixels:
        """Draw one episode, uint8, shape (height, width, 3)."""
        from matchenv.rendering.picture import draw_scene

        return draw_scene(self.scene(state, row), *self.size)

    def text(self, state: State, row: int) -> str:
        """Describe one episode."""
        return describe_state(
            self.simulator.knowledge_state(state)[row],
            int(state.games[row]),
            self.simulator.settings,
            self._records[row].last_game,
            self._online(state, row),
        )

    def _online(self, state: State, row: int) -> NDArray[np.bool_] | None:
        masks = self.simulator.masks(state)
        return None if masks is None else masks[row].copy()
