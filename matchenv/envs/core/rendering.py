"""The hook between environments and pictures: render modes, and the base of all renderers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from matchenv.envs import part_of
from matchenv.envs.core.simulator import Simulator

if TYPE_CHECKING:
    from matchenv.rendering.window import Window

RENDER_MODES = ("human", "rgb_array", "ansi")
PICTURE_MODES = ("human", "rgb_array")

# Steps of an episode shown in a second.
RENDER_FPS = 30

# Width and height of a single picture, and of one among several.
SINGLE_SIZE = (800, 600)
SHARED_SIZE = (480, 360)

# Pictures in a grid: more would be too small to read.
MOST_IN_GRID = 6

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]
Frame = Pixels | str

State = TypeVar("State", bound=tuple[Any, ...])


class MissingRenderPackage(DependencyNotInstalled, ImportError, TypeError):
    """A package that draws or writes pictures is not installed.

    Also a ``TypeError``: stable-baselines3 asks every environment for ``"rgb_array"``, and
    goes on without pictures after that error and no other.
    """


class Look(NamedTuple):
    """How a picture looks, whatever it shows.

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


class Renderer(ABC, Generic[State]):
    """Pictures and texts of a batch of episodes of one simulator.

    An environment implements ``begin``, ``add``, ``text`` and ``picture``, and for
    ``matchenv watch`` the others.

    Args:
        simulator: of the episodes.
        render_mode: one of ``RENDER_MODES``.
        count: episodes.
        render_true_skill: show true skills and what follows from them.

    Attributes:
        unit: what passes in an episode, in the singular.
        record: what is kept of one episode, made without arguments.
    """

    unit: ClassVar[str] = "step"
    record: ClassVar[type]

    def __init__(
        self, simulator: Any, render_mode: str, count: int, *, render_true_skill: bool = True
    ) -> None:
        self._shows_truth = bool(render_true_skill)
        self._records: list[Any] = [self.record() for _ in range(count)]
        self.simulator = simulator
        self.render_mode = render_mode
        self.count = count
        self._window: Window | None = None

    @abstractmethod
    def begin(self, state: State, rows: NDArray[np.int64]) -> None:
        """Note that the episodes of ``rows`` have begun."""

    @abstractmethod
    def add(
        self, state: State, actions: NDArray[np.int64], rewards: Floats, running: NDArray[np.bool_]
    ) -> None:
        """Note the state after one step of the running episodes."""

    @abstractmethod
    def text(self, state: State, row: int) -> str:
        """Describe one episode."""

    @abstractmethod
    def picture(self, state: State, row: int, look: Look) -> Pixels:
        """Draw one episode, uint8, shape (height, width, 3); equal states give equal pictures."""

    @abstractmethod
    def clock(self, state: State, row: int) -> int:
        """Return how many units of the episode have passed, from 0 to the horizon."""

    @abstractmethod
    def limits(self, state: State, row: int) -> tuple[float, float]:
        """Return the lowest and highest skill on the axis of one episode's picture."""

    @abstractmethod
    def total(self, row: int) -> tuple[str, Floats]:
        """Return the name of the quantity that policies are compared by, and its running total.

        The total has an entry after each unit that has passed.
        """

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
        return tiled(pictures, THEMES["light"].grid, gap=2)  # type: ignore[arg-type]

    def show(self, state: State) -> None:
        """Show the current pictures in the window, for a frame's time, in human mode."""
        if self.render_mode != "human":
            return
        if self._window is None:
            from matchenv.rendering.window import Window

            self._window = Window(self.simulator.env_id)
        self._window.show(self.grid(state))
        self._window.events()
        self._window.wait(RENDER_FPS)

    def close(self) -> None:
        """Close the window, if one is open."""
        if self._window is not None:
            self._window.close()
            self._window = None


def check_package(module: str, purpose: str) -> None:
    """Refuse to go on where a package of the extra ``render`` is missing.

    Args:
        module: its import name.
        purpose: what it is needed for.

    Raises:
        MissingRenderPackage: if it is missing; it says how to install it.
    """
    if find_spec(module) is None:
        raise MissingRenderPackage(
            f'{purpose} needs {module}, which is missing: pip install "matchenv[render]"'
        )


def taken_flags(options: dict[str, Any], defaults: dict[str, bool]) -> dict[str, bool]:
    """Take the renderer's flags out of the options of an environment.

    Raises:
        ValueError: for one that is neither True nor False.
    """
    flags = {name: options.pop(name, default) for name, default in defaults.items()}
    for name, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} must be True or False, got {value!r}")
    return flags


def checked_render_mode(render_mode: str | None) -> str | None:
    """Return ``render_mode`` if it is None or one of ``RENDER_MODES``.

    Raises:
        ValueError: if not.
        MissingRenderPackage: for a mode that draws pictures, where pygame is not installed.
    """
    if render_mode is not None and render_mode not in RENDER_MODES:
        listed = ", ".join(repr(mode) for mode in RENDER_MODES)
        raise ValueError(f"render_mode must be None or {listed}, got {render_mode!r}")
    if render_mode in PICTURE_MODES:
        check_package("pygame", f"render_mode={render_mode!r}")
    return render_mode


def make_renderer(
    simulator: Simulator[Any], render_mode: str | None, count: int, **options: Any
) -> Renderer[Any] | None:
    """Return the renderer of a simulator's episodes; None without a render mode.

    Args:
        simulator: of the episodes.
        render_mode: None or one of ``RENDER_MODES``.
        count: episodes in the batch.
        options: further arguments of the renderer.

    Raises:
        ValueError: for an unknown mode.
        MissingRenderPackage: for pictures where pygame is not installed.
    """
    if checked_render_mode(render_mode) is None:
        return None
    renderer = part_of(simulator.env_id, "renderer")
    made: Renderer[Any] = renderer(simulator, render_mode, count, **options)
    return made
