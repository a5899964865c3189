"""Pictures and texts of ``Matchmaking-v0``: the beliefs, and who was chosen in which game."""

from __future__ import annotations

import numpy as np

from matchenv.belief import MU, SIGMA, TRUE_SKILL
from matchenv.envs.one_player.simulator import OnePlayer, State
from matchenv.rendering.renderer import Column, Columns, SceneRenderer
from matchenv.rendering.scene import (
    Chart,
    Curve,
    Limits,
    Players,
    Scene,
    belief_chart,
    horizontal_line,
    number_text,
    over_time,
)
from matchenv.runtime.arrays import Floats, Integers, Masks
from matchenv.trueskill.game import quality_per_density

WINDOW_SHARE = 0.05  # window of the moving mean, as a share of the horizon
DOT_STRENGTH = 0.4
OUTCOMES = {1: "won", -1: "lost", 0: "draw"}
UNKNOWN = "–"

# Top of the chart of q, by the largest value that q can have.
Q_TOP = 1.25

# Shares of the height of the beliefs, and of the width of the strip.
BELIEFS_SHARE = 0.5
STRIP_SHARE = 0.48

# The strip shows multiples of this number of places.
PLACES_STEP = 10


class OnePlayerRenderer(SceneRenderer[State]):
    """Pictures and texts of a batch of episodes; see ``SceneRenderer``.

    If true skills are shown, "true q", the draw density given the true skills, takes the place of
    q, the draw density under the belief.
    """

    caption = "Who plays player 0? Left chart: the chosen opponents by place, green in even games."
    simulator: OnePlayer

    def begin(self, state: State, rows: Integers) -> None:
        """Record the start of episodes; see ``SceneRenderer.begin``."""
        super().begin(state, rows)
        self._skills = self._shown_skills(state)

    def add(self, state: State, actions: Integers, rewards: Floats, running: Masks) -> None:
        """Record a step, with the places of the opponent and of player 0 by skill before it."""
        super().add(state, actions, rewards, running)
        opponents = self._skills[:, 1:]
        chosen = opponents[np.arange(self.count), actions][:, np.newaxis]
        is_before = np.arange(opponents.shape[1]) < actions[:, np.newaxis]
        is_better = (opponents > chosen) | ((opponents == chosen) & is_before)
        self._records[-1].values["place"] = is_better.sum(axis=1)
        self._records[-1].values["place_0"] = (opponents > self._skills[:, :1]).sum(axis=1)
        self._skills = self._shown_skills(state)

    def _shown_skills(self, state: State) -> Floats:
        """Return true skills if they are shown, else means; shape (count, players)."""
        number = MU
        if self._shows_truth:
            number = TRUE_SKILL
        return state.players[:, :, number].copy()

    def players(self, state: State, row: int) -> Players:
        """Return means, deviations and true skills of player 0 and the opponents."""
        mu, sigma, true_skill = state.players[row, :, [MU, SIGMA, TRUE_SKILL]]
        if not self._shows_truth:
            true_skill = None
        return Players(mu, sigma, true_skill)

    def total(self, row: int) -> tuple[str, Floats]:
        """Return the running total of q, or of true q if true skills are shown."""
        return f"running total of {self._q_name}", np.cumsum(self._q(row))

    def scene(self, state: State, row: int, limits: Limits) -> Scene:
        """Return beliefs, the last opponent, the opponents of all games, and q of each game.

        If true skills are shown, q under the belief is a second line.
        """
        players = self.players(state, row)
        online = self._online(state, row)
        actions = self.recorded(row, "action").astype(np.int64)
        games = np.bincount(actions + 1, minlength=players.mu.size)
        highlighted = [0, *(actions[-1:] + 1).tolist()]
        games[highlighted] = 0
        others = f"others ({players.mu.size - len(highlighted):,})"
        if games.any():
            others += f", {np.count_nonzero(games):,} played"
        if online is not None:
            others += f", {np.count_nonzero(~online):,} offline"
        return Scene(
            highlighted=_names(players, highlighted),
            others=others,
            beliefs=belief_chart(players, highlighted, limits, online, games),
            tiles=self._tiles(state, row),
            charts=(self._strip(row), self._q_chart(row)),
            beliefs_share=BELIEFS_SHARE,
            left_share=STRIP_SHARE,
        )

    def table(self, state: State, row: int) -> Columns:
        """Return the opponents who are online, by q, highest first."""
        settings = self.simulator.settings
        known = self.simulator.knowledge_state(state)[row]
        density = known.draw_density(settings.beta)
        win = known.outcome_probability(1, settings.constants)
        quality = quality_per_density(settings.beta) * density
        opponents = np.argsort(-density, kind="stable")
        masks = self.simulator.masks(state)
        if masks is not None:
            opponents = opponents[masks[row][opponents]]
        return {
            "opponent": Column(opponents + 1, "d"),
            "mu": Column(known.mu[opponents + 1], "+.3f"),
            "sigma": Column(known.sigma[opponents + 1], ".3f"),
            "q": Column(density[opponents], ".5f"),
            "quality": Column(quality[opponents], ".4f"),
            "win": Column(win[opponents], ".1%"),
        }

    @property
    def _q_name(self) -> str:
        if self._shows_truth:
            return "true q"
        return "q"

    @property
    def _q_colour(self) -> str:
        if self._shows_truth:
            return "truth"
        return "ink"

    @property
    def largest_q(self) -> float:
        """Return q of equal players with known skills."""
        return 1.0 / quality_per_density(self.simulator.settings.beta)

    def _q(self, row: int) -> Floats:
        """Return q of each game, or true q if true skills are shown."""
        if self._shows_truth:
            return self.recorded(row, "true_draw_density")[1:]
        return self._believed_q(row)

    def _believed_q(self, row: int) -> Floats:
        return self.recorded(row, "draw_density")[1:]

    def _q_lines(self, row: int) -> list[tuple[Floats, str]]:
        """Return the values of q of each line of a chart with its colour, the main one last."""
        lines = [(self._q(row), self._q_colour)]
        if self._shows_truth:
            lines.insert(0, (self._believed_q(row), "ink"))
        return lines

    def _online(self, state: State, row: int) -> Masks | None:
        """Return who is online, player 0 included; None if everybody always is."""
        masks = self.simulator.masks(state)
        if masks is None:
            return None
        return np.append(True, masks[row])

    def _tiles(self, state: State, row: int) -> list[tuple[str, str]]:
        """Return the labels and texts of the large numbers."""
        q = self._q(row)
        outcomes = self.recorded(row, "outcome")[1:]
        last_outcome = UNKNOWN
        win_ratio = UNKNOWN
        last_q = UNKNOWN
        if outcomes.size > 0:
            last_outcome = OUTCOMES[int(outcomes[-1])]
            win_ratio = f"{50.0 * (1.0 + outcomes.mean()):.0f} %"  # a draw is half a win
            last_q = number_text(q[-1], 3)
        games_left = self.simulator.settings.horizon - self.clock(state, row)
        return [
            ("last game", last_outcome),
            ("win ratio", win_ratio),
            (f"last {self._q_name}", last_q),
            (f"total {self._q_name}", number_text(q.sum(), 2)),
            ("games left", f"{games_left:,}"),
        ]

    def _q_chart(self, row: int) -> Chart:
        """Return the chart of q of each game, with its moving mean."""
        horizon = self.simulator.settings.horizon
        window = max(1, round(WINDOW_SHARE * horizon))
        curves = [
            horizontal_line(self.largest_q, (1.0, self.end), "muted"),
            over_time(self._q(row), self._q_colour, "dots", DOT_STRENGTH),
        ]
        for q, colour in self._q_lines(row):
            curves.append(over_time(moving_mean(q, window), colour))
        title = f"{self._q_name} of each game"
        if window > 1:
            title = f"{self._q_name}, mean of {window:,}"
        titles = [(title, self._q_colour)]
        if self._shows_truth:
            titles.append(("believed", "ink"))
        titles.append(("even", "muted"))
        return self.over_episode(Q_TOP * self.largest_q, curves, titles)

    def _strip(self, row: int) -> Chart:
        """Return the chart of the opponent of each game by place of skill, coloured by q.

        The best opponent is at the top. The line is player 0: nearby opponents are even.
        """
        opponents = self.simulator.settings.num_opponents
        q = self._q(row)
        games = np.arange(0.5, q.size)
        places = self.recorded(row, "place")
        places_0 = self.recorded(row, "place_0")
        # Heights are negative places, so that the best is at the top.
        curves = [
            Curve(games, -places - 0.5, self._q_colour, "cells", shades=q / self.largest_q),
            Curve(games, -places_0, "player", "thin"),
        ]
        skill = "mean"
        if self._shows_truth:
            skill = "skill"
        titles = [
            (f"place by {skill}:", "muted"),
            ("uneven", "uneven"),
            ("even", self._q_colour),
            ("player 0", "player"),
        ]
        best = min(places.min(initial=opponents), places_0.min(initial=opponents))
        worst = max(places.max(initial=0), places_0.max(initial=1) - 1)
        if q.size == 0:
            best = 0
        first = PLACES_STEP * int(best // PLACES_STEP)
        last = min(opponents, PLACES_STEP * (1 + int(worst // PLACES_STEP)))
        ticks = [(-first - 0.5, f"{first + 1:,}")]
        if last > first + 1:
            ticks.append((-last + 0.5, f"{last:,}"))
        return Chart(
            x=(0.0, self.end),
            y=(-last, -first),
            curves=curves,
            titles=titles,
            unit=self.unit,
            y_ticks=ticks,
        )


def _names(players: Players, highlighted: list[int]) -> list[str]:
    """Return the names of the highlighted players, with their beliefs."""
    names = []
    for k in highlighted:
        name = "player 0"
        if k > 0:
            name = f"opponent {k:,}"
        mu = number_text(players.mu[k], 2)
        sigma = number_text(players.sigma[k], 2)
        names.append(f"{name}   μ {mu}  σ {sigma}")
    return names


def moving_mean(values: Floats, window: int) -> Floats:
    """Return the mean of the last ``window`` values at each index, of fewer at the start."""
    window = min(window, values.size)
    sums = np.cumsum(values)
    sums_before = np.concatenate((np.zeros(window), sums))[: sums.size]
    counts = np.minimum(np.arange(1, sums.size + 1), window)
    return (sums - sums_before) / counts
