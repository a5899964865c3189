"""Base class of the environments' renderers: it records episodes and describes their scenes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from matchenv.envs.core.rendering import RENDER_FPS, Frame, Pixels
from matchenv.rendering.scene import (
    Chart,
    Curve,
    Limits,
    Players,
    Scene,
    skill_limits,
    widened,
)
from matchenv.runtime.arrays import Floats, Integers, Masks

if TYPE_CHECKING:
    from matchenv.rendering.window import Window

# Width of a single picture, and of one of several.
SINGLE_WIDTH = 800
SHARED_WIDTH = 480

SHAPE = 0.75  # height of a picture by its width
MOST_IN_GRID = 6  # pictures in a grid
MOST_ROWS = 20  # rows of the table of a text

State = TypeVar("State", bound=tuple[Any, ...])


class Column(NamedTuple):
    """Values of a column of a table, and how they are formatted."""

    values: Sequence[Any] | NDArray[Any]
    form: str  # a format specification, such as ".3f"


Columns = Mapping[str, Column]  # by heading


@dataclass(frozen=True)
class Record:
    """The start or one step of the episodes of a batch."""

    values: dict[str, NDArray[Any]]  # infos and, for a step, action and reward; shape (count,)
    concerned: Masks  # episodes that began or made the step, shape (count,)


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
        caption: sentence that explains the pictures.
        end: last unit of the charts over an episode; the horizon by default.
    """

    unit: ClassVar[str] = "game"
    caption: str = ""

    def __init__(
        self, simulator: Any, render_mode: str, count: int, render_true_skill: bool
    ) -> None:
        self.simulator = simulator
        self.render_mode = render_mode
        self.count = count
        self.end: int = simulator.settings.horizon
        self._shows_truth = bool(render_true_skill)
        self._records: list[Record] = []
        # The index of the record with which each episode began.
        self._starts = np.zeros(count, dtype=np.int64)
        self._first_limits: list[Limits] = [(0.0, 1.0)] * count
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
        """Return the table of a text by heading, the best row first."""

    @abstractmethod
    def total(self, row: int) -> tuple[str, Floats]:
        """Return the name of the measure by which policies are compared, and its running total.

        The total has one entry per elapsed unit.
        """

    def clock(self, state: State, row: int) -> int:
        """Return the number of elapsed units, from 0 to the horizon."""
        return int(state.games[row])  # type: ignore[attr-defined]

    def recorded(self, row: int, name: str) -> Floats:
        """Return an info at the start and after each step, shape (steps + 1,).

        What only steps have, such as ``action`` and ``reward``, has shape (steps,).
        """
        values = []
        for record in self._records[self._starts[row] :]:
            if record.concerned[row] and name in record.values:
                values.append(record.values[name][row])
        return np.array(values, dtype=np.float64)

    def over_episode(
        self, top: float, curves: Sequence[Curve], titles: Sequence[tuple[str, str]]
    ) -> Chart:
        """Return a chart over the units of an episode, with values from 0 to ``top``."""
        return Chart((0.0, self.end), (0.0, top), curves, titles, self.unit)

    def begin(self, state: State, rows: Integers) -> None:
        """Record the start of the episodes of ``rows``, and forget what no episode needs."""
        for row in rows.tolist():
            self._first_limits[row] = skill_limits(self.players(state, row))
        self._starts[rows] = len(self._records)
        began = np.zeros(self.count, dtype=np.bool_)
        began[rows] = True
        self._records.append(Record(self.simulator.infos(state), began))
        oldest = int(self._starts.min())
        if 2 * oldest >= len(self._records):
            del self._records[:oldest]
            self._starts -= oldest

    def add(self, state: State, actions: Integers, rewards: Floats, running: Masks) -> None:
        """Record the state after a step of the running episodes."""
        values = {
            **self.simulator.infos(state),
            "action": actions.copy(),
            "reward": rewards.copy(),
        }
        self._records.append(Record(values, running.copy()))

    def limits(self, state: State, row: int) -> Limits:
        """Return the limits of the skill axis: the first ones, widened if beliefs leave them."""
        return widened(self._first_limits[row], skill_limits(self.players(state, row)))

    def titled(self, state: State, row: int, title: str, limits: Limits | None = None) -> Scene:
        """Return the scene of one episode with its title; ``limits`` override the skill axis."""
        if limits is None:
            limits = self.limits(state, row)
        horizon = self.simulator.settings.horizon
        progress = f"{self.unit} {self.clock(state, row):,} of {horizon:,}"
        scene = self.scene(state, row, limits)
        return scene._replace(title=title, progress=progress)

    def text(self, state: State, row: int) -> str:
        """Describe one episode: legend and numbers of its picture, and the table."""
        scene = self.titled(state, row, "")
        tiles = [f"{label}: {number}" for label, number in scene.tiles]
        lines = [
            scene.progress,
            *scene.highlighted,
            scene.others,
            ", ".join(tiles),
            *table_lines(self.table(state, row)),
        ]
        return "\n".join(lines)

    def frame(self, state: State, row: int) -> Frame:
        """Return one episode as text if the render mode is ``"ansi"``, else as pixels."""
        if self.render_mode == "ansi":
            return self.text(state, row)
        return self._picture(state, [row])

    def grid(self, state: State) -> Pixels:
        """Return a grid of the first episodes' pictures, uint8, shape (height, width, 3)."""
        return self._picture(state, range(min(MOST_IN_GRID, self.count)))

    def _picture(self, state: State, rows: Sequence[int]) -> Pixels:
        from matchenv.rendering.picture import sheet

        if self.count == 1:
            return sheet([self.titled(state, 0, self.simulator.env_id)], SINGLE_WIDTH, SHAPE)
        scenes = [self.titled(state, row, f"environment {row}") for row in rows]
        return sheet(scenes, SHARED_WIDTH, SHAPE)

    def show(self, state: State) -> None:
        """Show the current pictures in the window for one frame if the mode is ``"human"``.

        Without a screen, episodes go on after a warning.
        """
        if self.render_mode != "human" or not self._has_screen:
            return
        from matchenv.rendering.window import NoScreenError, Window

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


def table_lines(columns: Columns) -> list[str]:
    """Return the lines of a table with right-aligned columns, at most ``MOST_ROWS`` rows."""
    cells = []
    length = 0
    for heading, column in columns.items():
        numbers = [format(value, column.form) for value in column.values[:MOST_ROWS]]
        width = max(len(cell) for cell in (heading, *numbers))
        cells.append([cell.rjust(width) for cell in (heading, *numbers)])
        length = max(length, len(column.values))
    lines = ["  ".join(row) for row in zip(*cells, strict=True)]
    if length > MOST_ROWS:
        lines.append(f"and {length - MOST_ROWS:,} more")
    return lines
