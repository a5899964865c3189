"""Pictures and texts of ``MatchmakingQueue-v0``: waiting players, current games, totals.

With more than two seats: waiting parties, the open lobby and the sides of the last game.
"""

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
from matchenv.runtime.checks import counted

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

# Most sides whose win probabilities fit into a tile.
MOST_IN_TILE = 3


class QueueRenderer(SceneRenderer[State]):
    """Pictures and texts of a batch of queues; see ``SceneRenderer``."""

    unit = "tick"
    caption = "Each policy pairs waiting players. Arcs are games under way, bars waiting times."
    simulator: QueueSimulator

    def __init__(
        self, simulator: QueueSimulator, render_mode: str, count: int, render_true_skill: bool
    ) -> None:
        super().__init__(simulator, render_mode, count, render_true_skill)
        if simulator.settings.has_lobbies:
            self.caption = "Lines are parties, dots their members, numbers win probabilities"
            if render_true_skill:
                self.caption += " (true ones)"
            self.caption += "."

    def players(self, state: State, row: int) -> Players:
        """Return the waiting parties, the population, and playing sides with a sigma of 0."""
        population = self.simulator.settings.population
        waiting = self._per_player(self._waiting(state, row))
        playing = self.simulator.means_in_games(state, row).ravel()
        mu = np.concatenate((waiting.mu, [population.mean], playing))
        sigma = np.concatenate((waiting.sigma, [population.deviation], np.zeros(playing.size)))
        return Players(mu, sigma, waiting.true_skill)

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
        players = self._per_player(waiting)
        tiles = _tiles(self.simulator.info(state, row))
        if self.simulator.settings.has_lobbies:
            in_lobby = np.isin(np.arange(waiting.mu.size), waiting.lobby).astype(np.int64)
            names = _names_of_lobby(waiting)
            others = waiting.mu.size - waiting.lobby.size
            beliefs = belief_chart(players, waiting.lobby[:1].tolist(), limits, games=in_lobby)
            tiles.append(("last game", _probabilities_text(self._win_probabilities(row)[0])))
            chart = self._lobby_chart(state, row, limits)
        else:
            highlighted = _highlighted(waiting)
            names = _names(waiting, highlighted)
            others = waiting.mu.size - len(highlighted)
            beliefs = belief_chart(players, highlighted, limits)
            chart = self._games_chart(state, row, limits)
        return Scene(
            highlighted=names,
            others=f"others ({others:,})",
            beliefs=beliefs,
            tiles=tiles,
            charts=(self._lengths_chart(row), chart),
        )

    def table(self, state: State, row: int) -> Columns:
        """Return the focal player or the open lobby, and the candidates, nearest first."""
        waiting = self._waiting(state, row)
        if self.simulator.settings.has_lobbies:
            return _table_of_lobby(waiting, self._per_player(waiting))
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

    def _per_player(self, waiting: WaitingParties) -> Players:
        """Return the mean skill of each waiting party, which is that of the player if single."""
        true_skill = None
        if self._shows_truth:
            true_skill = waiting.true_skill / waiting.size
        return Players(waiting.mu / waiting.size, waiting.sigma / waiting.size, true_skill)

    def _win_probabilities(self, row: int) -> tuple[Floats, Floats]:
        """Return the believed and true win probabilities of the sides of the last game.

        They have shape (0,) before the first game.
        """
        believed = self.recorded(row, "win_probability")
        games = np.flatnonzero(believed.sum(axis=1))
        if games.size == 0:
            return np.empty(0), np.empty(0)
        true = self.recorded(row, "true_win_probability")
        return believed[games[-1]], true[games[-1]]

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

    def _lobby_chart(self, state: State, row: int, limits: Limits) -> Chart:
        """Return the open lobby, and below it the sides of the last game with win probabilities.

        Each has a row: a dot for each member's mean, a line from the lowest to the highest member
        of a party. Sides are empty once the game has ended.
        """
        settings = self.simulator.settings
        top = settings.num_sides
        waiting = self._waiting(state, row)
        curves = []
        for party in waiting.lobby:
            members = waiting.member_mu[party, : waiting.size[party]]
            curves += _party_curves(members, top, "player")
        for side, members in zip(*self.simulator.newest_game(state, row), strict=True):
            curves += _party_curves(members[np.isfinite(members)], top - 1 - side, "game")
        y_ticks = [(float(top), f"{waiting.lobby_size}/{settings.num_seats}")]
        for side, (believed, true) in enumerate(zip(*self._win_probabilities(row), strict=True), 1):
            label = f"{believed:.2f}"
            if self._shows_truth:
                label += f" ({true:.2f})"
            y_ticks.append((float(top - side), label))
        return Chart(
            limits,
            (-0.5, top + 0.5),
            curves,
            titles=[("open lobby", "player"), ("sides of the last game", "game")],
            y_ticks=y_ticks,
        )


def _party_curves(members: Floats, y: float, colour: str) -> list[Curve]:
    """Return the dots of the members of a party, on a line."""
    ends = np.array([members.min(), members.max()])
    line = Curve(ends, np.full(2, float(y)), colour)
    return [line, Curve(members, np.full(members.size, float(y)), colour, "dots")]


def _names_of_lobby(waiting: WaitingParties) -> list[str]:
    """Return the names of the founder and of the parties that joined it, if there is a lobby."""
    if waiting.focal == NOBODY:
        return []
    founder = waiting.focal
    ticks = counted(int(waiting.waited[founder]), "tick")
    players = counted(int(waiting.size[founder]), "player")
    seats = f"{waiting.lobby_size} of {waiting.settings.num_seats} seats taken"
    return [
        f"founder: party {waiting.party[founder]} ({players}), waited {ticks}",
        f"parties that joined: {waiting.lobby.size - 1}, {seats}",
    ]


def _table_of_lobby(waiting: WaitingParties, players: Players) -> Columns:
    """Return the parties of the open lobby and the candidates, nearest first."""
    parties = np.concatenate((waiting.lobby, waiting.candidates))
    actions: list[Any] = []
    qualities: list[str] = []
    for joined in range(waiting.lobby.size):
        role = "founder"
        if joined > 0:
            role = "joined"
        actions.append(role)
        qualities.append("")
    for action, quality in enumerate(waiting.candidate_quality(), 1):
        actions.append(action)
        qualities.append(f"{quality:.4f}")
    return {
        "action": Column(actions, ""),
        "party": Column(waiting.party[parties], "d"),
        "size": Column(waiting.size[parties], "d"),
        "mean": Column(players.mu[parties], "+.3f"),
        "sigma": Column(players.sigma[parties], ".3f"),
        "ticks": Column(waiting.waited[parties], "d"),
        "quality": Column(qualities, ""),
    }


def _probabilities_text(probabilities: Floats) -> str:
    """Return the win probabilities of the sides in percent, of many sides the highest."""
    if probabilities.size == 0:
        return UNKNOWN
    percent = [f"{100.0 * probability:.0f}" for probability in probabilities]
    if len(percent) > MOST_IN_TILE:
        return f"≤ {100.0 * probabilities.max():.0f} %"
    return f"{' : '.join(percent)} %"


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
