"""Pictures and texts of ``Matchmaking-v0``: the beliefs, and the games so far."""

from __future__ import annotations

import numpy as np

from matchenv.belief import MU, SIGMA, TRUE_SKILL
from matchenv.envs.one_player.simulator import OnePlayer, State
from matchenv.rendering.scene import (
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
from matchenv.trueskill.game import quality_per_density

WINDOW_SHARE = 0.05  # window of the moving mean, as a share of the horizon
DOT_STRENGTH = 0.4
OUTCOMES = {1: "won", -1: "lost", 0: "draw"}


class OnePlayerRenderer(SceneRenderer[State]):
    """Pictures and texts of a batch of episodes; see ``SceneRenderer``."""

    simulator: OnePlayer

    def players(self, state: State, row: int) -> Players:
        """Return means, deviations and true skills of player 0 and the opponents."""
        mu, sigma, true_skill = state.players[row, :, [MU, SIGMA, TRUE_SKILL]]
        return mu, sigma, true_skill if self._shows_truth else None

    def total(self, row: int) -> tuple[str, Floats]:
        """Return the running total of q, or of true q if true skills are shown."""
        name, densities = self._densities(row)
        return f"running total of {name}", np.cumsum(densities)

    def scene(self, state: State, row: int, limits: Limits) -> Scene:
        """Return beliefs, the last opponent, and q of each game with its running total.

        If true skills are shown, q is true q, and q under the belief is a second, pale line.
        """
        settings = self.simulator.settings
        others, horizon = settings.num_opponents, settings.horizon
        mu, sigma, true_skill = self.players(state, row)
        strong = [0, *(int(action) + 1 for action in self.recorded(row, "action")[-1:])]
        names = [
            f"{f'opponent {k:,}' if k else 'player 0'}   "
            f"μ {number_text(mu[k], 2)}  σ {number_text(sigma[k], 2)}"
            for k in strong
        ]
        rest, online = f"others ({others - len(strong) + 1:,})", None
        masks = self.simulator.masks(state)
        if masks is not None:
            online = np.concatenate(([True], masks[row]))
            rest += f", {(~online).sum():,} offline"
        q, densities = self._densities(row)
        outcomes = self.recorded(row, "outcome")[1:].tolist()
        tiles = [
            ("last game", OUTCOMES[outcomes[-1]] if outcomes else "–"),
            ("win ratio", f"{50.0 * (1.0 + np.mean(outcomes)):.0f} %" if outcomes else "–"),
            (f"last {q}", number_text(densities[-1], 3) if outcomes else "–"),
            (f"total {q}", number_text(densities.sum(), 2)),
            ("games left", f"{horizon - self.clock(state, row):,}"),
        ]

        window = max(1, round(WINDOW_SHARE * horizon))
        # Largest possible q: equal players with known skills.
        most = 1.0 / quality_per_density(settings.beta)
        even = Curve(np.array([1.0, horizon]), np.full(2, most), "purple", "thin")
        colour, lines, pale = "ink", [(densities, "ink")], []
        if self._shows_truth:
            colour, pale = "truth", [("believed", "others")]
            lines = [(self.recorded(row, "draw_density")[1:], "others"), (densities, "truth")]
        means = [over_time(moving_mean(values, window), name) for values, name in lines]
        totals = [over_time(np.cumsum(values), name) for values, name in lines]
        mean = f"{q}, mean of {window:,}" if window > 1 else f"{q} of each game"
        charts = (
            self.over_episode(
                1.25 * most,
                [even, over_time(densities, colour, "dots", DOT_STRENGTH), *means],
                [(mean, colour), *pale, ("even", "purple")],
            ),
            self.over_episode(
                1.04 * most * horizon, totals, [(f"running total of {q}", colour), *pale]
            ),
        )
        beliefs = belief_chart((mu, sigma, true_skill), strong, limits, online)
        return Scene(names, rest, beliefs, tiles, charts)

    def table(self, state: State, row: int) -> Columns:
        """Return the opponents who are online, by q, highest first."""
        settings = self.simulator.settings
        known = self.simulator.knowledge_state(state)[row]
        density = known.draw_density(settings.beta)
        win = known.outcome_probability(1, settings.constants)
        ranked, masks = np.argsort(-density, kind="stable"), self.simulator.masks(state)
        if masks is not None:
            ranked = ranked[masks[row][ranked]]
        return {
            "opponent": (ranked + 1, "d"),
            "mu": (known.mu[ranked + 1], "+.3f"),
            "sigma": (known.sigma[ranked + 1], ".3f"),
            "q": (density[ranked], ".5f"),
            "quality": (quality_per_density(settings.beta) * density[ranked], ".4f"),
            "win": (win[ranked], ".1%"),
        }

    def _densities(self, row: int) -> tuple[str, Floats]:
        """Return the name and values of q, or of true q if true skills are shown."""
        name = "true_draw_density" if self._shows_truth else "draw_density"
        return "true " * self._shows_truth + "q", self.recorded(row, name)[1:]


def moving_mean(values: Floats, window: int) -> Floats:
    """Return the mean of the last ``window`` values at each place, of fewer at the start."""
    sums, window = np.cumsum(values), min(window, values.size)
    before = np.concatenate((np.zeros(window), sums))[: sums.size]
    return (sums - before) / np.minimum(np.arange(1, sums.size + 1), window)
