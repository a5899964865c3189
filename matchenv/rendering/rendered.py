"""What ``Matchmaking-v0`` keeps and calls to show its episodes, in every render mode."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from matchenv.episodes import Episodes
from matchenv.games_played import GamesPlayed
from matchenv.play import DRAW_DENSITY, TRUE_DRAW_DENSITY
from matchenv.rendering.batch import Pixels, RenderedBatch
from matchenv.rendering.scene import EpisodeRecord, Scene
from matchenv.rendering.text import describe_state

Floats = NDArray[np.float64]


class RenderedEpisodes(RenderedBatch):
    """The pictures and texts of a batch of episodes.

    Args:
        render_mode: None or one of ``RENDER_MODES``.
        render_true_skill: whether pictures show true skills and true q.
        episodes: the episodes to show.

    Raises:
        ValueError: for an unknown mode, or if ``render_true_skill`` is no bool.
        MissingRenderPackage: for pictures where pygame is not installed.
    """

    title: ClassVar[str] = "Matchmaking-v0"

    def __init__(
        self, render_mode: str | None, render_true_skill: bool, episodes: Episodes
    ) -> None:
        super().__init__(render_mode, episodes.games_played.size)
        if not isinstance(render_true_skill, bool | np.bool_):
            raise ValueError(f"render_true_skill must be True or False, got {render_true_skill!r}")
        self.episodes = episodes
        settings = episodes.settings
        self._records = [
            EpisodeRecord(
                settings.horizon, settings.beta, self.title_of(row), bool(render_true_skill)
            )
            for row in range(self.count)
        ]

    def begin(self, rows: NDArray[np.int64]) -> None:
        """The episodes of ``rows`` have begun anew."""
        if self._records:
            for row in rows.tolist():
                self._records[row].begin(*self._players(row))

    def add(
        self, opponents: NDArray[np.int64], played: GamesPlayed, waiting: NDArray[np.bool_]
    ) -> None:
        """Games were played.

        Args:
            opponents: actions, shape (B,).
            played: what they gave.
            waiting: shape (B,), bool, episodes that did not play.
        """
        if self._records:
            games = zip(
                self._records,
                waiting.tolist(),
                opponents.tolist(),
                played.outcomes.tolist(),
                played.report[DRAW_DENSITY].tolist(),
                played.report[TRUE_DRAW_DENSITY].tolist(),
                strict=True,
            )
            for record, waits, *game in games:
                if not waits:
                    record.add(*game)

    def scene(self, row: int) -> Scene:
        """What a picture of one episode shows now."""
        return self._records[row].scene(*self._players(row), self._online(row))

    def picture(self, row: int) -> Pixels:
        """One episode's picture, uint8, shape (height, width, 3)."""
        from matchenv.rendering.picture import draw_scene

        return draw_scene(self.scene(row), *self.size)

    def text(self, row: int) -> str:
        """One episode in words."""
        record = self._records[row]
        return describe_state(
            self.episodes.knowledge_state()[row],
            int(self.episodes.games_played[row]),
            self.episodes.settings,
            record.last_game,
            self._online(row),
        )

    def _online(self, row: int) -> NDArray[np.bool_] | None:
        return None if self.episodes.pool is None else self.episodes.action_masks()[row]

    def _players(self, row: int) -> tuple[Floats, Floats, Floats]:
        episodes = self.episodes
        return episodes.mu[row].copy(), episodes.sigma[row].copy(), episodes.true_skill[row].copy()
