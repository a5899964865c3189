"""Pictures and texts of ``Matchmaking-v0``: the beliefs, and the games so far."""

from __future__ import annotations

import math

import numpy as np

from matchenv.belief import MU, SIGMA, TRUE_SKILL
from matchenv.envs.one_player.simulator import OnePlayer, State
from matchenv.rendering.scene import (
    Beliefs,
    Chart,
    Columns,
    Entry,
    Floats,
    Players,
    Renderer,
    Scene,
    number_text,
)
from matchenv.trueskill.game import quality_per_density

# The line through the dots is the mean of this part of the horizon's last games.
WINDOW_SHARE = 0.05

OUTCOMES = {1: "won", -1: "lost", 0: "draw"}


class OnePlayerRenderer(Renderer[State]):
    """Pictures and texts of a batch of episodes; arguments as ``Renderer``."""

    simulator: OnePlayer

    def players(self, state: State, row: int) -> Players:
        """Return means, deviations and true skills of player 0 and the opponents."""
        mu, sigma, true_skill = state.players[row, :, [MU, SIGMA, TRUE_SKILL]]
        return mu, sigma, true_skill if self._shows_truth else None

    def total(self, row: int) -> tuple[str, Floats]:
        """Return the running total of q, of true q where true skills are shown."""
        true = "true " if self._shows_truth else ""
        return f"running total of {true}q", np.cumsum(self._densities(row))

    def scene(self, state: State, row: int) -> Scene:
        """Return beliefs, the last opponent, and q of every game."""
        others = self.simulator.settings.num_opponents
        played = [action + 1 for action in self.history[row]["action"][-1:]]
        mu, sigma, true_skill = self.players(state, row)
        marks = list(zip((0, *played), ("player", "opponent"), strict=False))
        # Names grow into their places.
        legend = [
            Entry(colour, player_text(k, mu[k], sigma[k]), player_text(k and others, -8.88, 8.88))
            for k, colour in marks
        ]
        rest, online = f"others ({others - len(played):,})", None
        masks = self.simulator.masks(state)
        if masks is not None:
            online = np.concatenate(([True], masks[row]))
            rest += f", {(~online).sum():,} offline"
        legend.append(Entry("others", rest))
        beliefs = Beliefs(mu, sigma, true_skill, marks[::-1], online)
        return Scene(legend, beliefs, self._tiles(row), self._charts(row))

    def table(self, state: State, row: int) -> Columns:
        """Return the opponents who are online, those of the most even games first."""
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

    def _densities(self, row: int) -> Floats:
        """Return q of each game, true q where true skills are shown."""
        return self.noted(row, "true_draw_density" if self._shows_truth else "draw_density")[1:]

    def _tiles(self, row: int) -> list[tuple[str, str]]:
        outcomes, densities = self.history[row]["outcome"][1:], self._densities(row)
        true = "true " if self._shows_truth else ""
        last, ratio, density = "–", "–", "–"
        if outcomes:
            last = OUTCOMES[outcomes[-1]]
            ratio = f"{100.0 * np.mean(np.equal(outcomes, 1)):.0f} %"
            density = number_text(densities[-1], 3)
        return [
            ("last game", last),
            ("win ratio", ratio),
            (f"last {true}q", density),
            (f"total {true}q", number_text(densities.sum(), 2)),
            ("games left", f"{self.simulator.settings.horizon - densities.size:,}"),
        ]

    def _charts(self, row: int) -> tuple[Chart, Chart]:
        """Return q of every game with its moving mean, and the running total of q.

        Where true skills are shown it is true q, and q under the belief is a second, pale line.
        """
        horizon, beta = self.simulator.settings.horizon, self.simulator.settings.beta
        window = max(1, round(WINDOW_SHARE * horizon))
        # The maximum of q: a game between equal players of known skills.
        most = 1.0 / math.sqrt(4.0 * math.pi * beta * beta)
        lines, colour, true = [(self._densities(row), "ink")], "ink", ""
        titles: list[tuple[str, str]] = []
        if self._shows_truth:
            colour, true = "truth", "true "
            believed = self.noted(row, "draw_density")[1:]
            lines = [(believed, "others"), (lines[0][0], colour)]
            titles.append(("as believed", "muted"))
        mean = f", mean of {window:,}" if window > 1 else ""
        each = Chart(
            titles=[(f"{true}q of each game{mean}", colour), *titles],
            last=horizon,
            unit=self.unit,
            limits=(0.0, 1.25 * most),
            curves=[(moving_mean(q, window), name) for q, name in lines],
            dots=lines[-1],
            level=(most, "even game"),
        )
        total = Chart(
            titles=[(f"running total of {true}q", colour), *titles],
            last=horizon,
            unit=self.unit,
            limits=(0.0, 1.04 * most * horizon),
            curves=[(np.cumsum(q), name) for q, name in lines],
        )
        return each, total


def player_text(player: int, mu: float, sigma: float) -> str:
    """Return a player's name, and the belief about the skill."""
    name = "player 0" if player == 0 else f"opponent {player:,}"
    return f"{name}   μ {number_text(mu, 2)}  σ {number_text(sigma, 2)}"


def moving_mean(values: Floats, window: int) -> Floats:
    """Return the mean of the last ``window`` values, of fewer at the start; shape as ``values``."""
    sums = np.cumsum(values)
    before = np.concatenate((np.zeros(window), sums))[: sums.size]
    mean: Floats = (sums - before) / np.minimum(np.arange(1, sums.size + 1), window)
    return mean
