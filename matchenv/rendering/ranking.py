"""Pictures and texts of ``Ranking-v0``: the items, the last pair, and the losses."""

from __future__ import annotations

import numpy as np

from matchenv.envs.ranking import RankingSimulator, State
from matchenv.rendering.renderer import Column, Columns, SceneRenderer
from matchenv.rendering.scene import (
    Chart,
    Limits,
    Players,
    Scene,
    belief_chart,
    number_text,
    over_time,
)
from matchenv.runtime.arrays import Floats

LEAST_TOP = 1e-6  # of the chart of the losses
HEADROOM = 1.05  # top of a chart, by its largest value


class RankingRenderer(SceneRenderer[State]):
    """Pictures and texts of a batch of episodes; see ``SceneRenderer``."""

    caption = "Each policy chooses the two items that are compared next."
    simulator: RankingSimulator

    def players(self, state: State, row: int) -> Players:
        """Return means, deviations and true skills of the items."""
        items = self.simulator.settings.num_items
        mu = state.mu[row, :items].copy()
        sigma = np.sqrt(np.diagonal(state.covariance[row])[:items])
        true_skill = None
        if self._shows_truth:
            true_skill = state.true_skill[row].copy()
        return Players(mu, sigma, true_skill)

    def total(self, row: int) -> tuple[str, Floats]:
        """Return the decrease of the loss so far; of the true loss if true skills are shown."""
        name = "expected"
        if self._shows_truth:
            name = "true"
        losses = self.recorded(row, f"{name}_loss")
        return f"decrease of the {name} loss", losses[0] - losses[1:]

    def scene(self, state: State, row: int, limits: Limits) -> Scene:
        """Return beliefs about the items, the last pair, and the losses."""
        players = self.players(state, row)
        pair = self._last_pair(row)
        names = []
        for role, item in zip(("last pair:", "and"), pair, strict=False):
            names.append(f"{role} item {item}")
        return Scene(
            highlighted=names,
            others=f"others ({players.mu.size - len(pair):,})",
            beliefs=belief_chart(players, pair, limits),
            tiles=self._tiles(state, row),
            charts=(self._loss_chart(row), self._deviation_chart(players)),
        )

    def table(self, state: State, row: int) -> Columns:
        """Return the items by mean, highest first."""
        players = self.players(state, row)
        items = np.argsort(-players.mu, kind="stable")
        return {
            "place": Column(range(1, items.size + 1), "d"),
            "item": Column(items, "d"),
            "mu": Column(players.mu[items], "+.3f"),
            "sigma": Column(players.sigma[items], ".3f"),
        }

    def _last_pair(self, row: int) -> list[int]:
        """Return the items of the last comparison; none at the start."""
        actions = self.recorded(row, "action")
        if actions.size == 0:
            return []
        pair: list[int] = self.simulator.settings.pairs[int(actions[-1])].tolist()
        return pair

    def _tiles(self, state: State, row: int) -> list[tuple[str, str]]:
        """Return the labels and texts of the large numbers."""
        info = self.simulator.info(state, row)
        tiles = [("expected loss", number_text(info["expected_loss"], 2))]
        if self._shows_truth:
            tiles += [
                ("true loss", f"{info['true_loss']:,.0f}"),
                ("Kendall's tau", number_text(info["kendall_tau"], 3)),
                (f"wrong of top {self.simulator.settings.k}", f"{info['top_errors']:.0f}"),
            ]
        return tiles

    def _loss_chart(self, row: int) -> Chart:
        """Return the chart of the expected loss, on top of the true loss if that is shown."""
        losses = [("expected", "ink")]
        if self._shows_truth:
            losses.append(("true", "truth"))
        top = LEAST_TOP
        curves = []
        titles = []
        for name, colour in losses:
            values = self.recorded(row, f"{name}_loss")
            top = max(top, HEADROOM * float(values.max()))
            curves.append(over_time(values[1:], colour))
            titles.append((f"{name} loss", colour))
        curves.reverse()
        return self.over_episode(top, curves, titles)

    def _deviation_chart(self, players: Players) -> Chart:
        """Return the chart of the standard deviations of the items, largest first."""
        deviations = np.sort(players.sigma)[::-1]
        return Chart(
            x=(0.0, players.mu.size),
            y=(0.0, HEADROOM * self.simulator.settings.sigma),
            curves=[over_time(deviations, "ink")],
            titles=[("deviation of each item, largest first", "muted")],
            unit="item",
        )
