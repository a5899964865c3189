"""What the environments keep and call to show their episodes, in every render mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from matchenv.episodes import Episodes
from matchenv.games_played import GamesPlayed
from matchenv.play import DRAW_DENSITY, TRUE_DRAW_DENSITY
from matchenv.rendering.modes import RENDER_FPS, checked_render_mode
from matchenv.rendering.scene import EpisodeRecord, Scene
from matchenv.rendering.text import describe_state

if TYPE_CHECKING:
    from matchenv.rendering.window import Window

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]
Frame = Pixels | str

# One picture alone, and one among several.
SINGLE_SIZE = (800, 600)
SHARED_SIZE = (480, 360)

# Environments in a grid: more would be too small to read.
MOST_IN_GRID = 6


class RenderedEpisodes:
    """The pictures and texts of a batch of episodes.

    Without a render mode nothing is kept and every call does nothing.

    Args:
        render_mode: None or one of ``RENDER_MODES``.
        render_true_skill: whether pictures show true skills and true q.
        episodes: the episodes to show.

    Raises:
        ValueError: for an unknown mode, or if ``render_true_skill`` is no bool.
        MissingRenderPackage: for pictures where pygame is not installed.
    """

    def __init__(
        self, render_mode: str | None, render_true_skill: bool, episodes: Episodes
    ) -> None:
        self.render_mode = checked_render_mode(render_mode)
        if not isinstance(render_true_skill, bool | np.bool_):
            raise ValueError(f"render_true_skill must be True or False, got {render_true_skill!r}")
        self.episodes = episodes
        settings = episodes.settings
        count = 0 if self.render_mode is None else episodes.games_played.size
        self._records = [
            EpisodeRecord(
                settings.horizon,
                settings.beta,
                "Matchmaking-v0" if count == 1 else f"environment {row}",
                bool(render_true_skill),
            )
            for row in range(count)
        ]
        self._size = SINGLE_SIZE if count == 1 else SHARED_SIZE
        self._window: Window | None = None

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

        return draw_scene(self.scene(row), *self._size)

    def grid(self) -> Pixels:
        """The pictures of the first episodes in rows, uint8, shape (height, width, 3)."""
        from matchenv.rendering.picture import tiled
        from matchenv.rendering.theme import LIGHT

        count = min(MOST_IN_GRID, len(self._records))
        return tiled([self.picture(row) for row in range(count)], LIGHT.grid, gap=2)

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

    def frame(self, row: int) -> Frame:
        """One episode as the render mode shows it: a text with ``"ansi"``, else a picture."""
        return self.text(row) if self.render_mode == "ansi" else self.picture(row)

    def show(self) -> None:
        """In human mode, show the present pictures in the window, for a frame's time."""
        if self.render_mode != "human":
            return
        if self._window is None:
            from matchenv.rendering.window import Window

            self._window = Window("Matchmaking-v0")
        self._window.show(self.grid())
        self._window.events()
        self._window.wait(RENDER_FPS)

    def close(self) -> None:
        """Close the window, if one is open."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def _online(self, row: int) -> NDArray[np.bool_] | None:
        return None if self.episodes.pool is None else self.episodes.action_masks()[row]

    def _players(self, row: int) -> tuple[Floats, Floats, Floats]:
        episodes = self.episodes
        return episodes.mu[row].copy(), episodes.sigma[row].copy(), episodes.true_skill[row].copy()
