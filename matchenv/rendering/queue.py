"""Pictures and texts of ``MatchmakingQueue-v0``: waiting players, current games, totals."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchenv.envs.queue.simulator import QueueSimulator
from matchenv.envs.queue.state import NOBODY, State
from matchenv.envs.queue.view import WaitingParties
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
from matchenv.runtime.arrays import Floats

# Limits of the vertical axis of the chart of games.
GAMES_LIMITS = (-0.67, 1.0)

# Angles of the arc that joins the players of a game, and its strength.
ARC = np.linspace(0.0, np.pi, 33)
ARC_STRENGTH = 0.7

# Height of the lowest arc, and its growth with the distance of the means in widths of the axis.
LOWEST_ARC = 0.15
ARC_GROWTH = 2.0

# Bars of waiting times: their top, the length of a bar without a wait, and what the longest wait
# adds to it.
BAR_TOP = -0.03
LEAST_BAR = 0.03
LONGEST_BAR = 0.54

# Top of the chart of waiting players: its least value, and its share of the largest number.
LEAST_TOP = 4.0
HEADROOM = 1.1

UNKNOWN = "–"


class QueueRenderer(SceneRenderer[State]):
    """Pictures and texts of a batch of queues; see ``SceneRenderer``."""

    unit = "tick"
    caption = "Each policy pairs waiting players. Arcs are games under way, bars waiting times."
    simulator: QueueSimulator

    def players(self, state: State, row: int) -> Players:
        """Return the waiting players, the population, and playing players with a sigma of 0."""
        population = self.simulator.settings.population
        waiting = self._waiting(state, row)
        playing = self.simulator.means_in_games(state, row).ravel()
        mu = np.concatenate((waiting.mu, [population.mean], playing))
        sigma = np.concatenate((waiting.sigma, [population.deviation], np.zeros(playing.size)))
        return Players(mu, sigma, self._true_skill(waiting))

    def clock(self, state: State, row: int) -> int:
        """Return the current tick."""
        return int(state.clock["tick"][row])

    def total(self, row: int) -> tuple[str, Floats]:
        """Return the running total of the reward."""
        ticks = self.recorded(row, "tick")
        totals = np.cumsum(np.append(0.0, self.recorded(row, "reward")))
        # The step that ends a tick is the last one that belongs to it.
        last = np.searchsorted(ticks, np.arange(ticks[-1]), "right")
        return "running total of the reward", totals[last]

    def lengths(self, row: int) -> Floats:
        """Return the number of waiting players at the start of each tick so far.

        In a tick without a decision it is that of the last decision.
        """
        ticks = self.recorded(row, "tick")
        current = min(ticks[-1], self.simulator.settings.horizon - 1)
        units = np.arange(current + 1)
        first = np.searchsorted(ticks, units, "left")
        first[ticks[first] != units] -= 1
        return self.recorded(row, "waiting")[np.maximum(0, first)]

    def scene(self, state: State, row: int, limits: Limits) -> Scene:
        """Return the waiting players, their number over time, and the current games."""
        waiting = self._waiting(state, row)
        highlighted = _highlighted(waiting)
        players = Players(waiting.mu, waiting.sigma, self._true_skill(waiting))
        return Scene(
            highlighted=_names(waiting, highlighted),
            others=f"others ({waiting.mu.size - len(highlighted):,})",
            beliefs=belief_chart(players, highlighted, limits),
            tiles=_tiles(self.simulator.info(state, row)),
            charts=(self._lengths_chart(row), self._games_chart(state, row, limits)),
        )

    def table(self, state: State, row: int) -> Columns:
        """Return the focal player and the candidates, nearest first."""
        waiting = self._waiting(state, row)
        players = waiting.candidates
        actions: list[Any] = []
        qualities: list[str] = []
        if waiting.focal != NOBODY:
            players = np.append(waiting.focal, players)
            actions = ["focal", *range(1, players.size)]
            qualities = [""]
            for quality in waiting.candidate_quality():
                qualities.append(f"{quality:.4f}")
        return {
            "action": Column(actions, ""),
            "player": Column(waiting.party[players], "d"),
            "mu": Column(waiting.mu[players], "+.3f"),
            "sigma": Column(waiting.sigma[players], ".3f"),
            "ticks": Column(waiting.waited[players], "d"),
            "quality": Column(qualities, ""),
        }

    def _waiting(self, state: State, row: int) -> WaitingParties:
        return self.simulator.waiting_parties(state, row, truth=self._shows_truth)

    def _true_skill(self, waiting: WaitingParties) -> Floats | None:
        """Return the true skills of the waiting players, or None if pictures hide them."""
        if not self._shows_truth:
            return None
        true_skill: Floats = waiting.true_skill
        return true_skill

    def _lengths_chart(self, row: int) -> Chart:
        """Return the chart of the number of waiting players."""
        lengths = self.lengths(row)
        top = max(LEAST_TOP, HEADROOM * float(lengths.max(initial=0.0)))
        titles = [("players waiting at the start of a tick", "ink")]
        return self.over_episode(top, [over_time(lengths, "ink")], titles)

    def _games_chart(self, state: State, row: int, limits: Limits) -> Chart:
        """Return current games as arcs between the players' means, above bars of waiting times."""
        curves = [horizontal_line(0.0, limits, "muted")]
        for means in self.simulator.means_in_games(state, row):
            curves.append(_arc(float(means.min()), float(means.max()), limits))
        waiting = self._waiting(state, row)
        longest = max(self.simulator.settings.game_length, int(waiting.waited.max(initial=1)))
        for k in range(waiting.mu.size):
            length = LONGEST_BAR * float(waiting.waited[k]) / longest
            ends = np.array([BAR_TOP, BAR_TOP - LEAST_BAR - length])
            colour = "others"
            if k == waiting.focal:
                colour = "player"
            curves.append(Curve(np.full(2, waiting.mu[k]), ends, colour))
        titles = [("games under way", "game"), ("ticks waited", "muted")]
        return Chart(limits, GAMES_LIMITS, curves, titles)


def _highlighted(waiting: WaitingParties) -> list[int]:
    """Return the indices of the focal player and the nearest candidate, if there are any."""
    if waiting.focal == NOBODY:
        return []
    return [waiting.focal, *waiting.candidates[:1].tolist()]


def _names(waiting: WaitingParties, highlighted: list[int]) -> list[str]:
    """Return the names of the highlighted players, with their waiting times."""
    names = []
    for role, k in zip(("focal", "nearest"), highlighted, strict=False):
        unit = "ticks"
        if waiting.waited[k] == 1:
            unit = "tick"
        names.append(f"{role}: player {waiting.party[k]}, {waiting.waited[k]} {unit}")
    return names


def _tiles(info: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the labels and texts of the large numbers."""
    mean_wait = UNKNOWN
    if info["matched_players"] + info["abandoned"] > 0:
        mean_wait = number_text(info["mean_wait"], 2)
    return [
        ("waiting", f"{info['waiting']:,}"),
        ("playing", f"{info['playing']:,}"),
        ("matched", f"{info['matched_players']:,}"),
        ("gave up", f"{info['abandoned']:,}"),
        ("mean wait", mean_wait),
    ]


def _arc(left: float, right: float, limits: Limits) -> Curve:
    """Return the arc between the means of the players in a game."""
    reach = 0.5 * (right - left)
    share = reach / (limits[1] - limits[0])
    height = min(1.0, LOWEST_ARC + ARC_GROWTH * share)
    x = left + reach * (1.0 - np.cos(ARC))
    return Curve(x, height * np.sin(ARC), "game", "thin", ARC_STRENGTH)
