"""Pictures and texts of ``Ranking-v0``: items along the skill axis, the last pair, the losses."""

from __future__ import annotations

import numpy as np

from matchenv.envs.core.rendering import Floats
from matchenv.envs.ranking.simulator import RankingSimulator, State
from matchenv.rendering.scene import (
    Beliefs,
    Chart,
    Entry,
    Facts,
    Players,
    Renderer,
    Scene,
    skill_limits,
    widened,
)

SHOWN_ITEMS = 20


class RankingRenderer(Renderer[State]):
    """Pictures and texts of a batch of episodes; arguments as ``Renderer``."""

    simulator: RankingSimulator

    def note(self, state: State, row: int, facts: Facts, action: int | None, reward: float) -> None:
        """Keep the first limits, every pair, and the losses at the start and after each game."""
        history = self.history[row]
        if action is None:
            history["limits"].append(skill_limits(*self._items(state, row)))
        else:
            history["pair"].append(self.simulator.settings.pairs[action].tolist())
        for name in ("expected_loss", "true_loss"):
            history[name].append(facts[name][row].item())

    def limits(self, state: State, row: int) -> tuple[float, float]:
        """Return the ends of the skill axis: the first ones, until a belief leaves them."""
        return widened(self.history[row]["limits"][0], skill_limits(*self._items(state, row)))

    def total(self, row: int) -> tuple[str, Floats]:
        """Return the decrease of the loss so far, of the true one where the truth is shown."""
        name = "true" if self._shows_truth else "expected"
        losses = np.array(self.history[row][f"{name}_loss"])
        return f"decrease of the {name} loss", losses[0] - losses[1:]

    def scene(self, state: State, row: int) -> Scene:
        """Return beliefs about the items, the last pair, and the losses."""
        history, settings = self.history[row], self.simulator.settings
        mu, sigma, true_skill = self._items(state, row)
        facts = self.simulator.facts(state)
        pair = history["pair"][-1] if history["pair"] else ()
        marks = list(zip(pair, ("player", "opponent"), strict=False))
        legend = [Entry(colour, f"item {item}") for item, colour in marks]
        legend.append(Entry("others", f"others ({settings.num_items - len(marks):,})"))
        beliefs = Beliefs(mu, sigma, true_skill, 0.5 * settings.sigma, marks[::-1])
        losses = {name: np.array(history[f"{name}_loss"]) for name in ("expected", "true")}
        tiles = [("expected loss", f"{facts['expected_loss'][row]:.2f}")]
        titles, curves = [("expected loss", "ink")], [(losses["expected"][1:], "ink")]
        if self._shows_truth:
            tiles += [
                ("misordered", f"{facts['true_loss'][row]:.0f}"),
                ("Kendall's tau", f"{facts['kendall_tau'][row]:.3f}"),
                (f"wrong of top {settings.k}", f"{facts['top_errors'][row]:.0f}"),
            ]
            titles.append(("true loss", "truth"))
            curves.insert(0, (losses["true"][1:], "truth"))
        top = 1.05 * max(each.max() for each in losses.values())
        loss = Chart(titles, settings.horizon, self.unit, (0.0, max(top, 1e-6)), curves)
        deviations = Chart(
            titles=[("deviation of each item, the least known first", "muted")],
            last=settings.num_items,
            unit="item",
            limits=(0.0, 1.05 * settings.sigma),
            curves=[(np.sort(sigma)[::-1], "ink")],
        )
        widest = f"{losses['expected'][0]:.2f}"
        return Scene(legend, beliefs, tiles, widest, (loss, deviations))

    def text(self, state: State, row: int) -> str:
        """Return the order of the items with means and deviations, a line each."""
        mu, sigma, _ = self._items(state, row)
        history, horizon = self.history[row], self.simulator.settings.horizon
        loss = history["expected_loss"][-1]
        lines = [f"game {self.clock(state, row)} of {horizon}, expected loss {loss:.3f}"]
        if history["pair"]:
            lines.append("last game: item {} and item {}".format(*history["pair"][-1]))
        lines.append(f"{'place':>5} {'item':>5} {'mu':>8} {'sigma':>7}")
        ranked = np.argsort(-mu, kind="stable")
        lines += [
            f"{place:>5} {item:>5} {mu[item]:>+8.3f} {sigma[item]:>7.3f}"
            for place, item in enumerate(ranked[:SHOWN_ITEMS].tolist(), start=1)
        ]
        if ranked.size > SHOWN_ITEMS:
            lines.append(f"and {ranked.size - SHOWN_ITEMS} more")
        return "\n".join(lines)

    def _items(self, state: State, row: int) -> Players:
        sigma = np.sqrt(np.diagonal(state.covariance[row]))
        return state.mu[row].copy(), sigma, state.true_skill[row] if self._shows_truth else None
