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

from matchenv.envs.core.rendering import RENDER_FPS, Frame, Pixels

if TYPE_CHECKING:
    from matchenv.rendering.canvas import Window

Floats = NDArray[np.float64]

# Width of a single picture, and of one among several; height of both by their width.
SINGLE_WIDTH, SHARED_WIDTH = 800, 480
SHAPE = 0.75

# Pictures in a grid: more would be too small to read.
MOST_IN_GRID = 6

# Beliefs reach this many standard deviations to either side of an axis drawn around them.
AXIS_DEVIATIONS = 2.5

# The axis grows in steps of this part of its first width, so that it seldom moves.
AXIS_STEP = 0.125

# Rows of the table of a text.
SHOWN_ROWS = 20

State = TypeVar("State", bound=tuple[Any, ...])
Limits = tuple[float, float]
Players = tuple[Floats, Floats, Floats | None]
# Values and their format by heading.
Columns = Mapping[str, tuple[Sequence[Any] | NDArray[Any], str]]


class Entry(NamedTuple):
    """An entry of the legend: a coloured square, or a triangle, and a name."""

    colour: str  # of the mark
    name: str  # beside it
    # The widest text that the name may become, so that the entries after it stay where they are;
    # empty for a name that does not change
    widest: str = ""
    triangle: bool = False  # instead of a square


@dataclass(frozen=True)
class Beliefs:
    """Beliefs about n players."""

    mu: Floats  # means, shape (n,), in skill points
    sigma: Floats  # standard deviations, shape (n,)
    true_skill: Floats | None  # shape (n,); None where it is not shown
    # Indices and colours of the players that stand out, the most important last
    strong: Sequence[tuple[int, str]] = ()
    online: NDArray[np.bool_] | None = None  # shape (n,); None for all

    def others(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which players do not stand out: those online and those offline, (n,) each."""
        others = np.ones(self.mu.size, dtype=np.bool_)
        others[[player for player, _ in self.strong]] = False
        online = others if self.online is None else others & self.online
        return online, others & ~online


@dataclass(frozen=True)
class Chart:
    """Curves over the units of an episode."""

    titles: Sequence[tuple[str, str]]  # above the chart, one after another, each in a colour
    last: int  # units on the axis
    unit: str  # in the singular
    limits: Limits  # lowest and highest value
    # A value after each unit so far, and a colour; the last is drawn on top
    curves: Sequence[tuple[Floats, str]]
    dots: tuple[Floats, str] | None = None  # single values, and their colour
    level: tuple[float, str] | None = None  # a value with a dashed line, and its name


class Games(NamedTuple):
    """Games under way, drawn as arcs between means, above the waiting times of those who wait."""

    ends: Floats  # means of the two players of each game, shape (G, 2)
    mu: Floats  # means of the waiting players, shape (n,)
    waited: NDArray[np.int64]  # their waiting times, shape (n,)
    longest: float  # waiting time of the highest bar
    asked: int  # index of the player whose bar stands out; negative for none


class Scene(NamedTuple):
    """Content of one picture."""

    legend: Sequence[Entry]  # below the title; the mark of true skills is added to it
    beliefs: Beliefs  # along the skill axis
    tiles: Sequence[tuple[str, str]]  # labels and texts of large numbers
    charts: tuple[Chart, Chart | Games]  # the left and the right one


class Panel(NamedTuple):
    """One picture of a sheet."""

    title: str
    progress: str  # beside the title
    scene: Scene
    limits: Limits  # ends of the skill axis


class Renderer(ABC, Generic[State]):
    """Pictures and texts of a batch of episodes of one simulator.

    An environment implements ``players``, ``scene``, ``table`` and ``total``.

    Args:
        simulator: of the episodes.
        render_mode: one of ``RENDER_MODES``.
        count: episodes.
        render_true_skill: show true skills and what follows from them.

    Attributes:
        unit: what passes in an episode, in the singular.
        first: ends of each episode's skill axis at its start.
        history: what each step gave: the simulator's facts, ``action`` and ``reward``, by name. The
            facts also have an entry for the start.
    """

    unit: ClassVar[str] = "game"

    def __init__(
        self, simulator: Any, render_mode: str, count: int, render_true_skill: bool
    ) -> None:
        self.simulator = simulator
        self.render_mode = render_mode
        self.count = count
        self.first: dict[int, Limits] = {}
        self.history: list[defaultdict[str, list[Any]]] = [defaultdict(list) for _ in range(count)]
        self._shows_truth = bool(render_true_skill)
        self._window: Window | None = None

    @abstractmethod
    def players(self, state: State, row: int) -> Players:
        """Return what the axis has room for: means, deviations, true skills if shown, (n,) each."""

    @abstractmethod
    def scene(self, state: State, row: int) -> Scene:
        """Return what the picture of one episode shows."""

    @abstractmethod
    def table(self, state: State, row: int) -> Columns:
        """Return the table of a text: values and their format by heading, the best first."""

    @abstractmethod
    def total(self, row: int) -> tuple[str, Floats]:
        """Return the name of the quantity that policies are compared by, and its running total.

        The total has an entry after each unit that has passed.
        """

    def clock(self, state: State, row: int) -> int:
        """Return how many units of the episode have passed, from 0 to the horizon."""
        return int(state.games[row])  # type: ignore[attr-defined]

    def noted(self, row: int, name: str) -> Floats:
        """Return the values of one fact at the start and after each step, (steps + 1,)."""
        return np.array(self.history[row][name], dtype=np.float64)

    def begin(self, state: State, rows: NDArray[np.int64]) -> None:
        """Note that the episodes of ``rows`` have begun."""
        for row in rows.tolist():
            self.first[row] = skill_limits(*self.players(state, row))
            self.history[row] = defaultdict(list)
            self._note(row, self.simulator.info(state, row))

    def add(
        self, state: State, actions: NDArray[np.int64], rewards: Floats, running: NDArray[np.bool_]
    ) -> None:
        """Note the state after one step of the running episodes."""
        for row in np.flatnonzero(running).tolist():
            step = {"action": actions[row], "reward": rewards[row]}
            self._note(row, self.simulator.info(state, row) | step)

    def _note(self, row: int, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            self.history[row][name].append(value.item())

    def limits(self, state: State, row: int) -> Limits:
        """Return the ends of the skill axis: those at the start, until a belief leaves them."""
        return widened(self.first[row], skill_limits(*self.players(state, row)))

    def progress(self, state: State, row: int) -> str:
        """Return how far an episode is."""
        return f"{self.unit} {self.clock(state, row):,} of {self.simulator.settings.horizon:,}"

    def text(self, state: State, row: int) -> str:
        """Describe one episode: legend and numbers of its picture, and the table."""
        scene, table = self.scene(state, row), self.table(state, row)
        columns = [
            [name, *(format(value, form) for value in values[:SHOWN_ROWS])]
            for name, (values, form) in table.items()
        ]
        widths = [max(map(len, column)) for column in columns]
        lines = [
            self.progress(state, row),
            *(entry.name for entry in scene.legend),
            ", ".join(f"{label} {text}" for label, text in scene.tiles),
            *("  ".join(map(str.rjust, line, widths)) for line in zip(*columns, strict=True)),
        ]
        more = max(len(values) for values, _ in table.values()) - SHOWN_ROWS
        return "\n".join([*lines, f"and {more:,} more"] if more > 0 else lines)

    def panel(self, state: State, row: int, title: str, limits: Limits | None = None) -> Panel:
        """Return the picture of one episode; ``limits`` override those of its skill axis."""
        limits = limits or self.limits(state, row)
        return Panel(title, self.progress(state, row), self.scene(state, row), limits)

    def frame(self, state: State, row: int) -> Frame:
        """Return one episode as the render mode shows it: a text with ``"ansi"``, else pixels."""
        return self.text(state, row) if self.render_mode == "ansi" else self._picture(state, [row])

    def grid(self, state: State) -> Pixels:
        """Return the pictures of the first episodes in rows, uint8, (height, width, 3)."""
        return self._picture(state, range(min(MOST_IN_GRID, self.count)))

    def _picture(self, state: State, rows: Sequence[int]) -> Pixels:
        from matchenv.rendering.picture import sheet, sheet_width

        name = self.simulator.env_id
        panels = [
            self.panel(state, row, name if self.count == 1 else f"environment {row}")
            for row in rows
        ]
        width = sheet_width(len(rows), SINGLE_WIDTH if self.count == 1 else SHARED_WIDTH)
        return sheet(panels, width, SHAPE)

    def show(self, state: State) -> None:
        """Show the current pictures in the window, for a frame's time, in human mode."""
        if self.render_mode != "human":
            return
        if self._window is None:
            from matchenv.rendering.canvas import Window

            self._window = Window(self.simulator.env_id)
        self._window.show(self.grid(state), RENDER_FPS)

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
    return f"{value:{'z.3g' if places is None else f'z,.{places}f'}}".replace("-", "−")


def skill_limits(mu: Floats, sigma: Floats, true_skill: Floats | None) -> Limits:
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


def widened(first: Limits, now: Limits) -> Limits:
    """Return ``first`` with each end moved outwards by whole steps where ``now`` goes beyond it."""
    low, high = first
    step = AXIS_STEP * (high - low)
    low -= step * math.ceil(max(0.0, low - now[0]) / step)
    high += step * math.ceil(max(0.0, now[1] - high) / step)
    return low, high
