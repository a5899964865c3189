"""The hook between environments and pictures: render modes, and who draws for a simulator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchenv.envs import part_of
from matchenv.envs.core.simulator import Simulator

RENDER_MODES = ("human", "rgb_array", "ansi")
PICTURE_MODES = ("human", "rgb_array")

# Steps of an episode shown in a second.
RENDER_FPS = 30

Frame = NDArray[np.uint8] | str


class MissingRenderPackage(ImportError, TypeError):
    """A package that draws or writes pictures is not installed.

    Also a ``TypeError``: stable-baselines3 asks every environment for ``"rgb_array"``, and
    goes on without pictures after that error and no other.
    """


class Renderer(ABC):
    """Pictures and texts of a batch of episodes of one simulator."""

    @abstractmethod
    def begin(self, state: Any, rows: NDArray[np.int64]) -> None:
        """Note that the episodes of ``rows`` have begun."""

    @abstractmethod
    def add(self, state: Any, actions: NDArray[np.int64], running: NDArray[np.bool_]) -> None:
        """Note the state after one step; arguments as ``Simulator.step``."""

    @abstractmethod
    def frame(self, state: Any, row: int) -> Frame:
        """Return one episode as the render mode shows it."""

    @abstractmethod
    def grid(self, state: Any) -> NDArray[np.uint8]:
        """Return the pictures of the first episodes in rows, uint8, (height, width, 3)."""

    @abstractmethod
    def show(self, state: Any) -> None:
        """Show the current pictures in the window, for a frame's time, in human mode."""

    @abstractmethod
    def close(self) -> None:
        """Close the window, if one is open."""


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
) -> Renderer | None:
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
    made: Renderer = part_of(simulator.env_id, "renderer")(simulator, render_mode, count, **options)
    return made
