"""Pictures and texts of ``Ranking-v0``: the items, the last pair, and the losses."""

from __future__ import annotations

import numpy as np

from matchenv.envs.ranking import RankingSimulator, State
from matchenv.rendering.scene import (
    Chart,
    Columns,
    Limits,
    Players,
    Scene,
    SceneRenderer,
    belief_chart,
    number_text,
    over_time,
)
from matchenv.runtime.arrays import Floats


class RankingRenderer(SceneRenderer[State]):
    """Pictures and texts of a batch of episodes; see ``SceneRenderer``."""

    simulator: RankingSimulator

    def players(self, state: State, row: int) -> Players:
        """Return means, deviations and true skills of the items."""
        sigma = np.sqrt(np.diagonal(state.covariance[row]))
        true_skill = state.true_skill[row].copy() if self._shows_truth else None
        return state.mu[row].copy(), sigma, true_skill

    def total(self, row: int) -> tuple[str, Floats]:
        """Return the decrease of the loss so far; of the true loss if true skills are shown."""
        name = "true" if self._shows_truth else "expected"
        losses = self.recorded(row, f"{name}_loss")
        return f"decrease of the {name} loss", losses[0] - losses[1:]

    def scene(self, state: State, row: int, limits: Limits) -> Scene:
        """Return beliefs about the items, the last pair, and the losses."""
        actions, settings = self.recorded(row, "action"), self.simulator.settings
        players, facts = self.players(state, row), self.simulator.info(state, row)
        pair = settings.pairs[int(actions[-1])].tolist() if actions.size else []
        shown = {"expected": "ink", "true": "truth"} if self._shows_truth else {"expected": "ink"}
        losses = {name: self.recorded(row, f"{name}_loss") for name in shown}
        tiles = [("expected loss", number_text(facts["expected_loss"], 2))]
        if self._shows_truth:
            tiles += [
                ("true loss", f"{facts['true_loss']:,.0f}"),
                ("Kendall's tau", number_text(facts["kendall_tau"], 3)),
                (f"wrong of top {settings.k}", f"{facts['top_errors']:.0f}"),
            ]
        top = max(1e-6, 1.05 * max(loss.max() for loss in losses.values()))
        curves = [over_time(losses[name][1:], colour) for name, colour in shown.items()][::-1]
        titles = [(f"{name} loss", colour) for name, colour in shown.items()]
        loss_chart = self.over_episode(top, curves, titles)
        deviations = Chart(
            x=(0.0, settings.num_items),
            y=(0.0, 1.05 * settings.sigma),
            curves=[over_time(np.sort(players[1])[::-1], "ink")],
            titles=[("deviation of each item, largest first", "muted")],
            unit="item",
        )
        words = ("last pair:", "and")
        names = [f"{word} item {k}" for word, k in zip(words, pair, strict=False)]
        others = f"others ({settings.num_items - len(pair):,})"
        beliefs = belief_chart(players, pair, limits)
        return Scene(names, others, beliefs, tiles, (loss_chart, deviations))

    def table(self, state: State, row: int) -> Columns:
        """Return the items by mean, highest first."""
        mu, sigma, _ = self.players(state, row)
        ranked = np.argsort(-mu, kind="stable")
        return {
            "place": (range(1, ranked.size + 1), "d"),
            "item": (ranked, "d"),
            "mu": (mu[ranked], "+.3f"),
            "sigma": (sigma[ranked], ".3f"),
        }
