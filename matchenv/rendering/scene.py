"""Scenes that pictures show, and the base of all renderers; without pygame.

Colours are names of ``matchenv.rendering.picture.THEMES``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from matchenv.envs.core.rendering import RENDER_FPS, Frame, Pixels

if TYPE_CHECKING:
    from matchenv.rendering.picture import Window

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

# Places of the outline of a belief, in standard deviations from the mean, and its heights.
OUTLINE = np.linspace(-3.5, 3.5, 71)
BELL = 0.97 * np.exp(-0.5 * OUTLINE**2)

# A belief with a deviation of this part of the axis is drawn half as high as a known skill. A
# narrower one than the second part would fall between the pixels.
TYPICAL_SIGMA, LEAST_SIGMA = 0.1, 1.0 / 1600.0

# Of more beliefs about others every second, third or later one is drawn.
MOST_OTHERS = 100

# Opacity of the area of a belief that stands out, and strengths of the other players' outlines.
FILL, OUTLINE_STRENGTH, OFFLINE_STRENGTH = 0.3, 0.6, 0.25

# Opacity of the area of one of many beliefs, and of all of them together, at most.
MOST_FOR_ONE, MOST_FOR_ALL = 0.13, 1.5

# Colours of the players who stand out, the most important first.
STRONG = ("player", "opponent")

# Rows of the table of a text.
SHOWN_ROWS = 20

State = TypeVar("State", bound=tuple[Any, ...])
Limits = tuple[float, float]
Players = tuple[Floats, Floats, Floats | None]
# Values and their format by heading.
Columns = Mapping[str, tuple[Sequence[Any] | NDArray[Any], str]]


class Curve(NamedTuple):
    """Points of a chart, and how they are drawn."""

    x: Floats  # shape (n,)
    y: Floats  # shape (n,)
    colour: str
    style: Literal["line", "thin", "area", "dots"] = "line"
    strength: float = 1.0  # opacity of an area, share of the colour of others


@dataclass(frozen=True)
class Chart:
    """Curves above the skill axis, or over the units of an episode."""

    x: Limits  # ends of the axis
    y: Limits  # lowest and highest value
    curves: Sequence[Curve]  # the last on top
    titles: Sequence[tuple[str, str]] = ()  # above, one after another, each in a colour
    unit: str = ""  # of the axis, in the singular; empty for a skill axis, without numbers upright
    # True skills marked below the axis, with colours and strengths. Full strength stands out
    marks: Sequence[tuple[Floats, str, float]] = ()


class Scene(NamedTuple):
    """Content of one picture."""

    strong: Sequence[str]  # names below the title, in the colours of ``STRONG``
    others: str  # name of the others, after these
    beliefs: Chart  # above the skill axis
    tiles: Sequence[tuple[str, str]]  # labels and texts of large numbers
    charts: tuple[Chart, Chart]  # the left and the right one
    title: str = ""
    progress: str = ""  # beside the title


class Renderer(ABC, Generic[State]):
    """Pictures and texts of a batch of episodes of one simulator.

    An environment implements ``players``, ``scene``, ``table`` and ``total``.

    Arguments are those of ``make_renderer``.

    Attributes:
        unit: what passes in an episode, in the singular.
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
        self.history: list[defaultdict[str, list[Any]]] = [defaultdict(list) for _ in range(count)]
        self._first_limits: list[Limits] = [(0.0, 1.0)] * count
        self._shows_truth = bool(render_true_skill)
        self._window: Window | None = None

    @abstractmethod
    def players(self, state: State, row: int) -> Players:
        """Return what the axis has room for: means, deviations, true skills if shown, (n,) each."""

    @abstractmethod
    def scene(self, state: State, row: int, limits: Limits) -> Scene:
        """Return what the picture of one episode shows, on a skill axis with these ends."""

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

    def over_episode(
        self, top: float, curves: Sequence[Curve], titles: Sequence[tuple[str, str]]
    ) -> Chart:
        """Return the chart of values from 0 to ``top`` over the units of an episode."""
        return Chart((0.0, self.simulator.settings.horizon), (0.0, top), curves, titles, self.unit)

    def begin(self, state: State, rows: NDArray[np.int64]) -> None:
        """Note that the episodes of ``rows`` have begun."""
        for row in rows.tolist():
            self._first_limits[row] = skill_limits(self.players(state, row))
            self.history[row] = defaultdict(list)
            self._note(state, row)

    def add(
        self, state: State, actions: NDArray[np.int64], rewards: Floats, running: NDArray[np.bool_]
    ) -> None:
        """Note the state after one step of the running episodes."""
        for row in np.flatnonzero(running).tolist():
            self._note(state, row, action=actions[row], reward=rewards[row])

    def _note(self, state: State, row: int, **step: Any) -> None:
        for name, value in {**self.simulator.info(state, row), **step}.items():
            self.history[row][name].append(value.item())

    def limits(self, state: State, row: int) -> Limits:
        """Return the ends of the skill axis: those at the start, until a belief leaves them."""
        return widened(self._first_limits[row], skill_limits(self.players(state, row)))

    def titled(self, state: State, row: int, title: str, limits: Limits | None = None) -> Scene:
        """Return the whole picture of one episode; ``limits`` override those of its skill axis."""
        scene = self.scene(state, row, limits or self.limits(state, row))
        horizon = self.simulator.settings.horizon
        progress = f"{self.unit} {self.clock(state, row):,} of {horizon:,}"
        return scene._replace(title=title, progress=progress)

    def text(self, state: State, row: int) -> str:
        """Describe one episode: legend and numbers of its picture, and the table."""
        scene, table = self.titled(state, row, ""), self.table(state, row)
        columns = [
            [name, *(format(value, form) for value in values[:SHOWN_ROWS])]
            for name, (values, form) in table.items()
        ]
        widths = [max(map(len, column)) for column in columns]
        lines = [
            scene.progress,
            *scene.strong,
            scene.others,
            ", ".join(f"{label} {text}" for label, text in scene.tiles),
            *("  ".join(map(str.rjust, line, widths)) for line in zip(*columns, strict=True)),
        ]
        more = max(len(values) for values, _ in table.values()) - SHOWN_ROWS
        return "\n".join([*lines, f"and {more:,} more"] if more > 0 else lines)

    def frame(self, state: State, row: int) -> Frame:
        """Return one episode as the render mode shows it: a text with ``"ansi"``, else pixels."""
        return self.text(state, row) if self.render_mode == "ansi" else self._picture(state, [row])

    def grid(self, state: State) -> Pixels:
        """Return the pictures of the first episodes in rows, uint8, (height, width, 3)."""
        return self._picture(state, range(min(MOST_IN_GRID, self.count)))

    def _picture(self, state: State, rows: Sequence[int]) -> Pixels:
        from matchenv.rendering.picture import sheet

        alone = self.count == 1
        titles = [self.simulator.env_id if alone else f"environment {row}" for row in rows]
        scenes = [self.titled(state, *each) for each in zip(rows, titles, strict=True)]
        return sheet(scenes, SINGLE_WIDTH if alone else SHARED_WIDTH, SHAPE)

    def show(self, state: State) -> None:
        """Show the current pictures in the window, for a frame's time, in human mode."""
        if self.render_mode == "human":
            from matchenv.rendering.picture import Window

            self._window = self._window or Window(self.simulator.env_id)
            self._window.show(self.grid(state), RENDER_FPS)

    def close(self) -> None:
        """Close the window, if one is open."""
        if self._window is not None:
            self._window.close()
            self._window = None


def belief_chart(
    players: Players,
    strong: Sequence[int],
    limits: Limits,
    online: NDArray[np.bool_] | None = None,
) -> Chart:
    """Return a density for each belief on the skill axis, and marks for the true skills.

    The narrower a belief, the higher its curve. The heights are not to scale: densities would
    leave all others flat once one is known.

    Args:
        players: means, deviations, and true skills where they are shown.
        strong: indices of players that stand out, the most important first.
        limits: ends of the axis.
        online: shape (n,), who is not pale; None for all.
    """
    mu, sigma, true_skill = players
    span = limits[1] - limits[0]
    sigma = np.maximum(sigma, LEAST_SIGMA * span)
    peaks = TYPICAL_SIGMA * span / (TYPICAL_SIGMA * span + sigma)
    others = np.setdiff1d(np.arange(mu.size), strong)
    here = others if online is None else others[online[others]]
    away = np.setdiff1d(others, here)

    def drawn(found: Sequence[int], colour: str, style: Any, strength: float) -> list[Curve]:
        return [
            Curve(mu[k] + sigma[k] * OUTLINE, peaks[k] * BELL, colour, style, strength)
            for k in found[:: math.ceil(len(found) / MOST_OTHERS) or 1]
        ]

    several = max(1, min(MOST_OTHERS, here.size))
    curves = [
        *drawn(away.tolist(), "others", "thin", OFFLINE_STRENGTH),
        *drawn(here.tolist(), "others", "area", min(MOST_FOR_ONE, MOST_FOR_ALL / several)),
        *drawn(here.tolist(), "others", "thin", OUTLINE_STRENGTH),
    ]
    standing_out = list(zip(strong, STRONG, strict=False))[::-1]
    for player, colour in standing_out:
        curves += [*drawn([player], colour, "area", FILL), *drawn([player], colour, "line", 1.0)]
    if true_skill is None:
        return Chart(limits, (0.0, 1.0), curves)
    strength = min(0.9, max(0.25, 90.0 / max(1, mu.size)))
    marks = [
        (true_skill[here], "others", strength),
        (true_skill[away], "others", OFFLINE_STRENGTH * strength),
        *((true_skill[[player]], colour, 1.0) for player, colour in standing_out),
    ]
    return Chart(limits, (0.0, 1.0), curves, marks=marks)


def over_time(values: Floats, colour: str, style: Any = "line", strength: float = 1.0) -> Curve:
    """Return the curve of a value after each unit so far."""
    return Curve(np.arange(1.0, values.size + 1.0), values, colour, style, strength)


def number_text(value: float, places: int | None) -> str:
    """Return a number with a true minus sign and commas between thousands.

    Args:
        value: the number.
        places: digits after the point; None for three significant digits.
    """
    return f"{value:{'z.3g' if places is None else f'z,.{places}f'}}".replace("-", "−")


def skill_limits(players: Players) -> Limits:
    """Return the ends of a skill axis on which all beliefs and marks have room."""
    mu, sigma, true_skill = players
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
