"""Pictures and texts of ``Matchmaking-v0``: the beliefs, and the games so far."""

from __future__ import annotations

import math

import numpy as np

from matchenv.belief import MU, SIGMA, TRUE_SKILL
from matchenv.envs.core.rendering import Floats
from matchenv.envs.one_player.simulator import OnePlayer, State
from matchenv.rendering.scene import (
    Beliefs,
    Chart,
    Entry,
    Facts,
    Players,
    Renderer,
    Scene,
    number_text,
    skill_limits,
    widened,
)
from matchenv.trueskill.game import quality_per_density

# The line through the dots is the mean of this part of the horizon's last games.
WINDOW_SHARE = 0.05

SHOWN_OPPONENTS = 10
OUTCOMES = {1: "won", -1: "lost", 0: "draw"}
SENTENCES = {1: "player 0 won", -1: "player 0 lost", 0: "a draw"}


class OnePlayerRenderer(Renderer[State]):
    """Pictures and texts of a batch of episodes; arguments as ``Renderer``."""

    simulator: OnePlayer

    def note(self, state: State, row: int, facts: Facts, action: int | None, reward: float) -> None:
        """Keep the limits of the first beliefs, and every game."""
        history = self.history[row]
        if action is None:
            players = self._players(state, row)
            history["limits"], history["sigma"] = [skill_limits(*players)], [np.median(players[1])]
            return
        history["opponent"].append(action + 1)
        for name in ("outcome", "draw_density", "true_draw_density"):
            history[name].append(facts[name][row].item())

    def limits(self, state: State, row: int) -> tuple[float, float]:
        """Return the ends of the skill axis: the first ones, until a belief leaves them."""
        return widened(self.history[row]["limits"][0], skill_limits(*self._players(state, row)))

    def total(self, row: int) -> tuple[str, Floats]:
        """Return the running total of q, of true q where true skills are shown."""
        true = "true " if self._shows_truth else ""
        return f"running total of {true}q", np.cumsum(self._densities(row))

    def scene(self, state: State, row: int) -> Scene:
        """Return beliefs, the last opponent, and q of every game."""
        history, others = self.history[row], self.simulator.settings.num_opponents
        mu, sigma, true_skill = self._players(state, row)
        strong = [(0, "player")]
        # The opponent's place is kept before the first game, and names grow into theirs.
        widest = [player_text(each, -8.88, 8.88) for each in (0, others)]
        name, rest = "", f"opponents ({others:,})"
        if history["opponent"]:
            last = history["opponent"][-1]
            strong.insert(0, (last, "opponent"))
            name, rest = player_text(last, mu[last], sigma[last]), f"all others ({others - 1:,})"
        legend = [
            Entry("player", player_text(0, mu[0], sigma[0]), widest[0]),
            Entry("opponent", name, widest[1]),
        ]
        if others > 1 or not history["opponent"]:
            legend.append(Entry("others", rest, f"all others ({others:,})"))
        masks = self.simulator.masks(state)
        online = None if masks is None else np.concatenate(([True], masks[row]))
        beliefs = Beliefs(mu, sigma, true_skill, history["sigma"][0], strong, online)
        # The first tile changes its width from game to game; it keeps room for the widest.
        roomy = f"lost vs {others:,}"
        return Scene(legend, beliefs, self._tiles(row), roomy, self._charts(row))

    def text(self, state: State, row: int) -> str:
        """Return the beliefs, the most even opponents and the last game, a line each."""
        history, settings = self.history[row], self.simulator.settings
        known = self.simulator.knowledge_state(state)[row]
        mu, sigma = known.mu, known.sigma
        density = known.draw_density(settings.beta)
        quality = quality_per_density(settings.beta) * density
        win = known.outcome_probability(1, settings.constants)
        ranked, masks = np.argsort(-density, kind="stable"), self.simulator.masks(state)
        if masks is not None:
            ranked = ranked[masks[row][ranked]]
        lines = [
            f"game {self.clock(state, row)} of {settings.horizon}, "
            f"player 0: mu {mu[0]:+.3f}, sigma {sigma[0]:.3f}",
        ]
        if history["opponent"]:
            said = SENTENCES[history["outcome"][-1]]
            lines.append(f"last game: against opponent {history['opponent'][-1]}, {said}")
        lines.append(f"{'opponent':>8} {'mu':>8} {'sigma':>7} {'q':>8} {'quality':>8} {'win':>7}")
        lines += [
            f"{j + 1:>8} {mu[j + 1]:>+8.3f} {sigma[j + 1]:>7.3f} {density[j]:>8.5f} "
            f"{quality[j]:>8.4f} {win[j]:>7.1%}"
            for j in ranked[:SHOWN_OPPONENTS]
        ]
        if len(ranked) > SHOWN_OPPONENTS:
            lines.append(f"and {len(ranked) - SHOWN_OPPONENTS} more, each a less even game")
        if len(ranked) < settings.num_opponents:
            lines.append(f"offline: {settings.num_opponents - len(ranked)}")
        return "\n".join(lines)

    def _players(self, state: State, row: int) -> Players:
        """Return means, deviations and, where they are shown, true skills, shape (M + 1,) each."""
        players = state.players[row].copy()
        true_skill = players[:, TRUE_SKILL] if self._shows_truth else None
        return players[:, MU], players[:, SIGMA], true_skill

    def _densities(self, row: int) -> Floats:
        """Return q of each game, true q where true skills are shown."""
        name = "true_draw_density" if self._shows_truth else "draw_density"
        return np.array(self.history[row][name], dtype=np.float64)

    def _tiles(self, row: int) -> list[tuple[str, str]]:
        history, densities = self.history[row], self._densities(row)
        true = "true " if self._shows_truth else ""
        last, ratio, density = "–", "–", "–"
        if history["outcome"]:
            last = f"{OUTCOMES[history['outcome'][-1]]} vs {history['opponent'][-1]:,}"
            ratio = f"{100.0 * np.mean(np.equal(history['outcome'], 1)):.0f} %"
            density = _density_text(float(densities[-1]))
        return [
            ("last game", last),
            ("win ratio", ratio),
            (f"{true}q of last", density),
            (f"total {true}q", _density_text(float(densities.sum()))),
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
            believed = np.array(self.history[row]["draw_density"], dtype=np.float64)
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
    places = 2 if abs(mu) < 1000.0 and sigma >= 0.01 else None
    return f"{name}   μ {number_text(mu, places)}  σ {number_text(sigma, places)}"


def moving_mean(values: Floats, window: int) -> Floats:
    """Return the mean of the last ``window`` values, of fewer at the start; shape as ``values``."""
    sums = np.concatenate(([0.0], np.cumsum(values)))
    last = np.arange(1, values.size + 1)
    first = np.maximum(0, last - window)
    return (sums[last] - sums[first]) / (last - first)


def _density_text(value: float) -> str:
    if value != 0.0 and not 0.001 <= abs(value) < 1e6:
        return number_text(value, None)
    return number_text(value, 3 if abs(value) < 1.0 else 2)
