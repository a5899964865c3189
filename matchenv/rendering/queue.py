"""Pictures and texts of ``MatchmakingQueue-v0``: waiting players, ongoing games, totals."""

from __future__ import annotations

import numpy as np

from matchenv.envs.queue.dynamics import State
from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.envs.queue.view import NOBODY
from matchenv.rendering.scene import (
    Chart,
    Columns,
    Curve,
    Limits,
    Players,
    Scene,
    SceneRenderer,
    belief_chart,
    number_text,
    over_time,
)
from matchenv.runtime.arrays import Floats

# Angles of the arc that joins the players of a game.
ARC = np.linspace(0.0, np.pi, 33)


class QueueRenderer(SceneRenderer[State]):
    """Pictures and texts of a batch of queues; see ``SceneRenderer``."""

    unit = "tick"
    simulator: QueueSimulator

    def players(self, state: State, row: int) -> Players:
        """Return the waiting players, the population, and playing players with a sigma of 0."""
        population = self.simulator.settings.population
        waiting = self.simulator.waiting_players(state, row)
        playing = self.simulator.games(state, row).ravel()
        mu = np.concatenate((waiting.mu, [population.mean], playing))
        sigma = np.concatenate((waiting.sigma, [population.deviation], np.zeros(playing.size)))
        return mu, sigma, waiting.true_skill if self._shows_truth else None

    def clock(self, state: State, row: int) -> int:
        """Return the current tick."""
        return int(self.simulator.facts(state)["tick"][row])

    def total(self, row: int) -> tuple[str, Floats]:
        """Return the running total of the reward."""
        ticks, totals = self.recorded(row, "tick"), np.cumsum([0.0, *self.recorded(row, "reward")])
        # The step that ends a tick is the last one that belongs to it.
        ended = np.searchsorted(ticks, np.arange(ticks[-1]), "right")
        return "running total of the reward", totals[ended]

    def lengths(self, row: int) -> Floats:
        """Return the number of waiting players at the last decision up to each tick so far."""
        ticks = np.minimum(self.recorded(row, "tick"), self.simulator.settings.horizon - 1)
        last = np.searchsorted(ticks, np.arange(ticks[-1] + 1), "right") - 1
        return self.recorded(row, "waiting")[np.maximum(0, last)]

    def scene(self, state: State, row: int, limits: Limits) -> Scene:
        """Return the waiting players, their number over time, and the ongoing games."""
        waiting = self.simulator.waiting_players(state, row)
        facts = self.simulator.info(state, row)
        asked = () if waiting.focal == NOBODY else (waiting.focal, *waiting.filled[:1].tolist())
        names, departed = [], facts["matched_players"] + facts["abandoned"]
        for k, name in zip(asked, ("focal", "nearest"), strict=False):
            ticks = "1 tick" if waiting.waited[k] == 1 else f"{waiting.waited[k]} ticks"
            names.append(f"{name}: player {waiting.player[k]}, {ticks}")
        tiles = [
            ("waiting", f"{waiting.mu.size:,}"),
            ("playing", f"{waiting.playing:,}"),
            ("matched", f"{facts['matched_players']:,}"),
            ("gave up", f"{facts['abandoned']:,}"),
            ("mean wait", number_text(facts["mean_wait"], 2) if departed else "–"),
        ]
        lengths = self.lengths(row)
        top = max(4.0, 1.1 * float(lengths.max(initial=0.0)))
        titles = [("players waiting at the last choice", "ink")]
        length = self.over_episode(top, [over_time(lengths, "ink")], titles)
        truth = waiting.true_skill if self._shows_truth else None
        beliefs = belief_chart((waiting.mu, waiting.sigma, truth), asked, limits)
        others = f"others ({waiting.mu.size - len(asked):,})"
        return Scene(names, others, beliefs, tiles, (length, self._games(state, row, limits)))

    def _games(self, state: State, row: int, limits: Limits) -> Chart:
        """Return ongoing games as arcs between the players' means, above bars of waiting times."""
        waiting = self.simulator.waiting_players(state, row)
        curves = [Curve(np.array(limits), np.zeros(2), "muted", "thin")]
        for left, right in np.sort(self.simulator.games(state, row), axis=1).tolist():
            reach = 0.5 * (right - left)
            rise = min(1.0, 0.15 + 2.0 * reach / (limits[1] - limits[0]))
            x, y = left + reach * (1.0 - np.cos(ARC)), rise * np.sin(ARC)
            curves.append(Curve(x, y, "truth", "thin", 0.7))
        longest = max(self.simulator.settings.game_length, *waiting.waited.tolist(), 1)
        for k, (mu, waited) in enumerate(zip(waiting.mu, waiting.waited, strict=True)):
            down = np.array([-0.03, -0.06 - 0.54 * float(waited) / longest])
            curves.append(Curve(np.full(2, mu), down, "player" if k == waiting.focal else "others"))
        titles = [("games under way", "truth"), ("ticks waited", "muted")]
        return Chart(limits, (-0.67, 1.0), curves, titles)

    def table(self, state: State, row: int) -> Columns:
        """Return the focal player and the candidates, nearest first."""
        waiting = self.simulator.waiting_players(state, row)
        shown, actions, quality = waiting.filled, [], []
        if waiting.focal != NOBODY:
            shown = np.append(waiting.focal, shown)
            actions = ["focal", *range(1, shown.size)]
            quality = ["", *(f"{value:.4f}" for value in waiting.candidate_quality())]
        return {
            "action": (actions, ""),
            "player": (waiting.player[shown], "d"),
            "mu": (waiting.mu[shown], "+.3f"),
            "sigma": (waiting.sigma[shown], ".3f"),
            "ticks": (waiting.waited[shown], "d"),
            "quality": (quality, ""),
        }
