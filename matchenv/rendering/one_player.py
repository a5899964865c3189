"""Pictures and texts of ``Matchmaking-v0``: the beliefs, and the games so far."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchenv.belief import MU, SIGMA, TRUE_SKILL
from matchenv.belief.knowledge import KnowledgeState
from matchenv.envs.core.rendering import Look, Pixels, Renderer
from matchenv.envs.one_player.settings import Settings
from matchenv.envs.one_player.simulator import OnePlayer, State
from matchenv.rendering.canvas import Canvas, Floats, number_text
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
from matchenv.trueskill.game import quality_per_density

# The line through the dots is the mean of this part of the horizon's last games.
WINDOW_SHARE = 0.05

SHOWN_OPPONENTS = 10
OUTCOMES = {1: "won", -1: "lost", 0: "draw"}
SENTENCES = {1: "player 0 won", -1: "player 0 lost", 0: "a draw"}


class Game(NamedTuple):
    """A game.

    Attributes:
        opponent: 1 to M.
        outcome: +1 player 0 won, -1 lost, 0 a draw.
        density: q under the belief before it.
        true_density: q under the true skills.
    """

    opponent: int
    outcome: int
    density: float
    true_density: float


@dataclass
class Record:
    """An episode so far.

    Attributes:
        first_sigma: typical standard deviation at the start.
        first_limits: ends of the skill axis at the start.
        games: in their order.
    """

    first_sigma: float = 1.0
    first_limits: tuple[float, float] = (-1.0, 1.0)
    games: list[Game] = field(default_factory=list)


class OnePlayerRenderer(Renderer[State]):
    """Pictures and texts of a batch of episodes.

    Arguments are those of ``Renderer``.
    """

    unit = "game"
    simulator: OnePlayer
    record = Record
    _records: list[Record]

    def begin(self, state: State, rows: NDArray[np.int64]) -> None:
        """Note that the episodes of ``rows`` have begun."""
        for row in rows.tolist():
            mu, sigma, true_skill = self._players(state, row)
            limits = skill_limits(mu, sigma, true_skill)
            self._records[row] = Record(float(np.median(sigma)), limits)

    def add(
        self, state: State, actions: NDArray[np.int64], rewards: Floats, running: NDArray[np.bool_]
    ) -> None:
        """Note the games just played."""
        facts = self.simulator.facts(state)
        names = ("outcome", "draw_density", "true_draw_density")
        for row in np.flatnonzero(running).tolist():
            game = Game(int(actions[row]) + 1, *(facts[name][row].item() for name in names))
            self._records[row].games.append(game)

    def clock(self, state: State, row: int) -> int:
        """Return the number of games played."""
        return int(state.games[row])

    def limits(self, state: State, row: int) -> tuple[float, float]:
        """Return the ends of the skill axis: the first ones, until a belief leaves them."""
        return widened(self._records[row].first_limits, skill_limits(*self._players(state, row)))

    def total(self, row: int) -> tuple[str, Floats]:
        """Return the running total of q, of true q where true skills are shown."""
        true = "true " if self._shows_truth else ""
        return f"running total of {true}q", np.cumsum(self._densities(self._records[row]))

    def picture(self, state: State, row: int, look: Look) -> Pixels:
        """Draw one episode, uint8, shape (height, width, 3).

        Raises:
            ValueError: for a size that is too small, or an unknown theme.
        """
        record, settings = self._records[row], self.simulator.settings
        mu, sigma, true_skill = self._players(state, row)
        canvas = new_canvas(look)
        theme, played = canvas.theme, len(record.games)
        strong = [(0, theme.player)]
        # The opponent's place is kept before the first game, and names grow into theirs.
        others = settings.num_opponents
        widest = [player_text(each, -8.88, 8.88) for each in (0, others)]
        legend = [Entry(theme.player, player_text(0, mu[0], sigma[0]), widest=widest[0])]
        last = record.games[-1].opponent if played else 0
        if played:
            strong.insert(0, (last, theme.opponent))
        name = player_text(last, mu[last], sigma[last]) if played else ""
        legend.append(Entry(theme.opponent, name, widest=widest[1]))
        if others > 1 or not played:
            text = f"all others ({others - 1:,})" if played else f"opponents ({others:,})"
            legend.append(Entry(theme.others, text, widest=f"all others ({others:,})"))
        if true_skill is not None:
            legend.append(Entry(theme.muted, "true skill", triangle=True))
        parts = draw_header(canvas, look.title, f"game {played:,} of {settings.horizon:,}", legend)
        limits = self.limits(state, row) if look.limits is None else look.limits
        masks = self.simulator.masks(state)
        online = None if masks is None else np.concatenate(([True], masks[row]))
        beliefs = Beliefs(mu, sigma, strong, limits, record.first_sigma, true_skill, online)
        draw_beliefs(canvas, parts.skills, beliefs)
        # The first number changes its width from game to game; it keeps room for the widest.
        roomy = f"lost vs {settings.num_opponents:,}"
        draw_tiles(canvas, parts.tiles, self._tiles(record), roomy)
        for box, chart in zip((parts.left, parts.right), self._charts(record, canvas), strict=True):
            draw_chart(canvas, box, chart)
        return canvas.pixels()

    def text(self, state: State, row: int) -> str:
        """Describe one episode."""
        record, masks = self._records[row], self.simulator.masks(state)
        return describe_state(
            self.simulator.knowledge_state(state)[row],
            int(state.games[row]),
            self.simulator.settings,
            record.games[-1] if record.games else None,
            None if masks is None else masks[row],
        )

    def _players(self, state: State, row: int) -> tuple[Floats, Floats, Floats | None]:
        """Return means, deviations and, where they are shown, true skills, shape (M + 1,) each."""
        players = state.players[row].copy()
        true_skill = players[:, TRUE_SKILL] if self._shows_truth else None
        return players[:, MU], players[:, SIGMA], true_skill

    def _densities(self, record: Record) -> Floats:
        """Return q of each game, true q where true skills are shown."""
        name = "true_density" if self._shows_truth else "density"
        return np.array([getattr(game, name) for game in record.games], dtype=np.float64)

    def _tiles(self, record: Record) -> list[tuple[str, str]]:
        true, densities = "true " if self._shows_truth else "", self._densities(record)
        last, ratio, density = "–", "–", "–"
        if record.games:
            last = f"{OUTCOMES[record.games[-1].outcome]} vs {record.games[-1].opponent:,}"
            ratio = f"{100.0 * np.mean([game.outcome == 1 for game in record.games]):.0f} %"
            density = _density_text(float(densities[-1]))
        return [
            ("last game", last),
            ("win ratio", ratio),
            (f"{true}q of last", density),
            (f"total {true}q", _density_text(float(densities.sum()))),
            ("games left", f"{self.simulator.settings.horizon - len(record.games):,}"),
        ]

    def _charts(self, record: Record, canvas: Canvas) -> tuple[Chart, Chart]:
        """Return q of every game with its moving mean, and the running total of q.

        Where true skills are shown it is true q, and q under the belief is a second, pale line.
        """
        theme, horizon = canvas.theme, self.simulator.settings.horizon
        window = max(1, round(WINDOW_SHARE * horizon))
        most = even_game_density(self.simulator.settings.beta)
        q, colour, true = self._densities(record), theme.ink, ""
        titles, means, totals = [], [], []
        if self._shows_truth:
            believed = np.array([game.density for game in record.games])
            colour, true = theme.truth, "true "
            means.append((moving_mean(believed, window), theme.others))
            totals.append((np.cumsum(believed), theme.others))
            titles.append(("as believed", theme.muted))
        mean = f", mean of {window:,}" if window > 1 else ""
        means.append((moving_mean(q, window), colour))
        totals.append((np.cumsum(q), colour))
        each = Chart(
            titles=[(f"{true}q of each game{mean}", colour), *titles],
            last=horizon,
            unit=self.unit,
            limits=(0.0, 1.25 * most),
            curves=means,
            dots=(q, colour),
            level=(most, "even game"),
        )
        total = Chart(
            titles=[(f"running total of {true}q", colour), *titles],
            last=horizon,
            unit=self.unit,
            limits=(0.0, 1.04 * most * horizon),
            curves=totals,
        )
        return each, total


def player_text(player: int, mu: float, sigma: float) -> str:
    """Return a player's name, and the belief about the skill."""
    name = "player 0" if player == 0 else f"opponent {player:,}"
    places = 2 if abs(mu) < 1000.0 and sigma >= 0.01 else None
    return f"{name}   μ {number_text(mu, places)}  σ {number_text(sigma, places)}"


def even_game_density(beta: float) -> float:
    """Return q of a game between equal players of known skills, the maximum of q."""
    return 1.0 / math.sqrt(4.0 * math.pi * beta * beta)


def moving_mean(values: Floats, window: int) -> Floats:
    """Return the mean of the last ``window`` values, of fewer at the start; shape as ``values``."""
    sums = np.concatenate(([0.0], np.cumsum(values)))
    last = np.arange(1, values.size + 1)
    first = np.maximum(0, last - window)
    return (sums[last] - sums[first]) / (last - first)


def describe_state(
    state: KnowledgeState,
    games_played: int,
    settings: Settings,
    last_game: Game | None,
    online: NDArray[np.bool_] | None = None,
) -> str:
    """Return the beliefs, the most even opponents and the last game, a line each.

    Args:
        state: beliefs of shape (M + 1,).
        games_played: games played in the episode so far.
        settings: of the environment.
        last_game: if there was one.
        online: opponents who are online, shape (M,); only these are listed. None for all.
    """
    mu, sigma = state.mu, state.sigma
    density = state.draw_density(settings.beta)
    quality = quality_per_density(settings.beta) * density
    win = state.outcome_probability(1, settings.constants)
    ranked = np.argsort(-density, kind="stable")
    if online is not None:
        ranked = ranked[online[ranked]]
    shown = ranked[:SHOWN_OPPONENTS]
    lines = [
        f"game {games_played} of {settings.horizon}, "
        f"player 0: mu {mu[0]:+.3f}, sigma {sigma[0]:.3f}",
    ]
    if last_game is not None:
        said = SENTENCES[last_game.outcome]
        lines.append(f"last game: against opponent {last_game.opponent}, {said}")
    lines.append(f"{'opponent':>8} {'mu':>8} {'sigma':>7} {'q':>8} {'quality':>8} {'win':>7}")
    lines += [
        f"{j + 1:>8} {mu[j + 1]:>+8.3f} {sigma[j + 1]:>7.3f} {density[j]:>8.5f} "
        f"{quality[j]:>8.4f} {win[j]:>7.1%}"
        for j in shown
    ]
    hidden = len(ranked) - len(shown)
    if hidden > 0:
        lines.append(f"and {hidden} more, each a less even game")
    offline = settings.num_opponents - len(ranked)
    if offline > 0:
        lines.append(f"offline: {offline}")
    return "\n".join(lines)


def _density_text(value: float) -> str:
    if value != 0.0 and not 0.001 <= abs(value) < 1e6:
        return number_text(value, None)
    return number_text(value, 3 if abs(value) < 1.0 else 2)
