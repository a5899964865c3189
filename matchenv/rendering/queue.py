"""Pictures and texts of ``MatchmakingQueue-v0``: waiting players, games under way, totals."""

from __future__ import annotations

import numpy as np

from matchenv.envs.core.rendering import Floats
from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.envs.queue.state import State
from matchenv.envs.queue.view import NOBODY, WaitingPlayers
from matchenv.rendering.scene import (
    Beliefs,
    Chart,
    Entry,
    Facts,
    Games,
    Renderer,
    Scene,
    skill_limits,
    widened,
)

# The chart has room for a queue of this length at least.
LEAST_LENGTH = 4.0

SHOWN_CANDIDATES = 10


class QueueRenderer(Renderer[State]):
    """Pictures and texts of a batch of queues; arguments as ``Renderer``."""

    unit = "tick"
    simulator: QueueSimulator

    def note(self, state: State, row: int, facts: Facts, action: int | None, reward: float) -> None:
        """Keep the total reward after each tick and the length of the queue in it."""
        tick, waiting = int(facts["tick"][row]), int(facts["waiting"][row])
        totals, lengths = self.history[row]["totals"], self.history[row]["lengths"]
        # The last total is that of the current tick so far.
        totals[-1:] = [sum(totals[-1:]) + reward]
        totals += totals[-1:] * (tick + 1 - len(totals))
        tick = min(tick, self.simulator.settings.horizon - 1)
        lengths[tick:] = [waiting]
        lengths += [waiting] * (tick + 1 - len(lengths))

    def clock(self, state: State, row: int) -> int:
        """Return the current tick."""
        return int(self.simulator.facts(state)["tick"][row])

    def limits(self, state: State, row: int) -> tuple[float, float]:
        """Return the ends of the skill axis: the population's, unless a player is beyond them."""
        population, waiting = self.simulator.settings.population, self._waiting(state, row)
        games = self.simulator.games(state, row)
        ends = skill_limits(np.array([population.mean]), np.array([population.deviation]), None)
        if waiting.mu.size:
            truth = waiting.true_skill if self._shows_truth else None
            ends = widened(ends, skill_limits(waiting.mu, waiting.sigma, truth))
        return widened(ends, (float(games.min()), float(games.max()))) if games.size else ends

    def total(self, row: int) -> tuple[str, Floats]:
        """Return the running total of the reward."""
        return "running total of the reward", np.array(self.history[row]["totals"][:-1])

    def scene(self, state: State, row: int) -> Scene:
        """Return the waiting players, their number so far, and the games under way."""
        waiting, settings = self._waiting(state, row), self.simulator.settings
        facts = self.simulator.facts(state)
        asked = () if waiting.focal == NOBODY else (waiting.focal, *waiting.filled[:1].tolist())
        strong: list[tuple[int, str]] = []
        legend = []
        # A place is kept for each, whether a player is asked about or not.
        for place, (colour, name) in enumerate((("player", "asked"), ("opponent", "nearest"))):
            text = ""
            if place < len(asked):
                k = asked[place]
                strong.insert(0, (k, colour))
                ticks = "1 tick" if waiting.waited[k] == 1 else f"{waiting.waited[k]} ticks"
                text = f"{name}: player {waiting.player[k]}, {ticks}"
            legend.append(Entry(colour, text, f"{name}: player 8,888, 88 ticks"))
        others = f"others ({waiting.mu.size - len(strong):,})"
        legend.append(Entry("others", others, "others (888)"))
        truth = waiting.true_skill if self._shows_truth else None
        typical = 0.5 * settings.population.deviation
        beliefs = Beliefs(waiting.mu, waiting.sigma, truth, typical, strong)
        tiles = [
            ("waiting", f"{waiting.mu.size:,}"),
            ("playing", f"{waiting.playing:,}"),
            ("matched", f"{facts['matched_players'][row]:,}"),
            ("gave up", f"{facts['abandoned'][row]:,}"),
            ("mean wait", f"{facts['mean_wait'][row]:.2f}"),
        ]
        lengths = np.array(self.history[row]["lengths"], dtype=np.float64)
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
        return Scene(legend, beliefs, tiles, "1,000", (chart, games))

    def text(self, state: State, row: int) -> str:
        """Return the focal player and the nearest candidates, a line each."""
        waiting = self._waiting(state, row)
        focal, found = waiting.focal, waiting.filled
        lines = [
            f"tick {waiting.tick} of {waiting.settings.horizon}: {waiting.mu.size} waiting, "
            f"{waiting.playing} playing"
        ]
        if focal == NOBODY:
            return f"{lines[0]}\nno player is asked about"
        lines.append(
            f"player {waiting.player[focal]}: mu {waiting.mu[focal]:+.3f}, "
            f"sigma {waiting.sigma[focal]:.3f}, waiting for {waiting.waited[focal]} ticks"
        )
        if found.size:
            lines.append(
                f"{'action':>6} {'player':>8} {'mu':>8} {'sigma':>7} {'ticks':>6} {'quality':>8}"
            )
        shown = zip(found[:SHOWN_CANDIDATES].tolist(), waiting.candidate_quality(), strict=False)
        lines += [
            f"{k:>6} {waiting.player[j]:>8} {waiting.mu[j]:>+8.3f} {waiting.sigma[j]:>7.3f} "
            f"{waiting.waited[j]:>6} {quality:>8.4f}"
            for k, (j, quality) in enumerate(shown, start=1)
        ]
        if found.size > SHOWN_CANDIDATES:
            hidden = found.size - SHOWN_CANDIDATES
            lines.append(f"and {hidden} more candidates, each with a larger gap")
        return "\n".join(lines)

    def _waiting(self, state: State, row: int) -> WaitingPlayers:
        return self.simulator.waiting_players(state, row)
