"""Pictures and texts of ``Ranking-v0``: items along the skill axis, the last pair, the losses."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.core.rendering import Look, Pixels, Renderer
from matchenv.envs.ranking.simulator import RankingSimulator, State
from matchenv.rendering.canvas import Floats
from matchenv.rendering.parts import (
    Beliefs,
    Chart,
    Entry,
    draw_beliefs,
    draw_chart,
    draw_header,
    draw_tiles,
    new_canvas,
    skill_limits,
    widened,
)

SHOWN_ITEMS = 20


@dataclass
class Record:
    """An episode so far.

    Attributes:
        limits: ends of the skill axis at the start.
        pairs: items of each game.
        expected: expected loss at the start and after each game.
        true: true loss, likewise.
    """

    limits: tuple[float, float] = (-1.0, 1.0)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    expected: list[float] = field(default_factory=list)
    true: list[float] = field(default_factory=list)


class RankingRenderer(Renderer[State]):
    """Pictures and texts of a batch of episodes.

    Arguments are those of ``Renderer``.
    """

    unit = "game"
    simulator: RankingSimulator
    record = Record
    _records: list[Record]

    def begin(self, state: State, rows: NDArray[np.int64]) -> None:
        """Note that the episodes of ``rows`` have begun."""
        for row in rows.tolist():
            self._records[row] = Record(skill_limits(*self._beliefs(state, row)))
            self._note(state, row)

    def add(
        self, state: State, actions: NDArray[np.int64], rewards: Floats, running: NDArray[np.bool_]
    ) -> None:
        """Note the games just played."""
        for row in np.flatnonzero(running).tolist():
            i, j = self.simulator.settings.pairs[actions[row]].tolist()
            self._records[row].pairs.append((i, j))
            self._note(state, row)

    def clock(self, state: State, row: int) -> int:
        """Return the number of games played."""
        return int(state.games[row])

    def limits(self, state: State, row: int) -> tuple[float, float]:
        """Return the ends of the skill axis: the first ones, until a belief leaves them."""
        return widened(self._records[row].limits, skill_limits(*self._beliefs(state, row)))

    def total(self, row: int) -> tuple[str, Floats]:
        """Return the decrease of the loss so far, of the true one where the truth is shown."""
        name = "true" if self._shows_truth else "expected"
        losses = np.array(getattr(self._records[row], name))
        return f"decrease of the {name} loss", losses[0] - losses[1:]

    def picture(self, state: State, row: int, look: Look) -> Pixels:
        """Draw one episode, uint8, shape (height, width, 3).

        Raises:
            ValueError: for a size that is too small, or an unknown theme.
        """
        record, settings = self._records[row], self.simulator.settings
        mu, sigma, true_skill = self._beliefs(state, row)
        canvas = new_canvas(look)
        theme, facts = canvas.theme, self.simulator.facts(state)
        strong, legend = [], []
        if record.pairs:
            strong = list(zip(record.pairs[-1][::-1], (theme.opponent, theme.player), strict=True))
            legend = [Entry(colour, f"item {item}") for item, colour in reversed(strong)]
        legend.append(Entry(theme.others, f"others ({settings.num_items - len(strong):,})"))
        if true_skill is not None:
            legend.append(Entry(theme.muted, "true skill", triangle=True))
        progress = f"game {len(record.pairs):,} of {settings.horizon:,}"
        parts = draw_header(canvas, look.title, progress, legend)
        limits = self.limits(state, row) if look.limits is None else look.limits
        draw_beliefs(
            canvas,
            parts.skills,
            Beliefs(mu, sigma, strong, limits, 0.5 * settings.sigma, true_skill),
        )
        tiles = [("expected loss", f"{facts['expected_loss'][row]:.2f}")]
        if self._shows_truth:
            tiles.append(("misordered", f"{facts['true_loss'][row]:.0f}"))
            tiles.append(("Kendall's tau", f"{facts['kendall_tau'][row]:.3f}"))
            tiles.append((f"wrong of top {settings.k}", f"{facts['top_errors'][row]:.0f}"))
        draw_tiles(canvas, parts.tiles, tiles, f"{record.expected[0]:.2f}")
        ranked = np.sort(sigma)[::-1]
        curves = [(np.array(record.expected[1:]), theme.ink)]
        titles = [("expected loss", theme.ink)]
        if self._shows_truth:
            curves.insert(0, (np.array(record.true[1:]), theme.truth))
            titles.append(("true loss", theme.truth))
        top = 1.05 * max(max(record.expected), max(record.true))
        loss = Chart(titles, settings.horizon, self.unit, (0.0, max(top, 1e-6)), curves)
        deviations = Chart(
            [("deviation of each item, the least known first", theme.muted)],
            settings.num_items,
            "item",
            (0.0, 1.05 * settings.sigma),
            [(ranked, theme.ink)],
        )
        draw_chart(canvas, parts.left, loss)
        draw_chart(canvas, parts.right, deviations)
        return canvas.pixels()

    def text(self, state: State, row: int) -> str:
        """Return the order of the items with means and deviations, a line each."""
        mu, sigma, _ = self._beliefs(state, row)
        record, settings = self._records[row], self.simulator.settings
        lines = [f"game {len(record.pairs)} of {settings.horizon}"]
        lines[0] += f", expected loss {record.expected[-1]:.3f}"
        if record.pairs:
            lines.append("last game: item {} and item {}".format(*record.pairs[-1]))
        lines.append(f"{'place':>5} {'item':>5} {'mu':>8} {'sigma':>7}")
        ranked = np.argsort(-mu, kind="stable")
        lines += [
            f"{place + 1:>5} {item:>5} {mu[item]:>+8.3f} {sigma[item]:>7.3f}"
            for place, item in enumerate(ranked[:SHOWN_ITEMS].tolist())
        ]
        if ranked.size > SHOWN_ITEMS:
            lines.append(f"and {ranked.size - SHOWN_ITEMS} more")
        return "\n".join(lines)

    def _beliefs(self, state: State, row: int) -> tuple[Floats, Floats, Floats | None]:
        sigma = np.sqrt(np.diagonal(state.covariance[row]))
        return state.mu[row].copy(), sigma, state.true_skill[row] if self._shows_truth else None

    def _note(self, state: State, row: int) -> None:
        facts = self.simulator.facts(state)
        self._records[row].expected.append(facts["expected_loss"][row].item())
        self._records[row].true.append(facts["true_loss"][row].item())
