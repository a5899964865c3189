"""What environments need to know of pictures: modes, sizes and the interface of a renderer."""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from matchenv.runtime.arrays import Floats, Integers, Masks

RENDER_MODES = ("human", "rgb_array", "ansi")
PICTURE_MODES = ("human", "rgb_array")

# Steps per second in videos and windows.
RENDER_FPS = 30

Pixels = NDArray[np.uint8]
Frame = Pixels | str

State_contra = TypeVar("State_contra", contravariant=True)


class MissingRenderPackage(DependencyNotInstalled, ImportError, TypeError):
    """A package that draws or writes pictures is not installed.

    It is also a ``TypeError``, the only error after which stable-baselines3, which tries
    ``"rgb_array"`` for every environment, continues without pictures.
    """


class Renderer(Protocol[State_contra]):
    """Pictures and texts of B episodes; ``matchenv.rendering.SceneRenderer`` implements it."""

    def begin(self, state: State_contra, rows: Integers) -> None:
        """Record the start of episodes, shape (K,)."""

    def add(self, state: State_contra, actions: Integers, rewards: Floats, running: Masks) -> None:
        """Record the state after a step of the running episodes; shapes (B,)."""

    def show(self, state: State_contra) -> None:
        """Show the current pictures in a window if the mode is ``"human"``."""

    def frame(self, state: State_contra, row: int) -> Frame:
        """Return one episode as text if the mode is ``"ansi"``, else as pixels."""

    def grid(self, state: State_contra) -> Pixels:
        """Return a grid of the first episodes' pictures, uint8, shape (height, width, 3)."""

    def close(self) -> None:
        """Close the window if one is open."""
