"""Pictures and texts of ``MatchmakingQueue-v0``: waiting players, games under way, totals."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.core.rendering import Look, Pixels, Renderer
from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.envs.queue.state import State
from matchenv.envs.queue.view import NOBODY, WaitingPlayers
from matchenv.rendering.canvas import Box, Canvas, Colour, Floats, line_height, mixed
from matchenv.rendering.parts import (
    Axis,
    Beliefs,
    Chart,
    Entry,
    draw_beliefs,
    draw_chart,
    draw_header,
    draw_tiles,
    draw_titles,
    new_canvas,
    skill_limits,
    widened,
)

# Angles of the arc of a game.
ARC = np.linspace(0.0, np.pi, 33)

# The chart has room for a queue of this length at least.
LEAST_LENGTH = 4.0

SHOWN_CANDIDATES = 10


@dataclass
class Record:
    """A run so far.

    Attributes:
        lengths: waiting players at the last choice of each tick, or at the next one.
        rewards: total reward after each tick.
        reward: total reward so far.
    """

    lengths: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    reward: float = 0.0


class QueueRenderer(Renderer[State]):
    """Pictures and texts of a batch of queues.

    Arguments are those of ``Renderer``.
    """

    unit = "tick"
    simulator: QueueSimulator
    record = Record
    _records: list[Record]

    def begin(self, state: State, rows: NDArray[np.int64]) -> None:
        """Note that the runs of ``rows`` have begun."""
        for row in rows.tolist():
            self._records[row] = Record(rewards=[0.0] * self.clock(state, row))
            self._note_length(state, row)

    def add(
        self, state: State, actions: NDArray[np.int64], rewards: Floats, running: NDArray[np.bool_]
    ) -> None:
        """Note the choices just made."""
        for row in np.flatnonzero(running).tolist():
            record = self._records[row]
            record.reward += float(rewards[row])
            passed = self.clock(state, row) - len(record.rewards)
            record.rewards += [record.reward] * passed
            self._note_length(state, row)

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
        return "running total of the reward", np.array(self._records[row].rewards)

    def picture(self, state: State, row: int, look: Look) -> Pixels:
        """Draw one queue, uint8, shape (height, width, 3).

        Raises:
            ValueError: for a size that is too small, or an unknown theme.
        """
        waiting, record = self._waiting(state, row), self._records[row]
        settings, facts = self.simulator.settings, self.simulator.facts(state)
        canvas = new_canvas(look)
        strong, legend = self._strong(waiting, canvas)
        progress = f"tick {waiting.tick:,} of {settings.horizon:,}"
        parts = draw_header(canvas, look.title, progress, legend)
        limits = self.limits(state, row) if look.limits is None else look.limits
        beliefs = Beliefs(
            mu=waiting.mu,
            sigma=waiting.sigma,
            strong=strong,
            limits=limits,
            typical_sigma=0.5 * settings.population.deviation,
            true_skill=waiting.true_skill if self._shows_truth else None,
        )
        draw_beliefs(canvas, parts.skills, beliefs)
        tiles = [
            ("waiting", f"{waiting.mu.size:,}"),
            ("playing", f"{waiting.playing:,}"),
            ("matched", f"{facts['matched_players'][row]:,}"),
            ("gave up", f"{facts['abandoned'][row]:,}"),
            ("mean wait", f"{facts['mean_wait'][row]:.2f}"),
        ]
        draw_tiles(canvas, parts.tiles, tiles, "1,000")
        lengths = np.array(record.lengths, dtype=np.float64)
        chart = Chart(
            titles=[("waiting players", canvas.theme.ink)],
            last=settings.horizon,
            unit=self.unit,
            limits=(0.0, max(LEAST_LENGTH, 1.1 * float(lengths.max(initial=0.0)))),
            curves=[(lengths, canvas.theme.ink)],
        )
        draw_chart(canvas, parts.left, chart)
        games = self.simulator.games(state, row)
        axis = Axis(*limits, parts.right.x, parts.right.width)
        _draw_games(canvas, parts.right, axis, games, waiting)
        return canvas.pixels()

    def text(self, state: State, row: int) -> str:
        """Describe one queue."""
        return describe_queue(self._waiting(state, row))

    def _waiting(self, state: State, row: int) -> WaitingPlayers:
        return self.simulator.waiting_players(state, row)

    def _note_length(self, state: State, row: int) -> None:
        """Note the length of the queue for the current tick, and for ticks without a choice."""
        lengths = self._records[row].lengths
        tick = min(self.clock(state, row), self.simulator.settings.horizon - 1)
        waiting = int(self.simulator.facts(state)["waiting"][row])
        lengths[tick:] = [waiting]
        lengths += [waiting] * (tick + 1 - len(lengths))

    def _strong(
        self, waiting: WaitingPlayers, canvas: Canvas
    ) -> tuple[list[tuple[int, Colour]], list[Entry]]:
        """Return the focal player and the nearest candidate, and the legend."""
        theme = canvas.theme
        strong: list[tuple[int, Colour]] = []
        if waiting.focal != NOBODY:
            strong = [(waiting.focal, theme.player)]
            strong += [(int(k), theme.opponent) for k in waiting.filled[:1]]
        legend = []
        # A place is kept for each, whether a player is asked about or not.
        for place, (colour, name) in enumerate(
            ((theme.player, "asked"), (theme.opponent, "nearest"))
        ):
            text = ""
            if place < len(strong):
                k = strong[place][0]
                ticks = "1 tick" if waiting.waited[k] == 1 else f"{waiting.waited[k]} ticks"
                text = f"{name}: player {waiting.player[k]}, {ticks}"
            legend.append(Entry(colour, text, widest=f"{name}: player 8,888, 88 ticks"))
        strong.reverse()
        others = waiting.mu.size - len(strong)
        legend.append(Entry(theme.others, f"others ({others:,})", widest="others (888)"))
        if self._shows_truth:
            legend.append(Entry(theme.muted, "true skill", triangle=True))
        return strong, legend


def _draw_games(
    canvas: Canvas, box: Box, axis: Axis, games: Floats, waiting: WaitingPlayers
) -> None:
    """Draw games as arcs between the players' means, and below them each one's waiting time."""
    theme, small = canvas.theme, canvas.sizes.small
    draw_titles(canvas, box, [("games under way", theme.truth), ("ticks waited", theme.muted)])
    top, bottom = box.y + line_height(small) + 4, box.bottom - 4
    middle = top + round(0.6 * (bottom - top))
    colour = mixed(theme.truth, theme.background, 0.7)
    for left, right in axis.at(np.sort(games, axis=1)).tolist():
        reach = 0.5 * (right - left)
        rise = (middle - top) * min(1.0, 0.15 + 2.0 * reach / box.width)
        x = left + reach * (1.0 - np.cos(ARC))
        canvas.line(x, middle - rise * np.sin(ARC), colour, 1.0)
    canvas.box(box.x, middle, box.width, 1, theme.muted)
    longest = max(waiting.settings.game_length, int(waiting.waited.max(initial=0)))
    for k, (x, waited) in enumerate(zip(axis.at(waiting.mu), waiting.waited, strict=True)):
        height = 2 + float(waited) / longest * (bottom - middle - 4)
        ink = theme.player if k == waiting.focal else theme.others
        canvas.box(x - 1, middle + 2, 2, height, ink)


def describe_queue(waiting: WaitingPlayers) -> str:
    """Return the focal player and the nearest candidates, a line each.

    Args:
        waiting: everyone who waits in one queue.
    """
    settings, focal = waiting.settings, waiting.focal
    lines = [
        f"tick {waiting.tick} of {settings.horizon}: {waiting.mu.size} waiting, "
        f"{waiting.playing} playing"
    ]
    if focal == NOBODY:
        return f"{lines[0]}\nno player is asked about"
    lines.append(
        f"player {waiting.player[focal]}: mu {waiting.mu[focal]:+.3f}, "
        f"sigma {waiting.sigma[focal]:.3f}, waiting for {waiting.waited[focal]} ticks"
    )
    found, quality = waiting.filled, waiting.candidate_quality()
    if found.size:
        lines.append(
            f"{'action':>6} {'player':>8} {'mu':>8} {'sigma':>7} {'ticks':>6} {'quality':>8}"
        )
    lines += [
        f"{k + 1:>6} {waiting.player[j]:>8} {waiting.mu[j]:>+8.3f} {waiting.sigma[j]:>7.3f} "
        f"{waiting.waited[j]:>6} {quality[k]:>8.4f}"
        for k, j in enumerate(found[:SHOWN_CANDIDATES].tolist())
    ]
    hidden = found.size - SHOWN_CANDIDATES
    if hidden > 0:
        lines.append(f"and {hidden} more candidates, each with a larger gap")
    return "\n".join(lines)
