"""Pictures and texts of ``MatchmakingQueue-v0``: waiting players, games under way, totals."""

from __future__ import annotations

import numpy as np

from matchenv.envs.queue.dynamics import State
from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.envs.queue.view import NOBODY
from matchenv.rendering.scene import (
    Beliefs,
    Chart,
    Columns,
    Entry,
    Floats,
    Games,
    Players,
    Renderer,
    Scene,
)

# The chart has room for a queue of this length at least.
LEAST_LENGTH = 4.0


class QueueRenderer(Renderer[State]):
    """Pictures and texts of a batch of queues; arguments as ``Renderer``."""

    unit = "tick"
    simulator: QueueSimulator

    def players(self, state: State, row: int) -> Players:
        """Return those who wait, the population, and the players of games, whose sigma is 0."""
        waiting, population = (
            self.simulator.waiting_players(state, row),
            self.simulator.settings.population,
        )
        playing = self.simulator.games(state, row).ravel()
        return (
            np.concatenate((waiting.mu, [population.mean], playing)),
            np.concatenate((waiting.sigma, [population.deviation], np.zeros(playing.size))),
            waiting.true_skill if self._shows_truth else None,
        )

    def clock(self, state: State, row: int) -> int:
        """Return the current tick."""
        return int(self.simulator.facts(state)["tick"][row])

    def total(self, row: int) -> tuple[str, Floats]:
        """Return the running total of the reward."""
        # The step that ends a tick is the last one that belongs to it.
        ticks, totals = self.noted(row, "tick"), np.cumsum([0.0, *self.noted(row, "reward")])
        ended = np.searchsorted(ticks, np.arange(ticks[-1]), "right")
        return "running total of the reward", totals[ended]

    def lengths(self, row: int) -> Floats:
        """Return the number of waiting players at the last choice up to each tick so far."""
        ticks = np.minimum(self.noted(row, "tick"), self.simulator.settings.horizon - 1)
        last = np.searchsorted(ticks, np.arange(ticks[-1] + 1), "right") - 1
        return self.noted(row, "waiting")[np.maximum(0, last)]

    def scene(self, state: State, row: int) -> Scene:
        """Return the waiting players, their number so far, and the games under way."""
        waiting, settings = self.simulator.waiting_players(state, row), self.simulator.settings
        facts = self.simulator.info(state, row)
        asked = () if waiting.focal == NOBODY else (waiting.focal, *waiting.filled[:1].tolist())
        strong: list[tuple[int, str]] = []
        legend = []
        names = ("player", "asked"), ("opponent", "nearest")
        for k, (colour, name) in zip(asked, names, strict=False):
            strong.insert(0, (k, colour))
            ticks = "1 tick" if waiting.waited[k] == 1 else f"{waiting.waited[k]} ticks"
            text = f"{name}: player {waiting.player[k]}, {ticks}"
            legend.append(Entry(colour, text, f"{name}: player 8,888, 88 ticks"))
        others = f"others ({waiting.mu.size - len(strong):,})"
        legend.append(Entry("others", others, "others (888)"))
        truth = waiting.true_skill if self._shows_truth else None
        beliefs = Beliefs(waiting.mu, waiting.sigma, truth, strong)
        tiles = [
            ("waiting", f"{waiting.mu.size:,}"),
            ("playing", f"{waiting.playing:,}"),
            ("matched", f"{facts['matched_players']:,}"),
            ("gave up", f"{facts['abandoned']:,}"),
            ("mean wait", f"{facts['mean_wait']:.2f}"),
        ]
        lengths = self.lengths(row)
        chart = Chart(
            titles=[("waiting players", "ink")],
            last=settings.horizon,
            unit=self.unit,
            limits=(0.0, max(LEAST_LENGTH, 1.1 * float(lengths.max(initial=0.0)))),
            curves=[(lengths, "ink")],
        )
        longest = max(settings.game_length, int(waiting.waited.max(initial=0)))
        ends = self.simulator.games(state, row)
        games = Games(ends, waiting.mu, waiting.waited, longest, waiting.focal)
        return Scene(legend, beliefs, tiles, (chart, games))

    def table(self, state: State, row: int) -> Columns:
        """Return the focal player and the candidates, the nearest first."""
        waiting = self.simulator.waiting_players(state, row)
        shown, actions, quality = waiting.filled, [], []
        if waiting.focal != NOBODY:
            shown = np.append(waiting.focal, shown)
            actions = ["asked", *range(1, shown.size)]
            quality = ["", *(f"{each:.4f}" for each in waiting.candidate_quality())]
        return {
            "action": (actions, ""),
            "player": (waiting.player[shown], "d"),
            "mu": (waiting.mu[shown], "+.3f"),
            "sigma": (waiting.sigma[shown], ".3f"),
            "ticks": (waiting.waited[shown], "d"),
            "quality": (quality, ""),
        }
