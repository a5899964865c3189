"""Pictures of ``Lobby-v0``."""

from __future__ import annotations

import numpy as np

from lobby.env import LobbySimulator, State
from matchenv.rendering.scene import (
    Columns,
    Limits,
    Players,
    Scene,
    SceneRenderer,
    belief_chart,
    over_time,
)
from matchenv.runtime.arrays import Floats


class LobbyRenderer(SceneRenderer[State]):
    """The beliefs about all tables, and the rewards."""

    simulator: LobbySimulator

    def players(self, state: State, row: int) -> Players:
        """Return the beliefs about the tables."""
        mu, sigma = self.simulator.beliefs(state)
        return mu[row], sigma[row], state.true_skill[row].copy()

    def total(self, row: int) -> tuple[str, Floats]:
        """Return the level so far."""
        return "level", np.cumsum(self.recorded(row, "level")[1:])

    def scene(self, state: State, row: int, limits: Limits) -> Scene:
        """Return the content of a picture."""
        levels = self.recorded(row, "level")[1:]
        chart = self.over_episode(3.0, [over_time(levels, "ink")], [("level", "ink")])
        beliefs = belief_chart(self.players(state, row), [], limits)
        return Scene([], "tables", beliefs, [("games", str(levels.size))], (chart, chart))

    def table(self, state: State, row: int) -> Columns:
        """Return the tables."""
        mu, sigma, _ = self.players(state, row)
        return {"mu": (mu, "+.3f"), "sigma": (sigma, ".3f")}
