"""Scenes that pictures show, and the base of all renderers; without pygame.

Colours are names of ``matchenv.rendering.canvas.THEMES``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.core.rendering import RENDER_FPS, Floats, Frame, Pixels

if TYPE_CHECKING:
    from matchenv.rendering.canvas import Window

# Width and height of a single picture, and of one among several.
SINGLE_SIZE = (800, 600)
SHARED_SIZE = (480, 360)

# Pictures in a grid: more would be too small to read.
MOST_IN_GRID = 6

# Beliefs reach this many standard deviations to either side of an axis drawn around them.
AXIS_DEVIATIONS = 2.5

# The axis grows in steps of this part of its first width, so that it seldom moves.
AXIS_STEP = 0.125

State = TypeVar("State", bound=tuple[Any, ...])
Facts = Mapping[str, NDArray[Any]]
Players = tuple[Floats, Floats, Floats | None]


class Look(NamedTuple):
    """Appearance of a picture: size and labels.

    Attributes:
        width: in pixels.
        height: in pixels.
        title: above the picture.
        theme: ``"light"`` or ``"dark"``.
        limits: lowest and highest skill on the axis; None for the renderer's own.
    """

    width: int
    height: int
    title: str
    theme: str = "light"
    limits: tuple[float, float] | None = None


class Entry(NamedTuple):
    """An entry of the legend: a coloured square, or a triangle, and a name.

    Attributes:
        colour: of the mark.
        name: beside it; an entry without a name keeps its place empty.
        widest: the widest text that the name may become, so that the entries after it stay where
            they are; empty for a name that does not change.
        triangle: instead of a square.
    """

    colour: str
    name: str
    widest: str = ""
    triangle: bool = False


@dataclass(frozen=True)
class Beliefs:
    """Beliefs about n players.

    Attributes:
        mu: means, shape (n,), in skill points.
        sigma: standard deviations, shape (n,).
        true_skill: shape (n,); None where it is not shown.
        typical_sigma: a belief as wide as this is drawn half as high as a known skill.
        strong: indices and colours of the players that stand out, the most important last.
        online: shape (n,); None for all.
    """

    mu: Floats
    sigma: Floats
    true_skill: Floats | None
    typical_sigma: float
    strong: Sequence[tuple[int, str]] = ()
    online: NDArray[np.bool_] | None = None

    def others(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which players do not stand out: those online and those offline, (n,) each."""
        others = np.ones(self.mu.size, dtype=np.bool_)
        others[[player for player, _ in self.strong]] = False
        online = others if self.online is None else others & self.online
        return online, others & ~online


@dataclass(frozen=True)
class Chart:
    """Curves over the units of an episode.

    Attributes:
        titles: above the chart, one after another, each in a colour.
        last: units on the axis.
        unit: in the singular.
        limits: lowest and highest value.
        curves: a value after each unit so far, and a colour; the last is drawn on top.
        dots: single values, and their colour.
        level: a value with a dashed line, and its name.
    """

    titles: Sequence[tuple[str, str]]
    last: int
    unit: str
    limits: tuple[float, float]
    curves: Sequence[tuple[Floats, str]]
    dots: tuple[Floats, str] | None = None
    level: tuple[float, str] | None = None


class Games(NamedTuple):
    """Games under way, drawn as arcs between means, above the waiting times of those who wait.

    Attributes:
        ends: means of the two players of each game, shape (G, 2).
        mu: means of the waiting players, shape (n,).
        waited: their waiting times, shape (n,).
        longest: waiting time of the highest bar.
        asked: index of the player whose bar stands out; negative for none.
    """

    ends: Floats
    mu: Floats
    waited: NDArray[np.int64]
    longest: float
    asked: int


class Scene(NamedTuple):
    """Content of one picture.

    Attributes:
        legend: below the title; the mark of true skills is added to it.
        beliefs: along the skill axis.
        tiles: labels and texts of large numbers, at least one.
        widest: the widest text that the first tile may have.
        charts: the left and the right one.
    """

    legend: Sequence[Entry]
    beliefs: Beliefs
    tiles: Sequence[tuple[str, str]]
    widest: str
    charts: tuple[Chart, Chart | Games]


class Renderer(ABC, Generic[State]):
    """Pictures and texts of a batch of episodes of one simulator.

    An environment implements ``note``, ``scene``, ``text``, ``limits`` and ``total``.

    Args:
        simulator: of the episodes.
        render_mode: one of ``RENDER_MODES``.
        count: episodes.
        render_true_skill: show true skills and what follows from them.

    Attributes:
        unit: what passes in an episode, in the singular.
        history: what ``note`` keeps of each episode, lists by name.
    """

    unit: ClassVar[str] = "game"

    def __init__(
        self, simulator: Any, render_mode: str, count: int, *, render_true_skill: bool = True
    ) -> None:
        self.simulator = simulator
        self.render_mode = render_mode
        self.count = count
        self.history: list[defaultdict[str, list[Any]]] = [defaultdict(list) for _ in range(count)]
        self._shows_truth = bool(render_true_skill)
        self._window: Window | None = None

    @abstractmethod
    def note(self, state: State, row: int, facts: Facts, action: int | None, reward: float) -> None:
        """Keep what later pictures need of one episode, in ``history``.

        Args:
            state: of all episodes.
            row: of the episode.
            facts: about the state, by name, each of shape (count,).
            action: that led to the state; None at the start.
            reward: for it.
        """

    @abstractmethod
    def scene(self, state: State, row: int) -> Scene:
        """Return what the picture of one episode shows."""

    @abstractmethod
    def text(self, state: State, row: int) -> str:
        """Describe one episode."""

    @abstractmethod
    def limits(self, state: State, row: int) -> tuple[float, float]:
        """Return the lowest and highest skill on the axis of one episode's picture."""

    @abstractmethod
    def total(self, row: int) -> tuple[str, Floats]:
        """Return the name of the quantity that policies are compared by, and its running total.

        The total has an entry after each unit that has passed.
        """

    def clock(self, state: State, row: int) -> int:
        """Return how many units of the episode have passed, from 0 to the horizon."""
        return int(state.games[row])  # type: ignore[attr-defined]

    def begin(self, state: State, rows: NDArray[np.int64]) -> None:
        """Note that the episodes of ``rows`` have begun."""
        facts = self.simulator.facts(state)
        for row in rows.tolist():
            self.history[row] = defaultdict(list)
            self.note(state, row, facts, None, 0.0)

    def add(
        self, state: State, actions: NDArray[np.int64], rewards: Floats, running: NDArray[np.bool_]
    ) -> None:
        """Note the state after one step of the running episodes."""
        facts = self.simulator.facts(state)
        for row in np.flatnonzero(running).tolist():
            self.note(state, row, facts, int(actions[row]), float(rewards[row]))

    def picture(self, state: State, row: int, look: Look) -> Pixels:
        """Draw one episode, uint8, shape (height, width, 3); equal states give equal pictures.

        Raises:
            ValueError: for a size that is too small, or an unknown theme.
        """
        from matchenv.rendering.picture import drawn

        clock, horizon = self.clock(state, row), self.simulator.settings.horizon
        limits = self.limits(state, row) if look.limits is None else look.limits
        progress = f"{self.unit} {clock:,} of {horizon:,}"
        return drawn(self.scene(state, row), progress, look._replace(limits=limits))

    def frame(self, state: State, row: int) -> Frame:
        """Return one episode as the render mode shows it: a text with ``"ansi"``, else pixels."""
        if self.render_mode == "ansi":
            return self.text(state, row)
        if self.count == 1:
            return self.picture(state, row, Look(*SINGLE_SIZE, self.simulator.env_id))
        return self.picture(state, row, Look(*SHARED_SIZE, f"environment {row}"))

    def grid(self, state: State) -> Pixels:
        """Return the pictures of the first episodes in rows, uint8, (height, width, 3)."""
        from matchenv.rendering.canvas import THEMES, tiled

        pictures = [self.frame(state, row) for row in range(min(MOST_IN_GRID, self.count))]
        return tiled(pictures, THEMES["light"]["grid"], gap=2)  # type: ignore[arg-type]

    def show(self, state: State) -> None:
        """Show the current pictures in the window, for a frame's time, in human mode."""
        if self.render_mode != "human":
            return
        if self._window is None:
            from matchenv.rendering.canvas import Window

            self._window = Window(self.simulator.env_id)
        self._window.show(self.grid(state))
        self._window.events()
        self._window.wait(RENDER_FPS)

    def close(self) -> None:
        """Close the window, if one is open."""
        if self._window is not None:
            self._window.close()
            self._window = None


def number_text(value: float, places: int | None) -> str:
    """Return a number with a true minus sign and commas between thousands.

    Args:
        value: the number.
        places: digits after the point; None for three significant digits.
    """
    written = f"{value:.3g}" if places is None else f"{value:,.{places}f}"
    if float(written.replace(",", "")) == 0.0:
        written = written.lstrip("-")
    return written.replace("-", "−")


def skill_limits(mu: Floats, sigma: Floats, true_skill: Floats | None) -> tuple[float, float]:
    """Return the ends of a skill axis on which all beliefs and marks have room.

    Args:
        mu: shape (n,).
        sigma: shape (n,).
        true_skill: shape (n,), None where no marks are drawn.
    """
    reach = AXIS_DEVIATIONS * sigma
    places = np.concatenate((mu - reach, mu + reach, [] if true_skill is None else true_skill))
    low, high = float(places.min()), float(places.max())
    # An axis around equal points still needs a length.
    least = max(1e-6, 1e-6 * max(abs(low), abs(high)))
    return (low, high) if high - low >= least else (low - least, high + least)


def widened(first: tuple[float, float], now: tuple[float, float]) -> tuple[float, float]:
    """Return ``first`` with each end moved outwards by whole steps where ``now`` goes beyond it."""
    low, high = first
    step = AXIS_STEP * (high - low)
    low -= step * math.ceil(max(0.0, low - now[0]) / step)
    high += step * math.ceil(max(0.0, now[1] - high) / step)
    return low, high
