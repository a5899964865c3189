"""Scenes that pictures show, and the base class of renderers; no pygame is needed.

Colours are names in ``matchenv.rendering.picture.COLOURS``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from matchenv.envs.core.rendering import RENDER_FPS, Frame, Pixels
from matchenv.runtime.arrays import Floats

if TYPE_CHECKING:
    from matchenv.rendering.picture import Window


SINGLE_WIDTH, SHARED_WIDTH = 800, 480  # width of a single picture, and of one of several
SHAPE = 0.75  # height of a picture by its width
MOST_IN_GRID = 6  # pictures in a grid
AXIS_DEVIATIONS = 2.5  # standard deviations of each belief that fit on the skill axis
AXIS_STEP = 0.125  # the axis grows by this share of its first width, so it seldom moves

# Outline of a belief: standard deviations from the mean, and heights.
OUTLINE = np.linspace(-3.5, 3.5, 71)
BELL = 0.97 * np.exp(-0.5 * OUTLINE**2)

# As shares of the axis: the deviation whose curve is half as high as that of a known skill, and the
# narrowest one drawn, which would otherwise fall between pixels.
TYPICAL_SIGMA, LEAST_SIGMA = 0.1, 1.0 / 1600.0

MOST_OTHERS = 100  # beliefs about others; of more, every second, third, ... is drawn
FILL, OUTLINE_STRENGTH, OFFLINE_STRENGTH = 0.3, 0.6, 0.25  # highlighted area; others' outlines
MOST_FOR_ONE, MOST_FOR_ALL = 0.13, 1.5  # opacity of another player's area, and of all together

STRONG = ("player", "opponent")  # colours of highlighted players, the most important first
SHOWN_ROWS = 20  # rows of the table of a text
STEP = ("action", "reward")  # what is recorded of a step besides the facts

State = TypeVar("State", bound=tuple[Any, ...])
Limits = tuple[float, float]
Players = tuple[Floats, Floats, Floats | None]  # means, deviations, true skills; (n,) each
Columns = Mapping[str, tuple[Sequence[Any] | NDArray[Any], str]]  # values, format; by heading


class Curve(NamedTuple):
    """Points of a chart, and their style."""

    x: Floats  # shape (n,)
    y: Floats  # shape (n,)
    colour: str
    style: Literal["line", "thin", "area", "dots"] = "line"
    strength: float = 1.0  # opacity of an area; share of the colour for other styles


@dataclass(frozen=True)
class Chart:
    """Curves over the skill axis, or over the units of an episode."""

    x: Limits  # limits of the horizontal axis
    y: Limits  # limits of the vertical axis
    curves: Sequence[Curve]  # the last one on top
    titles: Sequence[tuple[str, str]] = ()  # texts in a row above, each with its colour
    unit: str = ""  # singular unit of the horizontal axis; "" for a skill axis without y ticks
    # True skills below the axis: values, colour, strength. Strength 1 is highlighted.
    marks: Sequence[tuple[Floats, str, float]] = ()


class Scene(NamedTuple):
    """Content of one picture."""

    strong: Sequence[str]  # names of the highlighted players, in the order of ``STRONG``
    others: str  # name of the other players
    beliefs: Chart  # chart over the skill axis
    tiles: Sequence[tuple[str, str]]  # labels and texts of large numbers
    charts: tuple[Chart, Chart]  # left and right chart at the bottom
    title: str = ""
    progress: str = ""  # text beside the title


class SceneRenderer(ABC, Generic[State]):
    """Pictures and texts of a batch of episodes.

    Subclasses implement ``players``, ``scene``, ``table`` and ``total``.

    Args:
        simulator: of the episodes.
        render_mode: one of ``matchenv.envs.core.rendering.RENDER_MODES``.
        count: episodes in the batch.
        render_true_skill: whether to show true skills and numbers derived from them.

    Attributes:
        unit: unit of time of an episode, in the singular.
    """

    unit: ClassVar[str] = "game"

    def __init__(
        self, simulator: Any, render_mode: str, count: int, render_true_skill: bool
    ) -> None:
        self.simulator = simulator
        self.render_mode = render_mode
        self.count = count
        # The facts of each start or step, its action, its reward and the episodes that it belongs
        # to, shape (facts + 3, count); and the entry with which each episode began.
        self._log: list[Floats] = []
        self._starts = np.zeros(count, dtype=np.int64)
        self._facts: list[str] = []
        self._first_limits: list[Limits] = [(0.0, 1.0)] * count
        self._shows_truth = bool(render_true_skill)
        self._window: Window | None = None
        self._has_screen = True

    @abstractmethod
    def players(self, state: State, row: int) -> Players:
        """Return the beliefs, and true skills if shown, that must fit on the skill axis."""

    @abstractmethod
    def scene(self, state: State, row: int, limits: Limits) -> Scene:
        """Return the content of one picture, given the limits of the skill axis."""

    @abstractmethod
    def table(self, state: State, row: int) -> Columns:
        """Return the table of a text: values and their format by heading, best row first."""

    @abstractmethod
    def total(self, row: int) -> tuple[str, Floats]:
        """Return the name of the measure by which policies are compared, and its running total.

        The total has one entry per elapsed unit.
        """

    def clock(self, state: State, row: int) -> int:
        """Return the number of elapsed units, from 0 to the horizon."""
        return int(state.games[row])  # type: ignore[attr-defined]

    def recorded(self, row: int, name: str) -> Floats:
        """Return a fact at the start and after each step, shape (steps + 1,).

        The ``action`` and the ``reward`` are those of each step, shape (steps,).
        """
        place, entries = self._facts.index(name), self._log[self._starts[row] :]
        values = [entry[place, row] for entry in entries if entry[-1, row]]
        return np.array(values[1:] if name in STEP else values)

    def over_episode(
        self, top: float, curves: Sequence[Curve], titles: Sequence[tuple[str, str]]
    ) -> Chart:
        """Return a chart over the units of an episode, with values from 0 to ``top``."""
        return Chart((0.0, self.simulator.settings.horizon), (0.0, top), curves, titles, self.unit)

    def begin(self, state: State, rows: NDArray[np.int64]) -> None:
        """Record the start of the episodes of ``rows``, and forget what no episode needs."""
        for row in rows.tolist():
            self._first_limits[row] = skill_limits(self.players(state, row))
        self._starts[rows] = len(self._log)
        self._record(state, np.isin(np.arange(self.count), rows))
        if 2 * (first := int(self._starts.min())) >= len(self._log):
            del self._log[:first]
            self._starts -= first

    def add(
        self, state: State, actions: NDArray[np.int64], rewards: Floats, running: NDArray[np.bool_]
    ) -> None:
        """Record the state after a step of the running episodes."""
        self._record(state, running, actions, rewards)

    def _record(self, state: State, rows: Any, actions: Any = 0, rewards: Any = 0.0) -> None:
        facts = self.simulator.infos(state)
        self._facts = [*facts, *STEP]
        entry = np.empty((len(facts) + 3, self.count))
        for place, values in enumerate((*facts.values(), actions, rewards, rows)):
            entry[place] = values
        self._log.append(entry)

    def limits(self, state: State, row: int) -> Limits:
        """Return the limits of the skill axis: the first ones, widened if beliefs leave them."""
        return widened(self._first_limits[row], skill_limits(self.players(state, row)))

    def titled(self, state: State, row: int, title: str, limits: Limits | None = None) -> Scene:
        """Return the scene of one episode with its title; ``limits`` override the skill axis."""
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
            ", ".join(f"{label}: {text}" for label, text in scene.tiles),
            *("  ".join(map(str.rjust, line, widths)) for line in zip(*columns, strict=True)),
        ]
        more = max(len(values) for values, _ in table.values()) - SHOWN_ROWS
        return "\n".join([*lines, f"and {more:,} more"] if more > 0 else lines)

    def frame(self, state: State, row: int) -> Frame:
        """Return one episode as text if the render mode is ``"ansi"``, else as pixels."""
        return self.text(state, row) if self.render_mode == "ansi" else self._picture(state, [row])

    def grid(self, state: State) -> Pixels:
        """Return a grid of the first episodes' pictures, uint8, shape (height, width, 3)."""
        return self._picture(state, range(min(MOST_IN_GRID, self.count)))

    def _picture(self, state: State, rows: Sequence[int]) -> Pixels:
        from matchenv.rendering.picture import sheet

        alone, name = self.count == 1, self.simulator.env_id
        scenes = [self.titled(state, row, name if alone else f"environment {row}") for row in rows]
        return sheet(scenes, SINGLE_WIDTH if alone else SHARED_WIDTH, SHAPE)

    def show(self, state: State) -> None:
        """Show the current pictures in the window for one frame if the mode is ``"human"``.

        Without a screen, episodes go on after a warning.
        """
        if self.render_mode != "human" or not self._has_screen:
            return
        from matchenv.rendering.picture import NoScreenError, Window

        if self._window is None:
            self._window = Window(self.simulator.env_id)
        try:
            self._window.show(self.grid(state), RENDER_FPS)
        except NoScreenError as error:
            self._has_screen = False
            gymnasium.logger.warn(f"render_mode='human' shows nothing: {error}")

    def close(self) -> None:
        """Close the window if one is open."""
        if self._window is not None:
            self._window.close()
            self._window = None


def belief_chart(
    players: Players,
    strong: Sequence[int],
    limits: Limits,
    online: NDArray[np.bool_] | None = None,
) -> Chart:
    """Return the chart of a bell curve for each belief, with marks at the true skills.

    The narrower a belief, the higher its curve, but not to scale: one known skill would flatten all
    other densities.

    Args:
        players: means, deviations, and true skills or None.
        strong: indices of the highlighted players, the most important first.
        limits: limits of the skill axis.
        online: shape (n,); players who are not online are pale. None for all online.
    """
    mu, sigma, true_skill = players
    span = limits[1] - limits[0]
    sigma = np.maximum(sigma, LEAST_SIGMA * span)
    peaks = TYPICAL_SIGMA * span / (TYPICAL_SIGMA * span + sigma)
    others = np.setdiff1d(np.arange(mu.size), strong)
    here = others if online is None else others[online[others]]
    away = np.setdiff1d(others, here)

    def drawn(indices: Sequence[int], colour: str, style: Any, strength: float) -> list[Curve]:
        return [
            Curve(mu[k] + sigma[k] * OUTLINE, peaks[k] * BELL, colour, style, strength)
            for k in indices[:: math.ceil(len(indices) / MOST_OTHERS) or 1]
        ]

    several = max(1, min(MOST_OTHERS, here.size))
    curves = [
        *drawn(away.tolist(), "others", "thin", OFFLINE_STRENGTH),
        *drawn(here.tolist(), "others", "area", min(MOST_FOR_ONE, MOST_FOR_ALL / several)),
        *drawn(here.tolist(), "others", "thin", OUTLINE_STRENGTH),
    ]
    highlighted = list(zip(strong, STRONG, strict=False))[::-1]
    for player, colour in highlighted:
        curves += [*drawn([player], colour, "area", FILL), *drawn([player], colour, "line", 1.0)]
    if true_skill is None:
        return Chart(limits, (0.0, 1.0), curves)
    strength = min(0.9, max(0.25, 90.0 / max(1, mu.size)))
    marks = [
        (true_skill[here], "others", strength),
        (true_skill[away], "others", OFFLINE_STRENGTH * strength),
        *((true_skill[[player]], colour, 1.0) for player, colour in highlighted),
    ]
    return Chart(limits, (0.0, 1.0), curves, marks=marks)


def over_time(values: Floats, colour: str, style: Any = "line", strength: float = 1.0) -> Curve:
    """Return the curve of a value after each unit so far."""
    return Curve(np.arange(1.0, values.size + 1.0), values, colour, style, strength)


def number_text(value: float, places: int | None) -> str:
    """Format a number with a true minus sign and commas between thousands.

    Args:
        value: the number.
        places: digits after the decimal point, but significant digits where those would round to
            0; None for three significant digits.
    """
    fixed = places is not None and (value == 0.0 or abs(value) > 0.5 * 10.0**-places)
    return f"{value:{f'z,.{places}f' if fixed else f'z.{places or 3}g'}}".replace("-", "−")


def skill_limits(players: Players) -> Limits:
    """Return limits of a skill axis that contain all beliefs and true skills."""
    mu, sigma, true_skill = players
    reach = AXIS_DEVIATIONS * sigma
    values = np.concatenate((mu - reach, mu + reach, [] if true_skill is None else true_skill))
    low, high = float(values.min()), float(values.max())
    least = max(1e-6, 1e-6 * max(abs(low), abs(high)))  # equal values need an axis too
    return (low, high) if high - low >= least else (low - least, high + least)


def widened(first: Limits, current: Limits) -> Limits:
    """Return ``first``, extended by whole steps as far as needed to contain ``current``."""
    low, high = first
    step = AXIS_STEP * (high - low)
    low -= step * math.ceil(max(0.0, low - current[0]) / step)
    high += step * math.ceil(max(0.0, current[1] - high) / step)
    return low, high
